//! The text of `bakeoff whatif`: what each change of a server's settings buys.

use std::fmt::Write as _;

use bakeoff_analysis::{
    EffectWord, LevelEffect, OperationEffect, WorkChange, WorkUnit, count_worthwhile,
};

use crate::words::{
    format_bytes, format_digits, format_ratio, format_seconds, join_list, mean_bytes,
};

/// A change, and what was found of it.
#[derive(Clone, Debug)]
pub struct SettingChange {
    pub setting: String,
    /// `None` where the server decides by itself.
    pub present: Option<String>,
    pub value: String,
    /// What a power cut does with it, where that differs from now.
    pub promise: Option<&'static str>,
    pub found: ChangeOutcome,
}

#[derive(Clone, Debug)]
pub enum ChangeOutcome {
    /// In the words of the server.
    Refused(String),
    Measured {
        screened: Box<LevelEffect>,
        /// On fresh blocks.
        confirmed: Option<Box<LevelEffect>>,
    },
}

/// Everything that the text tells.
#[derive(Clone, Debug)]
pub struct WhatIfReport {
    pub engine: String,
    /// The URL or the file.
    pub server: String,
    pub version: Option<String>,
    pub twin_version: String,
    pub data_bytes: Option<u64>,
    pub workload: String,
    /// What all trials have in common.
    pub terms: String,
    /// What a power cut does now.
    pub promise: &'static str,
    pub changes: Vec<SettingChange>,
    /// Places in `changes`, in the order in which they were added.
    pub added: Vec<usize>,
    /// One for each of them, against the step before.
    pub steps: Vec<LevelEffect>,
    /// All that is worth it, against the present settings.
    pub together: Option<LevelEffect>,
    pub left_out: Vec<String>,
    pub unread: Vec<String>,
    /// The folders of the runs.
    pub runs: Vec<String>,
}

impl SettingChange {
    fn describe_values(&self) -> String {
        let present = self.present.as_deref().unwrap_or("by itself");
        format!("{} {present} → {}", self.setting, self.value)
    }

    /// The last word on it.
    fn effect(&self) -> Option<&LevelEffect> {
        match &self.found {
            ChangeOutcome::Refused(_) => None,
            ChangeOutcome::Measured { screened, confirmed } => {
                Some(confirmed.as_deref().unwrap_or(screened))
            }
        }
    }

    fn is_confirmed(&self) -> bool {
        matches!(&self.found, ChangeOutcome::Measured { confirmed: Some(_), .. })
    }
}

/// The whole text, for a terminal and a file.
pub fn write_what_if(report: &WhatIfReport) -> String {
    let mut text = write_head(report);
    let (promised, speed): (Vec<_>, Vec<_>) =
        report.changes.iter().partition(|change| change.promise.is_some());
    text += "\ntimes as fast         the change, and what it changed for an operation\n";
    text += &write_lane(speed);
    if !promised.is_empty() {
        let _ = writeln!(text, "\nThe price of the promise. Now the server {}.", report.promise);
        text += &write_lane(promised);
    }
    text + "\n" + &write_advice(report) + &write_notes(report)
}

fn write_head(report: &WhatIfReport) -> String {
    let WhatIfReport { engine, server, workload, terms, .. } = report;
    let mut text = format!("What would each setting buy? {engine} with the settings of {server}\n");
    let _ = writeln!(text, "workload {workload}; {terms}");
    let differs = |version: &&String| !version.starts_with(&*report.twin_version);
    if let Some(version) = report.version.as_ref().filter(differs) {
        let _ = writeln!(text, "the server is {version}, its private twin {}", report.twin_version);
    }
    if let Some(bytes) = report.data_bytes.filter(|bytes| *bytes > 0) {
        let _ = writeln!(
            text,
            "the server's database has {}; what a cache buys depends on that",
            format_bytes(bytes)
        );
    }
    text
}

fn write_lane(mut changes: Vec<&SettingChange>) -> String {
    let speed = |change: &SettingChange| change.effect().map_or(0.0, LevelEffect::mean_speed);
    changes.sort_by(|one, other| speed(other).total_cmp(&speed(one)));
    changes.into_iter().map(write_change).collect()
}

fn write_change(change: &SettingChange) -> String {
    let effect = match (&change.found, change.effect()) {
        (ChangeOutcome::Refused(why), _) => {
            let why = why.lines().next().unwrap_or_default();
            return format!("{:<21} {}: {why}\n", "not tried", change.describe_values());
        }
        (_, None) => return String::new(),
        (_, Some(effect)) => effect,
    };
    let Some((first, others)) = effect.operations.split_first() else {
        let why = effect.failure.as_deref().and_then(|it| it.lines().next());
        let why = why.unwrap_or("no trial counts");
        return format!("{:<21} {}: {why}\n", "failed", change.describe_values());
    };
    let several = !others.is_empty();
    let mut text = format!("{:<21} {}", format_speed(first), change.describe_values());
    if several {
        let _ = write!(text, ", {}", first.operation);
    }
    let word = match effect.word() {
        EffectWord::Undecided if effect.operations.iter().all(is_above) => {
            "faster, perhaps by less than 5 %"
        }
        EffectWord::Undecided => "not decided",
        EffectWord::None => "no difference",
        EffectWord::Gain if change.is_confirmed() => "confirmed",
        EffectWord::Gain if change.promise.is_none() => "not confirmed",
        EffectWord::Mixed => "faster and slower",
        EffectWord::Gain | EffectWord::Loss | EffectWord::Failed => "",
    };
    let promise = change.promise.map(|promise| format!("it {promise}"));
    let word = Some(word).filter(|it| !it.is_empty()).map(str::to_owned);
    let causes = effect.causes.iter().map(write_cause);
    let rest: Vec<String> = word.into_iter().chain(promise).chain(causes).collect();
    if !rest.is_empty() {
        let _ = write!(text, ": {}", rest.join("; "));
    }
    text.push('\n');
    for other in others {
        let _ = writeln!(text, "{:<21} … {}", format_speed(other), other.operation);
    }
    text
}

fn is_above(effect: &OperationEffect) -> bool {
    effect.low.is_some_and(|low| low > 1.0)
}

/// "2.31 (2.20 to 2.42)".
fn format_speed(effect: &OperationEffect) -> String {
    let Some(speed) = effect.speed else { return "no pair".into() };
    match effect.low.zip(effect.high) {
        Some((low, high)) => {
            format!("{} ({} to {})", format_ratio(speed), format_ratio(low), format_ratio(high))
        }
        None => format_ratio(speed),
    }
}

/// "syncs 1.03 → 2.03".
fn write_cause(change: &WorkChange) -> String {
    let format: fn(f64) -> String = match change.unit {
        WorkUnit::Count => format_digits,
        WorkUnit::Bytes => mean_bytes,
        WorkUnit::Seconds => format_seconds,
    };
    format!("{} {} → {}", change.what, format(change.from), format(change.to))
}

/// What to do, the difference of the configuration, and how to undo it.
fn write_advice(report: &WhatIfReport) -> String {
    let worth = choose_worthwhile(report);
    let Some(together) = &report.together else {
        return advise_nothing(report);
    };
    let names: Vec<String> =
        worth.iter().map(|it| format!("{} = {}", it.setting, it.value)).collect();
    let speeds: Vec<String> = together.operations.iter().map(describe_gain).collect();
    let mut text = format!(
        "Worth it: {}: {}. Confirmed on fresh blocks, on 1 machine.\n",
        join_list(&names),
        join_list(&speeds)
    );
    for change in &worth {
        if let Some(present) = &change.present {
            let _ = writeln!(text, "  - {} = {present}", change.setting);
        }
        let _ = writeln!(text, "  + {} = {}", change.setting, change.value);
    }
    let undo: Vec<String> = worth
        .iter()
        .map(|it| match &it.present {
            Some(present) => format!("{} = {present}", it.setting),
            None => format!("{} left out", it.setting),
        })
        .collect();
    let _ = writeln!(
        text,
        "To undo it: {}. Reload the server after it, or restart it.",
        join_list(&undo)
    );
    text
}

fn advise_nothing(report: &WhatIfReport) -> String {
    let is_open = |change: &&SettingChange| {
        let word = change.effect().map(LevelEffect::word);
        change.is_confirmed() && word == Some(EffectWord::Undecided)
    };
    let open: Vec<String> =
        report.changes.iter().filter(is_open).map(SettingChange::describe_values).collect();
    let none = "No change was shown to be worth it for this work: keep the settings.\n";
    if open.is_empty() {
        return none.to_owned();
    }
    format!(
        "{none}Tried again and not decided: {}. Longer trials may decide: --seconds 10.\n",
        join_list(&open)
    )
}

fn choose_worthwhile(report: &WhatIfReport) -> Vec<&SettingChange> {
    let steps = count_worthwhile(&report.steps);
    report.added.iter().take(steps).map(|place| &report.changes[*place]).collect()
}

fn describe_gain(effect: &OperationEffect) -> String {
    let speed = format!("{} times as fast", format_speed(effect));
    if effect.operation == bakeoff_analysis::ALL_OPERATIONS {
        return speed;
    }
    format!("{} {speed}", effect.operation)
}

fn write_notes(report: &WhatIfReport) -> String {
    let mut text = String::new();
    if !report.left_out.is_empty() {
        let _ = writeln!(
            text,
            "The twin lacks what only the server may have: {}.",
            report.left_out.join(", ")
        );
    }
    if !report.unread.is_empty() {
        let _ = writeln!(text, "Not read: {}.", report.unread.join(", "));
    }
    if !report.runs.is_empty() {
        let _ = writeln!(text, "The runs: {}", report.runs.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use bakeoff_analysis::Verdict;

    use super::*;

    fn effect(speed: f64, verdict: Verdict) -> LevelEffect {
        LevelEffect {
            from: "a".into(),
            to: "b".into(),
            operations: vec![OperationEffect {
                operation: "all operations".into(),
                speed: Some(speed),
                low: Some(speed * 0.95),
                high: Some(speed * 1.05),
                pairs: 5,
                verdict,
            }],
            causes: vec![WorkChange {
                what: "syncs".into(),
                unit: WorkUnit::Count,
                from: 1.03,
                to: 2.03,
            }],
            failure: None,
        }
    }

    fn change(setting: &str, value: &str, found: ChangeOutcome) -> SettingChange {
        SettingChange {
            setting: setting.into(),
            present: Some("4MB".into()),
            value: value.into(),
            promise: None,
            found,
        }
    }

    fn measured(speed: f64, verdict: Verdict, is_confirmed: bool) -> ChangeOutcome {
        let screened = Box::new(effect(speed, verdict));
        let confirmed = is_confirmed.then(|| screened.clone());
        ChangeOutcome::Measured { screened, confirmed }
    }

    #[test]
    fn what_weakens_the_promise_is_priced_and_never_advised() {
        let sorts = change("work_mem", "64MB", measured(2.3, Verdict::Faster, true));
        let useless = change("jit", "off", measured(1.0, Verdict::Same, false));
        let refused = change("bogus", "1", ChangeOutcome::Refused("unknown setting\nmore".into()));
        let weak = SettingChange {
            promise: Some("may lose up to a second at a power cut"),
            ..change("synchronous_commit", "off", measured(9.0, Verdict::Faster, false))
        };
        let mut report = WhatIfReport {
            engine: "postgres".into(),
            server: "postgres://db/shop".into(),
            version: Some("16.1".into()),
            twin_version: "15.2".into(),
            data_bytes: Some(1_200_000_000),
            workload: "shop".into(),
            terms: "8 clients".into(),
            promise: "keeps every commit at a power cut",
            changes: vec![useless, weak, sorts, refused],
            added: vec![2],
            steps: vec![effect(2.3, Verdict::Faster)],
            together: Some(effect(2.3, Verdict::Faster)),
            left_out: vec!["archive_command".into()],
            unread: Vec::new(),
            runs: vec!["w/screen".into()],
        };
        let text = write_what_if(&report);
        let (speed, price) = text.split_once("The price of the promise").unwrap();
        assert!(speed.find("work_mem").unwrap() < speed.find("jit").unwrap(), "{text}");
        assert!(speed.contains("jit 4MB → off: no difference"), "{text}");
        assert!(speed.contains("not tried             bogus 4MB → 1: unknown setting\n"), "{text}");
        assert!(!speed.contains("synchronous_commit"), "{text}");
        let (lane, advice) = price.split_once("Worth it:").unwrap();
        assert!(lane.contains("9.00 (8.55 to 9.45)") && lane.contains("may lose up to a second"));
        assert!(!lane.contains("confirmed"), "{text}");
        assert!(advice.contains("  - work_mem = 4MB\n  + work_mem = 64MB\n"), "{text}");
        assert!(!advice.contains("synchronous_commit"), "{text}");
        assert!(lane.contains("syncs 1.03 → 2.03"), "{text}");

        (report.steps, report.together) = (vec![effect(1.0, Verdict::Same)], None);
        report.changes[2].found = measured(1.1, Verdict::Undecided, true);
        let text = write_what_if(&report);
        assert!(text.contains("not decided: work_mem 4MB → 64MB."), "{text}");
        assert!(text.contains("No change was shown to be worth it"), "{text}");
    }
}
