use std::fmt::{Display, Write};

use bakeoff_engines::{Error, Result, Rows, Value};

use super::tables::{BEST, ID, NAME, RATING};

pub fn make_constants() -> Rows {
    let mut rows = Rows::new();
    rows.reset(RATING + 1);
    for place in 0..BEST as i64 {
        rows.push(Value::Int(place + 1));
        rows.push(Value::Text("an entry that nobody has asked for"));
        rows.push(Value::Int(1_000 - place));
    }
    rows
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageVisitor<'a> {
    Known(&'a str),
    New(&'a str),
    /// Unknown, or not yet looked at.
    Unknown,
}

impl Display for PageVisitor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Known(uuid) => write!(f, "{KNOWN}{uuid}"),
            Self::New(uuid) => write!(f, "{NEW}{uuid}"),
            Self::Unknown => f.write_str(UNKNOWN),
        }
    }
}

const KNOWN: &str = "Session ";
const NEW: &str = "New session ";
const UNKNOWN: &str = "No session";

pub fn write_page(visitor: PageVisitor<'_>, best: &Rows, page: &mut String) -> Result<()> {
    page.clear();
    page.push_str(
        "<meta charset=\"utf-8\"><title>The best nine</title>\n<h1>The best nine</h1>\n<ol>\n",
    );
    let mut least = i64::MAX;
    for row in 0..best.len() {
        let (Some(id), Some(rating)) = (best.get_int(row, ID), best.get_int(row, RATING)) else {
            return Err(Error::from_engine("an entry without a number"));
        };
        if rating > least {
            return Err(Error::from_engine(format!(
                "an entry with {rating} votes comes after one with {least}"
            )));
        }
        least = rating;
        let Value::Text(name) = best.get(row, NAME) else {
            return Err(Error::from_engine("an entry without a name"));
        };
        write!(page, "<li value=\"{id}\"><b>").expect("a text takes all");
        escape_markup(name, page);
        writeln!(page, "</b> <i>{rating}</i></li>").expect("a text takes all");
    }
    if best.len() != BEST {
        return Err(Error::from_engine(format!(
            "a page has {} entries instead of nine",
            best.len()
        )));
    }
    writeln!(page, "</ol>\n<p>{visitor}</p>").expect("a text takes all");
    Ok(())
}

pub fn add_vote(entry: i64, rating: i64, page: &mut String) {
    writeln!(page, "<p>Vote {entry} {rating}</p>").expect("a text takes all");
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VotePage<'a> {
    pub best: Vec<(i64, i64)>,
    pub visitor: PageVisitor<'a>,
    /// The entry, and its rating after the vote.
    pub vote: Option<(i64, i64)>,
}

pub fn read_page(page: &[u8]) -> std::result::Result<VotePage<'_>, String> {
    let page = std::str::from_utf8(page).map_err(|_| "the page is no text".to_owned())?;
    let (mut best, mut visitor, mut vote) = (Vec::with_capacity(BEST), None, None);
    for line in page.lines() {
        if let Some(entry) = line.strip_prefix("<li value=\"") {
            let read = entry_of(entry);
            best.push(read.ok_or_else(|| format!("the page has an entry that is none: {line}"))?);
        } else if let Some(said) = strip_paragraph(line) {
            match said.strip_prefix("Vote ") {
                Some(numbers) => {
                    let read = numbers.split_once(' ').and_then(numbers_of);
                    vote = Some(read.ok_or_else(|| format!("the page tells no vote: {line}"))?);
                }
                None => visitor = visitor_of(said).or(visitor),
            }
        }
    }
    let visitor = visitor.ok_or("the page does not say whose it is")?;
    if best.len() != BEST {
        return Err(format!("the page has {} entries instead of nine", best.len()));
    }
    if let Some(pair) = best.windows(2).find(|pair| pair[0].1 < pair[1].1) {
        let (before, after) = (pair[0].1, pair[1].1);
        return Err(format!("an entry with {after} votes comes after one with {before}"));
    }
    Ok(VotePage { best, visitor, vote })
}

fn strip_paragraph(line: &str) -> Option<&str> {
    line.strip_prefix("<p>")?.strip_suffix("</p>")
}

fn entry_of(rest: &str) -> Option<(i64, i64)> {
    let (id, rest) = rest.split_once('"')?;
    let (_, rating) = rest.rsplit_once("<i>")?;
    numbers_of((id, rating.strip_suffix("</i></li>")?))
}

fn numbers_of((one, other): (&str, &str)) -> Option<(i64, i64)> {
    Some((one.parse().ok()?, other.parse().ok()?))
}

fn visitor_of(said: &str) -> Option<PageVisitor<'_>> {
    let known = said.strip_prefix(KNOWN).map(PageVisitor::Known);
    let new = said.strip_prefix(NEW).map(PageVisitor::New);
    known.or(new).or((said == UNKNOWN).then_some(PageVisitor::Unknown))
}

fn escape_markup(text: &str, page: &mut String) {
    for character in text.chars() {
        match character {
            '<' => page.push_str("&lt;"),
            '&' => page.push_str("&amp;"),
            other => page.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(ratings: &[i64]) -> Rows {
        let mut rows = Rows::new();
        rows.reset(3);
        for rating in ratings {
            rows.push(Value::Int(7));
            rows.push(Value::Text("fish & chips <3"));
            rows.push(Value::Int(*rating));
        }
        rows
    }

    #[test]
    fn a_page_has_nine_entries_by_their_ratings_or_is_none() {
        let mut page = String::new();
        write_page(PageVisitor::Known("abc"), &best(&[9, 8, 8, 7, 6, 5, 4, 3, 2]), &mut page)
            .unwrap();
        assert_eq!(page.matches("<li value=\"7\"><b>fish &amp; chips &lt;3</b> <i>").count(), 9);
        assert!(page.ends_with("<p>Session abc</p>\n"), "{page}");
        let mut wrong = |ratings: &[i64]| {
            write_page(PageVisitor::Known("abc"), &best(ratings), &mut page)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            wrong(&[9, 8, 7, 7, 8, 5, 4, 3, 2]),
            "an entry with 8 votes comes after one with 7"
        );
        assert_eq!(wrong(&[9, 8]), "a page has 2 entries instead of nine");
        write_page(PageVisitor::Known("abc"), &make_constants(), &mut page).unwrap();
    }

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let mut page = String::new();
        for visitor in [PageVisitor::Known("abc"), PageVisitor::New("abc"), PageVisitor::Unknown] {
            write_page(visitor, &best(&[9, 8, 8, 7, 6, 5, 4, 3, 2]), &mut page).unwrap();
            let ratings = [9, 8, 8, 7, 6, 5, 4, 3, 2].map(|rating| (7, rating));
            let wanted = VotePage { best: ratings.into(), visitor, vote: None };
            assert_eq!(read_page(page.as_bytes()), Ok(wanted.clone()));
            add_vote(7, 10, &mut page);
            let voted = VotePage { vote: Some((7, 10)), ..wanted };
            assert_eq!(read_page(page.as_bytes()), Ok(voted));
        }
    }

    #[test]
    fn what_is_no_page_is_told_apart() {
        let mut page = String::new();
        write_page(PageVisitor::Unknown, &best(&[9, 8, 8, 7, 6, 5, 4, 3, 2]), &mut page).unwrap();
        for (from, to, why) in [
            ("<i>2</i>", "<i>4</i>", "an entry with 4 votes comes after one with 3"),
            ("<li value=\"7\"><b>fish &amp; chips &lt;3</b> <i>9</i></li>\n", "", "8 entries"),
            ("No session", "Who?", "does not say whose it is"),
            ("<i>5</i>", "<i>five</i>", "an entry that is none"),
            ("<p>No session</p>", "<p>No session</p>\n<p>Vote 1</p>", "tells no vote"),
        ] {
            let wrong = page.replacen(from, to, 1);
            assert_ne!(wrong, page, "{from}");
            let error = read_page(wrong.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
