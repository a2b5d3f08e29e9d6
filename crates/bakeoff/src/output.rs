//! What bakeoff prints and writes.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use bakeoff_results::visible;

use crate::exit::{Exit, Failure};

/// Writes a file whole or not at all; what is no file, such as a pipe or a device, is written to.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    // A link stays a link: the file that it leads to is written.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let written = match std::fs::metadata(&target) {
        Ok(there) if !there.is_file() => std::fs::write(&target, text),
        _ => replace(&target, text),
    };
    written.map_err(|error| {
        let (exit, error) = (exit(&error), plain(&error));
        Failure::new(exit, format!("{} can't be written: {error}", path.display()))
    })
}

/// Puts a new file in the place of the old one, in one step.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// What the system said, without the name of a temporary file or folder that could not be made:
/// nobody has given it that name.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" at path ").next().unwrap_or(&text).to_owned()
}

/// Prints to standard output; a reader that has gone away, or a terminal that was closed, is no
/// mistake of ours.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    match written {
        Err(error) if !has_gone(&error) => {
            Err(Failure::new(exit(&error), format!("standard output can't be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says something on standard error, control characters made visible. Where that is closed or full
/// nobody hears it, and nothing else becomes of that.
pub fn say(text: impl fmt::Display) {
    let text = text.to_string();
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
