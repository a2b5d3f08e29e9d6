//! What is said of a word that a command does not take.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::output::by_own_name;

/// How clap's advice begins to put `--` before a word, which makes a flag that is wrong no more right.
const NO_ADVICE: &str = "to pass ";

/// Flags that other programs have, the commands after which they are typed, and what bakeoff has for them.
const OF_OTHERS: [(&str, &[&str], &str); 4] = [
    ("--duration", &["run"], "`--seconds S` says how long the clients of a trial run"),
    (
        "--json",
        &["run"],
        "`bakeoff report DIR --format json` prints a run as JSON, when it is over",
    ),
    ("--json", &["report", "compare"], "`--format json` prints JSON"),
    (
        "--sql",
        &["run"],
        "a script is named without a flag: bakeoff run FILE.sql; a folder of SQL is docs/application.md",
    ),
];

/// What is wrong with a command line of these words, where clap's own tip would not help.
pub fn explain_error(error: clap::Error, words: &[String], presets: &[&str]) -> clap::Error {
    match error.kind() {
        ErrorKind::UnknownArgument => of_flag(error, words),
        ErrorKind::InvalidSubcommand => of_command(error, presets),
        ErrorKind::ValueValidation => of_second_name(error, words),
        _ => error,
    }
}

/// A preset that stands where a command is to stand.
fn of_command(mut error: clap::Error, presets: &[&str]) -> clap::Error {
    let unknown = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(unknown)) if presets.contains(&unknown.as_str()) => {
            unknown.clone()
        }
        _ => return error,
    };
    error.remove(ContextKind::SuggestedSubcommand);
    let tip = by_own_name(&format!("`{unknown}` is a preset: bakeoff run {unknown}"));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// A name behind the first that is no script.
fn of_second_name(mut error: clap::Error, words: &[String]) -> clap::Error {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else {
        return error;
    };
    if let Some(tip) = explain_after_flags(&value.clone(), words) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn explain_after_flags(unknown: &str, words: &[String]) -> Option<String> {
    let mut after = words.iter().skip_while(|word| *word != "--").skip(1);
    after.any(|word| *word == unknown).then(|| {
        format!(
            "`--` ends the flags: `{unknown}` after it is no flag but one name more than the command takes; \
             leave `--` out if it is meant as a flag"
        )
    })
}

fn of_flag(mut error: clap::Error, words: &[String]) -> clap::Error {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let unknown = unknown.clone();
    let no_flag = explain_after_flags(&unknown, words);
    let known = of_others(&unknown, words).filter(|_| no_flag.is_none()).map(by_own_name);
    let is_known = known.is_some();
    if is_known {
        // It is like another flag by its letters alone.
        error.remove(ContextKind::SuggestedArg);
    }
    let tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    let helps = tips.into_iter().filter(|tip| !tip.to_string().starts_with(NO_ADVICE));
    let helps = helps.filter(|_| !is_known);
    let tips: Vec<_> = helps.chain(no_flag.or(known).map(Into::into)).collect();
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// What bakeoff has for a flag of other programs.
fn of_others(flag: &str, words: &[String]) -> Option<&'static str> {
    let command = words.iter().skip(1).find(|word| !word.starts_with('-'))?;
    let mut known = OF_OTHERS
        .iter()
        .filter(|(name, commands, _)| *name == flag && commands.contains(&command.as_str()));
    known.next().map(|(_, _, tip)| *tip)
}
