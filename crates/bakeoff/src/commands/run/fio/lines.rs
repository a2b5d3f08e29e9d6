//! Splits a job file into sections, keys and values, each with its place.

use super::FioProblem;

pub struct FioLines<'a> {
    pub job: usize,
    /// The keys that apply to the job, one of each setting: the last line holds.
    pub keys: Vec<FioKey<'a>>,
}

#[derive(Clone, Copy)]
pub struct FioKey<'a> {
    pub name: &'a str,
    /// The text after `=`; `None` without one, which turns the key on.
    pub value: Option<&'a str>,
    pub line: usize,
    pub columns: (usize, usize),
}

impl FioKey<'_> {
    pub fn name_problem(&self, what: impl Into<String>) -> FioProblem {
        FioProblem { line: self.line, column: self.columns.0, what: what.into() }
    }

    pub fn problem_of_value(&self, what: impl Into<String>) -> FioProblem {
        FioProblem { line: self.line, column: self.columns.1, what: what.into() }
    }
}

/// Names of one setting, the usual one first: synonyms, a complement, a negation.
pub const SAME_SETTINGS: [[&str; 2]; 7] = [
    ["rw", "readwrite"],
    ["bs", "blocksize"],
    ["nrfiles", "nr_files"],
    ["runtime", "timeout"],
    ["stonewall", "wait_for_previous"],
    ["rwmixread", "rwmixwrite"],
    ["direct", "buffered"],
];

/// Returns the usual name of a key's setting.
pub fn find_setting(name: &str) -> &str {
    SAME_SETTINGS.iter().find(|names| names.contains(&name)).map_or(name, |names| names[0])
}

struct FioSection<'a> {
    line: usize,
    is_global: bool,
    keys: Vec<FioKey<'a>>,
}

impl FioSection<'_> {
    /// Whether its jobs wait for those before; `None` if it does not say so.
    fn waits(&self) -> Option<bool> {
        let mut keys = self.keys.iter().rev();
        keys.find(|key| find_setting(key.name) == "stonewall").map(|key| key.value != Some("0"))
    }
}

impl<'a> FioLines<'a> {
    pub fn read_lines(text: &'a str, problems: &mut Vec<FioProblem>) -> Self {
        let sections = read_sections(text, problems);
        let mut lines = Self { job: 1, keys: Vec::new() };
        // What is wrong with a line can hide a section.
        if !problems.is_empty() {
            return lines;
        }
        let Some(at) = sections.iter().position(|section| !section.is_global) else {
            let what = "there is no job: a section of any name but [global]".into();
            problems.push(FioProblem { line: 1, column: 1, what });
            return lines;
        };
        lines.job = sections[at].line;
        refuse_further_jobs(&sections, at, problems);
        // As in fio, a [global] below the job is not the job's.
        for key in sections.into_iter().take(at + 1).flat_map(|section| section.keys) {
            lines.keys.retain(|known| find_setting(known.name) != find_setting(key.name));
            lines.keys.push(key);
        }
        lines
    }
}

fn read_sections<'a>(text: &'a str, problems: &mut Vec<FioProblem>) -> Vec<FioSection<'a>> {
    let mut sections: Vec<FioSection<'a>> = Vec::new();
    let mut is_told = false;
    for (number, whole) in (1..).zip(text.lines()) {
        let line = strip_comment(whole).trim();
        let column = 1 + count_letters(&whole[..whole.len() - whole.trim_start().len()]);
        let mut wrong = |what: &str| {
            problems.push(FioProblem { line: number, column, what: what.into() });
        };
        if line.is_empty() {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            if !section.ends_with(']') {
                wrong("a section ends with `]`");
            }
            // To fio [global2] is global, too.
            let is_global = section.starts_with("global");
            sections.push(FioSection { line: number, is_global, keys: Vec::new() });
        } else if line == "include" || line.starts_with("include ") {
            wrong("bakeoff reads no includes: put the lines of that file here");
        } else if let Some(section) = sections.last_mut() {
            section.keys.push(parse_key(line, number, column));
        } else if !is_told {
            wrong("a key stands before the first section, as [job]");
            is_told = true;
        }
    }
    sections
}

fn refuse_further_jobs(sections: &[FioSection<'_>], first: usize, problems: &mut Vec<FioProblem>) {
    let further: Vec<_> = sections[first + 1..].iter().filter(|it| !it.is_global).collect();
    let Some(second) = further.first() else { return };
    let all_wait =
        sections.iter().filter(|it| it.is_global).filter_map(FioSection::waits).next_back();
    let waits = |job: &&FioSection<'_>| job.waits().or(all_wait) == Some(true);
    let how = if further.iter().all(waits) { "one after the other" } else { "at once" };
    let what = format!(
        "bakeoff runs one job, and fio runs the {} jobs of this file {how}: make a file of each, with the \
         lines of [global]",
        further.len() + 1
    );
    problems.push(FioProblem { line: second.line, column: 1, what });
}

/// As fio: a comment needs no blank before it.
fn strip_comment(line: &str) -> &str {
    line.find([';', '#']).map_or(line, |at| &line[..at])
}

fn parse_key(line: &str, number: usize, column: usize) -> FioKey<'_> {
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim_end(), Some(value.trim_start())),
        None => (line, None),
    };
    let before = value.map_or(0, |value| count_letters(&line[..line.len() - value.len()]));
    FioKey { name, value, line: number, columns: (column, column + before) }
}

fn count_letters(text: &str) -> usize {
    text.chars().count()
}
