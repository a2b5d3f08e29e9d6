//! Where power is cut in these tests.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_devices::spec::Spec;
use bakeoff_engines::{Durability, Engine};
use bakeoff_lab::job::Data;
use bakeoff_lab::power_cut::{self, Subject};
use bakeoff_lab::{Ending, LabError, accounts};
use bakeoff_results::{Cut, Promised, Verdict};
use tempfile::TempDir;

/// How often the power is cut at most until a known fault must have shown.
pub const MOST: u32 = 20;

/// Bytes that two stages and more have room in.
const ROOM: u64 = 4 << 30;

/// An engine with its data loaded, ready to be cut.
pub struct Stage {
    folder: TempDir,
    engine: &'static dyn Engine,
    data: Data,
    disk: Spec,
    durability: Durability,
    promised: Promised,
    metadata: Metadata,
    keep: Vec<Keep>,
    recovery: bool,
    pub keep_images: Option<PathBuf>,
    pub patience: Duration,
    stop: AtomicBool,
}

/// Why this machine can't cut the power of a disk, if it can't.
pub fn can_cut() -> Result<(), String> {
    let opened = File::options().read(true).write(true).open("/dev/fuse");
    opened.map(drop).map_err(|error| format!("/dev/fuse can't be opened: {error}"))
}

/// This program: see `main.rs`.
pub fn program() -> PathBuf {
    std::env::current_exe().expect("a program has a path")
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
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
        let data = Data {
            engine: engine.about().name.into(),
            workload: "ledger".into(),
            scale: "small".into(),
            seed: 1,
            text: Some(folder.path().join("text")),
        };
        // Read much faster than text is made, by each of a cut's processes.
        let lines = (0..10_000).map(|number| format!("Line {number} is unlike any other line.\n"));
        fs::write(folder.path().join("text"), lines.collect::<String>()).expect("room");
        let image = folder.path().join("image");
        fs::create_dir(&image).expect("a new folder");
        let stop = AtomicBool::new(false);
        let places = (image.as_path(), folder.path());
        power_cut::load(&program(), engine, &data, &[], places, &stop)
            .expect("the lab works")
            .unwrap_or_else(|reason| panic!("{}: {reason}", data.engine));
        Self {
            folder,
            engine,
            data,
            disk: Spec::parse("null").expect("a model"),
            durability: Durability::Strict,
            promised: Promised::Everything,
            metadata: Metadata::Ordered,
            keep: Keep::ALL.to_vec(),
            recovery: false,
            keep_images: None,
            patience: power_cut::PATIENCE,
            stop,
        }
    }

    pub fn with(self, metadata: Metadata, keep: &[Keep]) -> Self {
        Self { metadata, keep: keep.to_vec(), ..self }
    }

    /// The power goes again while the engine recovers.
    pub fn twice(self) -> Self {
        Self { recovery: true, ..self }
    }

    pub fn at(self, durability: Durability, promised: Promised) -> Self {
        Self { durability, promised, ..self }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes the cuts of these numbers, until `enough` of them.
    fn cut(&self, numbers: std::ops::Range<u32>, enough: impl Fn(&Cut) -> bool) -> Vec<Cut> {
        let subject = Subject {
            program: &program(),
            work: self.folder.path(),
            engine: self.engine,
            data: &self.data,
            image: &self.folder.path().join("image"),
            durability: self.durability,
            promised: self.promised,
            settings: Vec::new(),
            clients: 4,
            disk: &self.disk,
            metadata: self.metadata,
            keep: &self.keep,
            recovery: self.recovery,
            seed: 1,
            keep_images: self.keep_images.as_deref(),
            patience: self.patience,
            stop: &self.stop,
        };
        let mut cuts = Vec::new();
        for number in numbers {
            let mut done = |cut| -> Result<(), LabError> {
                cuts.push(cut);
                Ok(())
            };
            let ending = subject.run([number], &mut done).expect("the lab works");
            assert!(matches!(ending, Ending::Finished { .. }));
            if cuts.last().is_some_and(&enough) {
                break;
            }
        }
        cuts
    }

    /// Cuts the power so often; says in a line what came of it.
    pub fn cuts(&self, count: u32) -> Vec<Cut> {
        let start = std::time::Instant::now();
        let cuts = self.cut(0..count, |_| false);
        let (name, level) = (&self.data.engine, self.durability.name());
        let acknowledged: u64 = cuts.iter().map(|cut| cut.acknowledged).sum();
        let lost = cuts.iter().flat_map(|cut| &cut.judged).filter(|it| it.verdict.lost > 0);
        let (lost, seconds) = (lost.count(), start.elapsed().as_secs_f64());
        println!(
            "  {name} {level}: {count} cuts in {seconds:.1} s, {acknowledged} transactions were \
             acknowledged before, {lost} images lost some"
        );
        cuts
    }

    /// Cuts the power until a promise is broken. Panics if none is in [`MOST`] cuts.
    pub fn caught(&self, how: impl Fn(&Cut) -> bool) -> Cut {
        let cuts = self.cut(0..MOST, &how);
        let last = cuts.last().expect("at least one cut");
        assert!(how(last), "{} was not caught in {MOST} cuts: {last:#?}", self.data.engine);
        let (name, cut) = (&self.data.engine, last.number + 1);
        println!("  {name} is caught by cut {cut}, {}", last.moment);
        for judged in last.broken() {
            let Verdict { lost, phantom, torn, hole, index_broken, corrupt, .. } = &judged.verdict;
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

/// Panics unless every cut was made and every promise kept.
pub fn all_kept(cuts: &[Cut]) {
    for cut in cuts {
        assert_eq!(cut.failed, None, "{cut:#?}");
        assert!(!breaks(cut), "{cut:#?}");
    }
    let acknowledged: u64 = cuts.iter().map(|cut| cut.acknowledged).sum();
    assert!(acknowledged > cuts.len() as u64, "hardly anything was acknowledged");
}
