//! Prints text and writes files for the user.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use bakeoff_results::escape_unseen;

use crate::ascii::spell_in_ascii;
use crate::exit::{CommandFailure, Exit};

/// Replaces a file whole or not at all; writes to a pipe or a device as it is. Follows links of
/// this user or root alone; root writes nothing where others decide what is there.
pub fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    use bakeoff_folders::trust::Error::System;
    let written = match find_target(path) {
        Ok(OutputTarget::File(path)) => replace_file(&path, text),
        Ok(OutputTarget::Other(path)) => std::fs::write(path, text),
        Err(System { source, .. }) => Err(source),
        Err(error) => Err(error.into()),
    };
    written.map_err(|error| write_failure(path, &error))
}

/// Puts a new file in the place of whatever has its name, a link itself too.
pub fn write_here(path: &Path, text: &str) -> Result<(), CommandFailure> {
    replace_file(path, text).map_err(|error| write_failure(path, &error))
}

fn write_failure(path: &Path, error: &io::Error) -> CommandFailure {
    CommandFailure::new(
        exit_for(error),
        format!("{} can't be written: {}", path.display(), plain_message(error)),
    )
}

enum OutputTarget {
    File(PathBuf),
    Other(PathBuf),
}

const MOST_LINKS: usize = 40;

fn find_target(path: &Path) -> bakeoff_folders::trust::Result<OutputTarget> {
    let mut path = path.to_owned();
    let failed = |path: &Path, source: io::Error| bakeoff_folders::trust::Error::System {
        path: path.to_owned(),
        source,
    };
    for _ in 0..MOST_LINKS {
        let Some(name) = path.file_name().map(ToOwned::to_owned) else { break };
        if rustix::process::geteuid().is_root() {
            path = bakeoff_folders::trust::holder(folder_of(&path))?.path().join(name);
        }
        let there = match std::fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(OutputTarget::File(path));
            }
            there => there.map_err(|error| failed(&path, error))?,
        };
        if there.is_file() {
            return Ok(OutputTarget::File(path));
        }
        let owner = there.uid();
        if !there.is_symlink() {
            // The owner of a pipe or socket could read the text at any time.
            let device = there.file_type().is_char_device();
            if device || bakeoff_folders::trust::is_trusted(owner) {
                return Ok(OutputTarget::Other(path));
            }
            return Err(bakeoff_folders::trust::Error::owned_by_other(&path, owner));
        }
        if !bakeoff_folders::trust::is_trusted(owner) {
            return Err(bakeoff_folders::trust::Error::Link { path, owner });
        }
        // Descriptors that this process inherited, such as a shell's pipe, have no path.
        if path.starts_with("/proc/") {
            return Ok(OutputTarget::Other(path));
        }
        let target = std::fs::read_link(&path).map_err(|error| failed(&path, error))?;
        path = folder_of(&path).join(target);
    }
    Err(failed(&path, rustix::io::Errno::LOOP.into()))
}

fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder_of(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Drops the name of a temporary file, which means nothing to the user.
pub fn plain_message(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" at path ").next().unwrap_or(&text).to_owned()
}

/// Prints text that somebody reads. A reader that has gone away is no error.
pub fn print(text: &str) -> Result<(), CommandFailure> {
    write_to_output(&fit_locale(text))
}

/// Prints what programs read, too, such as a script or JSON: in every locale the same, but on a terminal.
pub fn print_data(text: &str) -> Result<(), CommandFailure> {
    if io::stdout().is_terminal() { print(text) } else { write_to_output(text) }
}

fn write_to_output(text: &str) -> Result<(), CommandFailure> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    match written {
        Err(error) if !has_gone(&error) => Err(CommandFailure::new(
            exit_for(&error),
            format!("standard output can't be written: {error}"),
        )),
        _ => Ok(()),
    }
}

const COMMANDS: [&str; 10] =
    ["run", "whatif", "merge", "report", "compare", "cluster", "layouts", "list", "doctor", "disk"];

/// The name of this program: `bakeoff`, or that of an extended program.
pub fn program_name() -> String {
    let called = std::env::args_os().next().map(PathBuf::from);
    let name = called.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
    name.unwrap_or("bakeoff").to_owned()
}

/// The columns of a text without a terminal.
pub const WIDTH: usize = 80;

/// The columns of the terminal on standard output, or [`WIDTH`] without one.
pub fn terminal_width() -> usize {
    columns_of(io::stdout()).unwrap_or(WIDTH)
}

/// `None` if it is no terminal.
pub fn columns_of(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok().filter(|size| size.ws_col > 0);
    size.map(|size| usize::from(size.ws_col))
}

/// Each line fits `width`, unless a single word is longer.
pub fn wrap_text(text: &str, [first, others]: [&str; 2], width: usize) -> String {
    let (mut lines, mut line) = (String::new(), first.to_owned());
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            lines += &format!("{line}\n");
            (line, is_empty) = (others.to_owned(), true);
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    lines + &line + "\n"
}

/// Spells in ASCII what the locale can't show.
pub fn fit_locale(text: &str) -> Cow<'_, str> {
    if shows_unicode() { Cow::Borrowed(text) } else { spell_in_ascii(text) }
}

/// As [`fit_locale`], with control characters made visible.
pub fn fit_terminal(text: &str) -> String {
    fit_locale(&escape_unseen(text)).into_owned()
}

/// Whether the terminal can probably show more than ASCII.
pub fn shows_unicode() -> bool {
    has_unicode(|name| std::env::var(name).ok())
}

/// By the locale and the kind of terminal.
fn has_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
    let locale = locale.to_lowercase();
    let kind = variable("TERM").unwrap_or_default();
    (locale.contains("utf-8") || locale.contains("utf8")) && !["dumb", "linux"].contains(&&*kind)
}

/// NO_COLOR (no-color.org) comes first, then CLICOLOR_FORCE and CLICOLOR (bixense.com/clicolors).
pub fn has_color(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let is = |name: &str, wanted: &str| set(name).is_some_and(|value| value == wanted);
    if set("NO_COLOR").is_some() {
        return false;
    }
    let forced = set("CLICOLOR_FORCE").is_some() && !is("CLICOLOR_FORCE", "0");
    forced || terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb")
}

/// The longest line of a text table: longer ones are hard to follow.
const WIDEST: usize = 100;

pub fn table_width() -> usize {
    terminal_width().min(WIDEST)
}

/// Replaces `bakeoff` in commands by this program's name.
pub fn by_own_name(text: &str) -> String {
    let program = program_name();
    let renamed = |text: String, command: &&str| {
        text.replace(&format!("bakeoff {command}"), &format!("{program} {command}"))
    };
    COMMANDS.iter().fold(text.to_owned(), renamed)
}

/// Writes to standard error, [as it can be shown](fit_terminal); failures are ignored.
pub fn say(text: impl fmt::Display) {
    let text = by_own_name(&text.to_string());
    let _ = io::stderr().write_all(format!("{}\n", fit_terminal(&text)).as_bytes());
}

fn has_gone(error: &io::Error) -> bool {
    let closed = rustix::io::Errno::IO.raw_os_error();
    error.kind() == io::ErrorKind::BrokenPipe || error.raw_os_error() == Some(closed)
}

fn exit_for(error: &io::Error) -> Exit {
    match error.kind() {
        io::ErrorKind::StorageFull => Exit::Full,
        _ => Exit::Failed,
    }
}

pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+,./:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_and_for_those_who_ask_for_them() {
        for (terminal, variables, color) in [
            (true, &[][..], true),
            (false, &[], false),
            (true, &[("TERM", "dumb")], false),
            (true, &[("TERM", "xterm-256color"), ("NO_COLOR", "")], true),
            (true, &[("NO_COLOR", "1")], false),
            (true, &[("CLICOLOR", "0")], false),
            (false, &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], true),
            (false, &[("CLICOLOR_FORCE", "0")], false),
            (true, &[("CLICOLOR_FORCE", "0")], true),
            (false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        ] {
            let of = |name: &str| {
                let set = variables.iter().find(|(variable, _)| *variable == name);
                set.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(has_color(terminal, of), color, "{terminal} {variables:?}");
        }
    }

    #[test]
    fn a_terminal_says_by_its_locale_and_its_kind_what_it_shows() {
        for (variables, unicode) in [
            (&[("LANG", "en_GB.UTF-8")][..], true),
            (&[("LC_ALL", "C.utf8"), ("LANG", "C")], true),
            (&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")], false),
            (&[("LC_ALL", ""), ("LC_CTYPE", "de_DE.UTF-8"), ("LANG", "C")], true),
            (&[("LANG", "en_GB.ISO-8859-1")], false),
            (&[], false),
            (&[("LANG", "en_GB.UTF-8"), ("TERM", "linux")], false),
            (&[("LANG", "en_GB.UTF-8"), ("TERM", "xterm-256color")], true),
        ] {
            let of = |name: &str| {
                let set = variables.iter().find(|(variable, _)| *variable == name);
                set.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(has_unicode(of), unicode, "{variables:?}");
        }
    }
}
