//! Checks that run folders belong to one plan and one program, and lists all differences.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::Run;

use crate::exit::{CommandFailure, Exit};

const NAMES: usize = 8;

pub struct MergeTerms<'a> {
    pub name: String,
    pub run: &'a Run,
    pub experiment: &'a str,
    pub plan: &'a str,
    /// The SHA-256 of the program; `None` if an older bakeoff has not recorded it.
    pub program: Option<&'a str>,
    pub count: u32,
}

/// Refuses runs of different plans or programs, and lists all differences.
pub fn check_alike<'a>(
    first: &MergeTerms<'_>,
    others: impl IntoIterator<Item = MergeTerms<'a>>,
) -> Result<(), CommandFailure> {
    let others: Vec<MergeTerms<'a>> = others.into_iter().collect();
    let all: Vec<&MergeTerms<'_>> = std::iter::once(first).chain(&others).collect();
    let told = find_differences(&all);
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
    let lines: String = told.iter().map(|it| format!("\n  {}", it.to_line())).collect();
    let text = format!(
        "{one} and {} can't be one run:{lines}\nMerge shards of one experiment, seed and bakeoff alone",
        first_of(&names)
    );
    Err(CommandFailure::new(Exit::Folder, text))
}

/// A difference between runs: its name with a verb, each value, and the folders that have it.
struct RunDifference {
    what: String,
    values: Vec<(String, Vec<String>)>,
}

impl RunDifference {
    /// Notes that a folder has a value. A folder named twice is noted once.
    fn add_value(&mut self, value: String, name: &str) {
        match self.values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) if names.iter().any(|known| known == name) => {}
            Some((_, names)) => names.push(name.to_owned()),
            None => self.values.push((value, vec![name.to_owned()])),
        }
    }

    /// Example: "`seed` is 42 in one, 77 in two, three". Lists few of the folders with the
    /// commonest value, and all others.
    fn to_line(&self) -> String {
        let count = |at: &usize| self.values[*at].1.len();
        let usual = (0..self.values.len()).rev().max_by_key(count);
        let values = self.values.iter().enumerate().map(|(at, (value, names))| {
            let names = if Some(at) == usual { first_of(names) } else { names.join(", ") };
            format!("{value} in {names}")
        });
        format!("{} {}", self.what, values.collect::<Vec<_>>().join(", "))
    }
}

fn first_of(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMES)].join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn find_differences(all: &[&MergeTerms<'_>]) -> Vec<RunDifference> {
    let keys = all.iter().flat_map(|it| experiment_keys(it.experiment)).map(|(key, _)| key);
    let keys: BTreeSet<&str> = keys.collect();
    // Texts are compared by their place, too: it is the same within a plan.
    let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
    for it in all {
        texts.entry(it.plan).or_insert(&it.run.text);
    }
    let mut told: Vec<RunDifference> = Vec::new();
    for it in all {
        let text = texts.get(it.plan).copied().unwrap_or_default();
        for (what, value) in collect_facts(it, &keys, text) {
            match told.iter_mut().find(|known| known.what == what) {
                Some(known) => known.add_value(value, &it.name),
                None => {
                    told.push(RunDifference { what, values: vec![(value, vec![it.name.clone()])] })
                }
            }
        }
    }
    told.retain(|it| it.values.len() > 1);
    told
}

fn collect_facts(it: &MergeTerms<'_>, keys: &BTreeSet<&str>, text: &str) -> Vec<(String, String)> {
    let MergeTerms { run, .. } = it;
    let fact = |what: &str, value: &str| (what.to_owned(), value.to_owned());
    let own: BTreeMap<&str, &str> = experiment_keys(it.experiment).collect();
    let mut facts = vec![
        fact("bakeoff is", &run.version),
        fact("bakeoff's build is", build_kind(run)),
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
        facts
            .push(fact(&format!("the settings of {name} are"), &format_settings(&engine.settings)));
    }
    facts.push(fact("what can't be run is", &left_out(run)));
    facts.push(fact("the text is", text));
    facts.push(fact("the plan is", it.plan));
    facts
}

fn build_kind(run: &Run) -> &'static str {
    if run.debug_build { "a debug build" } else { "optimised" }
}

fn left_out(run: &Run) -> String {
    let lines: Vec<String> =
        run.left_out.iter().map(bakeoff_lab::plan::describe_left_out).collect();
    if lines.is_empty() { "nothing".into() } else { lines.join("; ") }
}

/// The keys and values of an experiment, without the places of files.
fn experiment_keys(experiment: &str) -> impl Iterator<Item = (&str, &str)> {
    let keys = experiment.lines().filter_map(|line| line.split_once(" = "));
    keys.filter(|(key, _)| !["text", "rows_from"].contains(key))
}

fn format_settings(all: &[(String, String)]) -> String {
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
        let keys: Vec<_> = experiment_keys(toml).collect();
        assert_eq!(keys, [("name", "\"a\""), ("seconds", "0.5")]);
    }

    #[test]
    fn each_value_is_told_with_all_folders_that_have_it() {
        let mut told = RunDifference { what: "`seed` is".into(), values: Vec::new() };
        for (value, name) in [("1", "a"), ("2", "b"), ("3", "c"), ("2", "d"), ("1", "a")] {
            told.add_value(value.into(), name);
        }
        assert_eq!(told.to_line(), "`seed` is 1 in a, 2 in b, d, 3 in c");
        // Who looks for the folders to leave out has to find each: but one value's can be counted alone.
        let many = |told: &mut RunDifference, value: &str, letter: &str| {
            (0..10).for_each(|number| told.add_value(value.into(), &format!("{letter}{number}")));
        };
        many(&mut told, "4", "x");
        many(&mut told, "5", "y");
        let line = told.to_line();
        assert!(line.contains("4 in x0, x1, x2, x3, x4, x5, x6, x7 and 2 more, 5 in y0"), "{line}");
        assert!(line.ends_with("y7, y8, y9"), "{line}");
    }
}
