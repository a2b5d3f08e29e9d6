//! Lines over a numeric factor, of known trials.

use bakeoff_analysis::{
    Document, FastestVerdict, PointState, RatioBound, Sweep, SweepPanel, SweepPoint, Verdict,
};
use bakeoff_results::Trial;
use bakeoff_testkit::synthetic::{ENGINES, TrialGenerator, run};

use crate::known::{fail, measured, read, take};

/// What a run has of its factors `clients` and `neighbours`.
struct Made<'a> {
    clients: &'a [&'a str],
    neighbours: &'a [&'a str],
    /// Milliseconds of an operation by the engine and the numbers of both levels' places.
    mean_ms: fn(&str, usize, usize) -> f64,
    /// What is done to each trial before it is recorded; `false` leaves it out.
    change: fn(&mut Trial) -> bool,
}

impl Default for Made<'_> {
    fn default() -> Self {
        Self { clients: &["1", "2", "4"], neighbours: &["0"], mean_ms: crossing, change: |_| true }
    }
}

/// Alpha is fastest at the first level, gamma at the last; beta is never.
fn crossing(engine: &str, clients: usize, _: usize) -> f64 {
    match engine {
        "beta" => 40.0,
        "gamma" => 8.0,
        _ => [4.0, 8.0, 16.0][clients.min(2)],
    }
}

impl Made<'_> {
    /// Three blocks of each cell.
    fn document(&self) -> Document {
        let cells = self.clients.len() * self.neighbours.len();
        let mut trials = Vec::new();
        let mut generator = TrialGenerator::new(5, 1);
        let places = |at: usize| {
            (at / self.neighbours.len() % self.clients.len(), at % self.neighbours.len())
        };
        for block in 0..3 * cells {
            let (at, beside) = places(block);
            let cell = [self.clients[at], self.neighbours[beside]];
            for mut trial in generator.generate_block((block / cells) as u32, block as u32, cell) {
                let engine = trial.levels["engine"].trim_end_matches("@again").to_owned();
                let ripple = 1.0 + 0.004 * f64::from((trial.repetition + trial.order) % 3);
                let mean_s = (self.mean_ms)(&engine, at, beside) * 1e-3 * ripple;
                (0..2).for_each(|operation| take(&mut trial, operation, mean_s, 50));
                if (self.change)(&mut trial) {
                    trials.push(trial);
                }
            }
        }
        read(&run(self.clients, self.neighbours, (3 * cells * ENGINES.len()) as u32), &trials)
    }

    fn sweep(&self) -> Option<Sweep> {
        self.document().sweep
    }
}

fn is(trial: &Trial, engine: &str, clients: &str) -> bool {
    trial.levels["engine"] == engine && trial.levels["clients"] == clients
}

fn told(panel: &SweepPanel) -> Vec<FastestVerdict> {
    panel.fastest.iter().map(|it| it.told).collect()
}

fn point<'a>(panel: &'a SweepPanel, level: &str, at: usize) -> &'a SweepPoint {
    &panel.series.iter().find(|it| it.level == level).expect("a line").points[at]
}

#[test]
fn lines_have_figures_intervals_and_who_is_fastest_where() {
    let document = Made::default().document();
    let sweep = document.sweep.as_ref().expect("clients are numeric");
    assert_eq!((sweep.factor.as_str(), &sweep.second), ("clients", &None));
    assert_eq!(sweep.panels.len(), 2, "one an operation");
    let panel = &sweep.panels[0];
    let names: Vec<&str> = panel.series.iter().map(|it| it.level.as_str()).collect();
    assert_eq!(names, ["alpha", "beta", "gamma"], "a level entered twice has one line");
    assert!(!panel.levels.contains_key("clients") && !panel.levels.contains_key("engine"));
    assert_eq!(told(panel), [FastestVerdict::Won, FastestVerdict::TooClose, FastestVerdict::Won]);
    assert_eq!(panel.fastest[1].levels.len(), 2, "beta is behind: {:?}", panel.fastest[1]);
    assert_eq!(
        (panel.winner(0), panel.winner(1), panel.winner(2)),
        (Some("alpha"), None, Some("gamma"))
    );
    let [turn] = &panel.turns[..] else { panic!("{:?}", panel.turns) };
    assert_eq!([&turn.after, &turn.at, &turn.from, &turn.to], ["1", "4", "alpha", "gamma"]);

    let last = point(panel, "alpha", 2);
    let cell = document
        .cells
        .iter()
        .find(|cell| cell.levels["engine"] == "alpha" && cell.levels["clients"] == "4");
    let mean = cell.expect("a cell").operations[0].mean_s;
    assert!((last.value.unwrap() / mean.unwrap() - 1.0).abs() < 1e-9, "the cell's own mean");
    assert_eq!(last.value_is, Some(RatioBound::Exact));
    assert!(last.low < last.value && last.value < last.high, "{last:?}");
    let against = last.against.expect("gamma is faster");
    assert!((against.ratio - 2.0).abs() < 0.05, "{against:?}");
    assert_eq!((against.blocks, against.verdict), (3, Verdict::Slower));
    assert_eq!(point(panel, "gamma", 2).against, None, "it is the fastest itself");
}

/// The rate of a trial that all its clients' operations come to.
fn at_rate(trial: &mut Trial, per_second: f64) {
    for operation in &mut measured(trial).operations {
        operation.per_second = per_second / 2.0;
    }
}

fn knee(change: fn(&mut Trial) -> bool) -> Vec<(String, f64, RatioBound, bool, bool)> {
    let made = Made { clients: &["1", "2", "4", "8"], change, ..Made::default() };
    let knees = made.sweep().expect("clients are numeric").knees.into_iter();
    knees
        .map(|it| {
            assert!(!it.levels.contains_key("clients"), "{it:?}");
            let engine = it.levels["engine"].clone();
            (engine, it.clients, it.clients_is, it.low.is_some(), it.high.is_some())
        })
        .collect()
}

#[test]
fn a_knee_is_where_the_highest_rate_takes_as_long_as_the_fewest_clients_wait() {
    let found = knee(|it| {
        // One client has 100 a second of alpha; four have the most, 320; gamma's rate rises to the last, beta's falls.
        let rates = match &*it.levels["engine"] {
            "alpha" => [100.0, 190.0, 320.0, 300.0],
            "gamma" => [100.0, 200.0, 400.0, 700.0],
            _ => [100.0, 90.0, 80.0, 70.0],
        };
        let at = ["1", "2", "4", "8"].iter().position(|level| *level == it.levels["clients"]);
        let ripple = 1.0 + 0.01 * f64::from(it.repetition);
        let rate = rates[at.unwrap()] * ripple;
        at_rate(it, rate);
        true
    });
    let [alpha, beta, gamma] = &found[..] else { panic!("{found:?}") };
    assert!((alpha.1 - 3.2).abs() < 1e-9, "{alpha:?}");
    assert_eq!((&*alpha.0, alpha.2, alpha.3, alpha.4), ("alpha", RatioBound::Exact, true, true));
    assert_eq!((&*beta.0, beta.1, beta.2, beta.3), ("beta", 1.0, RatioBound::AtMost, false));
    assert!((gamma.1 - 7.0).abs() < 1e-9, "{gamma:?}");
    assert_eq!((gamma.2, gamma.3, gamma.4), (RatioBound::AtLeast, true, false));
}

#[test]
fn other_factors_and_a_single_number_of_clients_have_no_knee() {
    let neighbours = Made { clients: &["1"], neighbours: &["0", "x1", "x4"], ..Made::default() };
    assert!(neighbours.sweep().expect("neighbours are numeric").knees.is_empty());
    let failed = |it: &mut Trial| {
        it.valid = it.levels["clients"] == "1";
        true
    };
    assert!(knee(failed).is_empty());
}

#[test]
fn what_was_not_run_is_a_gap_and_says_nothing_of_the_others() {
    let without = Made { change: |it| !is(it, "gamma", "4"), ..Made::default() };
    let sweep = without.sweep().expect("a numeric factor");
    let panel = &sweep.panels[0];
    let gap = point(panel, "gamma", 2);
    assert_eq!((gap.state, gap.value, &gap.why), (PointState::NotRun, None, &None));
    assert_eq!(panel.winner(2), Some("alpha"), "of those that were run");
    assert!(panel.turns.is_empty());
}

#[test]
fn where_a_cell_is_set_aside_nobody_is_said_to_be_fastest() {
    let spoilt = Made {
        change: |it| {
            if is(it, "beta", "4") {
                (it.valid, it.reason) = (false, Some("the disk was slow".into()));
            }
            if is(it, "beta", "1") {
                fail(it, "it crashed");
            }
            true
        },
        ..Made::default()
    };
    let sweep = spoilt.sweep().expect("a numeric factor");
    let panel = &sweep.panels[0];
    assert_eq!(
        told(panel),
        [FastestVerdict::Unknown, FastestVerdict::TooClose, FastestVerdict::Unknown]
    );
    let aside = point(panel, "beta", 2);
    assert_eq!(aside.state, PointState::SetAside);
    assert!((aside.value.unwrap() / 0.040 - 1.0).abs() < 0.02, "what it showed is kept: {aside:?}");
    assert_eq!(aside.why.as_deref(), Some("the disk was slow"));
    let failed = point(panel, "beta", 0);
    assert_eq!((failed.state, failed.value), (PointState::SetAside, None));
    assert_eq!(failed.why.as_deref(), Some("it crashed"));
}

#[test]
fn what_was_cut_off_is_a_bound_with_an_open_end() {
    let cut = Made {
        change: |it| {
            if is(it, "beta", "4") && it.repetition == 1 {
                measured(it).operations[0].unfinished = 2;
            }
            true
        },
        ..Made::default()
    };
    let sweep = cut.sweep().expect("a numeric factor");
    let bound = point(&sweep.panels[0], "beta", 2);
    assert_eq!((bound.state, bound.value_is), (PointState::Known, Some(RatioBound::AtLeast)));
    assert!(bound.low.is_some() && bound.high.is_none(), "{bound:?}");
    assert_eq!(bound.against.map(|it| it.is), Some(RatioBound::AtLeast));
    assert_eq!(sweep.panels[0].winner(2), Some("gamma"), "a bound is slower all the same");
    assert_eq!(
        point(&sweep.panels[1], "beta", 2).value_is,
        Some(RatioBound::Exact),
        "another operation"
    );
}

#[test]
fn the_order_can_turn_twice_and_levels_go_from_easy_to_hard() {
    let twice = Made {
        clients: &["1"],
        neighbours: &["x4", "0", "x1", "25%"],
        mean_ms: |engine, _, beside| match engine {
            // By place: x4, 0, x1, 25 %.
            "alpha" => [4.0, 4.0, 16.0, 4.0][beside],
            "gamma" => 8.0,
            _ => 40.0,
        },
        ..Made::default()
    };
    let sweep = twice.sweep().expect("neighbours are numeric");
    let levels: Vec<(&str, f64)> =
        sweep.levels.iter().map(|it| (it.level.as_str(), it.value)).collect();
    assert_eq!(levels, [("0", 0.0), ("25%", 0.25), ("x1", 1.0), ("x4", 4.0)]);
    let turns: Vec<[&str; 4]> =
        sweep.panels[0].turns.iter().map(|it| [&*it.after, &it.at, &it.from, &it.to]).collect();
    assert_eq!(turns, [["25%", "x1", "alpha", "gamma"], ["x1", "x4", "gamma", "alpha"]]);
}

#[test]
fn words_and_two_levels_make_no_line() {
    for levels in [&["1", "2"][..], &["1", "2", "many"], &["1", "2", "4M"]] {
        let made = Made { clients: levels, ..Made::default() };
        assert_eq!(made.sweep(), None, "{levels:?}");
    }
    // Three were planned, and two of them were run.
    let begun = Made { change: |it| it.levels["clients"] != "4", ..Made::default() };
    assert_eq!(begun.sweep(), None);
}

#[test]
fn of_two_numeric_factors_the_one_with_more_levels_has_the_lines() {
    let both = Made { neighbours: &["0", "25%", "x1", "x4"], ..Made::default() };
    let sweep = both.sweep().expect("two numeric factors");
    let second = sweep.second.as_ref().expect("clients");
    assert_eq!((sweep.factor.as_str(), second.factor.as_str()), ("neighbours", "clients"));
    assert_eq!(second.levels.len(), 3);
    assert_eq!(sweep.panels.len(), 2 * 3, "one an operation and number of clients");
    let clients: Vec<&str> = sweep.panels.iter().map(|it| it.levels["clients"].as_str()).collect();
    assert_eq!(clients, ["1", "2", "4", "1", "2", "4"], "operation by operation");
}

#[test]
fn forty_levels_are_forty_points() {
    let names: Vec<String> = (1..=40).map(|it| it.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sweep = Made { clients: &names, ..Made::default() }.sweep().expect("a numeric factor");
    assert_eq!((sweep.levels.len(), sweep.panels[0].series[0].points.len()), (40, 40));
    assert_eq!(sweep.panels[0].turns.len(), 1);
}
