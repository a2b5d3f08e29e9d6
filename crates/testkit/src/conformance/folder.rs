//! Folders for databases. A server takes seconds to initialise one, so it does that once, and each
//! database of its kind starts with a copy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use bakeoff_engines::{Engine, EngineHome, Schema};
use tempfile::TempDir;

use crate::conformance::terms;

/// A server's folder that was opened once.
struct Model {
    folder: PathBuf,
    /// Removes the folder when this process has ended, however it ends: statics are never dropped.
    _remover: Child,
}

/// The models by their engines' names.
static MODELS: Mutex<BTreeMap<&str, Model>> = Mutex::new(BTreeMap::new());

/// A new folder for a database of that engine; it goes when it is dropped.
pub fn of(engine: &dyn Engine) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let about = engine.about();
    if about.home == EngineHome::Server {
        let mut models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
        let model = models.entry(about.name).or_insert_with(|| model(engine));
        copy(&model.folder.join("data"), folder.path());
    }
    folder
}

fn model(engine: &dyn Engine) -> Model {
    let folder = tempfile::tempdir().expect("a folder");
    drop(engine.open(folder.path(), &terms(engine), &Schema::default(), &[]).expect("open"));
    let folder = folder.keep();
    // Its input ends with this process.
    let mut remover = Command::new("sh");
    remover.args(["-c", "cat; exec rm -rf -- \"$1\"", "sh"]).arg(&folder);
    remover.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Model { folder, _remover: remover.spawn().expect("sh") }
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").args(["-a", "--sparse=always"]).arg(from).arg(to).status();
    assert!(done.expect("cp").success(), "{} can't be copied", from.display());
}
