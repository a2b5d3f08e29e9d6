//! Cells and rows: what goes into a statement and what comes out of one.

/// One cell, borrowed from whoever holds it.
///
/// The order is the order of every index: `Null` first, then integers, then text by its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value<'a> {
    /// No value; equal to nothing in a condition, not even to itself.
    Null,
    /// A signed 64-bit integer; times are microseconds since 1970, booleans 0 and 1.
    Int(i64),
    /// UTF-8 text.
    Text(&'a str),
}

impl<'a> From<i64> for Value<'a> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}

#[derive(Clone, Copy, Debug)]
enum RowCell {
    Null,
    Int(i64),
    /// Where the text stands in the buffer, in bytes.
    Text {
        start: usize,
        end: usize,
    },
}

/// A reusable table of cells, `width` columns wide: a session writes its answer into it.
///
/// Once it has grown to the largest answer it allocates no more, so that a client's loop
/// measures the engine and not the allocator.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    width: usize,
    cells: Vec<RowCell>,
    text: String,
    /// How many of the cells are integers.
    integers: u64,
}

impl Rows {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all cells and sets the number of columns of the rows to come.
    pub fn reset(&mut self, width: usize) {
        self.width = width;
        self.cells.clear();
        self.text.clear();
        self.integers = 0;
    }

    /// Adds one cell: rows are filled cell by cell, from left to right.
    pub fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Null => RowCell::Null,
            Value::Int(int) => {
                self.integers += 1;
                RowCell::Int(int)
            }
            Value::Text(text) => {
                let start = self.text.len();
                self.text.push_str(text);
                RowCell::Text { start, end: self.text.len() }
            }
        };
        self.cells.push(cell);
    }

    /// The number of complete rows.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// Bytes of all cells as an application holds them: an integer is 8 bytes, a text its own and a null
    /// none.
    pub fn bytes(&self) -> u64 {
        8 * self.integers + self.text.len() as u64
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The cell at `row` and `column`, both from 0.
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn get(&self, row: usize, column: usize) -> Value<'_> {
        assert!(column < self.width, "column {column} of {}", self.width);
        match self.cells[row * self.width + column] {
            RowCell::Null => Value::Null,
            RowCell::Int(int) => Value::Int(int),
            RowCell::Text { start, end } => Value::Text(&self.text[start..end]),
        }
    }

    /// The integer at `row` and `column`; `None` for a null, a text or a row that is not there.
    pub fn int(&self, row: usize, column: usize) -> Option<i64> {
        match (row < self.len()).then(|| self.get(row, column)) {
            Some(Value::Int(int)) => Some(int),
            _ => None,
        }
    }

    /// The cells of one row.
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = Value<'_>> {
        (0..self.width).map(move |column| self.get(row, column))
    }
}
