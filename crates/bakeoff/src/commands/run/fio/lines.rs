//! Splits a job file into sections, keys and values, each with its place.

use super::FioProblem;

pub struct FioLines<'a> {
    pub job: usize,
    /// The keys that apply to the job; its own key wins over a global one.
    pub keys: Vec<FioKey<'a>>,
}

#[derive(Clone, Copy)]
pub struct FioKey<'a> {
    pub name: &'a str,
    /// The text after `=`; `None` without one, which turns the key on.
    pub value: Option<&'a str>,
    pub line: usize,
    pub columns: (usize, usize),
    is_global: bool,
}

impl FioKey<'_> {
    pub fn name_problem(&self, what: impl Into<String>) -> FioProblem {
        FioProblem { line: self.line, column: self.columns.0, what: what.into() }
    }

    pub fn problem_of_value(&self, what: impl Into<String>) -> FioProblem {
        FioProblem { line: self.line, column: self.columns.1, what: what.into() }
    }
}

const GLOBAL: &str = "global";

impl<'a> FioLines<'a> {
    pub fn read_lines(text: &'a str, problems: &mut Vec<FioProblem>) -> Self {
        let mut lines = Self { job: 1, keys: Vec::new() };
        // Whether the current section is the global one, and the number of jobs so far.
        let (mut is_global, mut jobs) = (None, 0);
        for (number, whole) in (1..).zip(text.lines()) {
            let line = whole.trim();
            let column = 1 + count_letters(&whole[..whole.len() - whole.trim_start().len()]);
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
            lines.keys.push(parse_key(line, number, column, is_global));
        }
        if jobs == 0 {
            let what = "there is no job: a section of any name but [global]".into();
            problems.push(FioProblem { line: 1, column: 1, what });
        }
        lines.merge_keys(problems);
        lines
    }

    /// Keeps one key of each name: the job's own wins. Two in one section are an error.
    fn merge_keys(&mut self, problems: &mut Vec<FioProblem>) {
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
                problems.push(key.name_problem(what));
            } else if merged[at].is_global {
                merged[at] = key;
            }
        }
        self.keys = merged;
    }
}

fn parse_key(line: &str, number: usize, column: usize, is_global: bool) -> FioKey<'_> {
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim_end(), Some(value.trim_start())),
        None => (line, None),
    };
    let before = value.map_or(0, |value| count_letters(&line[..line.len() - value.len()]));
    FioKey { name, value, line: number, columns: (column, column + before), is_global }
}

fn count_letters(text: &str) -> usize {
    text.chars().count()
}
