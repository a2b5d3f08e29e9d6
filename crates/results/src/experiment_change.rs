//! Describes the difference between the experiment of a run's start and its file now.

const MOST: usize = 400;

const ENDS: &str = "its lines are the same, and their ends are others";

/// The first line that differs. `None` for `now` means no file, or no readable text.
pub(crate) fn describe_difference(began: &[u8], now: Option<&[u8]>) -> String {
    let Some(now) = now else {
        return "it is not there, or is longer than any experiment".to_owned();
    };
    let [began, now] = [began, now].map(String::from_utf8_lossy);
    let (mut old, mut new) = (began.lines(), now.lines());
    let mut number = 0_usize;
    loop {
        number += 1;
        match (old.next(), new.next()) {
            (None, None) => return ENDS.to_owned(),
            (then, now) if then == now => {}
            (then, now) => {
                return format!(
                    "line {number} was {} and is {}",
                    quote_line(then),
                    quote_line(now)
                );
            }
        }
    }
}

fn quote_line(line: Option<&str>) -> String {
    match line {
        None => "not there".to_owned(),
        Some(line) if line.chars().nth(MOST).is_some() => {
            format!("`{}…`", line.chars().take(MOST).collect::<String>())
        }
        Some(line) => format!("`{line}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_told() {
        let began = "name = \"a\"\nseconds = 0.5\nseed = 1\n";
        for (now, said) in [
            (
                "name = \"a\"\nseconds = 0.6\nseed = 2\n",
                "line 2 was `seconds = 0.5` and is `seconds = 0.6`",
            ),
            ("name = \"a\"\nseconds = 0.5\n", "line 3 was `seed = 1` and is not there"),
            (
                "name = \"a\"\nseconds = 0.5\nseed = 1\n# more\n",
                "line 4 was not there and is `# more`",
            ),
            ("name = \"a\"\r\nseconds = 0.5\r\nseed = 1\r\n", ENDS),
            ("name = \"a\"\nseconds = 0.5\nseed = 1", ENDS),
            ("", "line 1 was `name = \"a\"` and is not there"),
        ] {
            assert_eq!(describe_difference(began.as_bytes(), Some(now.as_bytes())), said);
        }
        assert!(describe_difference(began.as_bytes(), None).contains("not there"));
    }

    /// Whoever edits a file may write anything into it.
    #[test]
    fn a_line_without_an_end_is_told_to_some_length() {
        let long = "ü".repeat(1 << 16);
        let said = describe_difference(b"seed = 1", Some(long.as_bytes()));
        assert!(said.contains('…') && said.chars().count() < 500, "{}", said.len());
        let said = describe_difference(b"seed = 1", Some(b"\xff\xfe"));
        assert!(said.starts_with("line 1 was `seed = 1`"), "{said}");
    }
}
