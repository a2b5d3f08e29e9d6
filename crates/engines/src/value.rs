//! Cells and rows: what goes into a statement and what comes out.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A double with a total order: -0.0 is 0.0, and no number comes after the one that isn't any.
#[derive(Clone, Copy, Debug)]
pub struct RealValue(f64);

impl RealValue {
    /// The double.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl From<f64> for RealValue {
    fn from(real: f64) -> Self {
        match real.is_nan() {
            true => Self(f64::NAN),
            // -0.0 becomes 0.0.
            false => Self(real + 0.0),
        }
    }
}

impl Ord for RealValue {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for RealValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RealValue {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RealValue {}

impl Hash for RealValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// One borrowed cell.
///
/// Ordered as in every index: `Null` first, then numbers, then text and bytes by their bytes.
///
/// Engines answer a number without a fraction as an integer, if it fits; `Value::from` a double does
/// the same.
///
/// ```
/// use bakeoff_engines::Value;
/// assert_eq!(Value::from(2.0), Value::Int(2));
/// assert!(Value::Int(1) < Value::from(1.5) && Value::from(1.5) < Value::Int(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value<'a> {
    /// No value; equal to nothing in a condition, not even to itself.
    Null,
    /// Signed, 64 bits; times are microseconds since 1970, booleans 0 and 1.
    Int(i64),
    /// A double with a fraction, or beyond 64 bits.
    Real(RealValue),
    /// UTF-8 text; a date is `YYYY-MM-DD`, a time stamp `YYYY-MM-DD HH:MM:SS.ffffff`.
    Text(&'a str),
    /// Bytes of any kind. MariaDB's answers don't tell them from text: there, those that are UTF-8 are
    /// [`Value::Text`].
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// A cell of an engine that doesn't tell text from bytes: text if it is UTF-8.
    pub fn from_text_or_bytes(bytes: &'a [u8]) -> Self {
        std::str::from_utf8(bytes).map_or(Self::Bytes(bytes), Self::Text)
    }

    /// The same number as an integer, if it is one and fits; any other value as it is.
    pub fn normalise_number(self) -> Self {
        // 2^63 is the first double that is too large; all of them from there on are whole numbers.
        const BEYOND: f64 = 9_223_372_036_854_775_808.0;
        match self {
            Self::Real(RealValue(real))
                if real.fract() == 0.0 && (-BEYOND..BEYOND).contains(&real) =>
            {
                Self::Int(real as i64)
            }
            other => other,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Int(_) | Self::Real(_) => 1,
            Self::Text(_) | Self::Bytes(_) => 2,
        }
    }
}

impl Ord for Value<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(one), Self::Int(two)) => one.cmp(two),
            (Self::Text(one), Self::Text(two)) => one.cmp(two),
            (Self::Bytes(one), Self::Bytes(two)) => one.cmp(two),
            // The same bytes are not the same value: the text is first.
            (Self::Text(one), Self::Bytes(two)) => one.as_bytes().cmp(two).then(Ordering::Less),
            (Self::Bytes(one), Self::Text(two)) => {
                (*one).cmp(two.as_bytes()).then(Ordering::Greater)
            }
            (Self::Real(one), Self::Real(two)) => one.cmp(two),
            (Self::Int(int), Self::Real(real)) => compare_numbers(*int, real.0),
            (Self::Real(real), Self::Int(int)) => compare_numbers(*int, real.0).reverse(),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An integer and a double that are the same number are not the same value: the integer is first.
fn compare_numbers(int: i64, real: f64) -> Ordering {
    let whole = Value::Real(RealValue(real.floor())).normalise_number();
    match whole {
        Value::Int(whole) => int.cmp(&whole).then(Ordering::Less),
        // NaN comes last.
        _ if real < 0.0 => Ordering::Greater,
        _ => Ordering::Less,
    }
}

impl<'a> From<i64> for Value<'a> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl<'a> From<f64> for Value<'a> {
    fn from(value: f64) -> Self {
        Value::Real(value.into()).normalise_number()
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Value::Bytes(value)
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
    Real(RealValue),
    /// Its place in the texts.
    Text {
        start: usize,
        end: usize,
    },
    /// Its place in the bytes.
    Bytes {
        start: usize,
        end: usize,
    },
}

/// A reusable table of cells, `width` columns wide: a session writes its answer into it.
///
/// Once it has grown to the largest answer it allocates no more, so that clients measure the engine
/// and not the allocator.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    width: usize,
    cells: Vec<RowCell>,
    text: String,
    bytes: Vec<u8>,
    /// How many cells are numbers.
    numbers: u64,
}

impl Rows {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all cells, and sets the number of columns.
    pub fn reset(&mut self, width: usize) {
        self.width = width;
        self.cells.clear();
        self.text.clear();
        self.bytes.clear();
        self.numbers = 0;
    }

    /// Adds one cell: row by row, from left to right.
    pub fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Null => RowCell::Null,
            Value::Int(int) => {
                self.numbers += 1;
                RowCell::Int(int)
            }
            Value::Real(real) => {
                self.numbers += 1;
                RowCell::Real(real)
            }
            Value::Text(text) => {
                let start = self.text.len();
                self.text.push_str(text);
                RowCell::Text { start, end: self.text.len() }
            }
            Value::Bytes(bytes) => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                RowCell::Bytes { start, end: self.bytes.len() }
            }
        };
        self.cells.push(cell);
    }

    /// The number of complete rows.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// Bytes of all cells as an application holds them: 8 for a number, a text's own, none for
    /// null.
    pub fn bytes(&self) -> u64 {
        8 * self.numbers + (self.text.len() + self.bytes.len()) as u64
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
    pub fn get(&self, row: usize, column: usize) -> Value<'_> {
        assert!(column < self.width, "column {column} of {}", self.width);
        match self.cells[row * self.width + column] {
            RowCell::Null => Value::Null,
            RowCell::Int(int) => Value::Int(int),
            RowCell::Real(real) => Value::Real(real),
            RowCell::Text { start, end } => Value::Text(&self.text[start..end]),
            RowCell::Bytes { start, end } => Value::Bytes(&self.bytes[start..end]),
        }
    }

    /// The integer there; `None` for a null, a fraction, a text, bytes or a missing row.
    pub fn get_int(&self, row: usize, column: usize) -> Option<i64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_fraction_is_an_integer_if_it_fits() {
        let exact = 9_007_199_254_740_993.0;
        for (real, int) in
            [(2.0, 2), (-0.0, 0), (-7e17, -700_000_000_000_000_000), (exact, 1 << 53)]
        {
            assert_eq!(Value::from(real), Value::Int(int));
        }
        assert_eq!(Value::from(-9_223_372_036_854_775_808.0), Value::Int(i64::MIN));
        for real in [0.1, 1e308, 9_223_372_036_854_775_808.0, -1e19, f64::NAN, f64::INFINITY] {
            assert_eq!(Value::from(real), Value::Real(real.into()));
        }
    }

    #[test]
    fn numbers_are_in_one_order() {
        let real = |real: f64| Value::Real(real.into());
        let ordered = [
            Value::Null,
            real(f64::NEG_INFINITY),
            real(-1e19),
            Value::Int(i64::MIN),
            real(-1.5),
            Value::Int(-1),
            real(-0.5),
            Value::Int(0),
            real(0.0),
            real(f64::MIN_POSITIVE),
            Value::Int(1),
            real(1.0),
            real(1.5),
            Value::Int(i64::MAX),
            real(9_223_372_036_854_775_808.0),
            real(f64::NAN),
            Value::Text(""),
            Value::Bytes(b""),
            Value::Bytes(b"a"),
            Value::Text("b"),
            Value::Bytes(b"b"),
            Value::Text("é"),
            Value::Bytes(b"\xff"),
        ];
        for (one, first) in ordered.iter().enumerate() {
            for (two, second) in ordered.iter().enumerate() {
                assert_eq!(first.cmp(second), one.cmp(&two), "{first:?} {second:?}");
                assert_eq!(first == second, one == two);
            }
        }
    }
}
