//! The lines of a job file: sections, keys and their values, each with its place.

use super::FioProblem;

/// The keys of a job file's global section and of its one job.
pub struct FioLines<'a> {
    /// Where the job begins: its line.
    pub job: usize,
    /// The keys that hold for it; of two of one name in two sections the job's own.
    pub keys: Vec<FioKey<'a>>,
}

/// A key with its value.
#[derive(Clone, Copy)]
pub struct FioKey<'a> {
    pub name: &'a str,
    /// What stands behind `=`; `None` where nothing does, which turns the key on.
    pub value: Option<&'a str>,
    pub line: usize,
    /// Of its name, and of its value.
    pub columns: (usize, usize),
    is_global: bool,
}

impl FioKey<'_> {
    /// Something that is wrong with its name.
    pub fn problem(&self, what: impl Into<String>) -> FioProblem {
        FioProblem { line: self.line, column: self.columns.0, what: what.into() }
    }

    /// Something that is wrong with its value.
    pub fn problem_of_value(&self, what: impl Into<String>) -> FioProblem {
        FioProblem { line: self.line, column: self.columns.1, what: what.into() }
    }
}

/// The section whose keys hold for all jobs.
const GLOBAL: &str = "global";

impl<'a> FioLines<'a> {
    /// Reads them; notes what is wrong.
    pub fn read(text: &'a str, problems: &mut Vec<FioProblem>) -> Self {
        let mut lines = Self { job: 1, keys: Vec::new() };
        // Whether the section that is read is the global one, and how many jobs there were.
        let (mut is_global, mut jobs) = (None, 0);
        for (number, whole) in (1..).zip(text.lines()) {
            let line = whole.trim();
            let column = 1 + letters(&whole[..whole.len() - whole.trim_start().len()]);
            let mut wrong = |what: String| problems.push(FioProblem { line: number, column, what });
            if line.is_empty() || line.starts_with([';', '#']) {
                continue;
            }
            if let Some(section) = line.strip_prefix('[') {
                let Some(name) = section.strip_suffix(']') else {
                    wrong("a section ends with `]`".into());
                    continue;
                };
                is_global = Some(name == GLOBAL);
                if name != GLOBAL {
                    jobs += 1;
                    lines.job = if jobs == 1 { number } else { lines.job };
                }
                if jobs > 1 && name != GLOBAL {
                    wrong(
                        "bakeoff runs one job, and fio runs all at once: make a file of each"
                            .into(),
                    );
                }
                continue;
            }
            if line == "include" || line.starts_with("include ") {
                wrong("bakeoff reads no includes: put the lines of that file here".into());
                continue;
            }
            let Some(is_global) = is_global else {
                wrong("a key stands before the first section, as [job]".into());
                continue;
            };
            lines.keys.push(key(line, number, column, is_global));
        }
        if jobs == 0 {
            let what = "there is no job: a section of any name but [global]".into();
            problems.push(FioProblem { line: 1, column: 1, what });
        }
        lines.merge(problems);
        lines
    }

    /// Leaves one key of each name: the job's own before a global one. Two in one section are a mistake.
    fn merge(&mut self, problems: &mut Vec<FioProblem>) {
        let mut merged: Vec<FioKey<'a>> = Vec::new();
        for key in std::mem::take(&mut self.keys) {
            let Some(at) = merged.iter().position(|known| known.name == key.name) else {
                merged.push(key);
                continue;
            };
            if merged[at].is_global == key.is_global {
                let first = merged[at].line;
                let what = format!(
                    "`{}` stands in line {first} already: leave one of the two out",
                    key.name
                );
                problems.push(key.problem(what));
            } else if merged[at].is_global {
                merged[at] = key;
            }
        }
        self.keys = merged;
    }
}

fn key(line: &str, number: usize, column: usize, is_global: bool) -> FioKey<'_> {
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim_end(), Some(value.trim_start())),
        None => (line, None),
    };
    let before = value.map_or(0, |value| letters(&line[..line.len() - value.len()]));
    FioKey { name, value, line: number, columns: (column, column + before), is_global }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}
