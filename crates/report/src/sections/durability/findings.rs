//! Describes the findings of power cuts about a promise.

use bakeoff_analysis::{CutFindings, PromiseView, RuleView};
use bakeoff_results::DurabilityPromise;

use crate::promises::PromiseCuts;
use crate::words;

/// No break between number and unit in a narrow column.
pub fn format_tied(seconds: f64) -> String {
    words::format_seconds(seconds).replace(' ', "\u{a0}")
}

/// "25 of 25 survived; lost up to 74, the oldest 59.5 ms before".
pub fn describe_left(told: &PromiseCuts<'_>, rule: &RuleView) -> String {
    let (number, all, word) = count_survived(told, rule);
    let images = told.images_of(&rule.keep).map_or("", |_| " images");
    let mut parts = vec![format!("{number} of {all}{images} {word}")];
    if let Some(oldest) = rule.oldest_lost_s {
        let most = words::format_count(rule.lost.most);
        parts.push(format!("lost up to {most}, of the last {}", format_tied(oldest)));
    } else if rule.lost.cuts > 0 {
        parts.push(format!("lost up to {}", words::format_count(rule.lost.most)));
    }
    parts.extend(describe_damage(told, rule));
    parts.join("; ")
}

/// In how many of how many cuts (or images of every moment) the promise held, or all data were
/// there if nothing is promised.
pub fn count_survived(told: &PromiseCuts<'_>, rule: &RuleView) -> (String, String, &'static str) {
    let is_promised = told.promise.promised != DurabilityPromise::Nothing;
    let (number, all, word) = match told.images_of(&rule.keep) {
        Some([judged, broken, _]) if is_promised => (judged - broken, judged, "survived"),
        Some([judged, _, lost]) => (judged - lost, judged, "lost nothing"),
        None if is_promised => {
            (u64::from(rule.cuts - rule.broken), u64::from(rule.cuts), "survived")
        }
        None => (rule.intact.into(), rule.cuts.into(), "intact"),
    };
    (words::format_count(number), words::format_count(all), word)
}

/// Faults other than losses, a text each; of images of every moment, those of the worst.
fn describe_damage(told: &PromiseCuts<'_>, rule: &RuleView) -> Vec<String> {
    let kinds: [(&str, CutFindings); 5] = [
        ("torn", rule.torn),
        ("holes", rule.hole),
        ("phantoms", rule.phantom),
        ("index broken", rule.index_broken),
        ("corrupt", CutFindings { cuts: rule.corrupt, most: 0 }),
    ];
    let found = kinds.into_iter().filter(|(_, found)| found.cuts > 0);
    let text = |(name, found): (&str, CutFindings)| match told.images_of(&rule.keep) {
        Some(_) => name.to_owned(),
        None => format!("{name} in {}", found.cuts),
    };
    found.map(text).collect()
}

/// The verdict in a line, and how another run differs.
pub fn explain_verdict(told: &PromiseCuts<'_>, first: Option<&RuleView>) -> String {
    let verdict = describe_verdict(told, first);
    match (told.folder, told.differences.is_empty()) {
        (None, _) => verdict,
        (Some(folder), true) => format!("{verdict} Found by the run in {folder}."),
        (Some(folder), false) => {
            format!("{verdict} Found by the run in {folder}: {}.", told.differences.join("; "))
        }
    }
}

fn describe_verdict(told: &PromiseCuts<'_>, first: Option<&RuleView>) -> String {
    let promise = told.promise;
    let (cuts, broken) = match told.images() {
        Some(_) => told.describe_tries(),
        None => (words::count_nouns(promise.cuts as usize, "cut"), promise.broken.into()),
    };
    let words = find_reason(told, first).map(|text| words::sentence_and_log(text).0);
    if promise.cuts == 0 {
        return format!("Not tried: {}.", words.unwrap_or("no cut"));
    }
    if let Some(rule) = first {
        let example = words.map_or(String::new(), |words| format!(": {words}"));
        let broken = words::format_count(broken);
        return format!("Broken in {broken} of {cuts}; by the rule {}{example}.", rule.keep);
    }
    let (acknowledged, unit) = match told.is_of_files() {
        true => ("synced", "block"),
        false => ("acknowledged", "commit"),
    };
    let most = promise.rules.iter().map(|rule| rule.lost.most).max().unwrap_or(0);
    let oldest = promise.rules.iter().filter_map(|rule| rule.oldest_lost_s).reduce(f64::max);
    let lost = match oldest {
        Some(oldest) => format!(
            "lost {} at most, {acknowledged} up to {} before the cut",
            words::count_nouns(most as usize, unit),
            words::format_seconds(oldest)
        ),
        None => match count_uncounted(promise) {
            UncountedImages::None => "lost nothing".into(),
            UncountedImages::Some => "lost nothing that could be counted".into(),
            UncountedImages::All => "left nothing from which losses could be counted".into(),
        },
    };
    match promise.promised {
        DurabilityPromise::Everything => {
            format!("Kept: after {cuts}, all that was {acknowledged} was there and whole.")
        }
        DurabilityPromise::Whole { window_s, most_lost } => {
            format!(
                "Kept: {cuts} {lost}; {}. The rest was whole.",
                describe_limit(window_s, most_lost)
            )
        }
        DurabilityPromise::Nothing => {
            let worst = promise.rules.iter().max_by_key(|rule| rate_harm(rule));
            let worst = match worst.filter(|rule| rate_harm(rule) > (0, 0)) {
                Some(rule) => {
                    format!(
                        "; {} by the rule {}",
                        words::join_list(&describe_damage(told, rule)),
                        rule.keep
                    )
                }
                None => String::new(),
            };
            format!("Nothing was promised: {cuts} {lost}{worst}.")
        }
    }
}

/// Cuts after which nothing is reliable, and cuts with another fault than losses.
fn rate_harm(rule: &RuleView) -> (u32, u32) {
    let wrong = [rule.torn, rule.hole, rule.phantom, rule.index_broken];
    (rule.corrupt, wrong.iter().map(|found| found.cuts).sum())
}

/// Images that were too broken to count their losses.
pub enum UncountedImages {
    None,
    Some,
    All,
}

pub fn count_uncounted(promise: &PromiseView) -> UncountedImages {
    let sum = |of: fn(&RuleView) -> u32| promise.rules.iter().map(of).sum::<u32>();
    match (sum(|rule| rule.corrupt), sum(|rule| rule.cuts)) {
        (0, _) => UncountedImages::None,
        (corrupt, images) if corrupt < images => UncountedImages::Some,
        _ => UncountedImages::All,
    }
}

fn describe_limit(window_s: Option<f64>, most_lost: Option<u64>) -> String {
    let window =
        window_s.map(|window| format!("those of the last {}", words::format_seconds(window)));
    let most = most_lost.map(|most| words::count_nouns(most as usize, "commit"));
    let limits: Vec<String> = most.into_iter().chain(window).collect();
    match limits.as_slice() {
        [] => "no limit is documented".into(),
        limits => format!("allowed: {}", limits.join(" and only ")),
    }
}

/// The reason in the first cut that broke the promise; or why no cut could be made.
pub fn find_reason<'a>(told: &PromiseCuts<'a>, first: Option<&'a RuleView>) -> Option<&'a str> {
    match told.promise.cuts {
        0 => told.cuts.iter().find_map(|cut| cut.failed.as_deref()),
        _ => first?.example.as_deref(),
    }
}
