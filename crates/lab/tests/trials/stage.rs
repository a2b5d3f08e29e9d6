//! Where power is cut in these tests.

use std::cell::RefCell;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_disk::mount::Launcher;
use bakeoff_engines::{Durability, Engine, PaymentSignature};
use bakeoff_experiment::{Experiment, FlagOverrides};
use bakeoff_lab::machine::accounts;
use bakeoff_lab::place::images::Images;
use bakeoff_lab::procedures;
use bakeoff_lab::procedures::cut::every::EveryRun;
use bakeoff_lab::procedures::cut::{self, ClientRun, CutTerms};
use bakeoff_lab::spec::{DiskSpec, TrialSpec};
use bakeoff_lab::targets::WantedLevels;
use bakeoff_lab::{ChildProgram, Registry, RunEvent, RunObserver, TrialError};
use bakeoff_results::{AuditResult, Cut, Promised};
use bakeoff_testkit::{in_time, open_to_all};
use tempfile::TempDir;

/// How often the power is cut at most until a known fault must have shown.
pub const MOST: u32 = 20;

/// Bytes that two stages and more have room in.
const ROOM: u64 = 4 << 30;

/// An engine with its data loaded, ready to be cut.
pub struct Stage {
    folder: TempDir,
    name: &'static str,
    registry: Registry,
    experiment: Experiment,
    images: RefCell<Images>,
    durability: Durability,
    promised: Promised,
    metadata: Metadata,
    keep: Vec<Keep>,
    recovery: bool,
    steady: bool,
    /// A disk on which the first recovery is timed.
    disk: Option<&'static str>,
    signatures: &'static [PaymentSignature],
    pub keep_images: Option<PathBuf>,
    pub patience: Duration,
    /// How many cuts come from one run of the clients.
    pub together: usize,
    stop: AtomicBool,
}

/// Nobody is told.
pub struct Nobody;

impl RunObserver for Nobody {
    fn event(&mut self, _: RunEvent<'_>) {}
}

/// This program: see `main.rs`.
pub fn this() -> PathBuf {
    std::env::current_exe().expect("a program has a path")
}

/// What the lab starts for a trial.
pub fn program() -> ChildProgram {
    ChildProgram { path: this(), arguments: vec!["trial".into()] }
}

/// A new folder: in memory if there is plenty, since what is lost is decided by the virtual disk,
/// and a real one only takes its time.
fn place() -> TempDir {
    let memory = Path::new("/dev/shm");
    let is_roomy = accounts::free(memory).is_ok_and(|free| free > ROOM);
    let made = if is_roomy { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}

impl Stage {
    /// Loads the ledger; to be cut at `strict` by every rule.
    pub fn set(engine: &'static dyn Engine) -> Self {
        let folder = place();
        // A server's user has to get through.
        open_to_all(folder.path());
        // Read much faster than text is made, by each of a cut's processes.
        let lines = (0..10_000).map(|number| format!("Line {number} is unlike any other line.\n"));
        fs::write(folder.path().join("text"), lines.collect::<String>()).expect("room");
        let name = engine.about().name;
        let file = folder.path().join("ledger.toml");
        let text = format!("workload = 'ledger'\nengine = '{name}'\ntext = 'text'\n");
        fs::write(&file, text).expect("room");
        let registry = Registry::standard().with_engines(crate::engines());
        let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
        let experiment = Experiment::load(&file, &changes, &registry.vocabulary());
        let stage = Self {
            folder,
            name,
            registry,
            experiment: experiment.unwrap_or_else(|error| panic!("{error}")),
            images: RefCell::default(),
            durability: Durability::Strict,
            promised: Promised::Everything,
            metadata: Metadata::Ordered,
            keep: Keep::ALL.to_vec(),
            recovery: false,
            steady: false,
            disk: None,
            signatures: engine.signatures(),
            keep_images: None,
            patience: cut::PATIENCE,
            together: 5,
            stop: AtomicBool::new(false),
        };
        let trial = stage.trial();
        let loaded = stage.at_work(|lab| lab.image(&trial.setup));
        loaded.unwrap_or_else(|reason| panic!("{name}: {reason}"));
        stage
    }

    /// What each cut is staged with.
    fn trial(&self) -> TrialSpec {
        let (experiment, workload) = (&self.experiment, "ledger");
        let cell = &experiment.cut_cell(self.name, self.durability.name());
        let target = self.registry.target_of(workload).expect("a target");
        let setup = WantedLevels { experiment, cell, workload }.resolve(target).expect("levels");
        TrialSpec {
            setup,
            limits: Default::default(),
            disk: DiskSpec::Virtual(
                Models::standard().parse(self.disk.unwrap_or("null")).expect("a model"),
            ),
            neighbours: NeighbourLevel::None,
            seed: 1,
            levels: cell.to_map(),
            options: Default::default(),
        }
    }

    /// The lab in this stage's folder, with the images that it has by now.
    fn at_work<T>(&self, work: impl FnOnce(&mut procedures::ProcedureContext<'_>) -> T) -> T {
        let program = program();
        let launcher = Launcher { program: this(), arguments: vec!["disk-daemon".into()] };
        let mut lab = procedures::ProcedureContext {
            registry: &self.registry,
            program: &program,
            launcher: &launcher,
            work: self.folder.path(),
            device: None,
            images: self.images.take(),
            hired: None,
            reuse: false,
            filled: Default::default(),
            claims: Default::default(),
            applied: Vec::new(),
            stop: &self.stop,
            watch: &mut Nobody,
        };
        let answer = work(&mut lab);
        self.images.replace(lab.images);
        answer
    }

    /// Where the image is.
    pub fn image(&self) -> PathBuf {
        let images = self.images.borrow();
        let image = images.get(&self.trial().setup.recipe).expect("it was loaded");
        image.as_ref().expect("it was loaded").folder.clone()
    }

    pub fn with(self, metadata: Metadata, keep: &[Keep]) -> Self {
        Self { metadata, keep: keep.to_vec(), ..self }
    }

    /// The power goes again while the engine recovers.
    pub fn twice(self) -> Self {
        Self { recovery: true, ..self }
    }

    /// Its debts turn over before its power is cut.
    pub fn steady(self) -> Self {
        Self { steady: true, ..self }
    }

    /// On this disk, where the first recovery is timed.
    pub fn on(self, disk: &'static str) -> Self {
        Self { disk: Some(disk), ..self }
    }

    /// No cut is placed in what pays a debt.
    pub fn unplaced(self) -> Self {
        Self { signatures: &[], ..self }
    }

    pub fn at(self, durability: Durability, promised: Promised) -> Self {
        Self { durability, promised, ..self }
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// How its power is cut.
    fn terms(&self) -> CutTerms {
        CutTerms {
            engine: self.name.into(),
            level: self.durability.name().into(),
            promised: self.promised,
            clients: 4,
            keep: self.keep.clone(),
            steady: self.steady,
            signatures: self.signatures,
            timed: None,
            recovery: self.recovery,
            keep_images: self.keep_images.clone(),
            patience: self.patience,
        }
    }

    /// Cuts every moment of a history of so many writes, and judges so many images of it at most; says
    /// in a line what came of it.
    pub fn every(&self, writes: u64, images: u32) -> Cut {
        let cut = self.try_every(writes, images);
        assert_eq!(cut.failed, None);
        cut
    }

    /// As [`Self::every`], whether or not that can be done.
    pub fn try_every(&self, writes: u64, images: u32) -> Cut {
        let (trial, metadata) = (self.trial(), self.metadata);
        let cut = self.at_work(|lab| {
            let run = EveryRun::make(self.terms(), (writes, images), lab, &trial)?;
            let cut = run.cut(metadata, lab, &trial);
            run.end().and(cut)
        });
        let cut = cut.expect("the lab works");
        println!("  {} {}: {:?}", self.name, self.durability.name(), cut.every);
        cut
    }

    /// Makes the cuts of these numbers, until `enough` of them. If a recovery is timed, it is that of the first.
    fn cut(&self, numbers: Range<u32>, enough: impl Fn(&Cut) -> bool) -> Vec<Cut> {
        let timed = self.disk.map(|_| numbers.start);
        let (trial, terms) = (self.trial(), CutTerms { timed, ..self.terms() });
        let mut cuts = Vec::new();
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_by_key(|number| terms.run_of(*number));
        let runs = numbers.chunk_by(|one, other| terms.run_of(*one) == terms.run_of(*other));
        for numbers in runs.flat_map(|run| run.chunks(self.together)) {
            let is_over = self.at_work(|lab| {
                let run = ClientRun::make(terms.clone(), numbers, lab, &trial)?;
                let judge = |number: &u32| -> Result<bool, TrialError> {
                    cuts.push(run.cut(*number, self.metadata, lab, &trial)?);
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

    /// Cuts the power so often; says in a line what came of it.
    pub fn cuts(&self, count: u32) -> Vec<Cut> {
        self.cuts_of(0..count)
    }

    /// Cuts the power so often, and panics unless every cut was made and every promise kept. Where hardly anything
    /// was acknowledged before, so that hardly anything could be lost, the cuts of the next numbers are made.
    pub fn keeps(&self, count: u32) -> Vec<Cut> {
        in_time("the time before the cuts", |attempt| {
            let cuts = self.cuts_of(attempt * count..(attempt + 1) * count);
            made_and_kept(&cuts);
            is_enough_acknowledged(&cuts).then_some(cuts)
        })
    }

    /// Makes the cuts of these numbers; says in a line what came of it.
    fn cuts_of(&self, numbers: Range<u32>) -> Vec<Cut> {
        let cuts = self.cut(numbers, |_| false);
        let (count, name, level) = (cuts.len(), self.name, self.durability.name());
        let acknowledged = acknowledged(&cuts);
        let lost = cuts.iter().flat_map(|cut| &cut.judged).filter(|it| it.verdict.lost > 0);
        let lost = lost.count();
        println!(
            "  {name} {level}: {count} cuts, {acknowledged} transactions were acknowledged before, \
             {lost} images lost some"
        );
        cuts
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
        let (name, cut) = (self.name, last.number + 1);
        println!("  {name} is caught by cut {cut}, {}", last.moment);
        for judged in last.broken() {
            let AuditResult { lost, phantom, torn, hole, index_broken, corrupt, .. } =
                &judged.verdict;
            let why: String = corrupt.as_deref().unwrap_or("none").chars().take(120).collect();
            println!(
                "    {}: {lost} lost, {phantom} phantom, {torn} torn, {hole} hole, \
                 {index_broken} index broken; damage: {why}",
                judged.keep
            );
        }
        last.clone()
    }
}

/// Whether a cut shows a broken promise.
pub fn breaks(cut: &Cut) -> bool {
    cut.broken().next().is_some()
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

/// How many transactions were acknowledged before cuts, in all.
fn acknowledged(cuts: &[Cut]) -> u64 {
    cuts.iter().map(|cut| cut.acknowledged).sum()
}

/// Whether more than one transaction a cut was acknowledged; any, where there are few cuts. The power may go some
/// milliseconds after the start: on a busy machine a cut or two come before all else.
fn is_enough_acknowledged(cuts: &[Cut]) -> bool {
    let least = if cuts.len() > 2 { cuts.len() as u64 } else { 0 };
    acknowledged(cuts) > least
}
