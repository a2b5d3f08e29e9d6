//! Whether run folders are of one plan and one program, and all that differs where they are not.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::Run;

use crate::exit::{CommandFailure, Exit};

/// Of many folders so many are named.
const NAMES: usize = 8;

/// What is held against each other of runs that are to be of one plan.
pub struct MergeTerms<'a> {
    pub name: String,
    pub run: &'a Run,
    pub experiment: &'a str,
    pub plan: &'a str,
    /// The SHA-256 of the program; `None` where an older bakeoff has not recorded it.
    pub program: Option<&'a str>,
    pub count: u32,
}

/// Refuses runs of two plans or two programs, and says all in which they differ.
pub fn check<'a>(
    first: &MergeTerms<'_>,
    others: impl IntoIterator<Item = MergeTerms<'a>>,
) -> Result<(), CommandFailure> {
    let others: Vec<MergeTerms<'a>> = others.into_iter().collect();
    let all: Vec<&MergeTerms<'_>> = std::iter::once(first).chain(&others).collect();
    let told = differences(&all);
    let firsts = told.iter().filter_map(|it| it.values.first()).map(|(_, names)| names);
    let Some(one) = firsts.flatten().next() else { return Ok(()) };
    let mut names: Vec<String> = Vec::new();
    for (_, apart) in told.iter().flat_map(|it| it.values.iter().skip(1)) {
        for other in apart {
            if other != one && !names.contains(other) {
                names.push(other.clone());
            }
        }
    }
    let lines: String = told.iter().map(|it| format!("\n  {}", it.line())).collect();
    let text = format!(
        "{one} and {} can't be one run:{lines}\nMerge shards of one experiment, seed and bakeoff alone",
        first_of(&names)
    );
    Err(CommandFailure::new(Exit::Folder, text))
}

/// Something that differs between runs: what it is, with a verb, each value, and all folders that have it.
struct RunDifference {
    what: String,
    values: Vec<(String, Vec<String>)>,
}

impl RunDifference {
    /// Notes that a folder has a value. One that is named twice is noted once.
    fn add(&mut self, value: String, name: &str) {
        match self.values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) if names.iter().any(|known| known == name) => {}
            Some((_, names)) => names.push(name.to_owned()),
            None => self.values.push((value, vec![name.to_owned()])),
        }
    }

    /// "`seed` is 42 in one, 77 in two, three": of the value that most folders have the first of these, of any
    /// other all.
    fn line(&self) -> String {
        let count = |at: &usize| self.values[*at].1.len();
        let usual = (0..self.values.len()).rev().max_by_key(count);
        let values = self.values.iter().enumerate().map(|(at, (value, names))| {
            let names = if Some(at) == usual { first_of(names) } else { names.join(", ") };
            format!("{value} in {names}")
        });
        format!("{} {}", self.what, values.collect::<Vec<_>>().join(", "))
    }
}

/// The first folders by their names, and how many more there are.
fn first_of(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMES)].join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// All in which runs differ that are to be of one plan.
fn differences(all: &[&MergeTerms<'_>]) -> Vec<RunDifference> {
    let keys = all.iter().flat_map(|it| settled(it.experiment)).map(|(key, _)| key);
    let keys: BTreeSet<&str> = keys.collect();
    // A text is told by where it lies, too: of one plan it is the same.
    let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
    for it in all {
        texts.entry(it.plan).or_insert(&it.run.text);
    }
    let mut told: Vec<RunDifference> = Vec::new();
    for it in all {
        let text = texts.get(it.plan).copied().unwrap_or_default();
        for (what, value) in facts(it, &keys, text) {
            match told.iter_mut().find(|known| known.what == what) {
                Some(known) => known.add(value, &it.name),
                None => {
                    told.push(RunDifference { what, values: vec![(value, vec![it.name.clone()])] })
                }
            }
        }
    }
    told.retain(|it| it.values.len() > 1);
    told
}

/// What has to be the same in runs of one plan, as it is in one of them: what it is, with a verb, and its value.
/// `keys` are those of all their experiments.
fn facts(it: &MergeTerms<'_>, keys: &BTreeSet<&str>, text: &str) -> Vec<(String, String)> {
    let MergeTerms { run, .. } = it;
    let fact = |what: &str, value: &str| (what.to_owned(), value.to_owned());
    let own: BTreeMap<&str, &str> = settled(it.experiment).collect();
    let mut facts = vec![
        fact("bakeoff is", &run.version),
        fact("bakeoff's build is", build(run)),
        fact("the SHA-256 of bakeoff's program is", it.program.unwrap_or("not recorded")),
    ];
    for key in keys {
        let value = own.get(key).copied().unwrap_or("not there");
        facts.push(fact(&format!("`{key}` is"), value));
    }
    facts.push(fact("the number of shards is", &it.count.to_string()));
    for engine in &run.engines {
        let name = &engine.name;
        facts.push(fact(&format!("{name} is"), &engine.version));
        facts.push(fact(&format!("the settings of {name} are"), &settings(&engine.settings)));
    }
    facts.push(fact("what can't be run is", &left_out(run)));
    facts.push(fact("the text is", text));
    facts.push(fact("the plan is", it.plan));
    facts
}

/// How bakeoff was built.
fn build(run: &Run) -> &'static str {
    if run.debug_build { "a debug build" } else { "optimised" }
}

/// What of the experiment can't be had.
fn left_out(run: &Run) -> String {
    let lines: Vec<String> = run.left_out.iter().map(bakeoff_lab::possible::line).collect();
    if lines.is_empty() { "nothing".into() } else { lines.join("; ") }
}

/// The keys of an experiment with their values, where files lie aside.
fn settled(experiment: &str) -> impl Iterator<Item = (&str, &str)> {
    let keys = experiment.lines().filter_map(|line| line.split_once(" = "));
    keys.filter(|(key, _)| !["text", "rows_from"].contains(key))
}

/// An engine's settings at each of its levels.
fn settings(all: &[(String, String)]) -> String {
    let all = all.iter().map(|(level, settings)| format!("{level}: {settings}"));
    all.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_an_experiment_is_held_but_where_files_lie() {
        let toml =
            "name = \"a\"\ntext = \"/here\"\nrows_from = \"/rows\"\nseconds = 0.5\n[quick]\n";
        let keys: Vec<_> = settled(toml).collect();
        assert_eq!(keys, [("name", "\"a\""), ("seconds", "0.5")]);
    }

    #[test]
    fn each_value_is_told_with_all_folders_that_have_it() {
        let mut told = RunDifference { what: "`seed` is".into(), values: Vec::new() };
        for (value, name) in [("1", "a"), ("2", "b"), ("3", "c"), ("2", "d"), ("1", "a")] {
            told.add(value.into(), name);
        }
        assert_eq!(told.line(), "`seed` is 1 in a, 2 in b, d, 3 in c");
        // Who looks for the folders to leave out has to find each: but one value's can be counted alone.
        let many = |told: &mut RunDifference, value: &str, letter: &str| {
            (0..10).for_each(|number| told.add(value.into(), &format!("{letter}{number}")));
        };
        many(&mut told, "4", "x");
        many(&mut told, "5", "y");
        let line = told.line();
        assert!(line.contains("4 in x0, x1, x2, x3, x4, x5, x6, x7 and 2 more, 5 in y0"), "{line}");
        assert!(line.ends_with("y7, y8, y9"), "{line}");
    }
}
