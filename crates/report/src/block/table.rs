//! Tables of cells whose text is ready to print.

use serde::{Serialize, Serializer};

use crate::figures::NONE;
use crate::verdict::HELD_BACK;

#[derive(Clone, Debug, Default, Serialize)]
pub struct ReportTable {
    pub caption: ReportCell,
    pub look: TableStyle,
    pub columns: Vec<ReportColumn>,
    pub rows: Vec<ReportRow>,
    pub note: Option<String>,
    #[serde(skip)]
    pub compact: Option<Box<ReportTable>>,
}

impl ReportTable {
    /// Leaves out columns without a figure in the rows that count.
    pub(crate) fn without_empty_columns(mut self, counts: impl Fn(&ReportRow) -> bool) -> Self {
        let mut kept: Vec<bool> = self.columns.iter().map(|it| it.kind.names_the_row()).collect();
        for row in self.rows.iter().filter(|row| counts(row)) {
            for (kept, cell) in kept.iter_mut().zip(&row.cells) {
                *kept |= !cell.text.is_empty() && cell.text != NONE;
            }
        }
        keep_marked(&mut self.columns, &kept);
        self.rows.iter_mut().for_each(|row| keep_marked(&mut row.cells, &kept));
        self
    }

    pub(crate) fn has_figures(&self) -> bool {
        !self.rows.is_empty() && self.columns.iter().any(|it| !it.kind.names_the_row())
    }
}

fn keep_marked<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().copied().unwrap_or(true));
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableStyle {
    #[default]
    Plain,
    Figures,
    /// Long cells, which stand below each other on a narrow screen.
    Promises,
    /// Sortable records: on a page alone, since CSV has them, too.
    Records,
}

#[derive(Clone, Debug, Serialize)]
pub struct ReportColumn {
    pub name: String,
    /// For narrow formats; `None` leaves the column out there.
    #[serde(skip)]
    pub short: Option<String>,
    pub kind: ColumnKind,
}

impl ReportColumn {
    pub fn from_factors(
        factors: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> impl Iterator<Item = Self> {
        factors.into_iter().map(|factor| Self::new(ColumnKind::Condition, factor.as_ref()))
    }

    pub fn new(kind: ColumnKind, name: impl Into<String>) -> Self {
        let name = name.into();
        Self { short: Some(name.clone()), name, kind }
    }

    pub fn with_short(self, short: Option<impl Into<String>>) -> Self {
        Self { short: short.map(Into::into), ..self }
    }
}

/// The page's style sheet has these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ColumnKind {
    #[serde(rename = "condition")]
    Condition,
    #[serde(rename = "name")]
    Name,
    #[serde(rename = "level")]
    Level,
    /// The state of a promise: `kept`, `broken` …
    #[serde(rename = "state")]
    State,
    #[serde(rename = "n")]
    Number,
    #[serde(rename = "n strong")]
    Main,
    /// A figure that may be broken, or has a long heading.
    #[serde(rename = "n long")]
    LongNumber,
    #[serde(rename = "v")]
    Verdict,
    #[serde(rename = "rule")]
    Finding,
    #[serde(rename = "code")]
    Code,
    #[serde(rename = "code long")]
    LongCode,
    #[serde(rename = "why")]
    Reason,
    /// Of any length: its beginning is shown.
    #[serde(rename = "note")]
    Remark,
    #[serde(rename = "")]
    Text,
}

impl ColumnKind {
    pub fn names_the_row(self) -> bool {
        matches!(self, Self::Condition | Self::Name | Self::Level | Self::State)
    }
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct ReportRow {
    pub cells: Vec<ReportCell>,
    /// The condition in words, where a narrow screen has no room for its columns.
    pub place: Option<String>,
    pub repeated: bool,
    pub bad: bool,
}

impl ReportRow {
    pub fn from_cells<C: Into<ReportCell>>(cells: impl IntoIterator<Item = C>) -> Self {
        Self { cells: cells.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ReportCell {
    pub text: String,
    pub tone: Tone,
    pub words: Vec<(String, Tone)>,
    pub style: Option<usize>,
    pub aside: Option<String>,
    pub marks: Vec<CellMark>,
}

impl ReportCell {
    pub fn verdict(word: impl Into<String>) -> Self {
        let text = word.into();
        Self { tone: Tone::from_word(&text), text, ..Self::default() }
    }
}

impl<T: Into<String>> From<T> for ReportCell {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Most cells are text alone: they serialize as a string.
impl Serialize for ReportCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct RichCell<'a> {
            text: &'a str,
            bad: bool,
            style: Option<usize>,
            aside: &'a Option<String>,
            marks: &'a [CellMark],
        }
        let Self { text, tone, style, aside, marks, .. } = self;
        let bad = *tone == Tone::Bad;
        if !bad && style.is_none() && aside.is_none() && marks.is_empty() {
            return text.serialize(serializer);
        }
        RichCell { text, bad, style: *style, aside, marks }.serialize(serializer)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Good,
    Bad,
    Open,
}

impl Tone {
    pub fn from_word(word: &str) -> Self {
        match word.trim_end_matches(HELD_BACK) {
            "faster" => Self::Good,
            "slower" | "no trial" | "no operation" | "not kept up" => Self::Bad,
            "undecided"
            | "spiky"
            | "too few"
            | "within noise"
            | "short of processors"
            | "never steady"
            | "void" => Self::Open,
            _ => Self::Plain,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct CellMark {
    pub text: &'static str,
    pub section: &'static str,
}
