//! A trial's process, from the inside: does one job and says how it goes.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use bakeoff_folders::{Dir, each_file};

use crate::machine::open_files;
use crate::procedures::{Inside, Within, cut, drive};
use crate::process::MessageOutput;
use crate::process::job::{Message, ProcessJob, Task};
use crate::{Registry, TrialError};

/// What each procedure does inside.
static INSIDE: [&Inside; 2] = [&drive::INSIDE, &cut::INSIDE];

/// Reads a job from `input`, does it, and says on `output` what came of it. The process is its own:
/// threads that other work in it starts meanwhile would count as left behind by the target.
pub fn child(registry: &Registry, input: &mut dyn BufRead, output: &mut (dyn Write + Send)) {
    open_files::raise();
    let output = MessageOutput::new(output);
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
    job: &ProcessJob,
    registry: &Registry,
    input: &mut dyn BufRead,
    output: &MessageOutput<'_>,
) -> Result<Option<bakeoff_results::TrialMeasurements>, TrialError> {
    let ProcessJob { target, subject, place, task } = job;
    let target = registry
        .target(target)
        .ok_or_else(|| TrialError::process(format!("there is no target {target}")))?;
    match task {
        Task::Load => {
            let loaded = &mut |rows, bytes| output.send(&Message::Loaded { rows, bytes });
            target.prepare(subject)?.load(place, loaded)?;
        }
        Task::Ask { seed } => {
            let told = target.prepare(subject)?.answers(place, *seed)?;
            output.send(&Message::Answered(told));
        }
        Task::Read { group } => {
            let group = group.as_deref();
            group.map_or(Ok(()), |name| place.join(name))?;
            let mut buffer = vec![0; 1 << 20];
            let mut files = place.readers().into_iter().filter(|(reader, _)| *reader == group);
            let read = files.try_for_each(|(_, files)| read_all(files, &mut buffer));
            read.map_err(|error| TrialError::place("its data can't be read", error))?;
        }
        Task::Serve => target.prepare(subject)?.serve(place, input, output)?,
        Task::Inside { procedure, data } => {
            let mut within = Within { registry, target, subject, place, input, output };
            let known = INSIDE.iter().find(|inside| inside.name == procedure);
            let unknown = || TrialError::process(format!("there is no procedure {procedure}"));
            return (known.ok_or_else(unknown)?.perform)(data, &mut within);
        }
    }
    Ok(None)
}

/// Reads every file below a folder to its end.
fn read_all(folder: &Path, buffer: &mut [u8]) -> io::Result<()> {
    each_file(&Dir::open(folder)?, &mut |mut file, _| {
        while file.read(buffer)? > 0 {}
        Ok(())
    })
}
