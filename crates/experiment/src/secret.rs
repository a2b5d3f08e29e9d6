//! Passwords in URLs: found wherever a user writes one, so that none is shown or kept.

use std::ops::Range;

/// What ends a word that holds a URL: in a list of levels, in a file, in a shell.
const ENDS: [char; 6] = [',', '"', '\'', ']', '`', '}'];

/// A text without the passwords of the URLs in it: `db://me@host` for `db://me:word@host`.
pub fn without_passwords(text: &str) -> String {
    let mut short = text.to_owned();
    for range in passwords(text).into_iter().rev() {
        short.replace_range(range.start - 1..range.end, "");
    }
    short
}

/// The text with a star for each byte of a password: every other byte is where it was.
pub(crate) fn masked(text: &str) -> String {
    let mut masked = text.to_owned();
    for range in passwords(text) {
        let stars = "*".repeat(range.len());
        masked.replace_range(range, &stars);
    }
    masked
}

/// Where the passwords of URLs are: each between a user's `:` and the host's `@`. A URL is
/// looked at as it may be mistyped, with an unescaped `/` or `@` in its password.
fn passwords(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(scheme) = text[from..].find("://") {
        let start = from + scheme + 3;
        let ends = |c: char| c.is_whitespace() || ENDS.contains(&c);
        let end = text[start..].find(ends).map_or(text.len(), |length| start + length);
        found.extend(password(&text[start..end]).map(|r| start + r.start..start + r.end));
        from = end;
    }
    found
}

/// Where the password is in what follows a scheme.
fn password(rest: &str) -> Option<Range<usize>> {
    // Behind the last slash an `@` is an alias's, if the host's own came before it.
    let (before, _) = rest.rsplit_once('/').unwrap_or((rest, ""));
    let host = before.rfind('@').or_else(|| rest.rfind('@'))?;
    let user = rest[..host].find(':')?;
    // `host:3306/db@again` has neither a user nor a password.
    let is_port = rest[user + 1..host].split_once('/').is_some_and(|(port, _)| {
        before.find('@').is_none() && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
    });
    (!is_port).then_some(user + 1..host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_wherever_a_url_is_written() {
        let cases = [
            ("db://me:pass@host/db", "db://me@host/db"),
            ("db://me:pass@host:3306/db#part@again", "db://me@host:3306/db#part@again"),
            ("db://me:pa/ss@host/db", "db://me@host/db"),
            ("db://me:pa@ss@host/db?socket=/run/s", "db://me@host/db?socket=/run/s"),
            ("db://me:pass@host", "db://me@host"),
            ("sql://me@host:5432/db@again", "sql://me@host:5432/db@again"),
            ("sql://host:5432/db@again", "sql://host:5432/db@again"),
            ("sql://me:@host/db", "sql://me@host/db"),
            ("--engine alpha,db://a:b@c/d,sql://e:f@g/h", "--engine alpha,db://a@c/d,sql://e@g/h"),
            ("engine = [\"db://a:b@c/d\", \"x@y\"]", "engine = [\"db://a@c/d\", \"x@y\"]"),
            ("alpha@again", "alpha@again"),
        ];
        for (text, short) in cases {
            assert_eq!(without_passwords(text), short);
            assert_eq!(masked(text).len(), text.len());
        }
        assert_eq!(masked("db://me:paß@host/db"), "db://me:****@host/db");
    }
}
