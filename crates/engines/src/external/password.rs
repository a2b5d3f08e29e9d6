//! Passwords and where they come from. They are never shown.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

const MOST_BYTES: u64 = 1 << 20;

/// The shortest password, in bytes, that is hidden in messages of others: a shorter one is part of
/// many words.
const SHORTEST: usize = 4;

/// Words that messages about access have anyway. A password that is one of them is not hidden where
/// it stands alone, so that the message stays readable.
const OF_MESSAGES: [&str; 12] = [
    "access",
    "authentication",
    "database",
    "denied",
    "failed",
    "from",
    "host",
    "password",
    "right",
    "root",
    "server",
    "user",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Password {
    /// In its URL: it is known only while this process runs.
    Url,
    Kept,
    Missing,
}

/// A password, or a URL with one. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn hidden_in(&self, text: &str) -> String {
        if self.0.len() < SHORTEST {
            return text.into();
        }
        let escaped = utf8_percent_encode(&self.0, NON_ALPHANUMERIC).to_string();
        let quoted = self.0.escape_debug().to_string();
        let forms = [&*self.0, &escaped, &quoted];
        forms.iter().fold(text.to_owned(), |text, form| hide_secret(&text, form))
    }
}

/// Replaces a secret by stars, but not where it is a word of the message, or a part of one: stars
/// there would tell it.
fn hide_secret(text: &str, secret: &str) -> String {
    let is_common = OF_MESSAGES.contains(&secret);
    let is_word = secret.chars().all(|letter| letter.is_ascii_lowercase());
    let (mut shown, mut done) = (String::new(), 0);
    for (at, _) in text.match_indices(secret) {
        let (before, after) = (&text[..at], &text[at + secret.len()..]);
        // An echo of the password would be quoted, or part of a URL.
        let stands_alone = (before.is_empty() || before.ends_with([' ', '(']))
            && (after.is_empty()
                || after.starts_with([' ', ',', '.', ';', ')', '?'])
                || after.starts_with(": "));
        let is_part = is_word && (ends_in_word(before) || after.starts_with(is_small_letter));
        if !(is_common && stands_alone || is_part) {
            shown += &text[done..at];
            shown += "***";
            done = at + secret.len();
        }
    }
    shown + &text[done..]
}

fn is_small_letter(letter: char) -> bool {
    letter.is_ascii_lowercase()
}

/// Whether the text ends in a letter of a word, not in `%3a`, a character of a URL.
fn ends_in_word(text: &str) -> bool {
    let code = text.len().checked_sub(3).and_then(|at| text.get(at..));
    text.ends_with(is_small_letter) && !code.is_some_and(|code| code.starts_with('%'))
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

pub(crate) fn of_environment(variable: &str) -> Result<Option<Secret>, String> {
    let Some(password) = std::env::var_os(variable).filter(|password| !password.is_empty()) else {
        return Ok(None);
    };
    let password = password.into_string().map_err(|_| {
        format!("the password in {variable} is not UTF-8\ngive this user another one")
    });
    password.map(|password| Some(Secret::new(password)))
}

pub(crate) fn of_file(path: &Path) -> Result<Secret, String> {
    let text = read_private_file(path)?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(Secret::new(line)),
        _ => Err(format!("{} is empty\nwrite the password into its first line", path.display())),
    }
}

/// The password of the first line that fits in a file in PostgreSQL's form:
/// `host:port:database:user:password`, where `*` fits any, and `\` escapes `:` and `\`.
pub(crate) fn of_passfile(path: &Path, wanted: [&str; 4]) -> Result<Option<Secret>, String> {
    let text = read_private_file(path)?;
    let fitting = text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = split_fields(line);
        let fits = fields.len() == 5
            && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        fits.then(|| Secret::new(&*fields[4])).filter(|password| !password.reveal().is_empty())
    });
    Ok(fitting)
}

fn split_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let last = fields.len() - 1;
        match letter {
            ':' if last < 4 => fields.push(String::new()),
            '\\' => fields[last].extend(letters.next()),
            letter => fields[last].push(letter),
        }
    }
    fields
}

pub(crate) fn find_passfile() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("PGPASSFILE").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let usual = PathBuf::from(std::env::var_os("HOME")?).join(".pgpass");
    usual.exists().then_some(usual)
}

fn read_private_file(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        format!(
            "the password file {shown} can't be read: {error}\ngive the path of a file of yours"
        )
    };
    // Checked before it is opened: opening a pipe would block.
    let is_file = std::fs::metadata(path).map_err(unreadable)?.is_file();
    let file = is_file.then(|| File::open(path).map_err(unreadable)).transpose()?;
    let about = file.as_ref().map(|file| file.metadata().map_err(unreadable)).transpose()?;
    let (Some(file), Some(about)) = (file, about) else {
        return Err(format!("the password file {shown} is not a file\ngive the path of a file"));
    };
    if about.len() > MOST_BYTES {
        return Err(format!(
            "the password file {shown} has over {MOST_BYTES} bytes\n\
                            give the path of a file with passwords alone"
        ));
    }
    if about.permissions().mode() & 0o077 != 0 {
        return Err(format!("others may read the password file {shown}\nchmod 600 {shown}"));
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_shown_nowhere() {
        let secret = Secret::new("pa/ss");
        assert!(!format!("{secret:?}").contains("ss"));
        let said = "no: pa/ss, pa%2Fss and \"pa/ss\" are wrong";
        assert_eq!(secret.hidden_in(said), "no: ***, *** and \"***\" are wrong");
    }

    /// Who follows an example has such a password.
    #[test]
    fn a_password_that_is_a_word_of_the_message_leaves_it_readable() {
        let said = "Access denied for user 'me'@'localhost' (using password: YES): are the URL's user and \
                    password right, and may this user come from here?";
        for word in ["password", "user", "right", "denied"] {
            assert_eq!(Secret::new(word).hidden_in(said), said, "{word}");
        }
        // What shows it is hidden all the same, and so is any other password.
        let secret = Secret::new("password");
        let echo = "mysql://me:password@host/db, 'password' and \"password\" are no password";
        let hidden = "mysql://me:***@host/db, '***' and \"***\" are no password";
        assert_eq!(secret.hidden_in(echo), hidden);
        assert_eq!(Secret::new("here").hidden_in(said), said.replace("here", "***"));
        // A part of a longer word is no echo; behind an escape of a URL it is one.
        assert_eq!(Secret::new("word").hidden_in(said), said);
        let secret = Secret::new("word");
        assert_eq!(secret.hidden_in("u%3aword@h, 'word', wordy"), "u%3a***@h, '***', wordy");
    }

    #[test]
    fn a_line_of_a_passfile_has_five_fields() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        let text = "# a comment\nhost:5432:db:me:other\n*:5433:*:me:a\\:b\\\\c:d\n";
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        let found = |wanted| of_passfile(&path, wanted).unwrap();
        assert_eq!(found(["host", "5432", "db", "me"]), Some(Secret::new("other")));
        assert_eq!(found(["any", "5433", "any", "me"]), Some(Secret::new("a:b\\c:d")));
        assert_eq!(found(["any", "5433", "any", "you"]), None);
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "word\nmore\n").unwrap();
        for mode in [0o640, 0o604, 0o644, 0o660] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let refused = of_file(&path).unwrap_err();
            assert!(refused.contains("others may read") && refused.contains("chmod 600"));
            assert!(of_passfile(&path, [""; 4]).is_err());
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(of_file(&path), Ok(Secret::new("word")));
        assert!(of_file(Path::new("/dev/zero")).unwrap_err().contains("is not a file"));
    }
}
