//! One power cut.

use std::fs;
use std::path::{Path, PathBuf};

use bakeoff_disk::control::Control;
use bakeoff_disk::mount::{MountOptions, Mounted};
use bakeoff_results::Cut;

use super::log;
use super::moment::{self, Moment};
use super::{Subject, runtime};
use crate::disk;
use crate::image::{self, Sync};
use crate::job::{Job, Message, Staging};
use crate::process::Process;
use crate::run::{LabError, RESERVE, remove, room, wanting};

/// A cut that has happened.
pub(super) struct Gone {
    /// The disk without its power.
    pub mounted: Mounted,
    /// When it went, in nanoseconds of `CLOCK_MONOTONIC`.
    pub off_at_ns: u64,
    /// What the clients noted.
    pub log: PathBuf,
}

impl Subject<'_> {
    /// Makes one cut. What keeps it from being made is in its record.
    pub(super) fn cut(&self, number: u32) -> Result<Cut, LabError> {
        room(self.work, RESERVE)?;
        let engine = self.engine.about().name;
        let seed = moment::seed(self.seed, engine, self.durability, number);
        let moment = Moment::draw(seed, self.durability);
        let mut cut = Cut {
            engine: engine.into(),
            durability: self.durability.name().into(),
            promised: self.promised,
            clients: self.clients,
            number,
            seed,
            moment: moment.describe(),
            ran_s: 0.0,
            acknowledged: 0,
            judged: Vec::new(),
            failed: None,
        };
        let place = self.work.join("cut");
        wanting("the cut's folder", fs::create_dir(&place))?;
        let made = self.pull(&place, &moment, &mut cut).and_then(|gone| {
            for keep in self.keep {
                cut.judged.push(self.judge(&place, &gone, *keep, &cut)?);
            }
            take_away(gone.mounted)
        });
        if let Err(reason) = made {
            // While its files are still there: see `judge`.
            if !self.stopped() {
                room(self.work, RESERVE)?;
            }
            cut.failed = Some(reason);
        }
        wanting("removing the cut's folder", remove(&place))?;
        Ok(cut)
    }

    /// Restores the data to a disk, puts the clients to work, and lets the power go.
    fn pull(&self, place: &Path, moment: &Moment, cut: &mut Cut) -> Result<Gone, String> {
        let [data, log] = ["data", "log"].map(|name| place.join(name));
        image::copy(self.image, &data, Sync::No, self.stop)
            .map_err(|error| format!("its data image can't be restored: {error}"))?;
        fs::create_dir(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mounted = self.mount(&data, &place.join("mount"), cut.seed)?;
        let staging = self.staging(mounted.path(), place)?;
        let runtime = staging.runtime.clone();
        let job = Job::Ledger {
            data: self.data.clone(),
            staging,
            durability: self.durability.name().into(),
            clients: self.clients,
            log: log.clone(),
        };
        let process = Process::start(self.program, &job)
            .map_err(|error| format!("its process can't be started: {error}"))?;
        let off_at_ns = self.until_off(process, mounted.control(), moment, cut)?;
        tidy(runtime)?;
        let accounts =
            log::read(&log, off_at_ns).map_err(|error| format!("the clients' log: {error}"))?;
        cut.acknowledged = accounts.iter().map(log::Account::count).sum();
        Ok(Gone { mounted, off_at_ns, log })
    }

    /// Has the clients begin, waits until the power has gone, and kills them. When it went.
    fn until_off(
        &self,
        process: Process,
        control: &Control,
        moment: &Moment,
        cut: &mut Cut,
    ) -> Result<u64, String> {
        let process = self.ready(process)?;
        let off = self.power_down(process, control, moment, |_| false)?;
        if let Some(how) = off.early {
            return Err(how);
        }
        cut.ran_s = off.at_ns.saturating_sub(off.start_ns) as f64 / 1e9;
        for message in off.said {
            match message {
                Message::Failed(reason) => return Err(reason),
                Message::Stopped { at_ns, reason } if at_ns < off.at_ns => {
                    return Err(format!("a client failed before the power did: {reason}"));
                }
                _ => {}
            }
        }
        Ok(off.at_ns)
    }

    /// Mounts the disk over a folder, to be seen in a new one. It works at once.
    pub(super) fn mount(&self, files: &Path, at: &Path, seed: u64) -> Result<Mounted, String> {
        fs::create_dir_all(at).map_err(|error| format!("{}: {error}", at.display()))?;
        let mut options = MountOptions::new(files, at, &self.disk.to_string());
        (options.seed, options.timing, options.metadata) = (seed, false, self.metadata);
        Mounted::start(&disk::launcher(self.program), &options)
            .map_err(|error| format!("its disk can't be mounted: {error}"))
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub(super) fn staging(&self, directory: &Path, place: &Path) -> Result<Staging, String> {
        Ok(Staging {
            directory: directory.into(),
            runtime: runtime(self.engine, place).map_err(|error| error.to_string())?,
            settings: self.settings.clone(),
            ..Staging::default()
        })
    }
}

/// Takes a disk away whose files nobody has open any more.
pub(super) fn take_away(disk: Mounted) -> Result<(), String> {
    disk.unmount().map_err(|error| format!("its disk can't be taken away: {error}"))
}

/// Removes folders.
pub(super) fn tidy(folders: impl IntoIterator<Item = PathBuf>) -> Result<(), String> {
    folders.into_iter().try_for_each(|folder| {
        remove(&folder).map_err(|error| format!("{}: {error}", folder.display()))
    })
}
