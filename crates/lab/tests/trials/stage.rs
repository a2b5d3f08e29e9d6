//! Where power is cut in these tests.

use std::cell::RefCell;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_disk::mount::Launcher;
use bakeoff_engines::{Durability, Engine};
use bakeoff_experiment::{Cell, Experiment, FlagOverrides};
use bakeoff_lab::machine::accounts;
use bakeoff_lab::place::images::Images;
use bakeoff_lab::procedures::ProcedureContext;
use bakeoff_lab::procedures::cut::every::EveryRun;
use bakeoff_lab::procedures::cut::{self, ClientRun, CutTerms};
use bakeoff_lab::spec::{DiskSpec, TrialSpec};
use bakeoff_lab::targets::{Setup, WantedLevels};
use bakeoff_lab::{ChildProgram, RunEvent, RunObserver, TrialError};
use bakeoff_results::{Cut, DurabilityPromise};
use bakeoff_testkit::{in_time, open_to_all};
use tempfile::TempDir;

/// How often the power is cut at most until a known fault must have shown.
pub const MOST: u32 = 20;

/// How many cuts come from one run of the clients.
const TOGETHER: usize = 5;

/// Bytes that two stages and more have room in.
const ROOM: u64 = 4 << 30;

/// An engine with its data loaded, ready to be cut.
pub struct Stage {
    folder: TempDir,
    name: &'static str,
    pub experiment: Experiment,
    images: RefCell<Images>,
    /// How its power is cut.
    pub terms: CutTerms,
    metadata: Metadata,
    /// A disk on which the first recovery is timed.
    disk: Option<&'static str>,
}

/// Nobody is told.
struct Nobody;

impl RunObserver for Nobody {
    fn on_event(&mut self, _: RunEvent<'_>) {}
}

/// What the lab starts for a trial: this program, see `main.rs`.
pub fn program() -> ChildProgram {
    let path = std::env::current_exe().expect("a program has a path");
    ChildProgram { path, arguments: vec!["trial".into()] }
}

/// The experiment of a file with this text, in a folder.
pub fn load(folder: &Path, text: &str) -> Experiment {
    let file = folder.join("it.toml");
    fs::write(&file, text).expect("room");
    let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
    let loaded = Experiment::load(&file, &changes, &crate::registry().vocabulary());
    loaded.unwrap_or_else(|error| panic!("{error}"))
}

pub fn setup(experiment: &Experiment, cell: &Cell) -> Setup {
    let (registry, workload) = (crate::registry(), &*experiment.workload);
    let target = registry.target_of(workload).expect("a target");
    WantedLevels { experiment, cell, workload, image: 0 }.resolve(target).expect("levels")
}

/// The lab in a folder, with the images that it has by now.
pub fn at_work<T>(
    folder: &Path,
    images: &RefCell<Images>,
    work: impl FnOnce(&mut ProcedureContext<'_>) -> T,
) -> T {
    let program = program();
    let launcher =
        Launcher { program: program.path.clone(), arguments: vec!["disk-daemon".into()] };
    let mut lab = ProcedureContext {
        program: &program,
        launcher: &launcher,
        programs_log: std::path::PathBuf::from("/dev/null"),
        work: folder,
        device: None,
        images: images.take(),
        hired: None,
        reuse: false,
        filled: Default::default(),
        claims: Default::default(),
        applied: Vec::new(),
        stop: &AtomicBool::new(false),
        watch: &mut Nobody,
    };
    let answer = work(&mut lab);
    images.replace(lab.images);
    answer
}

/// A new folder: in memory if there is plenty, since what is lost is decided by the virtual disk,
/// and a real one only takes its time.
fn place() -> TempDir {
    let memory = Path::new("/dev/shm");
    let is_roomy = accounts::free_bytes(memory).is_ok_and(|free| free > ROOM);
    let made = if is_roomy { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}

impl Stage {
    /// Loads the ledger; to be cut at `strict` by every rule.
    pub fn set(engine: &'static dyn Engine) -> Self {
        Self::set_workload(engine, "ledger")
    }

    /// As [`Stage::set`], with another workload.
    pub fn set_workload(engine: &'static dyn Engine, workload: &str) -> Self {
        let folder = place();
        // A server's user has to get through.
        open_to_all(folder.path());
        // Read much faster than text is made, by each of a cut's processes.
        let lines = (0..10_000).map(|number| format!("Line {number} is unlike any other line.\n"));
        fs::write(folder.path().join("text"), lines.collect::<String>()).expect("room");
        let name = engine.about().name;
        let text = format!("workload = '{workload}'\nengine = '{name}'\ntext = 'text'\n");
        let stage = Self {
            name,
            experiment: load(folder.path(), &text),
            folder,
            images: RefCell::default(),
            terms: CutTerms {
                engine: name.into(),
                level: Durability::Strict.name().into(),
                promised: DurabilityPromise::Everything,
                clients: 4,
                keep: Keep::ALL.to_vec(),
                steady: false,
                signatures: engine.signatures(),
                timed: None,
                recovery: false,
                keep_images: None,
                patience: cut::DEFAULT_PATIENCE,
            },
            metadata: Metadata::Ordered,
            disk: None,
        };
        let trial = stage.trial();
        let loaded = stage.at_work(|lab| lab.loaded_image(&trial.setup));
        loaded.unwrap_or_else(|reason| panic!("{name}: {reason}"));
        stage
    }

    /// What each cut is staged with.
    fn trial(&self) -> TrialSpec {
        let cell = &self.experiment.cut_cell(self.name, &self.terms.level);
        let disk = Models::standard().parse(self.disk.unwrap_or("null")).expect("a model");
        TrialSpec {
            setup: setup(&self.experiment, cell),
            limits: Default::default(),
            disk: DiskSpec::Virtual(disk),
            neighbours: NeighbourLevel::None,
            seed: 1,
            levels: cell.to_map(),
            options: Default::default(),
        }
    }

    /// The lab in this stage's folder, with the images that it has by now.
    fn at_work<T>(&self, work: impl FnOnce(&mut ProcedureContext<'_>) -> T) -> T {
        at_work(self.folder.path(), &self.images, work)
    }

    /// Where the image is.
    pub fn image(&self) -> PathBuf {
        let images = self.images.borrow();
        let image = images.get(&self.trial().setup.recipe).expect("it was loaded");
        image.as_ref().expect("it was loaded").folder.clone()
    }

    pub fn with(self, metadata: Metadata, keep: &[Keep]) -> Self {
        let terms = CutTerms { keep: keep.to_vec(), ..self.terms };
        Self { metadata, terms, ..self }
    }

    /// The power goes again while the engine recovers.
    pub fn twice(self) -> Self {
        Self { terms: CutTerms { recovery: true, ..self.terms }, ..self }
    }

    /// Its debts turn over before its power is cut.
    pub fn steady(self) -> Self {
        Self { terms: CutTerms { steady: true, ..self.terms }, ..self }
    }

    /// On this disk, where the first recovery is timed.
    pub fn on(self, disk: &'static str) -> Self {
        Self { disk: Some(disk), ..self }
    }

    pub fn at(self, durability: Durability, promised: DurabilityPromise) -> Self {
        let terms = CutTerms { level: durability.name().into(), promised, ..self.terms };
        Self { terms, ..self }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Cuts every moment of a history of so many writes, and judges so many images of it at most.
    pub fn every(&self, writes: u64, images: u32) -> Cut {
        let (trial, metadata) = (self.trial(), self.metadata);
        let cut = self.at_work(|lab| {
            let run = EveryRun::make(self.terms.clone(), (writes, images), lab, &trial)?;
            let cut = run.cut_every_moment(metadata, lab, &trial);
            run.end().and(cut)
        });
        cut.expect("the lab works")
    }

    /// Makes the cuts of these numbers, until `enough` of them. If a recovery is timed, it is that of the first.
    fn cut(&self, numbers: Range<u32>, enough: impl Fn(&Cut) -> bool) -> Vec<Cut> {
        let timed = self.disk.map(|_| numbers.start);
        let (trial, terms) = (self.trial(), CutTerms { timed, ..self.terms.clone() });
        let mut cuts = Vec::new();
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_by_key(|number| terms.run_of(*number));
        let runs = numbers.chunk_by(|one, other| terms.run_of(*one) == terms.run_of(*other));
        for numbers in runs.flat_map(|run| run.chunks(TOGETHER)) {
            let is_over = self.at_work(|lab| {
                let run = ClientRun::make(terms.clone(), numbers, lab, &trial)?;
                let judge = |number: &u32| -> Result<bool, TrialError> {
                    cuts.push(run.judge_cut(*number, self.metadata, lab, &trial)?);
                    Ok(cuts.last().is_some_and(&enough))
                };
                // Each takes as long as the first, by four recoveries: those after the last are not judged.
                let ended = numbers.iter().map(judge).find(|judged| !matches!(judged, Ok(false)));
                run.end().and(ended.unwrap_or(Ok(false)))
            });
            if is_over.expect("the lab works") {
                break;
            }
        }
        cuts
    }

    pub fn cuts(&self, count: u32) -> Vec<Cut> {
        self.cut(0..count, |_| false)
    }

    /// Cuts the power so often, and panics unless every cut was made and every promise kept. Where hardly anything
    /// was acknowledged before, so that hardly anything could be lost, the cuts of the next numbers are made.
    pub fn keeps(&self, count: u32) -> Vec<Cut> {
        in_time("the time before the cuts", |attempt| {
            let cuts = self.cut(attempt * count..(attempt + 1) * count, |_| false);
            made_and_kept(&cuts);
            is_enough_acknowledged(&cuts).then_some(cuts)
        })
    }

    /// Cuts the power so often at least, and until a cut that was placed has come at its moment.
    /// Panics if none has in [`MOST`] cuts.
    pub fn placed(&self, least: u32) -> Vec<Cut> {
        let came = |cut: &Cut| cut.placed.as_ref().is_some_and(|placed| placed.came);
        let (made, any) = (std::cell::Cell::new(0), std::cell::Cell::new(false));
        let cuts = self.cut(0..MOST, |cut| {
            made.set(made.get() + 1);
            any.set(any.get() || came(cut));
            any.get() && made.get() >= least
        });
        assert!(any.get(), "{}: none that was placed came: {cuts:#?}", self.name);
        cuts
    }

    /// Cuts the power until a promise is broken. Panics if none is in [`MOST`] cuts.
    pub fn caught(&self, how: impl Fn(&Cut) -> bool) -> Cut {
        let cuts = self.cut(0..MOST, &how);
        let last = cuts.last().expect("at least one cut");
        assert!(how(last), "{} was not caught in {MOST} cuts: {last:#?}", self.name);
        last.clone()
    }
}

/// Whether a cut shows a broken promise.
pub fn breaks(cut: &Cut) -> bool {
    cut.broken_images().next().is_some()
}

/// Whether a cut could not be made because a process of the lab's own took longer than the stage's patience until it
/// could go on.
pub fn was_late(cut: &Cut) -> bool {
    cut.failed.as_deref().is_some_and(|why| why.contains("it was not ready after"))
}

/// Panics unless every cut was made and every promise kept.
pub fn made_and_kept(cuts: &[Cut]) {
    for cut in cuts {
        assert_eq!(cut.failed, None, "{cut:#?}");
        assert!(!breaks(cut), "{cut:#?}");
    }
}

/// As [`made_and_kept`], of cuts before which time enough has passed for something to be acknowledged.
pub fn all_kept(cuts: &[Cut]) {
    made_and_kept(cuts);
    assert!(is_enough_acknowledged(cuts), "hardly anything was acknowledged");
}

/// Whether more than one transaction a cut was acknowledged; any, where there are few cuts. The power may go some
/// milliseconds after the start: on a busy machine a cut or two come before all else.
fn is_enough_acknowledged(cuts: &[Cut]) -> bool {
    let least = if cuts.len() > 2 { cuts.len() as u64 } else { 0 };
    cuts.iter().map(|cut| cut.acknowledged).sum::<u64>() > least
}
