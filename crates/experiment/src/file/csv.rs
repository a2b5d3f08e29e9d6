//! Rows of fields with commas between them, and where in the text each field stands: the crate `csv`
//! tells the place of a row only, and takes a quote that is never closed.

use std::ops::Range;

/// The span includes the quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) text: String,
    pub(super) span: Range<usize>,
}

enum FieldEnd {
    Field,
    Row,
}

/// Without empty lines. A field may stand in quotes; two quotes are one inside it.
pub(super) fn parse_rows(text: &str) -> Result<Vec<Vec<Field>>, (Range<usize>, &'static str)> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    // A byte order mark is no text.
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    while at < text.len() || !row.is_empty() {
        let (field, next, end) = parse_field(text, at)?;
        row.push(field);
        at = next;
        if matches!(end, FieldEnd::Row) {
            let is_empty = row.len() == 1 && row[0].span.is_empty();
            let whole = std::mem::take(&mut row);
            rows.extend((!is_empty).then_some(whole));
        }
    }
    Ok(rows)
}

fn parse_field(
    text: &str,
    start: usize,
) -> Result<(Field, usize, FieldEnd), (Range<usize>, &'static str)> {
    let rest = &text[start..];
    let (value, length) = match rest.strip_prefix('"') {
        None => {
            let length = rest.find([',', '\n']).unwrap_or(rest.len());
            let value = rest[..length].trim_end_matches('\r');
            (value.to_owned(), value.len())
        }
        Some(inside) => {
            let closing = find_closing_quote(inside);
            let closing = closing.ok_or((start..text.len(), "a quote is opened and not closed"))?;
            (inside[..closing].replace("\"\"", "\""), closing + 2)
        }
    };
    let span = start..start + length;
    let after = rest[length..].trim_start_matches('\r');
    let next = text.len() - after.len();
    let field = Field { text: value.trim().to_owned(), span };
    match after.chars().next() {
        None => Ok((field, next, FieldEnd::Row)),
        Some('\n') => Ok((field, next + 1, FieldEnd::Row)),
        Some(',') => Ok((field, next + 1, FieldEnd::Field)),
        Some(_) => Err((start..next + 1, "a comma has to follow the closing quote")),
    }
}

fn find_closing_quote(inside: &str) -> Option<usize> {
    let bytes = inside.as_bytes();
    let mut at = 0;
    loop {
        at += inside[at..].find('"')?;
        if bytes.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<Vec<String>> {
        let rows = parse_rows(text).unwrap_or_else(|wrong| panic!("{text:?}: {wrong:?}"));
        rows.into_iter().map(|row| row.into_iter().map(|field| field.text).collect()).collect()
    }

    #[test]
    fn fields_are_those_between_commas_and_in_quotes() {
        assert_eq!(texts("a,b\n1,2\n"), [["a", "b"], ["1", "2"]]);
        assert_eq!(texts("\u{feff}a, b\r\n\r\n1,\r\n"), [["a", "b"], ["1", ""]]);
        assert_eq!(texts("\"a, \"\"b\"\"\",c"), [["a, \"b\"", "c"]]);
        assert_eq!(texts(",\n"), [["", ""]]);
        assert_eq!(texts(""), Vec::<Vec<String>>::new());
        assert_eq!(texts("\n\n"), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_field_knows_where_it_stands() {
        let text = "a,bc\r\n\"d\",e";
        let rows = parse_rows(text).expect("rows");
        let spans = rows.iter().flatten().map(|field| &text[field.span.clone()]);
        assert_eq!(spans.collect::<Vec<_>>(), ["a", "bc", "\"d\"", "e"]);
    }

    #[test]
    fn quotes_that_are_wrong_are_told_with_their_place() {
        assert_eq!(parse_rows("a\n\"b").unwrap_err().0, 2..4);
        assert_eq!(parse_rows("\"a\"b,c").unwrap_err().0, 0..4);
    }
}
