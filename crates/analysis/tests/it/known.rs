//! Trials of which everything is known, runs that are made up of them, and what is looked up in their documents.

use bakeoff_analysis::{CellView, Comparison, Document, WarningKind, read_document};
use bakeoff_results::measure::*;
use bakeoff_results::{Canary, Run, RunFolder, Trial, TrialMeasurements, histogram};
use bakeoff_testkit::synthetic::{TrialGenerator, run};

/// A run of one client and no neighbour, and of so many trials.
pub fn plain_run(planned: u32) -> Run {
    run(&["1"], &["0"], planned)
}

/// What is taken out of a run folder that is made up. It lies in memory where that can be had: each trial is made
/// durable before the next, which takes a disk most of the time of these tests, and none of them is about that.
pub fn write<T>(run: &Run, trials: &[Trial], take: impl FnOnce(&mut RunFolder) -> T) -> T {
    let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let place = place.expect("a temporary folder");
    let mut folder = RunFolder::create(&place.path().join("run"), run, "").expect("a folder");
    trials.iter().for_each(|trial| folder.commit_trial(trial).expect("it is written"));
    take(&mut folder)
}

/// The document of such a run, with what `note` writes into its folder, too.
pub fn read_with(run: &Run, trials: &[Trial], note: impl FnOnce(&mut RunFolder)) -> Document {
    write(run, trials, |folder| {
        note(folder);
        read_document(folder).expect("a document")
    })
}

pub fn read(run: &Run, trials: &[Trial]) -> Document {
    read_with(run, trials, |_| ())
}

/// A run of one and of four clients with these trials.
pub fn document(trials: &[Trial]) -> Document {
    read(&run(&["1", "4"], &["0"], 32), trials)
}

/// So many blocks of one client and no neighbour, of two slots for the sake of speed.
pub fn blocks(number: u32) -> Vec<Trial> {
    blocks_at(number, ["1", "0"])
}

/// The same at levels of `clients` and `neighbours`.
pub fn blocks_at(number: u32, cell: [&str; 2]) -> Vec<Trial> {
    let mut generator = TrialGenerator::new(5, 10);
    let block = |block| generator.generate_block(block, block, cell);
    let mut trials: Vec<Trial> = (0..number).flat_map(block).collect();
    for trial in &mut trials {
        measured(trial).operations.iter_mut().for_each(|operation| operation.slots.truncate(2));
    }
    trials
}

/// Blocks whose operations all take so many milliseconds, by the block and the engine, an alias as its base or by
/// itself; a hundred of each.
pub fn blocks_that_take(number: u32, take_ms: impl Fn(u32, &str) -> f64) -> Vec<Trial> {
    let mut trials = blocks(number);
    for trial in &mut trials {
        let seconds = take_ms(trial.block, &trial.levels["engine"]) / 1e3;
        (0..2).for_each(|operation| take(trial, operation, seconds, 100));
    }
    trials
}

pub fn measured(trial: &mut Trial) -> &mut TrialMeasurements {
    trial.measured.as_mut().expect("synthetic trials are measured")
}

pub fn set(trial: &mut Trial, measure: &'static Measure, scope: Scope, value: f64) {
    measured(trial).measures.set(measure, scope, value);
}

/// Gives a trial's kind of operation so many, in the window and in all, that each took so long.
pub fn take(trial: &mut Trial, operation: usize, seconds: f64, count: u64) {
    let measured = measured(trial);
    let window_s = measured.window_s.1 - measured.window_s.0;
    let operation = &mut measured.operations[operation];
    operation.kept = histogram::new_histogram();
    operation.kept.record_n((seconds * 1e9) as u64, count).expect("it grows");
    operation.slots.truncate(2);
    operation.slots.iter_mut().for_each(|slot| slot.histogram.clear());
    if let Some(first) = operation.slots.first_mut() {
        first.histogram.add(&operation.kept).expect("it grows");
    }
    operation.per_second = count as f64 / window_s;
}

/// Gives the first kind of operation so many that all took so long, in the window alone.
pub fn constant(trial: &mut Trial, seconds: f64, count: u64) {
    let slots = measured(trial).operations[0].slots.clone();
    take(trial, 0, seconds, count);
    measured(trial).operations[0].slots = slots;
}

/// All trials of an engine.
pub fn of_engine<'a>(trials: &'a mut [Trial], engine: &str) -> impl Iterator<Item = &'a mut Trial> {
    trials.iter_mut().filter(move |trial| trial.levels["engine"] == engine)
}

pub fn is(trial: &Trial, block: u32, engine: &str) -> bool {
    trial.block == block && trial.levels["engine"] == engine
}

/// As if the trial had come to nothing.
pub fn fail(trial: &mut Trial, why: &str) {
    (trial.valid, trial.measured, trial.reason) = (false, None, Some(why.to_owned()));
}

/// Takes readings of a trial away.
pub fn without(trial: &mut Trial, readings: &[(&Measure, Scope)]) {
    let measures = &mut measured(trial).measures;
    let mut kept = Measures::default();
    for reading in measures.iter() {
        if !readings.iter().any(|(it, scope)| it.name == reading.name && *scope == reading.scope) {
            kept.put(reading.clone());
        }
    }
    *measures = kept;
}

pub fn look(cpu_s: f64) -> Canary {
    Canary { at_s: 0.0, cpu_s, memory_s: 0.01, sync_s: 0.001, read_s: None, off: None }
}

/// The only comparison of an operation of one client.
pub fn comparison<'a>(
    document: &'a Document,
    operation: &str,
    [baseline, level]: [&str; 2],
) -> &'a Comparison {
    let all = [&document.comparisons, &document.between, &document.noise].into_iter().flatten();
    let mut found = all.filter(|it| {
        it.operation == operation
            && it.levels["clients"] == "1"
            && it.baseline == baseline
            && it.level == level
    });
    let first = found.next().expect("it is compared");
    assert!(found.next().is_none(), "one comparison only");
    first
}

/// That of the first kind of operation.
pub fn compared<'a>(document: &'a Document, baseline: &str, level: &str) -> &'a Comparison {
    comparison(document, "create_issue", [baseline, level])
}

/// The first cell of an engine.
pub fn cell<'a>(document: &'a Document, engine: &str) -> &'a CellView {
    document.cells.iter().find(|cell| cell.levels["engine"] == engine).expect("a cell")
}

/// All warnings of that kind as they are read, none where there is none.
pub fn told(document: &Document, kind: WarningKind) -> String {
    let found = document.warnings.iter().filter(|it| it.kind == kind);
    found.map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[track_caller]
pub fn assert_has(text: &str, words: &[&str]) {
    let text = text.to_lowercase();
    for word in words {
        assert!(text.contains(&word.to_lowercase()), "{word} is not in {text}");
    }
}

/// As near as histograms of three digits bring it.
#[track_caller]
pub fn near(found: Option<f64>, expected: f64) {
    within(0.001, found, expected);
}

#[track_caller]
pub fn within(share: f64, found: Option<f64>, expected: f64) {
    let found = found.expect("there is a figure");
    assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
}
