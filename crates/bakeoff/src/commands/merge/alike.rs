//! Whether run folders are of one plan and one program, and all that differs where they are not.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{EngineFact, Run};

use crate::exit::{Exit, Failure};

/// Of one thing that differs so many values are told.
const VALUES: usize = 4;
/// Of the folders that have one value so many are named.
const NAMES: usize = 3;

/// What is held against each other of runs that are to be of one plan.
pub struct Terms<'a> {
    pub name: String,
    pub run: &'a Run,
    pub experiment: &'a str,
    pub plan: &'a str,
    /// The SHA-256 of the program; `None` where an older bakeoff has not recorded it.
    pub program: Option<&'a str>,
    pub count: u32,
}

/// Refuses runs of two plans or two programs, and says all in which others differ from the first.
pub fn check<'a>(
    first: &Terms<'_>,
    others: impl IntoIterator<Item = Terms<'a>>,
) -> Result<(), Failure> {
    let (mut told, mut names): (Vec<Told>, Vec<String>) = (Vec::new(), Vec::new());
    for other in others {
        let differences = differences(first, &other);
        if !differences.is_empty() {
            names.push(other.name.clone());
        }
        for Difference { what, own, others } in differences {
            match told.iter_mut().find(|it| it.what == what) {
                Some(known) => known.add(others, &other.name),
                None => {
                    let mut new = Told { what, values: vec![(own, vec![first.name.clone()])] };
                    new.add(others, &other.name);
                    told.push(new);
                }
            }
        }
    }
    if told.is_empty() {
        return Ok(());
    }
    let lines: String = told.iter().map(|it| format!("\n  {}", it.line())).collect();
    let text = format!(
        "{} and {} can't be one run:{lines}\nMerge shards of one experiment, seed and bakeoff alone",
        first.name,
        named(&names)
    );
    Err(Failure::new(Exit::Folder, text))
}

/// Something that differs between two runs: what it is, with a verb, and what it is in either.
struct Difference {
    what: String,
    own: String,
    others: String,
}

/// Something that differs between several runs: each value, and the folders that have it.
struct Told {
    what: String,
    values: Vec<(String, Vec<String>)>,
}

impl Told {
    /// Notes that a folder has a value.
    fn add(&mut self, value: String, name: &str) {
        match self.values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(name.to_owned()),
            None => self.values.push((value, vec![name.to_owned()])),
        }
    }

    /// "`seed` is 42 in one, 77 in two, three".
    fn line(&self) -> String {
        let shown = self.values.iter().take(VALUES);
        let shown = shown.map(|(value, names)| format!("{value} in {}", named(names)));
        let shown = shown.collect::<Vec<_>>().join(", ");
        match self.values.len().saturating_sub(VALUES) {
            0 => format!("{} {shown}", self.what),
            more => format!("{} {shown}, and {more} more values in others", self.what),
        }
    }
}

/// The first folders by their names, and how many more there are.
fn named(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMES)].join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// All in which two runs differ that are to be of one plan.
fn differences(one: &Terms<'_>, other: &Terms<'_>) -> Vec<Difference> {
    let both = [one, other];
    let mut found = unequal([
        ("bakeoff is", both.map(|it| it.run.version.clone())),
        ("bakeoff's build is", both.map(|it| build(it.run))),
        (
            "the SHA-256 of bakeoff's program is",
            both.map(|it| it.program.unwrap_or("not recorded").to_owned()),
        ),
    ]);
    found.extend(settled(one.experiment, other.experiment));
    found.extend(unequal([("the shards are", both.map(|it| it.count.to_string()))]));
    found.extend(engines(one.run, other.run));
    found.extend(unequal([("what can't be run is", both.map(|it| left_out(it.run)))]));
    // A text is told by where it lies, too: of one plan it is the same.
    if one.plan != other.plan {
        found.extend(unequal([
            ("the text is", both.map(|it| it.run.text.clone())),
            ("the plan is", both.map(|it| it.plan.to_owned())),
        ]));
    }
    found
}

/// The facts that are not the same in both.
fn unequal<const N: usize>(facts: [(&str, [String; 2]); N]) -> Vec<Difference> {
    let unequal = facts.into_iter().filter(|(_, [own, others])| own != others);
    let difference =
        |(what, [own, others]): (&str, [String; 2])| Difference { what: what.into(), own, others };
    unequal.map(difference).collect()
}

/// How bakeoff was built.
fn build(run: &Run) -> String {
    if run.debug_build { "a debug build".into() } else { "optimised".into() }
}

/// What of the experiment can't be had.
fn left_out(run: &Run) -> String {
    let lines: Vec<String> = run.left_out.iter().map(bakeoff_lab::possible::line).collect();
    if lines.is_empty() { "nothing".into() } else { lines.join("; ") }
}

/// The keys of two experiments that differ, where files lie aside.
fn settled(one: &str, other: &str) -> Vec<Difference> {
    let lines = |text: &str| -> BTreeMap<String, String> {
        let keys = text.lines().filter_map(|line| line.split_once(" = "));
        let keys = keys.filter(|(key, _)| !["text", "rows_from"].contains(key));
        keys.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    let both = [lines(one), lines(other)];
    let keys: BTreeSet<&String> = both.iter().flat_map(BTreeMap::keys).collect();
    let of = |key: &String| {
        both.each_ref().map(|it| it.get(key).cloned().unwrap_or_else(|| "not there".into()))
    };
    keys.into_iter().flat_map(|key| unequal([(&*format!("`{key}` is"), of(key))])).collect()
}

/// The engines whose versions or settings differ.
fn engines(one: &Run, other: &Run) -> Vec<Difference> {
    let settings = |all: &[(String, String)]| {
        let all = all.iter().map(|(level, settings)| format!("{level}: {settings}"));
        all.collect::<Vec<_>>().join("; ")
    };
    let of = |own: &EngineFact| {
        let others = other.engines.iter().find(|others| others.name == own.name)?;
        let both = [own, others];
        Some(unequal([
            (&*format!("{} is", own.name), both.map(|it| it.version.clone())),
            (&*format!("the settings of {} are", own.name), both.map(|it| settings(&it.settings))),
        ]))
    };
    one.engines.iter().filter_map(of).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_differs_is_told_with_both_values() {
        let one = "name = \"a\"\ntext = \"/here\"\nseconds = 0.5\nseed = 1\n";
        let other = "name = \"a\"\ntext = \"/there\"\nseconds = 0.6\nseed = 2\npriced = true\n";
        let told: Vec<[String; 3]> =
            settled(one, other).into_iter().map(|it| [it.what, it.own, it.others]).collect();
        let expected = [
            ["`priced` is", "not there", "true"],
            ["`seconds` is", "0.5", "0.6"],
            ["`seed` is", "1", "2"],
        ];
        assert_eq!(told, expected.map(|it| it.map(str::to_owned)));
    }

    #[test]
    fn folders_that_have_one_value_are_told_together_and_to_some_number() {
        let mut told =
            Told { what: "`seed` is".into(), values: vec![("1".into(), vec!["a".into()])] };
        for (value, name) in [("2", "b"), ("3", "c"), ("2", "d"), ("2", "e"), ("2", "f")] {
            told.add(value.into(), name);
        }
        assert_eq!(told.line(), "`seed` is 1 in a, 2 in b, d, e and 1 more, 3 in c");
        for (value, name) in [("4", "g"), ("5", "h"), ("6", "i")] {
            told.add(value.into(), name);
        }
        let end = "3 in c, 4 in g, and 2 more values in others";
        assert!(told.line().ends_with(end), "{}", told.line());
    }
}
