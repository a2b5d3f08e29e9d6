//! Sums up the power cuts of each engine at each level of durability: whether the promise was kept.

use bakeoff_results::{Cut, DurabilityPromise, FileSystem, JudgedImage, Run};
use bakeoff_stats::quantile::median;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BrokenPromise {
    NotSynced,
    BrokenInPowerCut,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromiseView {
    /// The disk, where files are written without an engine.
    pub engine: String,
    pub durability: String,
    /// The file system's promise about names.
    pub file_system: FileSystem,
    pub promised: DurabilityPromise,
    /// `None` if nothing was promised, or no cut was made.
    pub kept: Option<bool>,
    pub cuts: u32,
    /// Cuts with less than was promised, by any of the rules.
    pub broken: u32,
    /// Not among `cuts`: they show nothing.
    pub failed: u32,
    /// To open the engine again, over all cuts and rules; `None` where it never opened.
    pub recovery_median_s: Option<f64>,
    pub recovery_max_s: Option<f64>,
    pub rules: Vec<RuleView>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleView {
    pub keep: String,
    pub cuts: u32,
    pub intact: u32,
    pub broken: u32,
    /// Acknowledged, but gone.
    pub lost: CutFindings,
    pub oldest_lost_s: Option<f64>,
    /// There, but never sent.
    pub phantom: CutFindings,
    /// Part of a transaction.
    pub torn: CutFindings,
    /// Gone, while a later one of the same client is there.
    pub hole: CutFindings,
    /// Found by key and not by an index, or the other way round.
    pub index_broken: CutFindings,
    /// Cuts after which the engine did not start, or failed its own check.
    pub corrupt: u32,
    pub example: Option<String>,
    /// The number of the first cut that broke the promise.
    pub repeat: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutFindings {
    pub cuts: u32,
    pub most: u64,
}

impl CutFindings {
    fn add(&mut self, number: u64) {
        self.cuts += u32::from(number > 0);
        self.most = self.most.max(number);
    }
}

impl PromiseView {
    pub fn is_of(&self, cut: &Cut) -> bool {
        (&self.engine, &self.durability, self.file_system)
            == (&cut.engine, &cut.durability, cut.file_system)
    }
}

pub(crate) fn summarize_promises(run: &Run, cuts: &[Cut]) -> Vec<PromiseView> {
    let mut groups: Vec<Vec<&Cut>> = Vec::new();
    for cut in cuts {
        let of = |cut: &Cut| (cut.engine.clone(), cut.durability.clone(), cut.file_system);
        let same = |group: &&mut Vec<&Cut>| of(group[0]) == of(cut);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(cut),
            None => groups.push(vec![cut]),
        }
    }
    let place =
        |factor: &str, level: &str| run.levels_of(factor).iter().position(|name| name == level);
    let factors = run.cuts.as_ref().map(|plan| plan.promise.clone()).unwrap_or_default();
    groups.sort_by_key(|group| {
        let Cut { engine, durability, file_system, .. } = group[0];
        (place(&factors.who, engine), place(&factors.what, durability), *file_system)
    });
    groups.iter().map(|group| summarize_promise(group)).collect()
}

fn summarize_promise(cuts: &[&Cut]) -> PromiseView {
    let first = cuts[0];
    let made: Vec<&Cut> = cuts.iter().copied().filter(|cut| cut.failed.is_none()).collect();
    let mut rules: Vec<RuleView> = Vec::new();
    for cut in &made {
        for judged in &cut.judged {
            let known = rules.iter().position(|rule| rule.keep == judged.keep);
            let at = known.unwrap_or_else(|| {
                rules.push(RuleView { keep: judged.keep.clone(), ..RuleView::default() });
                rules.len() - 1
            });
            rules[at].add(cut, judged);
        }
    }
    let judged = made.iter().flat_map(|cut| &cut.judged);
    let recoveries: Vec<f64> = judged.filter_map(|judged| judged.verdict.recovery_s).collect();
    let told = first.promised != DurabilityPromise::Nothing && !made.is_empty();
    PromiseView {
        engine: first.engine.clone(),
        durability: first.durability.clone(),
        file_system: first.file_system,
        promised: first.promised,
        kept: told.then(|| rules.iter().all(|rule| rule.broken == 0)),
        cuts: made.len() as u32,
        broken: made.iter().filter(|cut| cut.broken_images().next().is_some()).count() as u32,
        failed: (cuts.len() - made.len()) as u32,
        recovery_median_s: median(&recoveries),
        recovery_max_s: recoveries.iter().copied().reduce(f64::max),
        rules,
    }
}

impl RuleView {
    fn add(&mut self, cut: &Cut, judged: &JudgedImage) {
        let verdict = &judged.verdict;
        let breaks = verdict.breaks_promise(cut.promised);
        self.cuts += 1;
        self.intact += u32::from(verdict.is_whole() && verdict.lost == 0);
        self.lost.add(verdict.lost);
        self.phantom.add(verdict.phantom);
        self.torn.add(verdict.torn);
        self.hole.add(verdict.hole);
        self.index_broken.add(verdict.index_broken);
        self.corrupt += u32::from(verdict.corrupt.is_some());
        let oldest = [self.oldest_lost_s, verdict.oldest_lost_s].into_iter().flatten();
        self.oldest_lost_s = oldest.reduce(f64::max);
        let words = verdict.corrupt.as_ref().or(verdict.examples.first());
        if breaks && self.broken == 0 {
            self.example = words.cloned();
            self.repeat = Some(cut.number);
        } else if self.example.is_none() {
            self.example = words.cloned();
        }
        self.broken += u32::from(breaks);
    }
}
