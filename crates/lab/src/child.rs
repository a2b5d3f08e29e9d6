//! A trial's process, from the inside: does one job and says how it goes.

use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bakeoff_engines::{Database, Durability, Engine, Home, Result, elsewhere};
use bakeoff_workloads::Prepared;

use crate::job::{GO, Job, Message, Staging};
use crate::power_cut::audit;
use crate::syncs::Watcher;
use crate::written::size;
use crate::{memory, open_files, power_cut, trial};

/// Where a process says things: whole lines, from any thread.
pub struct Speaker<'a>(pub(crate) Mutex<&'a mut (dyn Write + Send)>);

impl Speaker<'_> {
    /// Says one message. A lab that no longer listens has killed this process, or is about to.
    pub fn say(&self, message: &Message) {
        let line = serde_json::to_string(message).expect("a message is plain data");
        let mut output = self.0.lock().expect("nobody panics while speaking");
        let _ = writeln!(output, "{line}").and_then(|()| output.flush());
    }
}

/// Reads a job from `input`, does it, and says on `output` what came of it.
pub fn child(input: &mut dyn BufRead, output: &mut (dyn Write + Send)) {
    child_with(&[], input, output);
}

/// [`child`], which knows more engines than those that are built in.
pub fn child_with(own: &[&dyn Engine], input: &mut dyn BufRead, output: &mut (dyn Write + Send)) {
    open_files::raise();
    let speaker = Speaker(Mutex::new(output));
    let mut line = String::new();
    let job = match input.read_line(&mut line).map(|_| serde_json::from_str(&line)) {
        Ok(Ok(job)) => job,
        Ok(Err(error)) => return speaker.say(&Message::Failed(format!("no job: {error}"))),
        Err(error) => return speaker.say(&Message::Failed(format!("no job: {error}"))),
    };
    match perform(&job, own, input, &speaker) {
        Ok(measured) => speaker.say(&Message::Done(measured.map(Box::new))),
        Err(reason) => speaker.say(&Message::Failed(reason)),
    }
}

fn perform(
    job: &Job,
    own: &[&dyn Engine],
    input: &mut dyn BufRead,
    speaker: &Speaker<'_>,
) -> std::result::Result<Option<crate::job::Measured>, String> {
    match job {
        Job::Load { data, staging, durability } => {
            introduce(staging)?;
            let prepared = trial::prepare(data)?;
            let terms = staging.terms(level(durability)?);
            let engine = trial::engine(data, own)?;
            let database = trial::open(engine, &*prepared, &staging.directory, &terms)?;
            load(&*prepared, &*database, speaker).map_err(|error| error.to_string())?;
            Ok(None)
        }
        Job::Warm { staging } => {
            join(&staging.groups)?;
            read_all(&staging.directory, &mut vec![0; 1 << 20]).map_err(|e| e.to_string())?;
            Ok(None)
        }
        Job::Trial { data, staging, durability, clients, seconds } => {
            introduce(staging)?;
            let prepared = trial::prepare(data)?;
            // Not before: the workload's texts are not the engine's to find room for.
            let engine = trial::engine(data, own)?;
            let home = engine.home();
            if home == Home::Process {
                join(&staging.groups)?;
            }
            let terms = staging.terms(level(durability)?);
            let directory = &staging.directory;
            let here = home != Home::Elsewhere;
            let syncs = here.then(|| Watcher::new(directory)).flatten();
            let database = trial::open(engine, &*prepared, directory, &terms)?;
            // So that no trial measures how its engine got warm; the disk takes no time meanwhile.
            database.warm().map_err(|error| format!("its tables can't be read: {error}"))?;
            speaker.say(&Message::Ready);
            wait_for_go(input)?;
            let duration = Duration::from_secs_f64(*seconds);
            let names = trial::operations(data)?;
            let (prepared, database, syncs) = (&*prepared, &*database, syncs.as_ref());
            let load = trial::Trial { prepared, database, home, syncs, names, directory };
            load.run(*clients, duration, speaker).map(Some)
        }
        Job::Ledger { data, staging, durability, clients, log } => {
            let (books, terms) = (trial::books(data)?, staging.terms(level(durability)?));
            let engine = trial::engine(data, own)?;
            let database = trial::open(engine, &books, &staging.directory, &terms)?;
            let mut go = || {
                speaker.say(&Message::Ready);
                wait_for_go(input)
            };
            power_cut::clients::run(&books, &*database, *clients, log, speaker, &mut go)?;
            Ok(None)
        }
        Job::Audit { data, staging, durability, log, off_at_ns } => {
            let (books, terms) = (trial::books(data)?, staging.terms(level(durability)?));
            let engine = trial::engine(data, own)?;
            let accounts = power_cut::log::read(log, *off_at_ns);
            let accounts = accounts.map_err(|error| format!("the clients' log: {error}"))?;
            speaker.say(&Message::Ready);
            wait_for_go(input)?;
            let start = Instant::now();
            let opened = trial::open(engine, &books, &staging.directory, &terms);
            let recovery = start.elapsed();
            // Said before it is closed, which the lab does not wait for: nobody needs it any more.
            speaker.say(&Message::Judged(match &opened {
                Ok(it) => audit::judge(&books, &**it, recovery, &accounts, *off_at_ns),
                Err(reason) => audit::wreck(reason),
            }));
            Ok(None)
        }
    }
}

/// Makes a database that somebody else runs known by its name, with its password.
fn introduce(staging: &Staging) -> std::result::Result<(), String> {
    staging.url.as_deref().map_or(Ok(()), |url| elsewhere::find(url).map(drop))
}

fn level(name: &str) -> std::result::Result<Durability, String> {
    Durability::parse(name).ok_or_else(|| format!("there is no durability level {name}"))
}

fn wait_for_go(input: &mut dyn BufRead) -> std::result::Result<(), String> {
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(_) if line.trim() == GO => Ok(()),
        _ => Err("the lab went away".into()),
    }
}

fn join(groups: &[std::path::PathBuf]) -> std::result::Result<(), String> {
    memory::join(groups).map_err(|error| format!("memory can't be limited: {error}"))
}

/// Reads every file below a folder to its end.
fn read_all(folder: &Path, buffer: &mut [u8]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read_all(&entry.path(), buffer)?;
        } else if kind.is_file() {
            let mut file = fs::File::open(entry.path())?;
            while file.read(buffer)? > 0 {}
        }
    }
    Ok(())
}

/// Loads every table, then drains, so that the image owes nothing.
fn load(prepared: &dyn Prepared, database: &dyn Database, speaker: &Speaker<'_>) -> Result<()> {
    let (mut rows, mut bytes) = (0, 0);
    let mut last = Instant::now();
    for table in 0..prepared.schema().tables.len() {
        let mut loader = database.load(table)?;
        prepared.rows(table, &mut |row| {
            rows += 1;
            bytes += row.iter().map(size).sum::<u64>();
            if rows % 1024 == 0 && last.elapsed() > Duration::from_millis(200) {
                last = Instant::now();
                speaker.say(&Message::Loaded { rows, bytes });
            }
            loader.row(row)
        })?;
        loader.finish()?;
    }
    speaker.say(&Message::Loaded { rows, bytes });
    database.drain()
}
