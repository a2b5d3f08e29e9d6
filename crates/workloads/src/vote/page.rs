//! The page: the visitor's session and the best nine.

use std::fmt::Write;

use bakeoff_engines::{Error, Result, Rows, Value};

use super::tables::{BEST, ID, NAME, RATING};

/// The best nine of a page that is made of constants.
pub fn constants() -> Rows {
    let mut rows = Rows::new();
    rows.reset(RATING + 1);
    for place in 0..BEST as i64 {
        rows.push(Value::Int(place + 1));
        rows.push(Value::Text("an entry that nobody has asked for"));
        rows.push(Value::Int(1_000 - place));
    }
    rows
}

/// Writes a page in place of the last one.
///
/// # Errors
/// The entries are not nine, or not in the order of their ratings.
pub fn write(session: &str, best: &Rows, page: &mut String) -> Result<()> {
    page.clear();
    page.push_str(
        "<meta charset=\"utf-8\"><title>The best nine</title>\n<h1>The best nine</h1>\n<ol>\n",
    );
    let mut least = i64::MAX;
    for row in 0..best.len() {
        let (Some(id), Some(rating)) = (best.int(row, ID), best.int(row, RATING)) else {
            return Err(Error::engine("an entry without a number"));
        };
        if rating > least {
            return Err(Error::engine(format!(
                "an entry with {rating} votes comes after one with {least}"
            )));
        }
        least = rating;
        let Value::Text(name) = best.get(row, NAME) else {
            return Err(Error::engine("an entry without a name"));
        };
        write!(page, "<li value=\"{id}\"><b>").expect("a text takes all");
        escape(name, page);
        writeln!(page, "</b> <i>{rating}</i></li>").expect("a text takes all");
    }
    if best.len() != BEST {
        return Err(Error::engine(format!("a page has {} entries instead of nine", best.len())));
    }
    writeln!(page, "</ol>\n<p>Session {session}</p>").expect("a text takes all");
    Ok(())
}

/// Writes a text so that none of it is taken for markup.
fn escape(text: &str, page: &mut String) {
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
        write("abc", &best(&[9, 8, 8, 7, 6, 5, 4, 3, 2]), &mut page).unwrap();
        assert_eq!(page.matches("<li value=\"7\"><b>fish &amp; chips &lt;3</b> <i>").count(), 9);
        assert!(page.ends_with("<p>Session abc</p>\n"), "{page}");
        let mut wrong =
            |ratings: &[i64]| write("abc", &best(ratings), &mut page).unwrap_err().to_string();
        assert_eq!(
            wrong(&[9, 8, 7, 7, 8, 5, 4, 3, 2]),
            "an entry with 8 votes comes after one with 7"
        );
        assert_eq!(wrong(&[9, 8]), "a page has 2 entries instead of nine");
        write("abc", &constants(), &mut page).unwrap();
    }
}
