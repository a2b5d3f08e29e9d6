//! Errors of an experiment, with their remedy: the error, its place, the valid choices, and the
//! nearest one.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::url_passwords::{mask_passwords, without_passwords};

use annotate_snippets::{
    AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str as one_line,
};

/// The text is complete: it needs no word before or after it.
#[derive(Clone, Debug)]
pub struct Error {
    problems: Vec<ExperimentProblem>,
}

/// So many mistakes are shown: each shows the line of its place, for which it reads the whole text.
pub const MOST_SHOWN: usize = 20;

/// Of so many mistakes; `None` if all are shown.
pub fn explain_unshown(all: usize) -> Option<String> {
    match all.saturating_sub(MOST_SHOWN) {
        0 => None,
        1 => Some("1 mistake more is not shown".to_owned()),
        more => Some(format!("{more} mistakes more are not shown")),
    }
}

impl Error {
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let shown = self.problems.iter().take(MOST_SHOWN);
        let mut texts: Vec<String> = shown.map(|problem| problem.render(&renderer)).collect();
        if let Some(unshown) = explain_unshown(self.problems.len()) {
            let rest = ExperimentProblem::new(unshown).with_help("mend these first");
            texts.push(rest.render(&renderer));
        }
        texts.join("\n\n")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Error {}

impl From<Vec<ExperimentProblem>> for Error {
    fn from(problems: Vec<ExperimentProblem>) -> Self {
        Self { problems }
    }
}

impl From<ExperimentProblem> for Error {
    fn from(problem: ExperimentProblem) -> Self {
        vec![problem].into()
    }
}

#[derive(Debug)]
pub(crate) struct SourceText {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Without a span, it means no piece in particular.
#[derive(Clone, Debug)]
pub(crate) struct SourceSpan {
    pub(crate) source: Arc<SourceText>,
    pub(crate) span: Option<Range<usize>>,
}

#[derive(Clone, Debug)]
pub(crate) struct LocatedValue<T> {
    pub(crate) value: T,
    pub(crate) place: SourceSpan,
}

#[derive(Clone, Debug)]
pub(crate) struct ExperimentProblem {
    title: String,
    place: Option<SourceSpan>,
    /// Where the other half of a contradiction is.
    other: Option<Box<SourceSpan>>,
    helps: Vec<String>,
}

impl ExperimentProblem {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), place: None, other: None, helps: Vec::new() }
    }

    /// The first line names the error, the others its remedy.
    pub(crate) fn in_lines(message: &str) -> Self {
        let mut lines = message.lines();
        let problem = Self::new(lines.next().unwrap_or_default());
        lines.fold(problem, |problem, line| problem.with_help(line))
    }

    pub(crate) fn unknown(kind: &str, name: &str, valid: &[impl AsRef<str>]) -> Self {
        Self::new(format!("unknown {kind} `{name}`")).with_choices(name, valid)
    }

    pub(crate) fn with_choices(self, name: &str, valid: &[impl AsRef<str>]) -> Self {
        self.with_nearest(name, valid).with_valid(valid)
    }

    pub(crate) fn with_nearest(self, name: &str, names: &[impl AsRef<str>]) -> Self {
        match find_nearest(name, names) {
            Some(nearest) => self.with_help(format!("did you mean `{nearest}`?")),
            None => self,
        }
    }

    pub(crate) fn with_valid(self, names: &[impl AsRef<str>]) -> Self {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        self.with_help(format!("valid: {}", names.join(", ")))
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.helps.push(help.into());
        self
    }

    /// Keeps an earlier place, which is more exact.
    pub(crate) fn at_place(mut self, place: &SourceSpan) -> Self {
        self.place.get_or_insert_with(|| place.clone());
        self
    }

    /// The first two places are shown.
    pub(crate) fn and_at(mut self, place: &SourceSpan) -> Self {
        if self.place.is_none() {
            return self.at_place(place);
        }
        self.other.get_or_insert_with(|| Box::new(place.clone()));
        self
    }

    pub(crate) fn start(&self) -> Option<usize> {
        self.place.as_ref()?.span.as_ref().map(|span| span.start)
    }

    fn render(&self, renderer: &Renderer) -> String {
        let title = without_passwords(&self.title);
        let mut group = Group::with_title(Level::ERROR.primary_title(one_line(&title)));
        for SourceSpan { source, span } in self.place.iter().chain(self.other.as_deref()) {
            group = match span {
                Some(span) => group.element(
                    Snippet::source(mask_passwords(&source.text))
                        .path(&source.name)
                        .annotation(AnnotationKind::Primary.span(span.clone())),
                ),
                None => group.element(Origin::path(&source.name)),
            };
        }
        let helps = self.helps.iter().map(|help| Level::HELP.message(one_line(help)));
        renderer.render(&[group.elements(helps)])
    }
}

/// Begins with the text, or differs in at most a third of its letters.
pub(crate) fn find_nearest<'a>(name: &str, valid: &'a [impl AsRef<str>]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let valid = || valid.iter().map(AsRef::as_ref);
    let distance = |other: &str| strsim::osa_distance(&name, &other.to_lowercase());
    valid()
        .map(|other| (distance(other), other))
        .filter(|&(distance, other)| distance <= other.len().max(3) / 3)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, other)| other)
        .or_else(|| valid().find(|other| name.len() >= 2 && other.starts_with(&name)))
}

pub(crate) fn one_of(
    kind: &str,
    text: &str,
    valid: &[impl AsRef<str>],
) -> Result<String, ExperimentProblem> {
    if valid.iter().any(|name| name.as_ref() == text) {
        return Ok(text.to_owned());
    }
    Err(ExperimentProblem::unknown(kind, text, valid))
}
