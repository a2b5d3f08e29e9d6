//! What is wrong with an experiment, told so that it can be mended: what, where, the valid
//! choices, and the nearest one.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::secret::{masked, without_passwords};

use annotate_snippets::{
    AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str as one_line,
};

/// Everything that is wrong with an experiment, or with the flags that change it.
///
/// Its text is whole: it needs no word before or after it.
#[derive(Clone, Debug)]
pub struct Error {
    problems: Vec<ExperimentProblem>,
}

impl Error {
    /// The text, in colours or plain.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let texts: Vec<String> =
            self.problems.iter().map(|problem| problem.render(&renderer)).collect();
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

/// A text that a user wrote: a file, or a flag with its value.
#[derive(Debug)]
pub(crate) struct SourceText {
    /// What the user calls it.
    pub(crate) name: String,
    /// All of it.
    pub(crate) text: String,
}

/// A piece of what a user wrote; without a span, no piece in particular.
#[derive(Clone, Debug)]
pub(crate) struct SourceSpan {
    pub(crate) source: Arc<SourceText>,
    pub(crate) span: Option<Range<usize>>,
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct LocatedValue<T> {
    pub(crate) value: T,
    pub(crate) place: SourceSpan,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct ExperimentProblem {
    title: String,
    place: Option<SourceSpan>,
    /// Where what it doesn't go with is.
    other: Option<Box<SourceSpan>>,
    helps: Vec<String>,
}

impl ExperimentProblem {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), place: None, other: None, helps: Vec::new() }
    }

    /// A message whose first line says what is wrong, and whose others say how to mend it.
    pub(crate) fn in_lines(message: &str) -> Self {
        let mut lines = message.lines();
        let problem = Self::new(lines.next().unwrap_or_default());
        lines.fold(problem, |problem, line| problem.help(line))
    }

    /// A name that is none of the valid ones.
    pub(crate) fn unknown(kind: &str, name: &str, valid: &[impl AsRef<str>]) -> Self {
        Self::new(format!("unknown {kind} `{name}`")).choices(name, valid)
    }

    /// Adds the name that was most likely meant instead of this one, and all that are valid.
    pub(crate) fn choices(self, name: &str, valid: &[impl AsRef<str>]) -> Self {
        self.meant(name, valid).valid(valid)
    }

    /// Adds the name of these that was most likely meant instead of this one.
    pub(crate) fn meant(self, name: &str, names: &[impl AsRef<str>]) -> Self {
        match nearest(name, names) {
            Some(nearest) => self.help(format!("did you mean `{nearest}`?")),
            None => self,
        }
    }

    /// Adds all names that are valid.
    pub(crate) fn valid(self, names: &[impl AsRef<str>]) -> Self {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        self.help(format!("valid: {}", names.join(", ")))
    }

    /// Adds a line on how to mend it.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.helps.push(help.into());
        self
    }

    /// Says where it is, unless that was said more exactly before.
    pub(crate) fn at(mut self, place: &SourceSpan) -> Self {
        self.place.get_or_insert_with(|| place.clone());
        self
    }

    /// Says where it is, and where what it doesn't go with is: the first two places that are told.
    pub(crate) fn and_at(mut self, place: &SourceSpan) -> Self {
        if self.place.is_none() {
            return self.at(place);
        }
        self.other.get_or_insert_with(|| Box::new(place.clone()));
        self
    }

    /// Where in its text it begins.
    pub(crate) fn start(&self) -> Option<usize> {
        self.place.as_ref()?.span.as_ref().map(|span| span.start)
    }

    fn render(&self, renderer: &Renderer) -> String {
        let title = without_passwords(&self.title);
        let mut group = Group::with_title(Level::ERROR.primary_title(one_line(&title)));
        for SourceSpan { source, span } in self.place.iter().chain(self.other.as_deref()) {
            group = match span {
                Some(span) => group.element(
                    Snippet::source(masked(&source.text))
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

/// The name that was most likely meant: one that begins with what was written, or that differs
/// from it in at most a third of its letters.
pub(crate) fn nearest<'a>(name: &str, valid: &'a [impl AsRef<str>]) -> Option<&'a str> {
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

/// Checks a name against all that there are; `kind` says what they are names of.
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
