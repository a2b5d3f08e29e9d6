//! What bakeoff prints and writes.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use bakeoff_results::visible;

use crate::exit::{CommandFailure, Exit};

/// Writes a file that a user names, whole or not at all; what is no file, such as a pipe or a device,
/// is written to. Links are followed that are one's own or root's; root writes nothing where others
/// decide what is there.
pub fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    use bakeoff_trust::Error::System;
    let written = match target(path) {
        Ok(OutputTarget::File(path)) => replace(&path, text),
        Ok(OutputTarget::Other(path)) => std::fs::write(path, text),
        Err(System { source, .. }) => Err(source),
        Err(error) => Err(error.into()),
    };
    written.map_err(|error| failure(path, &error))
}

/// Puts a new file in the place of whatever has its name, a link itself too.
pub fn write_here(path: &Path, text: &str) -> Result<(), CommandFailure> {
    replace(path, text).map_err(|error| failure(path, &error))
}

fn failure(path: &Path, error: &io::Error) -> CommandFailure {
    CommandFailure::new(
        exit(error),
        format!("{} can't be written: {}", path.display(), plain(error)),
    )
}

/// What is written to.
enum OutputTarget {
    /// A file, there or to be made.
    File(PathBuf),
    /// Something else.
    Other(PathBuf),
}

/// As many links are followed as the kernel follows.
const MOST_LINKS: usize = 40;

/// Where the links lead that begin at a path.
fn target(path: &Path) -> bakeoff_trust::Result<OutputTarget> {
    let mut path = path.to_owned();
    let failed = |path: &Path, source: io::Error| bakeoff_trust::Error::System {
        path: path.to_owned(),
        source,
    };
    for _ in 0..MOST_LINKS {
        let Some(name) = path.file_name().map(ToOwned::to_owned) else { break };
        if rustix::process::geteuid().is_root() {
            path = bakeoff_trust::holder(folder_of(&path))?.path().join(name);
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
            // A pipe's or socket's owner would read what is written, when it suits.
            let device = there.file_type().is_char_device();
            if device || bakeoff_trust::is_trusted(owner) {
                return Ok(OutputTarget::Other(path));
            }
            return Err(bakeoff_trust::Error::foreign(&path, owner));
        }
        if !bakeoff_trust::is_trusted(owner) {
            return Err(bakeoff_trust::Error::Link { path, owner });
        }
        // What this process was given open is no path any more, as a shell's pipe.
        if path.starts_with("/proc/") {
            return Ok(OutputTarget::Other(path));
        }
        let target = std::fs::read_link(&path).map_err(|error| failed(&path, error))?;
        path = folder_of(&path).join(target);
    }
    Err(failed(&path, rustix::io::Errno::LOOP.into()))
}

/// Puts a new file in the place of the old one, in one step.
fn replace(path: &Path, text: &str) -> io::Result<()> {
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

/// What the system said, without the name of a temporary file or folder that could not be made:
/// nobody has given it that name.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" at path ").next().unwrap_or(&text).to_owned()
}

/// Prints to standard output; a reader that has gone away, or a terminal that was closed, is no
/// mistake of ours.
pub fn print(text: &str) -> Result<(), CommandFailure> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    match written {
        Err(error) if !has_gone(&error) => Err(CommandFailure::new(
            exit(&error),
            format!("standard output can't be written: {error}"),
        )),
        _ => Ok(()),
    }
}

/// The commands that messages name.
const COMMANDS: [&str; 9] =
    ["run", "merge", "report", "compare", "cluster", "layouts", "list", "doctor", "disk"];

/// What this program is called: `bakeoff`, or as a program of one's own is.
pub fn program() -> String {
    let called = std::env::args_os().next().map(PathBuf::from);
    let name = called.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
    name.unwrap_or("bakeoff").to_owned()
}

/// The columns of a text where no terminal says how many there are.
pub const WIDTH: usize = 80;

/// The columns of the terminal that standard output is, or [`WIDTH`] where it is none.
pub fn terminal_width() -> usize {
    columns_of(io::stdout()).unwrap_or(WIDTH)
}

/// The columns of a terminal; `None` where it is none.
pub fn columns_of(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok().filter(|size| size.ws_col > 0);
    size.map(|size| usize::from(size.ws_col))
}

/// A text in lines of at most so many columns, the first behind one indent and the others behind another; a word
/// for which a line is too short has one for itself.
pub fn wrapped(text: &str, [first, others]: [&str; 2], width: usize) -> String {
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

/// Whether a terminal can be expected to show more than ASCII, by its locale and its kind.
pub fn has_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
    let locale = locale.to_lowercase();
    let kind = variable("TERM").unwrap_or_default();
    (locale.contains("utf-8") || locale.contains("utf8")) && !["dumb", "linux"].contains(&&*kind)
}

/// Whether text is coloured: never where NO_COLOR is set (no-color.org), always where CLICOLOR_FORCE is, and
/// else on a terminal that is not dumb, unless CLICOLOR is 0 (bixense.com/clicolors).
pub fn has_color(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let is = |name: &str, wanted: &str| set(name).is_some_and(|value| value == wanted);
    if set("NO_COLOR").is_some() {
        return false;
    }
    let forced = set("CLICOLOR_FORCE").is_some() && !is("CLICOLOR_FORCE", "0");
    forced || terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb")
}

/// No line of a table of text is longer: it would be hard to follow.
const WIDEST: usize = 100;

/// How wide a table of text is.
pub fn table_width() -> usize {
    terminal_width().min(WIDEST)
}

/// A text that names commands of `bakeoff`, with those of this program in their place.
pub fn by_own_name(text: &str) -> String {
    let program = program();
    let renamed = |text: String, command: &&str| {
        text.replace(&format!("bakeoff {command}"), &format!("{program} {command}"))
    };
    COMMANDS.iter().fold(text.to_owned(), renamed)
}

/// Says something on standard error, control characters made visible. Where that is closed or full
/// nobody hears it, and nothing else becomes of that.
pub fn say(text: impl fmt::Display) {
    let text = by_own_name(&text.to_string());
    let _ = io::stderr().write_all(format!("{}\n", visible(&text)).as_bytes());
}

fn has_gone(error: &io::Error) -> bool {
    let closed = rustix::io::Errno::IO.raw_os_error();
    error.kind() == io::ErrorKind::BrokenPipe || error.raw_os_error() == Some(closed)
}

/// What a failure to write ends with.
fn exit(error: &io::Error) -> Exit {
    match error.kind() {
        io::ErrorKind::StorageFull => Exit::Full,
        _ => Exit::Failed,
    }
}

/// A word as a shell reads it.
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
