//! Runs whose levels are compared by a rate of all operations together.

use bakeoff_analysis::{
    ALL_OPERATIONS, Comparison, Contrast, Document, FIRST_LOOK, RatioBound, Total, Verdict,
    WarningKind, schedule_looks,
};
use bakeoff_results::measure::*;
use bakeoff_results::{FigureOfMerit, Run, SlotRecord, Trial, histogram};
use bakeoff_testkit::synthetic::ENGINES;

use crate::known::{self, assert_has, cell, measured, plain_run, read, set, take, told};

/// Rows of each operation.
const ROWS: f64 = 30.0;

/// Whose operations take how many milliseconds each, at one client.
fn trials(blocks: u32, take_ms: impl Fn(u32, &str) -> [f64; 2]) -> Vec<Trial> {
    let mut trials = known::blocks(blocks);
    for trial in &mut trials {
        let take_ms = take_ms(trial.block, trial.levels["engine"].trim_end_matches("@again"));
        measured(trial).operations.iter_mut().for_each(|it| it.slots.clear());
        (0..2).for_each(|operation| take(trial, operation, take_ms[operation] / 1e3, 100));
        // The client does one of the one and one of the other.
        let rate = 2e3 / (take_ms[0] + take_ms[1]);
        let measured = measured(trial);
        measured.operations.iter_mut().for_each(|it| it.per_second = rate / 2.0);
        measured.measures.set(&DONE_RATE, Scope::Clients, rate);
        measured.measures.set(&ROWS_RATE, Scope::Clients, ROWS * rate);
    }
    trials
}

/// beta takes twice as long, by a ripple.
fn slower(block: u32, level: &str) -> [f64; 2] {
    let ripple = 1.0 + 0.01 * f64::from(block % 3);
    if level == "beta" { [20.0 * ripple, 40.0] } else { [10.0, 20.0] }
}

fn of(merit: FigureOfMerit) -> Run {
    Run { figure_of_merit: merit, ..plain_run(40) }
}

fn beta(document: &Document) -> &Comparison {
    let all = document.comparisons.iter().filter(|it| it.level == "beta");
    let [beta] = all.collect::<Vec<_>>()[..] else { panic!("one comparison") };
    beta
}

#[test]
fn what_has_the_lower_rate_is_slower_and_all_operations_are_one_comparison() {
    let document = read(&of(FigureOfMerit::Rows), &trials(6, slower));
    let beta = beta(&document);
    assert_eq!((&*beta.operation, &*beta.metric), (ALL_OPERATIONS, "rows_per_second"));
    assert_eq!(beta.verdict, Verdict::Slower);
    assert!(beta.ratio.is_some_and(|ratio| (2.0..2.02).contains(&ratio)), "{beta:?}");
    assert!(beta.low > Some(1.9) && beta.high < Some(2.1), "{beta:?}");
    // Of both kinds together.
    assert_eq!(beta.fewest_operations, Some(200));
    let pairs = document.comparisons.len() + document.between.len();
    assert_eq!(pairs, 3, "three levels, one figure each");
    assert_eq!(document.noise.len(), 1);
    let turned = beta.swapped();
    assert_eq!(turned.verdict, Verdict::Faster);
}

/// In a document a ratio goes the way of its figures, and its word stays that of the level; what is read back is
/// not turned once more.
#[test]
fn a_document_has_the_ratio_of_a_rate_as_tables_have_it() {
    for (merit, slow) in [(FigureOfMerit::Rows, 0.5), (FigureOfMerit::Time, 2.0)] {
        let document = read(&of(merit), &trials(6, slower));
        let json = serde_json::to_value(&document).unwrap();
        let of_json = |list: &str, baseline: &str, level: &str| {
            let mut all = json[list].as_array().unwrap().iter();
            let it = all.find(|it| it["baseline"] == baseline && it["level"] == level).unwrap();
            let [ratio, low, high] = ["ratio", "low", "high"].map(|key| it[key].as_f64().unwrap());
            assert!(low < ratio && ratio < high, "{it}");
            (ratio, it["verdict"].as_str().unwrap().to_owned())
        };
        let (ratio, word) = of_json("comparisons", "alpha", "beta");
        assert!((ratio / slow - 1.0).abs() < 0.02 && word == "slower", "{ratio} {word}");
        let (ratio, word) = of_json("between", "beta", "gamma");
        assert!((ratio * slow - 1.0).abs() < 0.02 && word == "faster", "{ratio} {word}");
        let told = document.comparisons.iter().find(|it| it.level == "beta").unwrap();
        let shown = Contrast::from_shown_comparison(told).unwrap().ratio;
        assert!((shown / slow - 1.0).abs() < 0.02, "tables and documents: {shown}");
        let read: Document = serde_json::from_value(json.clone()).unwrap();
        let again = read.comparisons.iter().find(|it| it.level == "beta").unwrap();
        assert!(again.ratio.is_some_and(|ratio| (1.9..2.1).contains(&ratio)), "{again:?}");
        assert_eq!(again.verdict, Verdict::Slower);
    }
}

/// The cells' rates stand to each other as the pairs do.
#[test]
fn the_quotient_of_two_cells_is_that_of_their_pairs() {
    let document = read(&of(FigureOfMerit::Operations), &trials(6, slower));
    let total = |engine: &str| cell(&document, engine).total.clone().unwrap();
    let (alpha, of_beta) = (total("alpha"), total("beta"));
    let quotient = alpha.typical.operations_per_second / of_beta.typical.operations_per_second;
    assert!((quotient / beta(&document).ratio.unwrap() - 1.0).abs() < 1e-9, "{quotient}");
    let rows = alpha.typical.rows_per_second.unwrap();
    assert!((rows / alpha.typical.operations_per_second - ROWS).abs() < 1e-9, "{rows}");
    assert_eq!(of_beta.each.len(), 6);
    assert!(of_beta.each[0].operations_per_second > of_beta.each[1].operations_per_second);
    assert_eq!(alpha.typical.bytes_per_second, None, "nobody counted them");
}

/// With one kind of operation in a closed loop a rate says what the mean says.
#[test]
fn with_one_kind_of_operation_rates_and_means_have_one_ratio() {
    let one = |merit| {
        let mut run = of(merit);
        run.operations.truncate(1);
        let mut trials = trials(6, |block, level| [slower(block, level)[0]; 2]);
        for trial in &mut trials {
            measured(trial).operations.truncate(1);
        }
        read(&run, &trials)
    };
    let (time, rate) = (one(FigureOfMerit::Time), one(FigureOfMerit::Requests));
    let (time, rate) = (beta(&time), beta(&rate));
    assert_eq!((&*time.metric, &*rate.metric), ("mean_s", "requests_per_second"));
    assert_eq!((&rate.operation, rate.verdict), (&time.operation, time.verdict));
    for (by_rate, by_time) in
        [(rate.ratio, time.ratio), (rate.low, time.low), (rate.high, time.high)]
    {
        // A histogram has three digits.
        let (by_rate, by_time) = (by_rate.unwrap(), by_time.unwrap());
        assert!((by_rate / by_time - 1.0).abs() < 2e-3, "{by_rate} {by_time}");
    }
}

#[test]
fn where_operations_are_due_at_a_rate_their_times_are_compared() {
    let mut trials = trials(6, slower);
    for trial in &mut trials {
        for (measure, value) in [(&OFFERED, 20.0), (&DUE, 200.0), (&NOT_STARTED, 0.0)] {
            set(trial, measure, Scope::Clients, value);
        }
    }
    let document = read(&of(FigureOfMerit::Rows), &trials);
    assert!(document.comparisons.iter().all(|it| it.metric == "mean_s"), "{document:?}");
    assert_eq!(document.comparisons.len(), 2 * 2, "each operation of two levels");
}

/// What was cut off served no more than that.
#[test]
fn a_rate_of_trials_that_were_cut_off_is_an_upper_bound() {
    let mut trials = trials(6, slower);
    for trial in trials.iter_mut().filter(|trial| trial.levels["engine"] == "beta") {
        measured(trial).operations[1].unfinished = 1;
    }
    let document = read(&of(FigureOfMerit::Operations), &trials);
    let beta = beta(&document);
    assert_eq!((beta.ratio_is, beta.verdict), (Some(RatioBound::AtLeast), Verdict::Slower));
    assert_eq!(beta.high, None);
    // A document says of the rate what its cell does: so much at most.
    let json = serde_json::to_value(beta).unwrap();
    assert_eq!((&json["ratio_is"], json["low"].is_null()), (&"at-most".into(), true), "{json}");
    let at_most = |engine: &str| cell(&document, engine).total.as_ref().unwrap().typical.at_most;
    assert!(at_most("beta") && !at_most("alpha"));
}

/// Earlier records have the rates of kinds, those that failed among them.
#[test]
fn what_was_not_counted_is_no_figure() {
    let mut old = trials(2, slower);
    for trial in &mut old {
        measured(trial).measures = Measures::default();
    }
    let rows = read(&of(FigureOfMerit::Rows), &old);
    let comparison = beta(&rows);
    assert_eq!((comparison.ratio, comparison.blocks), (None, 0));
    assert_eq!(comparison.verdict, Verdict::Undecided);
    let operations = read(&of(FigureOfMerit::Operations), &old);
    assert!(beta(&operations).ratio.is_some_and(|ratio| ratio > 1.9));
    old[0].measured.as_mut().unwrap().operations[0].errors = 1;
    let failed = read(&of(FigureOfMerit::Operations), &old);
    let trial = &failed.trials[0];
    assert_eq!(Total::from_trial(trial), None, "its rate counts what failed");
}

/// A run until decided has one comparison where it would have one for each operation.
#[test]
fn a_run_until_decided_counts_the_comparisons_that_there_are() {
    let levels = ENGINES.len() as u32 - 1;
    let pairs = levels * (levels - 1) / 2;
    let comparisons = |run: &Run| schedule_looks(run, FIRST_LOOK..=20, None).unwrap().comparisons;
    assert_eq!(comparisons(&of(FigureOfMerit::Time)), 2 * pairs);
    assert_eq!(comparisons(&of(FigureOfMerit::Rows)), pairs);
    let mut open = of(FigureOfMerit::Rows);
    open.factors.push(("rate".into(), vec!["closed".into(), "100/s".into()]));
    assert_eq!(comparisons(&open), 2 * 2 * pairs);
}

/// A run of an older bakeoff: its rates are by Little's law, and each second holds a hundred operations.
fn of_old_form(kept_s: f64, slots: u32) -> Document {
    let mut trials = trials(3, slower);
    for trial in &mut trials {
        let measured = measured(trial);
        (measured.window_s, measured.ran_s) = ((0.3, 3.0), 3.0);
        measured.measures.set(&DONE_RATE, Scope::Clients, 45.0);
        measured.measures.set(&ROWS_RATE, Scope::Clients, 45.0 * ROWS);
        for (operation, share) in measured.operations.iter_mut().zip([0.75, 0.25]) {
            operation.kept = histogram::new_histogram();
            operation.kept.record_n((kept_s * 1e9) as u64, 100).unwrap();
            operation.per_second = 22.5;
            operation.slots =
                (0..slots).map(|second| slot(second, (100.0 * share) as u64)).collect();
            let rows = Scope::Operation(operation.name.clone().into());
            measured.measures.set(&bakeoff_results::measure::ROWS, rows, 100.0 * ROWS);
        }
    }
    read(&of(FigureOfMerit::Rows), &trials)
}

/// A second in which so many operations ended.
fn slot(second: u32, count: u64) -> SlotRecord {
    let mut histogram = histogram::new_histogram();
    histogram.record_n(10_000_000, count).unwrap();
    SlotRecord { start_s: f64::from(second), end_s: f64::from(second) + 1.0, histogram }
}

#[test]
fn rates_of_an_older_bakeoff_are_counted_from_its_seconds() {
    let document = of_old_form(1.0, 3);
    for trial in &document.trials {
        let each: Vec<f64> = trial.operations.iter().map(|it| it.per_second).collect();
        assert_eq!(each, [75.0, 25.0], "two whole seconds lie in the window");
        let clients = |measure| trial.measures.get(measure, &Scope::Clients);
        assert_eq!(clients(&DONE_RATE), Some(100.0));
        assert_eq!(clients(&ROWS_RATE), Some(100.0 * ROWS));
        assert_eq!((clients(&LITTLE_RATE), clients(&STARVED)), (Some(45.0), Some(0.0)));
    }
    assert_eq!(told(&document, WarningKind::RatesNotCounted), "");
    assert_ne!(told(&document, WarningKind::ClientsStarved), "");
    assert_eq!(told(&document, WarningKind::TimeMissing), "", "it is said once");
}

#[test]
fn how_many_clients_starved_and_for_how_long_is_told() {
    let text = told(&of_old_form(15.6, 3), WarningKind::ClientsStarved);
    assert_has(
        &text,
        &[
            "1 of 1 clients spent the whole window of 2.7 s in one operation, and the longest took 15.6 s",
        ],
    );
}

#[test]
fn a_run_without_enough_whole_seconds_keeps_its_rates_and_is_marked() {
    let document = of_old_form(0.020, 2);
    // One second of 2.7 tells too little.
    assert!(document.trials.iter().all(|trial| trial.operations[0].per_second == 22.5));
    assert_has(&told(&document, WarningKind::RatesNotCounted), &["12 of 12 trials"]);
}
