//! A trial's process, from the inside: does one job and says how it goes.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use bakeoff_folders::{Dir, each_file};

use crate::machine::threads::Threads;
use crate::machine::{open_files, syncs};
use crate::procedures::{self, cut};
use crate::process::Output;
use crate::process::job::{GO, Job, Message, Task};
use crate::{Registry, TrialError};

/// Reads a job from `input`, does it, and says on `output` what came of it. The process is its own:
/// threads that other work in it starts meanwhile would count as left behind by the target.
pub fn child(registry: &Registry, input: &mut dyn BufRead, output: &mut (dyn Write + Send)) {
    open_files::raise();
    let output = Output::new(output);
    let mut line = String::new();
    let read = input.read_line(&mut line).map_err(|error| error.to_string());
    let job = read.and_then(|_| serde_json::from_str(&line).map_err(|error| error.to_string()));
    let done = job
        .map_err(|error| TrialError::process(format!("no job: {error}")))
        .and_then(|job| perform(&job, registry, input, &output));
    output.send(&match done {
        Ok(measured) => Message::Done(measured.map(Box::new)),
        Err(error) => Message::Failed(error),
    });
}

fn perform(
    job: &Job,
    registry: &Registry,
    input: &mut dyn BufRead,
    output: &Output<'_>,
) -> Result<Option<bakeoff_results::Measured>, TrialError> {
    let Job { target, subject, place, task } = job;
    let target = registry
        .target(target)
        .ok_or_else(|| TrialError::process(format!("there is no target {target}")))?;
    let mut ready = || {
        tracing::debug!("ready");
        output.send(&Message::Ready);
        wait_for_go(input)
    };
    match task {
        Task::Load => {
            let loaded = &mut |rows, bytes| output.send(&Message::Loaded { rows, bytes });
            target.prepare(subject)?.load(place, loaded)?;
        }
        Task::Read => {
            place.join_all()?;
            let mut buffer = vec![0; 1 << 20];
            let read = place.directory.as_deref().map_or(Ok(()), |at| read_all(at, &mut buffer));
            read.map_err(|error| TrialError::place("its data can't be read", error))?;
        }
        Task::Drive(drive) => {
            let pace = drive.pacing.pace(registry)?;
            let subject = target.prepare(subject)?;
            let threads = Threads::now();
            // Before the target is opened: what it starts is counted, too.
            let syncs = place.directory.as_deref().and_then(syncs::Counter::new);
            let running = subject.open(place)?;
            tracing::debug!("open");
            // So that no trial measures how its target got warm; the disk takes no time meanwhile.
            running.warm()?;
            tracing::debug!("warm");
            ready()?;
            let measured =
                procedures::drive::measure(&*running, place, drive, pace, syncs.as_ref(), output)?;
            drop(running);
            threads.are_gone()?;
            return Ok(Some(measured));
        }
        Task::Claim { clients, claims } => {
            let subject = target.prepare(subject)?;
            let running = subject.open(place)?;
            cut::claim(&*running, *clients, claims, output, &mut ready)?;
        }
        Task::Audit { claims, off_at_ns } => {
            let (subject, claims) = (target.prepare(subject)?, cut::read_claims(claims)?);
            ready()?;
            // Sent before it is closed, which the lab does not wait for: nobody needs it any more.
            cut::audit(&*subject, place, &claims, *off_at_ns, output);
        }
    }
    Ok(None)
}

fn wait_for_go(input: &mut dyn BufRead) -> Result<(), TrialError> {
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(_) if line.trim() == GO => Ok(()),
        _ => Err(TrialError::process("bakeoff itself has ended")),
    }
}

/// Reads every file below a folder to its end.
fn read_all(folder: &Path, buffer: &mut [u8]) -> io::Result<()> {
    each_file(&Dir::open(folder)?, &mut |mut file, _| {
        while file.read(buffer)? > 0 {}
        Ok(())
    })
}
