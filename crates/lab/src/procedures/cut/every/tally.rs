use std::path::Path;

use bakeoff_devices::plug::{Keep, Metadata, Recorded, Walk};
use bakeoff_results::{AuditResult, EveryByRule, EveryMoment, FirstBroken, JudgedImage};

use super::history::Recording;
use super::survey::DistinctImage;

pub struct ImageTally {
    pub every: EveryMoment,
    rules: Vec<OfRule>,
}

struct OfRule {
    keep: Keep,
    counts: EveryByRule,
    /// The worst image that kept the promise, then the first that broke it.
    worst: AuditResult,
    broken: Vec<DistinctImage>,
    longest_s: Option<f64>,
    kept: Option<String>,
}

impl ImageTally {
    pub fn new(
        history: &Recorded,
        drawn: u64,
        different: &[DistinctImage],
        rules: &[Keep],
    ) -> Self {
        let [writes, syncs, names] = history.count_kinds().map(|count| count as u64);
        let every = EveryMoment {
            writes,
            syncs,
            names,
            moments: history.event_count() as u64 + 1,
            drawn,
            distinct: different.len() as u64,
            ..EveryMoment::default()
        };
        let rule = |(place, keep): (usize, &Keep)| {
            let of = different.iter().filter(|it| it.rules & (1 << place) != 0);
            let distinct = of.count() as u64;
            OfRule {
                keep: *keep,
                counts: EveryByRule { keep: keep.to_string(), distinct, ..EveryByRule::default() },
                worst: AuditResult::default(),
                broken: Vec::new(),
                longest_s: None,
                kept: None,
            }
        };
        Self { every, rules: rules.iter().enumerate().map(rule).collect() }
    }

    fn rules_of_image(&mut self, drawn: &DistinctImage) -> impl Iterator<Item = &mut OfRule> {
        let bits = drawn.rules;
        let numbered = self.rules.iter_mut().enumerate();
        numbered.filter(move |(place, _)| bits & (1 << place) != 0).map(|(_, rule)| rule)
    }

    pub fn note_judged(&mut self, drawn: &DistinctImage, verdict: &AuditResult, breaks: bool) {
        self.every.judged += 1;
        for rule in self.rules_of_image(drawn) {
            rule.counts.judged += 1;
            rule.counts.lost += u64::from(verdict.lost > 0);
            let times = rule.longest_s.into_iter().chain(verdict.recovery_s);
            rule.longest_s = times.reduce(f64::max);
            if !breaks && verdict.lost > rule.worst.lost {
                rule.worst = verdict.clone();
            }
        }
    }

    pub fn note_broken(
        &mut self,
        recording: &Recording,
        metadata: Metadata,
        drawn: &DistinctImage,
        verdict: AuditResult,
    ) {
        self.every.broken += 1;
        let mut during = None;
        for rule in self.rules_of_image(drawn) {
            rule.counts.broken += 1;
            rule.broken.push(*drawn);
            if rule.counts.first.is_none() {
                let during = during.get_or_insert_with(|| {
                    let mut walk = Walk::new(&recording.history, metadata);
                    walk.go_to(drawn.moment);
                    walk.describe_next_event()
                });
                let (moment, seed) = (drawn.moment as u64, drawn.seed);
                let first = FirstBroken { moment, during: during.clone(), seed };
                rule.counts.first = Some(first);
                rule.worst = verdict.clone();
            }
        }
    }

    /// Each rule's first broken images that it drew itself.
    pub fn to_keep(&self, most: usize) -> Vec<(Keep, Vec<DistinctImage>)> {
        let some = |rule: &OfRule| (rule.keep, rule.broken.iter().take(most).copied().collect());
        self.rules.iter().map(some).collect()
    }

    pub fn kept_in(&mut self, keep: Keep, path: &Path) {
        let rules = self.rules.iter_mut().filter(|rule| rule.keep == keep);
        rules.for_each(|rule| rule.kept = Some(path.to_string_lossy().into_owned()));
    }

    pub fn into_record(self) -> (Vec<JudgedImage>, Option<EveryMoment>) {
        let mut every = self.every;
        let mut judged = Vec::new();
        for rule in self.rules {
            let verdict = AuditResult { recovery_s: rule.longest_s, ..rule.worst };
            let keep = rule.keep.to_string();
            judged.push(JudgedImage { keep, again: None, verdict, image: rule.kept });
            every.rules.push(rule.counts);
        }
        (judged, Some(every))
    }
}
