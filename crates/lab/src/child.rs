//! A trial's process, from the inside: does one job and says how it goes.

use std::io::{BufRead, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bakeoff_engines::{Database, Durability, Result};
use bakeoff_workloads::Prepared;

use crate::job::{GO, Job, Message};
use crate::trial;

/// Where a process says things: whole lines, from any thread.
pub struct Speaker<'a>(Mutex<&'a mut (dyn Write + Send)>);

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
    let speaker = Speaker(Mutex::new(output));
    let mut line = String::new();
    let job = match input.read_line(&mut line).map(|_| serde_json::from_str(&line)) {
        Ok(Ok(job)) => job,
        Ok(Err(error)) => return speaker.say(&Message::Failed(format!("no job: {error}"))),
        Err(error) => return speaker.say(&Message::Failed(format!("no job: {error}"))),
    };
    match perform(&job, input, &speaker) {
        Ok(measured) => speaker.say(&Message::Done(measured.map(Box::new))),
        Err(reason) => speaker.say(&Message::Failed(reason)),
    }
}

fn perform(
    job: &Job,
    input: &mut dyn BufRead,
    speaker: &Speaker<'_>,
) -> std::result::Result<Option<crate::job::Measured>, String> {
    match job {
        Job::Load { data, staging } => {
            let prepared = trial::prepare(data)?;
            let terms = staging.terms(Durability::None);
            let database = trial::open(data, &*prepared, &staging.directory, &terms)?;
            load(&*prepared, &*database, speaker).map_err(|error| error.to_string())?;
            Ok(None)
        }
        Job::Trial { data, staging, durability, clients, seconds } => {
            let prepared = trial::prepare(data)?;
            let durability = Durability::parse(durability)
                .ok_or_else(|| format!("there is no durability level {durability}"))?;
            let terms = staging.terms(durability);
            let database = trial::open(data, &*prepared, &staging.directory, &terms)?;
            speaker.say(&Message::Ready);
            wait_for_go(input)?;
            let duration = Duration::from_secs_f64(*seconds);
            let names = trial::operations(data)?;
            let load = trial::Trial { prepared: &*prepared, database: &*database, names };
            load.run(*clients, duration, &staging.directory, speaker).map(Some)
        }
    }
}

fn wait_for_go(input: &mut dyn BufRead) -> std::result::Result<(), String> {
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(_) if line.trim() == GO => Ok(()),
        _ => Err("the lab went away".into()),
    }
}

/// Loads every table, then drains, so that the image owes nothing.
fn load(prepared: &dyn Prepared, database: &dyn Database, speaker: &Speaker<'_>) -> Result<()> {
    let mut rows = 0;
    let mut last = Instant::now();
    for table in 0..prepared.schema().tables.len() {
        let mut loader = database.load(table)?;
        prepared.rows(table, &mut |row| {
            rows += 1;
            if rows % 1024 == 0 && last.elapsed() > Duration::from_millis(200) {
                last = Instant::now();
                speaker.say(&Message::Loaded { rows });
            }
            loader.row(row)
        })?;
        loader.finish()?;
    }
    database.drain()
}
