//! What power cuts found of a promise, in words.

use bakeoff_analysis::{FoundInCuts, PromiseView, RuleView};
use bakeoff_results::Promised;

use crate::promises::PromiseCuts;
use crate::words;

/// A time that is not broken between its number and its unit, in a narrow column.
pub fn tied(seconds: f64) -> String {
    words::seconds(seconds).replace(' ', "\u{a0}")
}

/// "25 of 25 survived; lost up to 74, the oldest 59.5 ms before".
pub fn left(told: &PromiseCuts<'_>, rule: &RuleView) -> String {
    let (number, all, word) = survived(told, rule);
    let images = told.images_of(&rule.keep).map_or("", |_| " images");
    let mut parts = vec![format!("{number} of {all}{images} {word}")];
    if let Some(oldest) = rule.oldest_lost_s {
        let most = words::count(rule.lost.most);
        parts.push(format!("lost up to {most}, of the last {}", tied(oldest)));
    } else if rule.lost.cuts > 0 {
        parts.push(format!("lost up to {}", words::count(rule.lost.most)));
    }
    parts.extend(damage(told, rule));
    parts.join("; ")
}

/// After how many cuts, of how many, the promise held, or all was there where there is no promise;
/// or in how many images, where every moment was cut.
pub fn survived(told: &PromiseCuts<'_>, rule: &RuleView) -> (String, String, &'static str) {
    let is_promised = told.promise.promised != Promised::Nothing;
    let (number, all, word) = match told.images_of(&rule.keep) {
        Some([judged, broken, _]) if is_promised => (judged - broken, judged, "survived"),
        Some([judged, _, lost]) => (judged - lost, judged, "lost nothing"),
        None if is_promised => {
            (u64::from(rule.cuts - rule.broken), u64::from(rule.cuts), "survived")
        }
        None => (rule.intact.into(), rule.cuts.into(), "intact"),
    };
    (words::count(number), words::count(all), word)
}

/// What is wrong beside losses, a text for each kind; of images of every moment, what is wrong with the
/// worst.
fn damage(told: &PromiseCuts<'_>, rule: &RuleView) -> Vec<String> {
    let kinds: [(&str, FoundInCuts); 5] = [
        ("torn", rule.torn),
        ("holes", rule.hole),
        ("phantoms", rule.phantom),
        ("index broken", rule.index_broken),
        ("corrupt", FoundInCuts { cuts: rule.corrupt, most: 0 }),
    ];
    let found = kinds.into_iter().filter(|(_, found)| found.cuts > 0);
    let text = |(name, found): (&str, FoundInCuts)| match told.images_of(&rule.keep) {
        Some(_) => name.to_owned(),
        None => format!("{name} in {}", found.cuts),
    };
    found.map(text).collect()
}

/// The verdict in a line, and what of another run is not as in this one.
pub fn explained(told: &PromiseCuts<'_>, first: Option<&RuleView>) -> String {
    let verdict = verdict(told, first);
    match (told.folder, told.differences.is_empty()) {
        (None, _) => verdict,
        (Some(folder), true) => format!("{verdict} Found by the run in {folder}."),
        (Some(folder), false) => {
            format!("{verdict} Found by the run in {folder}: {}.", told.differences.join("; "))
        }
    }
}

fn verdict(told: &PromiseCuts<'_>, first: Option<&RuleView>) -> String {
    let promise = told.promise;
    let (cuts, broken) = match told.images() {
        Some(_) => told.tried(),
        None => (words::many(promise.cuts as usize, "cut"), promise.broken.into()),
    };
    let words = said(told, first).map(|text| sentence_and_log(text).0);
    if promise.cuts == 0 {
        return format!("Not tried: {}.", words.unwrap_or("no cut"));
    }
    if let Some(rule) = first {
        let example = words.map_or(String::new(), |words| format!(": {words}"));
        let broken = words::count(broken);
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
            words::many(most as usize, unit),
            words::seconds(oldest)
        ),
        None => match uncounted(promise) {
            Uncounted::None => "lost nothing".into(),
            Uncounted::Some => "lost nothing that could be counted".into(),
            Uncounted::All => "left nothing from which losses could be counted".into(),
        },
    };
    match promise.promised {
        Promised::Everything => {
            format!("Kept: after {cuts}, all that was {acknowledged} was there and whole.")
        }
        Promised::Whole { window_s, most_lost } => {
            format!("Kept: {cuts} {lost}; {}. The rest was whole.", limit(window_s, most_lost))
        }
        Promised::Nothing => {
            let worst = promise.rules.iter().max_by_key(|rule| harm(rule));
            let worst = match worst.filter(|rule| harm(rule) > (0, 0)) {
                Some(rule) => {
                    format!("; {} by the rule {}", words::list(&damage(told, rule)), rule.keep)
                }
                None => String::new(),
            };
            format!("Nothing was promised: {cuts} {lost}{worst}.")
        }
    }
}

/// How bad a rule's findings are, losses aside: in how many cuts nothing can be relied on, and in
/// how many something else is wrong.
fn harm(rule: &RuleView) -> (u32, u32) {
    let wrong = [rule.torn, rule.hole, rule.phantom, rule.index_broken];
    (rule.corrupt, wrong.iter().map(|found| found.cuts).sum())
}

/// How many images were too broken for their losses to be counted.
pub enum Uncounted {
    /// None.
    None,
    /// Some of them.
    Some,
    /// All of them.
    All,
}

pub fn uncounted(promise: &PromiseView) -> Uncounted {
    let sum = |of: fn(&RuleView) -> u32| promise.rules.iter().map(of).sum::<u32>();
    match (sum(|rule| rule.corrupt), sum(|rule| rule.cuts)) {
        (0, _) => Uncounted::None,
        (corrupt, images) if corrupt < images => Uncounted::Some,
        _ => Uncounted::All,
    }
}

/// What a promise allows to be lost.
fn limit(window_s: Option<f64>, most_lost: Option<u64>) -> String {
    let window = window_s.map(|window| format!("those of the last {}", words::seconds(window)));
    let most = most_lost.map(|most| words::many(most as usize, "commit"));
    let limits: Vec<String> = most.into_iter().chain(window).collect();
    match limits.as_slice() {
        [] => "no limit is documented".into(),
        limits => format!("allowed: {}", limits.join(" and only ")),
    }
}

/// What was said of the first cut that broke the promise, or why none could be made.
pub fn said<'a>(told: &PromiseCuts<'a>, first: Option<&'a RuleView>) -> Option<&'a str> {
    match told.promise.cuts {
        0 => told.cuts.iter().find_map(|cut| cut.failed.as_deref()),
        _ => first?.example.as_deref(),
    }
}

/// The first line of a text as a part of a sentence, without the dot at its end; and apart from
/// it the lines that follow, under the words that announce them: "; the last lines of its log:".
pub fn sentence_and_log(text: &str) -> (&str, Option<(String, String)>) {
    let (first, lines) = text.split_once('\n').unwrap_or((text, ""));
    let (sentence, title) = match first.trim_end().strip_suffix(':') {
        Some(announced) => announced.rsplit_once("; ").unwrap_or((announced, "what it said")),
        None => (first, "what else it said"),
    };
    let lines = lines.trim_end();
    let log = (!lines.is_empty()).then(|| (words::capital(title), lines.to_owned()));
    (sentence.trim_end_matches('.'), log)
}
