//! Passwords in URLs: found wherever a user writes one, so that none is shown or kept.
//!
//! What is plainly a database's URL is shown without its password. Of what only begins like one
//! nothing is shown to the end of its line: where a character is not escaped, nobody can tell where
//! the password ends. Of what looks like a password outside of a URL nothing is shown either.

use std::ops::Range;

/// What is shown in place of a password.
const HIDDEN: &str = "***";

/// What may not be shown of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SecretSpan {
    /// A password, without the `:` before it.
    Password(Range<usize>),
    /// What stands behind the `?` of a URL that is plainly one.
    Parameters(Range<usize>),
    /// What may have a password anywhere.
    Rest(Range<usize>),
}

impl SecretSpan {
    fn range(&self) -> &Range<usize> {
        match self {
            Self::Password(range) | Self::Parameters(range) | Self::Rest(range) => range,
        }
    }
}

/// A text without the passwords of the URLs in it: `db://me@host/db` for `db://me:word@host/db`, and
/// `db://***` where it can't be told what the password is.
pub fn without_passwords(text: &str) -> String {
    let mut short = text.to_owned();
    for found in found(text).into_iter().rev() {
        match found {
            SecretSpan::Password(range) => short.replace_range(range.start - 1..range.end, ""),
            SecretSpan::Parameters(_) => {}
            SecretSpan::Rest(range) => short.replace_range(range, HIDDEN),
        }
    }
    short
}

/// What a user wrote, with a star for each byte that may not be shown: every other byte is where it
/// was. Of parameters of a URL only the first name is shown: one that there is not may be anything.
pub(crate) fn masked(text: &str) -> String {
    let mut ranges: Vec<Range<usize>> = found(text)
        .into_iter()
        .map(|found| match found {
            SecretSpan::Password(range) | SecretSpan::Rest(range) => range,
            SecretSpan::Parameters(range) => {
                let name = text[range.clone()].find('=').map_or(0, |name| name + 1);
                range.start + name..range.end
            }
        })
        .collect();
    // In a file a URL may be written with escapes of the file's own.
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let (Some(escape), true) = (line.find('\\'), line.contains('@')) {
            ranges.push(start + escape..start + line.len());
        }
        start += line.len();
    }
    let mut masked = text.as_bytes().to_vec();
    for range in ranges {
        masked[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b'*');
    }
    String::from_utf8(masked).expect("a letter is masked whole")
}

/// Whether a text begins with what is plainly a URL, so that a comma behind it is none of its
/// password's.
pub(crate) fn begins_plainly(text: &str) -> bool {
    text.split_once(":/").is_some_and(|(_, rest)| told(rest.trim_start_matches('/')).is_some())
}

/// Everything that may not be shown, in the order of the text; no two overlap.
fn found(text: &str) -> Vec<SecretSpan> {
    let mut found = in_urls(text);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let length = line.trim_end_matches('\n').len();
        let mut done = 0;
        for from in outside_urls(&line[..length]).into_iter().map(|from| start + from) {
            // Up to what is found in a URL behind it.
            let urls = found.iter().map(SecretSpan::range).filter(|url| url.end > from);
            let end = urls.map(|url| url.start).min().unwrap_or(usize::MAX).min(start + length);
            if from.max(done) < end {
                found.push(SecretSpan::Rest(from..end));
                done = end;
            }
        }
        start += line.len();
    }
    found.sort_by_key(|it| it.range().start);
    found
}

/// Where in a line passwords may begin that are in no URL: behind `password=`, as in a connection
/// string, behind the second colon of `scheme:user:password@host`, and behind that of
/// `user:password@host`.
fn outside_urls(line: &str) -> Vec<usize> {
    let assigned = line.match_indices('=').filter_map(|(at, _)| {
        let name = line[..at].trim_end();
        let letters = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = name.bytes().rev().take_while(|byte| letters(byte)).count();
        let name = name[name.len() - length..].to_ascii_lowercase();
        (["password", "passwd", "pass", "pwd"].iter().any(|end| name.ends_with(end)))
            .then_some(at + 1)
    });
    let bytes = line.as_bytes();
    let user = |(at, _): (usize, &str)| {
        let end = some(bytes, at + 1, |byte| stands_plain(byte) && byte != b':')?;
        let colon = bytes.get(end) == Some(&b':') && at > 0;
        (colon && line[end..].contains('@')).then_some(end + 1)
    };
    // What follows an engine's level after an `@` is its alias.
    let bare = |(at, _): (usize, &str)| {
        let word = line[at + 1..].split([',', '"', '\'', ' ']).next().unwrap_or_default();
        let named =
            at > 0 && bytes[at - 1].is_ascii_alphanumeric() && !word.starts_with(['/', '@']);
        (named && word.contains('@') && !others_are_aliases(word)).then_some(at + 1)
    };
    let colons = line.match_indices(':');
    let told = colons.clone().find_map(user).into_iter().chain(colons.filter_map(bare));
    let mut places: Vec<_> = assigned.chain(told).collect();
    places.sort_unstable();
    places
}

/// What may not be shown of the URLs in a text.
fn in_urls(text: &str) -> Vec<SecretSpan> {
    let mut found = Vec::new();
    let mut from = 0;
    // One slash for who forgets the other.
    while let Some(scheme) = text[from..].find(":/") {
        let slash = from + scheme + 1;
        let start = slash + text[slash..].bytes().take_while(|byte| *byte == b'/').count();
        let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let line = &text[start..end];
        from = match told(line) {
            Some(PlainUrl { password, parameters, end }) => {
                let at = |range: Range<usize>| start + range.start..start + range.end;
                let password = password.filter(|range| !range.is_empty());
                found.extend(password.map(|range| SecretSpan::Password(at(range))));
                found.extend(parameters.map(|range| SecretSpan::Parameters(at(range))));
                start + end
            }
            // A path behind a colon is none, nor is a scheme that is only spoken of.
            None if !line.contains('@')
                && (start == slash + 1
                    || !line.contains(':')
                    || !begins_with_a_user(line)
                    || is_of_a_page(&text[..slash - 1], line)) =>
            {
                start
            }
            None => {
                let end = if line.contains('@') { end } else { line_of_next_at(text, end) };
                found.push(SecretSpan::Rest(start..end));
                end
            }
        };
    }
    found
}

/// Whether a name may stand there, of which a URL's user is one.
fn begins_with_a_user(text: &str) -> bool {
    !text.starts_with([' ', '…', '.', ',', '`', '\'', '"'])
}

/// Whether a URL, in two at its colon, is a web page's without a user: what stands behind the colon of its host
/// is a port.
fn is_of_a_page(before: &str, after: &str) -> bool {
    let host = after.split(['/', ' ', '?', '`', '"', '\'', ',']).next().unwrap_or_default();
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let is_port = port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    ["http", "https", "http+unix"].iter().any(|scheme| before.ends_with(scheme))
        && (is_port || host.ends_with(']'))
}

/// The end of the line where the next `@` stands: a password may have a line's end in it.
fn line_of_next_at(text: &str, end: usize) -> usize {
    let Some(at) = text[end..].find('@') else { return end };
    text[end + at..].find('\n').map_or(text.len(), |length| end + at + length)
}

/// What follows a URL, up to the next one.
fn up_to_next_url(text: &str) -> &str {
    let Some(next) = text.find("://") else { return text };
    let scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let letters = text.as_bytes()[..next].iter().rev().take_while(|byte| scheme(byte)).count();
    &text[..next - letters]
}

/// Whether every `@` is that of an alias: otherwise it may be the one before a host.
fn others_are_aliases(text: &str) -> bool {
    text.split('@').skip(1).all(|rest| {
        let alias = run(rest.as_bytes(), 0, in_alias);
        alias > 0 && is_end(rest.as_bytes().get(alias))
    })
}

/// The parts in what follows a scheme, if it can be told which they are: no `@` behind them may be
/// the one before the host.
fn told(line: &str) -> Option<PlainUrl> {
    plain(line).filter(|url| {
        url.password.is_none() || others_are_aliases(up_to_next_url(&line[url.end..]))
    })
}

/// Where the parts of a URL are that is plainly one.
struct PlainUrl {
    password: Option<Range<usize>>,
    parameters: Option<Range<usize>>,
    end: usize,
}

/// The parts in what follows a scheme, if that is plainly
/// `user[:password]@host[:port]/database[?name=value][#word][@alias]`.
fn plain(text: &str) -> Option<PlainUrl> {
    let bytes = text.as_bytes();
    let next_is = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
    let mut at = some(bytes, 0, |byte| stands_plain(byte) && byte != b':')?;
    let (mut password, mut parameters) = (None, None);
    if next_is(at, b':') {
        let end = run(bytes, at + 1, stands_plain);
        password = Some(at + 1..end);
        at = end;
    }
    if !next_is(at, b'@') {
        return None;
    }
    at = match next_is(at + 1, b'[') {
        true => {
            Some(some(bytes, at + 2, |byte| byte.is_ascii_hexdigit() || byte == b':')?)
                .filter(|end| next_is(*end, b']'))?
                + 1
        }
        false => {
            some(bytes, at + 1, |byte| byte.is_ascii_alphanumeric() || b"-._%".contains(&byte))?
        }
    };
    if next_is(at, b':') {
        at = some(bytes, at + 1, |byte| byte.is_ascii_digit())?;
    }
    if !next_is(at, b'/') {
        return None;
    }
    at = some(bytes, at + 1, stands_plain)?;
    if next_is(at, b'?') {
        let end = run(bytes, at + 1, |byte| stands_plain(byte) || byte == b'/');
        if text[at + 1..end].split('&').any(is_secret) {
            return None;
        }
        parameters = Some(at + 1..end);
        at = end;
    }
    if next_is(at, b'#') {
        at = run(bytes, at + 1, |byte| byte.is_ascii_alphanumeric());
    }
    if next_is(at, b'@') {
        at = some(bytes, at + 1, in_alias)?;
    }
    is_end(bytes.get(at)).then_some(PlainUrl { password, parameters, end: at })
}

/// Whether a parameter's name says that its value is a password.
fn is_secret(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
    let secret = ["pass", "pwd", "secret", "token"].iter().any(|part| name.contains(part));
    secret && !name.ends_with("file")
}

/// Where a run of such bytes ends.
fn run(bytes: &[u8], from: usize, such: impl Fn(u8) -> bool) -> usize {
    from + bytes[from..].iter().take_while(|byte| such(**byte)).count()
}

/// The same, of one byte at least.
fn some(bytes: &[u8], from: usize, such: impl Fn(u8) -> bool) -> Option<usize> {
    Some(run(bytes, from, such)).filter(|end| *end > from)
}

/// What stands in a part of a URL as it is.
fn stands_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"'\"{}\\`<>^|@/?#,[]".contains(&byte)
}

fn in_alias(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Whether a URL can end before this.
fn is_end(byte: Option<&u8>) -> bool {
    byte.is_none_or(|byte| byte.is_ascii_whitespace() || b",\"'])}`:;".contains(byte))
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
            // What can't be told is not shown.
            ("http://me:pass is gone: try again", "http://***"),
            ("db://me:123 is gone: try again", "db://***"),
            ("db://me:pa/ss@host/db", "db://***"),
            ("db://me:pa?ss@host/db", "db://***"),
            ("db://me:pa#ss@host/db", "db://***"),
            ("db://me:pa@ss@host/db", "db://***"),
            ("db://me:pa'ss@host/db", "db://***"),
            ("db://me:pa}ss@host/db", "db://***"),
            ("db://me:pa ss@host/db", "db://***"),
            ("db://me:pa,ss@host/db", "db://***"),
            ("db://me:p@ss,w@host/db", "db://***"),
            ("db://me:p@ss/x,w@host/db", "db://***"),
            ("db://me:paß@host/db", "db://***"),
            ("db://me:pass@host", "db://***"),
            ("db:/me:pass@host/db", "db:/me@host/db"),
            ("db://me:pa", "db://***"),
            ("db://me@host/db?password=pass", "db://***"),
            ("db://me@host/db?sslPassword=pass,alpha", "db://***"),
            ("host=h password=pass", "host=h password=***"),
            ("host=h PGPASSWORD = 'pa ss' user=me", "host=h PGPASSWORD =***"),
            ("db://host=h password=pass", "db://host=h password=***"),
            ("db:me:pass@h/db", "db:***"),
            ("db:me:pa ss@h/db\nalpha:x@again", "db:me:***\nalpha:x@again"),
            ("me:pass@host/db", "me:***"),
            ("db//me:pass@host.net", "db//me:***"),
            ("db://a:b@c/d,me:pass@host/db", "db://***"),
            ("alpha:x,beta:y@again", "alpha:x,beta:y@again"),
            ("a = \"db://me:/pass@host/db\"\nb = 1", "a = \"db://***\nb = 1"),
            ("a = \"db://me:pa\nss@host/db\"\nb = 1", "a = \"db://***\nb = 1"),
        ];
        for (text, short) in cases {
            assert_eq!(without_passwords(text), short);
            let masked = masked(text);
            assert_eq!(masked.len(), text.len());
            assert!(
                !["pa", "ss", "w@"]
                    .iter()
                    .any(|part| masked.contains(part) && !short.contains(part)),
                "{masked}"
            );
        }
        assert_eq!(masked("db://me:pass@host/db"), "db://me:****@host/db");
        assert_eq!(masked("db://me@host/db?a=b&c=d#e"), "db://me@host/db?a=*****#e");
        assert_eq!(
            masked("\"db:\\u002f/me:pass@host/db\"\nb"),
            format!("\"db:{}\nb", "*".repeat(23))
        );
    }

    proptest! {
        #[test]
        fn no_password_is_kept_however_it_is_written(
            password in "[0-9]{3}\\PC{0,6}[0-9]{3}",
            more in "(,sqlite|,db://c:[0-9]{6}@h/d|@again|)",
        ) {
            let digits: String = more.chars().filter(char::is_ascii_digit).collect();
            let text = format!("--engine=db://me:{password}@host/db{more}");
            let short = without_passwords(&text);
            let (first, last) = (&password[..3], &password[password.len() - 3..]);
            for part in [first, last, digits.as_str()] {
                prop_assert!(part.is_empty() || !short.contains(part), "{}", short);
            }
            prop_assert_eq!(masked(&text).len(), text.len());
        }
    }
}
