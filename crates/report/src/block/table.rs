//! Tables: rows of cells, as text that is ready to be set.

use serde::{Serialize, Serializer};

use crate::figures::NONE;
use crate::verdict::HELD_BACK;

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReportTable {
    /// What it shows.
    pub caption: ReportCell,
    /// How a page sets it.
    pub look: TableStyle,
    /// The columns.
    pub columns: Vec<ReportColumn>,
    /// The rows, each with a cell a column.
    pub rows: Vec<ReportRow>,
    /// A line below it.
    pub note: Option<String>,
    /// What a terminal shows in its stead.
    #[serde(skip)]
    pub compact: Option<Box<ReportTable>>,
}

impl ReportTable {
    /// Leaves out the columns of figures that say nothing in the rows that count.
    pub(crate) fn without_empty_columns(mut self, counts: impl Fn(&ReportRow) -> bool) -> Self {
        let mut kept: Vec<bool> = self.columns.iter().map(|it| it.kind.names_the_row()).collect();
        for row in self.rows.iter().filter(|row| counts(row)) {
            for (kept, cell) in kept.iter_mut().zip(&row.cells) {
                *kept |= !cell.text.is_empty() && cell.text != NONE;
            }
        }
        keep(&mut self.columns, &kept);
        self.rows.iter_mut().for_each(|row| keep(&mut row.cells, &kept));
        self
    }

    /// Whether it has a figure at all.
    pub(crate) fn has_figures(&self) -> bool {
        !self.rows.is_empty() && self.columns.iter().any(|it| !it.kind.names_the_row())
    }
}

/// Drops what stands at the other places.
fn keep<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().copied().unwrap_or(true));
}

/// How a page sets a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableStyle {
    /// Rows that have nothing to do with each other.
    #[default]
    Plain,
    /// Rows in groups that share a condition.
    Figures,
    /// Rows of long cells, which stand below each other on a narrow screen.
    Promises,
    /// Every record of something, to be sorted: on a page alone, CSV has them as well.
    Records,
}

/// A column of a table.
#[derive(Clone, Debug, Serialize)]
pub struct ReportColumn {
    /// Its heading.
    pub name: String,
    /// The heading where there is little room; `None` where there is no room for the column.
    #[serde(skip)]
    pub short: Option<String>,
    /// What is in it.
    pub kind: ColumnKind,
}

impl ReportColumn {
    /// A column whose heading is the same everywhere.
    pub fn new(kind: ColumnKind, name: impl Into<String>) -> Self {
        let name = name.into();
        Self { short: Some(name.clone()), name, kind }
    }

    /// The same with another heading, or none, where there is little room.
    pub fn short(self, short: Option<impl Into<String>>) -> Self {
        Self { short: short.map(Into::into), ..self }
    }
}

/// What is in a column, in the words of the page's style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ColumnKind {
    /// A level that several rows share.
    #[serde(rename = "condition")]
    Condition,
    /// What the row is of.
    #[serde(rename = "name")]
    Name,
    /// More of its name.
    #[serde(rename = "level")]
    Level,
    /// How it stands: `kept`, `broken` …
    #[serde(rename = "state")]
    State,
    /// A figure.
    #[serde(rename = "n")]
    Number,
    /// The figure that the eye looks for.
    #[serde(rename = "n strong")]
    Main,
    /// A figure that may be broken, or has a long heading.
    #[serde(rename = "n long")]
    LongNumber,
    /// A word of judgement.
    #[serde(rename = "v")]
    Verdict,
    /// What was found, in words.
    #[serde(rename = "rule")]
    Finding,
    /// What a computer reads.
    #[serde(rename = "code")]
    Code,
    /// The same, of any length.
    #[serde(rename = "code long")]
    LongCode,
    /// A reason.
    #[serde(rename = "why")]
    Reason,
    /// A remark of any length, of which the beginning is shown.
    #[serde(rename = "note")]
    Remark,
    /// Anything else.
    #[serde(rename = "")]
    Text,
}

impl ColumnKind {
    /// Whether it says what a row is of, and is no figure.
    pub fn names_the_row(self) -> bool {
        matches!(self, Self::Condition | Self::Name | Self::Level | Self::State)
    }
}

/// A row of a table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReportRow {
    /// A cell a column.
    pub cells: Vec<ReportCell>,
    /// The condition of this row and those that follow, in words: a narrow screen has no room for its
    /// columns.
    pub place: Option<String>,
    /// Whether its condition is that of the row above.
    pub repeated: bool,
    /// Whether something is wrong with all that it says.
    pub bad: bool,
}

impl ReportRow {
    /// A row of such cells.
    pub fn from_cells<C: Into<ReportCell>>(cells: impl IntoIterator<Item = C>) -> Self {
        Self { cells: cells.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct ReportCell {
    /// What it says.
    pub text: String,
    /// How that is meant.
    pub tone: Tone,
    /// Words of its text that are meant in another way than the rest.
    pub words: Vec<(String, Tone)>,
    /// The number of the style of what it names: a page shows its sign.
    pub style: Option<usize>,
    /// What is said beside it.
    pub aside: Option<String>,
    /// What is wrong with what it names.
    pub marks: Vec<CellMark>,
}

impl ReportCell {
    /// A word of judgement.
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

/// Most cells are their text alone, and there can be a great many.
impl Serialize for ReportCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Rich<'a> {
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
        Rich { text, bad, style: *style, aside, marks }.serialize(serializer)
    }
}

/// How something is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// A good thing.
    Good,
    /// A bad thing.
    Bad,
    /// An open question.
    Open,
}

impl Tone {
    /// Of a word of judgement.
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

/// Something that is wrong with what a cell names.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CellMark {
    /// What, in a word or two.
    pub text: &'static str,
    /// The name of the section that says more.
    pub section: &'static str,
}
