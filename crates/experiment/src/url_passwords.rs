//! Passwords in URLs, masked wherever a text that a user wrote is shown or recorded.

use std::ops::Range;

struct UrlSecrets {
    /// Without the `:` before it.
    password: Option<Range<usize>>,
    parameters: Option<Range<usize>>,
}

/// `db://me@host/db` for `db://me:word@host/db`.
pub fn without_passwords(text: &str) -> String {
    let mut short = text.to_owned();
    for UrlSecrets { password, parameters } in find_secrets(text).into_iter().rev() {
        let values = parameters.map(|range| secret_values(text, range)).unwrap_or_default();
        for value in values.into_iter().rev() {
            short.replace_range(value, "***");
        }
        if let Some(password) = password {
            short.replace_range(password.start - 1..password.end, "");
        }
    }
    short
}

/// With a star for each byte of a password: every other byte stays in its place. Of a URL's
/// parameters only the first name is shown: an unknown one may be anything.
pub(crate) fn mask_passwords(text: &str) -> String {
    let mut masked = text.as_bytes().to_vec();
    for UrlSecrets { password, parameters } in find_secrets(text) {
        let parameters = parameters.map(|range| {
            let name = text[range.clone()].find('=').map_or(0, |name| name + 1);
            range.start + name..range.end
        });
        password.into_iter().chain(parameters).for_each(|range| masked[range].fill(b'*'));
    }
    String::from_utf8(masked).expect("a letter is masked whole")
}

/// Whether the text ends in a URL whose password may go on behind a comma.
pub(crate) fn is_open_url(text: &str) -> bool {
    let rest = text.split_once(":/").map(|(_, rest)| rest.trim_start_matches('/'));
    rest.is_some_and(|rest| user_end(rest).is_some() && !rest.contains('@'))
}

fn find_secrets(text: &str) -> Vec<UrlSecrets> {
    let schemes: Vec<usize> = text.match_indices(":/").map(|(at, _)| at).collect();
    let ends = schemes.iter().skip(1).copied().chain([text.len()]);
    let secrets = schemes.iter().zip(ends).filter_map(|(scheme, end)| {
        // Who writes one slash means two.
        let rest = text[scheme + 1..end].trim_start_matches('/');
        let start = end - rest.len();
        let line = rest.split('\n').next()?;
        let host = host_start(line)?;
        let password = user_end(line).map(|colon| start + colon + 1..start + host - 1);
        let behind = &line[host..word_end(line, host)];
        let parameters = behind.split('#').next().and_then(|it| it.split_once('?'));
        let parameters = parameters.map(|(before, parameters)| {
            let from = start + host + before.len() + 1;
            from..from + parameters.len()
        });
        Some(UrlSecrets { password: password.filter(|range| !range.is_empty()), parameters })
    });
    secrets.collect()
}

/// `None` if no password follows the user.
fn user_end(rest: &str) -> Option<usize> {
    let is_plain = |c: char| !c.is_whitespace() && !"/?#@'\"`".contains(c);
    rest.find(':').filter(|colon| *colon > 0 && rest[..*colon].chars().all(is_plain))
}

/// Behind the last `@` before a host and a `/`: a password may hold an `@`, and an alias has one.
/// Without a database, behind the last `@`.
fn host_start(rest: &str) -> Option<usize> {
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._%:[]".contains(c);
    let has_database = |at: &usize| {
        let host = &rest[at + 1..];
        let behind = host.trim_start_matches(is_host);
        behind.len() < host.len() && behind.starts_with('/')
    };
    let mut all = rest.rmatch_indices('@').map(|(at, _)| at);
    let host = all.find(has_database).or_else(|| rest[..word_end(rest, 0)].rfind('@'));
    host.map(|at| at + 1)
}

fn word_end(text: &str, from: usize) -> usize {
    let is_end = |c: char| c.is_whitespace() || ",'\"`".contains(c);
    text[from..].find(is_end).map_or(text.len(), |length| from + length)
}

fn secret_values(text: &str, parameters: Range<usize>) -> Vec<Range<usize>> {
    let mut start = parameters.start;
    let mut values = Vec::new();
    for parameter in text[parameters].split('&') {
        let end = start + parameter.len();
        if let Some((name, _)) = parameter.split_once('=').filter(|(name, _)| is_secret(name)) {
            values.push(start + name.len() + 1..end);
        }
        start = end + 1;
    }
    values
}

fn is_secret(parameter: &str) -> bool {
    let name = parameter.to_ascii_lowercase();
    let secret = ["pass", "pwd", "secret", "token"].iter().any(|part| name.contains(part));
    secret && !name.ends_with("file")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_password_is_found_wherever_a_url_is_written() {
        let cases = [
            ("db://me:pass@host/db", "db://me@host/db"),
            ("db://me:p%2Fa:ss@[::1]:3306/db#part@again", "db://me@[::1]:3306/db#part@again"),
            ("db://me:pass@host/db?socket=/run/s&x=1", "db://me@host/db?socket=/run/s&x=1"),
            ("db://me@host/db?passfile=/run/s", "db://me@host/db?passfile=/run/s"),
            ("sql://me@host:5432/db@again", "sql://me@host:5432/db@again"),
            ("sql://me:@host/db", "sql://me:@host/db"),
            ("--engine alpha,db://a:b@c/d,sql://e:f@g/h", "--engine alpha,db://a@c/d,sql://e@g/h"),
            ("--engine=db://a:b@c/d@x,alpha@again", "--engine=db://a@c/d@x,alpha@again"),
            ("engine = [\"db://a:b@c/d\", \"x@y\"]", "engine = [\"db://a@c/d\", \"x@y\"]"),
            ("db://me@host/db: 'me'@'host' is refused", "db://me@host/db: 'me'@'host' is refused"),
            ("see https://example.org/a#b", "see https://example.org/a#b"),
            ("alpha@again", "alpha@again"),
            ("http://[::1]:80/ is gone: try again", "http://[::1]:80/ is gone: try again"),
            ("http://host/a: no page", "http://host/a: no page"),
            ("db:/me:pass@host/db", "db:/me@host/db"),
            ("db://me:pass@host", "db://me@host"),
            ("db://me@host/db?password=pass", "db://me@host/db?password=***"),
            ("db://me@host/db?sslPassword=pass,alpha", "db://me@host/db?sslPassword=***,alpha"),
            ("db://a:b@c/d,sql://me:pa/ss@h/db#e", "db://a@c/d,sql://me@h/db#e"),
            // Letters that had to be escaped.
            ("db://me:pa/ss@host/db", "db://me@host/db"),
            ("db://me:pa?ss@host/db", "db://me@host/db"),
            ("db://me:pa#ss@host/db", "db://me@host/db"),
            ("db://me:pa@ss@host/db", "db://me@host/db"),
            ("db://me:pa'ss@host/db", "db://me@host/db"),
            ("db://me:pa ss@host/db", "db://me@host/db"),
            ("db://me:pa,ss@host/db", "db://me@host/db"),
            ("db://me:p@ss/x,w@host/db", "db://me@host/db"),
            ("db://me:paß@host/db", "db://me@host/db"),
        ];
        for (text, short) in cases {
            assert_eq!(without_passwords(text), short);
            let masked = mask_passwords(text);
            assert_eq!(masked.len(), text.len());
            let shows = |part: &str| masked.contains(part) && !short.contains(part);
            assert!(!["pa", "ss", "w@"].iter().any(|part| shows(part)), "{masked}");
        }
        assert_eq!(mask_passwords("db://me:pass@host/db"), "db://me:****@host/db");
        assert_eq!(mask_passwords("db://me@host/db?a=b&c=d#e"), "db://me@host/db?a=*****#e");
    }

    proptest! {
        #[test]
        fn no_password_of_a_url_is_kept(
            password in "[0-9]{3}[-A-Za-z0-9%!$&*+;=:~._]{0,6}[0-9]{3}",
            more in "(,sqlite|,db://c:[0-9]{6}@h/d|@again|)",
        ) {
            let digits: String = more.chars().filter(char::is_ascii_digit).collect();
            let text = format!("--engine=db://me:{password}@host/db{more}");
            let short = without_passwords(&text);
            let (first, last) = (&password[..3], &password[password.len() - 3..]);
            for part in [first, last, digits.as_str()] {
                prop_assert!(part.is_empty() || !short.contains(part), "{}", short);
            }
            prop_assert_eq!(mask_passwords(&text).len(), text.len());
        }
    }
}
