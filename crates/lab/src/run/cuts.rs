//! The power cuts of a run, after its trials.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_devices::spec::Spec;
use bakeoff_engines::{Durability, Engine};
use bakeoff_experiment::{Cuts, Experiment, Factor, base};
use bakeoff_results::{Cut, HARNESS, Promised};

use super::{Ending, Event, Lab, LabError, RESERVE, remove, room, wanting};
use crate::disk;
use crate::job::{Data, Staging};
use crate::power_cut::{self, Subject};

/// The workload whose clients are at work when the power goes, and its scale where another workload
/// is measured.
const WORKLOAD: &str = "ledger";
const SCALE: &str = "small";
/// The memory that an engine has when its power goes.
const UNLIMITED: &str = "unlimited";
/// How much later than its engine says a commit may become lasting: a thread that is to sync once a
/// second comes to it a little late on a busy machine, and a sync takes its time.
const LATE: Duration = Duration::from_millis(500);
/// Where crash images are kept in a run folder.
const IMAGES: &str = "images";

/// The cuts of an engine at a level that are still to be made.
struct Due {
    durability: Durability,
    numbers: Vec<u32>,
}

/// What all cuts of a run have in common.
struct Common {
    cuts: Cuts,
    disk: Spec,
    keep: Vec<Keep>,
    images: Option<PathBuf>,
    /// How many there are, how many are made, and since when.
    planned: usize,
    made: usize,
    before: usize,
    start: Instant,
}

impl Lab<'_> {
    /// Makes the cuts that are still to be made; how many failed, or `None` when stopped.
    pub(super) fn cut_power(&mut self, work: &Path) -> Result<Option<u32>, LabError> {
        let Some(cuts) = self.experiment.cuts.clone() else { return Ok(Some(0)) };
        let mut common = self.common(cuts)?;
        let cells = self.experiment.cut_cells();
        let mut engines: Vec<&str> = cells.into_iter().map(|(engine, _)| engine).collect();
        engines.dedup();
        let mut failed = 0;
        for engine in engines.into_iter().filter(|engine| *engine != HARNESS) {
            match self.cut_engine(work, engine, &mut common)? {
                Some(count) => failed += count,
                None => return Ok(None),
            }
        }
        Ok(Some(failed))
    }

    fn common(&self, cuts: Cuts) -> Result<Common, LabError> {
        let wrong = |reason: String| LabError::Io {
            what: "the disk that is to lose its power".into(),
            source: std::io::Error::other(reason),
        };
        let disk = self.experiment.cut_disk().expect("an experiment with cuts has a virtual disk");
        let images = self.keep_images.then(|| self.folder.dir().join(IMAGES));
        if let Some(images) = &images {
            wanting("the folder of crash images", fs::create_dir_all(images))?;
        }
        let before = self.folder.cuts()?.iter().filter(|cut| cut.failed.is_none()).count();
        Ok(Common {
            disk: disk::named(self.experiment, disk).map_err(wrong)?,
            keep: cuts.keep.iter().map(|rule| rule.parse().expect("a checked rule")).collect(),
            images,
            planned: planned_cuts(self.experiment),
            made: before,
            before,
            start: Instant::now(),
            cuts,
        })
    }

    /// Makes an engine's cuts at all levels, from one image.
    fn cut_engine(
        &mut self,
        work: &Path,
        name: &str,
        common: &mut Common,
    ) -> Result<Option<u32>, LabError> {
        let due = self.due_cuts(name, &common.cuts)?;
        let Some(engine) = bakeoff_engines::find(name).filter(|_| !due.is_empty()) else {
            return Ok(Some(0));
        };
        let data = self.cut_data(name);
        let image = work.join("cut-image");
        let mut loaded: Option<Result<(), String>> = None;
        let mut failed = 0;
        for Due { durability, numbers } in due {
            let possible = match power_cut::can_be_cut(engine, durability) {
                Err(reason) => Err(reason),
                Ok(()) => match &loaded {
                    Some(loaded) => loaded.clone(),
                    None => loaded.insert(self.load_for_cuts(engine, &data, &image, work)?).clone(),
                },
            };
            if self.stopped() {
                return Ok(None);
            }
            let ending = match possible {
                Ok(()) => {
                    self.cut_level(work, engine, (&data, &image), (durability, numbers), common)?
                }
                Err(reason) => {
                    let cut = refused(engine, durability, numbers[0], reason);
                    self.keep_cut(&cut, common)?;
                    Ending::Finished { failed: 1 }
                }
            };
            match ending {
                Ending::Finished { failed: more } => failed += more,
                Ending::Interrupted => return Ok(None),
            }
        }
        wanting("removing the cuts' image", remove(&image))?;
        Ok(Some(failed))
    }

    /// What is still to be done of an engine; what failed is tried again.
    fn due_cuts(&self, engine: &str, cuts: &Cuts) -> Result<Vec<Due>, LabError> {
        let done = self.folder.cuts()?;
        let made: BTreeSet<(&str, u32)> = done
            .iter()
            .filter(|cut| cut.engine == engine && cut.failed.is_none())
            .map(|cut| (cut.durability.as_str(), cut.number))
            .collect();
        let cells = self.experiment.cut_cells().into_iter().filter(|(name, _)| *name == engine);
        let due = cells.map(|(_, level)| {
            let durability = Durability::parse(level).expect("a checked level");
            let open = cuts.numbers().filter(|number| !made.contains(&(level, *number)));
            Due { durability, numbers: open.collect() }
        });
        Ok(due.filter(|due| !due.numbers.is_empty()).collect())
    }

    fn cut_data(&self, engine: &str) -> Data {
        let own = self.experiment.workload == WORKLOAD;
        let scale = &self.experiment.factors[&Factor::Scale][0];
        Data {
            engine: engine.into(),
            workload: WORKLOAD.into(),
            scale: if own { base(scale).into() } else { SCALE.into() },
            seed: self.experiment.seed,
            text: self.experiment.text.clone(),
        }
    }

    fn load_for_cuts(
        &mut self,
        engine: &dyn Engine,
        data: &Data,
        image: &Path,
        work: &Path,
    ) -> Result<Result<(), String>, LabError> {
        wanting("the cuts' image", fs::create_dir(image))?;
        self.watch.event(Event::Loading { data, rows: 0 });
        let start = Instant::now();
        let settings = self.settings(&data.engine);
        let loaded =
            power_cut::load(self.program, engine, data, &settings, (image, work), self.stop)?;
        if loaded.is_err() && !self.stopped() {
            room(work, RESERVE)?;
        }
        let failure = loaded.as_ref().err().map(String::as_str);
        let seconds = start.elapsed().as_secs_f64();
        if failure.is_none() || !self.stopped() {
            self.watch.event(Event::Loaded { data, seconds, failure });
        }
        Ok(loaded)
    }

    fn cut_level(
        &mut self,
        work: &Path,
        engine: &dyn Engine,
        (data, image): (&Data, &Path),
        (durability, numbers): (Durability, Vec<u32>),
        common: &mut Common,
    ) -> Result<Ending, LabError> {
        let (disk, keep) = (common.disk.clone(), common.keep.clone());
        let images = common.images.clone();
        let settings = self.settings(&data.engine);
        let staging = Staging { settings: settings.clone(), ..Staging::default() };
        self.note_terms([&data.engine, durability.name(), UNLIMITED], &staging)?;
        let subject = Subject {
            program: self.program,
            work,
            engine,
            data,
            image,
            durability,
            promised: promised(engine, durability),
            settings,
            clients: self.experiment.cut_clients(),
            disk: &disk,
            metadata: Metadata::Ordered,
            keep: &keep,
            recovery: common.cuts.recovery,
            seed: self.experiment.seed,
            keep_images: images.as_deref(),
            patience: power_cut::PATIENCE,
            stop: self.stop,
        };
        subject.run(numbers, &mut |cut| self.keep_cut(&cut, common))
    }

    /// Records a cut and tells of it.
    fn keep_cut(&mut self, cut: &Cut, common: &mut Common) -> Result<(), LabError> {
        self.folder.commit_cut(cut)?;
        common.made += 1;
        let each = common.start.elapsed().as_secs_f64() / (common.made - common.before) as f64;
        let left_s = each * common.planned.saturating_sub(common.made) as f64;
        self.watch.event(Event::Cut { made: common.made, of: common.planned, cut, left_s });
        Ok(())
    }
}

/// How many power cuts an experiment asks for.
pub fn planned_cuts(experiment: &Experiment) -> usize {
    let each = experiment.cuts.as_ref().map_or(0, |cuts| cuts.numbers().len());
    each * experiment.cut_cells().iter().filter(|(engine, _)| *engine != HARNESS).count()
}

/// What a level says, by its engine's documentation.
fn promised(engine: &dyn Engine, durability: Durability) -> Promised {
    let promises = engine.about().promises;
    let promise = promises.iter().find(|promise| promise.durability == durability);
    match durability {
        Durability::None => Promised::Nothing,
        Durability::Relaxed => Promised::Whole {
            window_s: promise.and_then(|it| it.window).map(|it| (it + LATE).as_secs_f64()),
            most_lost: promise.and_then(|it| it.most_lost),
        },
        Durability::Strict => Promised::Everything,
    }
}

/// The record of cuts that can't be made.
fn refused(engine: &dyn Engine, durability: Durability, number: u32, reason: String) -> Cut {
    Cut {
        engine: engine.about().name.into(),
        durability: durability.name().into(),
        promised: Promised::Nothing,
        clients: 0,
        number,
        seed: 0,
        moment: String::new(),
        ran_s: 0.0,
        acknowledged: 0,
        judged: Vec::new(),
        failed: Some(reason),
    }
}
