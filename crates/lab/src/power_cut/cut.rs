//! One power cut, and what it left by each rule.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bakeoff_disk::control::Control;
use bakeoff_disk::mount::{MountOptions, Mounted};
use bakeoff_disk::plug::Keep;
use bakeoff_results::{Cut, Judged, Verdict};

use super::log::{self, now_ns};
use super::moment::{self, Moment};
use super::{Subject, runtime};
use crate::image::{self, Sync};
use crate::job::{Job, Message, Staging};
use crate::process::{Heard, Process};
use crate::run::{LabError, RESERVE, remove, room, wanting};

/// How often it is looked whether the power has gone.
const LOOK: Duration = Duration::from_millis(1);
/// How often it is looked whether a process has said something.
const LISTEN: Duration = Duration::from_millis(20);
/// Bytes of a server's log that are kept where it did not get ready.
const TAIL: usize = 2 << 10;

/// A cut that has happened.
struct Gone {
    /// The disk without its power.
    mounted: Mounted,
    /// When it went, in nanoseconds of `CLOCK_MONOTONIC`.
    off_at_ns: u64,
    /// What the clients noted.
    log: PathBuf,
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
        if let Some(runtime) = runtime {
            remove(&runtime).map_err(|error| format!("{}: {error}", runtime.display()))?;
        }
        let accounts =
            log::read(&log, off_at_ns).map_err(|error| format!("the clients' log: {error}"))?;
        cut.acknowledged = accounts.iter().map(log::Account::count).sum();
        Ok(Gone { mounted, off_at_ns, log })
    }

    /// Has the clients begin, waits until the power has gone, and kills them. When it went.
    fn until_off(
        &self,
        mut process: Process,
        control: &Control,
        moment: &Moment,
        cut: &mut Cut,
    ) -> Result<u64, String> {
        let failed = |error| format!("its disk does not work: {error}");
        match self.listen(&process)? {
            Some(Message::Ready) => {}
            Some(Message::Failed(reason)) => return Err(reason),
            Some(other) => return Err(format!("its process said {other:?}")),
            None => return Err(process.autopsy()),
        }
        control.arm(moment.trigger).map_err(failed)?;
        let (began, start_ns) = (Instant::now(), now_ns());
        process.go().map_err(|error| format!("its process is gone: {error}"))?;
        let mut said = Vec::new();
        let is_on = || control.stat().map(|stat| stat.off_at_ns.is_none());
        while is_on().map_err(failed)? && began.elapsed() < moment.limit {
            match process.hear(LOOK) {
                Heard::Message(message) => said.push(message),
                Heard::Silence => {}
                // It may have ended because the power has gone.
                Heard::End if is_on().map_err(failed)? => return Err(process.autopsy()),
                Heard::End => break,
            }
        }
        control.power_off().map_err(failed)?;
        said.extend(process.end());
        let off_at_ns = control.stat().map_err(failed)?.off_at_ns.ok_or("the power stays on")?;
        cut.ran_s = off_at_ns.saturating_sub(start_ns) as f64 / 1e9;
        for message in said {
            match message {
                Message::Failed(reason) => return Err(reason),
                Message::Stopped { at_ns, reason } if at_ns < off_at_ns => {
                    return Err(format!("a client failed before the power did: {reason}"));
                }
                _ => {}
            }
        }
        Ok(off_at_ns)
    }

    /// Makes the image of one rule and has it audited, on a disk of its own: there, recovery does
    /// not wait for this machine's disk, which whatever it leaves need not reach.
    fn judge(&self, place: &Path, gone: &Gone, keep: Keep, cut: &Cut) -> Result<Judged, String> {
        let image = place.join("crash");
        let make = |folder: &Path| {
            let made = gone.mounted.control().image(keep, cut.seed, folder);
            made.map_err(|error| format!("its crash image can't be made: {error}"))
        };
        make(&image)?;
        let mounted = self.mount(&image, &place.join("recovered"), cut.seed)?;
        let staging = self.staging(mounted.path(), place)?;
        let runtime = staging.runtime.clone();
        let verdict = self.audit(staging, gone)?;
        take_away(mounted)?;
        let broken = verdict.breaks(cut.promised);
        if broken {
            // An engine that finds this machine's own disk full while it recovers breaks nothing.
            room(self.work, RESERVE).map_err(|full| full.to_string())?;
        }
        let mut judged = Judged { keep: keep.to_string(), verdict, image: None };
        if let Some(folder) = self.keep_images.filter(|_| broken) {
            // The audit has recovered the other one.
            let engine = cut.engine.replace(|it: char| !it.is_ascii_alphanumeric(), "-");
            let name = format!("{engine}-{}-{}-{keep}", cut.durability, cut.number);
            make(&folder.join(&name))?;
            judged.image = Some(folder.join(name).to_string_lossy().into_owned());
        }
        for folder in [Some(image), runtime].into_iter().flatten() {
            remove(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(judged)
    }

    /// Recovers, checks and audits an image, in a process of its own with a time limit.
    fn audit(&self, staging: Staging, gone: &Gone) -> Result<Verdict, String> {
        let runtime = staging.runtime.clone();
        let job = Job::Audit {
            data: self.data.clone(),
            staging,
            durability: self.durability.name().into(),
            log: gone.log.clone(),
            off_at_ns: gone.off_at_ns,
        };
        let process = Process::start(self.program, &job)
            .map_err(|error| format!("a process can't be started: {error}"))?;
        let wreck = |reason| Verdict { corrupt: Some(reason), ..Verdict::default() };
        let answer = match self.listen(&process) {
            Ok(answer) => answer,
            Err(reason) if self.stopped() => return Err(reason),
            Err(reason) => {
                process.end();
                let log = runtime.as_deref().map(tail).unwrap_or_default();
                return Ok(wreck(format!("{reason}{log}")));
            }
        };
        let verdict = match answer {
            Some(Message::Judged(verdict)) => verdict,
            Some(Message::Failed(reason)) => return Err(reason),
            Some(other) => return Err(format!("its process said {other:?}")),
            None => return Ok(wreck(process.autopsy())),
        };
        process.end();
        Ok(verdict)
    }

    /// The first word of a process; `None` when it has ended.
    fn listen(&self, process: &Process) -> Result<Option<Message>, String> {
        let start = Instant::now();
        while start.elapsed() < self.patience {
            match process.hear(LISTEN) {
                Heard::Message(message) => return Ok(Some(message)),
                Heard::End => return Ok(None),
                Heard::Silence if self.stopped() => return Err("it was interrupted".into()),
                Heard::Silence => {}
            }
        }
        Err(format!("it was not ready after {} s", self.patience.as_secs()))
    }

    /// Mounts the disk over a folder, to be seen in a new one. It works at once.
    fn mount(&self, files: &Path, at: &Path, seed: u64) -> Result<Mounted, String> {
        fs::create_dir_all(at).map_err(|error| format!("{}: {error}", at.display()))?;
        let mut options = MountOptions::new(files, at, &self.disk.to_string());
        (options.seed, options.timing, options.metadata) = (seed, false, self.metadata);
        Mounted::start(self.program, &options)
            .map_err(|error| format!("its disk can't be mounted: {error}"))
    }

    fn stopped(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn staging(&self, directory: &Path, place: &Path) -> Result<Staging, String> {
        Ok(Staging {
            directory: directory.into(),
            runtime: runtime(self.engine, place).map_err(|error| error.to_string())?,
            settings: self.settings.clone(),
            ..Staging::default()
        })
    }
}

/// The end of a server's log, as a line of its own.
fn tail(runtime: &Path) -> String {
    let log = fs::read(runtime.join("log")).unwrap_or_default();
    let end = &log[log.len().saturating_sub(TAIL)..];
    format!("; the end of its log:\n{}", String::from_utf8_lossy(end))
}

fn take_away(disk: Mounted) -> Result<(), String> {
    disk.unmount().map_err(|error| format!("its disk can't be taken away: {error}"))
}
