//! Pulling the plug: the ledger's clients are at work on a virtual disk when its power goes, and
//! what the disk may hold then is held against what they were promised.
//!
//! A cut, from the same data image each time: mount the disk, run the clients in a process of
//! their own, let the power go at a moment that a seed has drawn, kill that process; then, for each
//! rule for what a power cut leaves ([`Keep`]), make the crash image and have another process
//! recover, check and audit it. If it is asked for, the power goes once more meanwhile, by the same
//! rule, and what the second cut leaves is audited.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_devices::spec::Spec;
use bakeoff_engines::{Durability, Engine, Home};
use bakeoff_results::{Cut, Promised};

use crate::job::{Data, Job, Staging};
use crate::run::{self, Ending, LabError};

mod again;
pub(crate) mod audit;
pub(crate) mod clients;
mod cut;
mod judge;
pub(crate) mod log;
mod moment;
mod power;

/// How long an engine may take to open, and to open, check and read a crash image, if nothing else
/// is said.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// After so many failed cuts in a row no other is tried.
const MOST_FAILURES: u32 = 3;

/// What the power is cut under.
pub struct Subject<'a> {
    /// The program that is started for each process: bakeoff itself.
    pub program: &'a Path,
    /// A folder for intermediate files, the caller's to remove.
    pub work: &'a Path,
    /// The engine.
    pub engine: &'a dyn Engine,
    /// What was loaded: of the workload `ledger`.
    pub data: &'a Data,
    /// The folder that it was loaded into ([`load`]).
    pub image: &'a Path,
    /// The level that the engine is opened at.
    pub durability: Durability,
    /// What that level says: what each cut is judged by.
    pub promised: Promised,
    /// The user's own settings for the engine.
    pub settings: Vec<(String, String)>,
    /// How many clients are at work.
    pub clients: usize,
    /// The disk's model. It works at once.
    pub disk: &'a Spec,
    /// How names become lasting on it.
    pub metadata: Metadata,
    /// The rules by which each cut is judged.
    pub keep: &'a [Keep],
    /// Whether the power goes a second time, while the engine recovers from the first.
    pub recovery: bool,
    /// The experiment's seed.
    pub seed: u64,
    /// Where crash images go that show a broken promise, if they are to be kept.
    pub keep_images: Option<&'a Path>,
    /// How long an engine may take to open, and to open, check and read a crash image: after that
    /// it counts as corrupt.
    pub patience: Duration,
    /// Set by somebody else when it is to stop.
    pub stop: &'a AtomicBool,
}

/// Whether an engine's power can be cut at all at that level.
///
/// # Errors
/// Why not, and what to do.
pub fn can_be_cut(engine: &dyn Engine, durability: Durability) -> Result<(), String> {
    engine.available()?;
    let about = engine.about();
    if about.home == Home::Elsewhere {
        return Err(format!(
            "the power of {} is not bakeoff's to cut: somebody else runs it; name an engine that \
             bakeoff starts itself, as `bakeoff list engines` shows them",
            about.name
        ));
    }
    let promise = about.promises.iter().find(|promise| promise.durability == durability);
    match promise.and_then(|promise| promise.settings) {
        Some(_) => Ok(()),
        None => Err(format!("{} has no durability {}", about.name, durability.name())),
    }
}

/// Loads the data into the empty folder `image`, in a process of its own. `work` takes what a
/// server keeps beside its data meanwhile. The inner error is the load's.
///
/// # Errors
/// What keeps the lab from working.
pub fn load(
    program: &Path,
    engine: &dyn Engine,
    data: &Data,
    settings: &[(String, String)],
    (image, work): (&Path, &Path),
    stop: &AtomicBool,
) -> Result<Result<(), String>, LabError> {
    let runtime = runtime(engine, work)?;
    let staging = Staging {
        directory: image.into(),
        runtime: runtime.clone(),
        settings: settings.into(),
        ..Staging::default()
    };
    let job = Job::Load { data: data.clone(), staging, durability: Durability::None.name().into() };
    let loaded = run::load(program, &job, stop, &mut |_| {})?;
    if let Some(runtime) = runtime {
        run::wanting("removing the server's folder", run::remove(&runtime))?;
    }
    Ok(loaded.map(drop))
}

/// A new folder for what a private server keeps beside its data; other engines need none.
fn runtime(engine: &dyn Engine, work: &Path) -> Result<Option<PathBuf>, LabError> {
    if engine.home() != Home::Server {
        return Ok(None);
    }
    let folder = work.join("server");
    run::wanting("the server's folder", std::fs::create_dir(&folder))?;
    Ok(Some(folder))
}

impl Subject<'_> {
    /// Cuts the power once for each of `numbers`, and tells `done` of each. A cut that fails is
    /// told of, too, and the next one is made; after three in a row, none.
    ///
    /// # Errors
    /// What keeps the lab from working, or what `done` returns.
    pub fn run(
        &self,
        numbers: impl IntoIterator<Item = u32>,
        done: &mut dyn FnMut(Cut) -> Result<(), LabError>,
    ) -> Result<Ending, LabError> {
        let (mut failed, mut in_a_row) = (0, 0);
        for number in numbers {
            let cut = self.cut(number)?;
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Ending::Interrupted);
            }
            in_a_row = if cut.failed.is_some() { in_a_row + 1 } else { 0 };
            failed += u32::from(cut.failed.is_some());
            done(cut)?;
            if in_a_row == MOST_FAILURES {
                break;
            }
        }
        Ok(Ending::Finished { failed })
    }
}
