//! The loop of a trial's process: it does one job and reports how it went.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use bakeoff_folders::{Dir, each_file};

use crate::machine::file_limit::explain_file_limit;
use crate::machine::open_files;
use crate::procedures::{ChildContext, cut, drive};
use crate::process::MessageOutput;
use crate::process::job::{Message, ProcedureTask, ProcessJob, Task};
use crate::{Registry, TrialError};

/// Needs a process of its own: other threads in it would count as left behind by the target.
pub fn run_child(registry: &Registry, input: &mut dyn BufRead, output: &mut (dyn Write + Send)) {
    open_files::raise_limit();
    let output = MessageOutput::new(output);
    let mut line = String::new();
    let read = input.read_line(&mut line).map_err(|error| error.to_string());
    let job = read.and_then(|_| serde_json::from_str(&line).map_err(|error| error.to_string()));
    let done = job
        .map_err(|error| TrialError::process_error(format!("no job: {error}")))
        .and_then(|job| perform_job(&job, registry, input, &output));
    output.send(&match done {
        Ok(measured) => Message::Done(measured.map(Box::new)),
        Err(error) => Message::Failed(error.map_text(explain_file_limit)),
    });
}

fn perform_job(
    job: &ProcessJob,
    registry: &Registry,
    input: &mut dyn BufRead,
    output: &MessageOutput<'_>,
) -> Result<Option<bakeoff_results::TrialMeasurements>, TrialError> {
    let ProcessJob { target, subject, place, task } = job;
    let target = registry
        .target(target)
        .ok_or_else(|| TrialError::process_error(format!("there is no target {target}")))?;
    match task {
        Task::Load => {
            let loaded = &mut |rows, bytes| output.send(&Message::Loaded { rows, bytes });
            target.read_subject(subject)?.prepare()?.load(place, loaded)?;
        }
        Task::Ask { seed } => {
            let told = target.read_subject(subject)?.prepare()?.collect_answers(place, *seed)?;
            output.send(&Message::Answered(told));
        }
        Task::Read { group } => {
            let group = group.as_deref();
            group.map_or(Ok(()), |name| place.join_group(name))?;
            let mut buffer = vec![0; 1 << 20];
            let mut files =
                place.cache_readers().into_iter().filter(|(reader, _)| *reader == group);
            let read = files.try_for_each(|(_, files)| read_all(files, &mut buffer));
            read.map_err(|error| TrialError::place_error("its data can't be read", error))?;
        }
        Task::Serve => target.read_subject(subject)?.prepare()?.serve(place, input, output)?,
        Task::Procedure(task) => {
            let subject = &*target.read_subject(subject)?;
            let mut within = ChildContext { registry, subject, place, input, output };
            return match task {
                ProcedureTask::Drive(drives) => drive::perform_trials(drives, &mut within),
                ProcedureTask::Cut(part) => cut::perform_task(part, &mut within),
            };
        }
    }
    Ok(None)
}

fn read_all(folder: &Path, buffer: &mut [u8]) -> io::Result<()> {
    each_file(&Dir::open(folder)?, &mut |mut file, _| {
        while file.read(buffer)? > 0 {}
        Ok(())
    })
}
