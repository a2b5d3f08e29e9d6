//! Jobs for `bakeoff trial`, made and sent as the lab does.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bakeoff_experiment::{Experiment, Factor, FlagOverrides};
use bakeoff_lab::driving::Drive;
use bakeoff_lab::place::TargetPlace;
use bakeoff_lab::process::job::{Message, ProcessJob, Task};
use bakeoff_lab::process::{ChildProcess, ChildProgram, ReceiveOutcome};
use bakeoff_lab::targets::Setup;
use bakeoff_lab::{Registry, resolve_trial};
use bakeoff_results::TrialMeasurements;

const BAKEOFF: &str = env!("CARGO_BIN_EXE_bakeoff");

/// How long a process may say nothing.
const PATIENCE: Duration = Duration::from_secs(120);

/// The only cell of an experiment: how it is set up, and how its clients are driven. `keys` are those
/// of an experiment's file, with values as TOML writes them; the file is made in `folder`. The engine, where
/// the workload has one, comes as by its flag, which may name a server.
pub fn cell(folder: &Path, engine: Option<&str>, keys: &[(&str, String)]) -> (Setup, Drive) {
    let path = folder.join("experiment.toml");
    let text: String = keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    fs::write(&path, text).expect("the experiment can be written");
    let registry = Registry::standard();
    let factors = engine.map(|engine| (Factor::ENGINE, engine.to_owned())).into_iter().collect();
    let changes = FlagOverrides { factors, ..FlagOverrides::default() };
    let experiment = Experiment::load(&path.to_string_lossy(), &changes, &registry.vocabulary())
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    let cell = &experiment.plan().blocks[0].trials[0].cell;
    let (trial, drive) =
        resolve_trial(&registry, &experiment, cell, 0).expect("it can be had").in_block(0);
    (trial.setup, drive)
}

/// Starts a process that does a task in a place.
pub fn start(setup: &Setup, place: &TargetPlace, task: Task) -> ChildProcess {
    let (target, subject) = (setup.target.to_owned(), setup.subject.to_json());
    let program = ChildProgram { path: BAKEOFF.into(), arguments: vec!["trial".into()] };
    let job = ProcessJob { target, subject, place: place.clone(), task };
    ChildProcess::start(&program, &job).expect("bakeoff starts")
}

/// Does a task in a process of its own, which has ended when this returns.
pub fn perform(setup: &Setup, place: &TargetPlace, task: Task) -> Option<Box<TrialMeasurements>> {
    let mut process = start(setup, place, task);
    loop {
        match process.receive(PATIENCE) {
            ReceiveOutcome::Message(Message::Ready | Message::Drained(_)) => {
                process = process.tell_to_go().expect("it listens");
            }
            ReceiveOutcome::Message(Message::Done(measured)) => {
                process.exit_report();
                return measured;
            }
            ReceiveOutcome::Message(Message::Failed(error)) => panic!("{error}"),
            ReceiveOutcome::Message(_) => {}
            ReceiveOutcome::Nothing => panic!("nothing was heard of it for {PATIENCE:?}"),
            ReceiveOutcome::End => panic!("{}", process.exit_report()),
        }
    }
}
