//! A recorded history in a folder: the events as JSON, and the written bytes beside it.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bakeoff_devices::plug::Recorded;

const EVENTS: &str = "history.json";
const BYTES: &str = "history.bytes";

/// Writes a history into a new folder, which nobody else gets into.
pub fn write(history: &Recorded, folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    let mut events = BufWriter::new(File::create_new(folder.join(EVENTS))?);
    serde_json::to_writer(&mut events, history)?;
    events.flush()?;
    fs::write(folder.join(BYTES), history.bytes())
}

/// The folder must be one's own.
pub fn read(folder: &Path) -> io::Result<Recorded> {
    let events = fs::read(folder.join(EVENTS))?;
    let history: Recorded = serde_json::from_slice(&events)?;
    history.with_bytes(fs::read(folder.join(BYTES))?)
}
