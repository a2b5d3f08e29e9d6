//! What is said of trials in which several groups of processes worked for the clients, and waited for processors.

use bakeoff_analysis::WarningKind::{
    ClientsWaited, ClientsWaitedAlike, NotBatch, ServersWaited, ServersWaitedAlike,
    ShortOfProcessors, TwoPlacements,
};
use bakeoff_analysis::{Document, GroupView, Verdict, WarningKind, compare_changes};
use bakeoff_results::measure::*;

use crate::known::{assert_has, blocks, cell, measured, plain_run, read, told};

/// The document of a run of blocks, of whose measures `change` makes something else. It is told the trial's number:
/// beta's is 1 in each block of four, gamma's 2.
fn of_blocks(number: u32, change: impl Fn(u32, &mut Measures)) -> Document {
    let mut trials = blocks(number);
    for (number, trial) in trials.iter_mut().enumerate() {
        change(number as u32, &mut measured(trial).measures);
    }
    read(&plain_run(4), &trials)
}

fn group(name: &'static str) -> Scope {
    Scope::Processes(name.into())
}

fn names(groups: &[GroupView]) -> Vec<&str> {
    groups.iter().map(|group| &*group.name).collect()
}

#[test]
fn each_group_of_a_cell_has_its_own_figures() {
    let document = of_blocks(2, |number, measures| {
        measures.set(&CPU, Scope::Clients, 1.0);
        measures.set(&CPU, group("web"), f64::from(number) + 1.0);
        measures.set(&DRAIN_CPU, group("web"), 0.5);
        measures.set(&READ, group("web"), 4096.0);
        measures.set(&MEMORY_PEAK, group("web"), 1e6);
        // A limit that both share uses nothing of its own, and the virtual disk works for nobody.
        measures.set(&MEMORY_LIMIT, group("stack"), 2e6);
        measures.set(&CPU, Scope::DISK_DAEMON, 7.0);
    });
    for cell in &document.cells {
        assert_eq!(names(&cell.groups), ["database", "stack", "web"]);
        let [database, stack, web] = &cell.groups[..] else { panic!("three") };
        assert_eq!((database.cpu_s, cell.cpu_s.engine), (Some(9.25), 9.25));
        assert_eq!(database.memory_limit_bytes, Some(f64::from(1 << 29)));
        assert_eq!((stack.memory_limit_bytes, stack.cpu_s), (Some(2e6), None));
        assert_eq!((web.drain_cpu_s, web.read_bytes), (Some(0.5), Some(4096.0)));
        assert_eq!((web.memory_peak_bytes, web.memory_limit_bytes), (Some(1e6), None));
        // Each trial did 400 operations.
        let each = cell.processes.iter().map(|it| (&*it.name, it.cpu_per_operation_s * 400.0));
        let each: Vec<(&str, f64)> = each.map(|(name, it)| (name, (it * 100.0).round())).collect();
        let of_web = (web.cpu_s.unwrap() * 100.0).round();
        assert_eq!(each, [("clients", 100.0), ("database", 925.0), ("web", of_web)]);
    }
    // Trial number n took n + 1 seconds, two trials are of each cell, and each did 400 operations.
    let mean = |cell: usize| document.cells[cell].groups[2].cpu_s.unwrap();
    let (cells, number) = (document.cells.len(), document.trials.len() as f64);
    assert_eq!((0..cells).map(mean).sum::<f64>(), number * (number + 1.0) / 4.0);
    let each = document.cells[0].groups[2].cpu_per_operation_s.unwrap();
    assert!((each - mean(0) / 400.0).abs() < 1e-12, "{each}");
}

#[test]
fn one_group_is_the_database() {
    let document = of_blocks(2, |_, _| {});
    assert!(document.cells.iter().all(|cell| names(&cell.groups) == ["database"]));
    assert!(document.cells.iter().all(|cell| cell.processes.is_empty()));
    let json = serde_json::to_value(&document).unwrap();
    let shown = &json["cells"][0]["groups"][0];
    assert_eq!((&shown["name"], &shown["cpu_s"]), (&"database".into(), &9.25.into()));
    assert!(shown["cpu_limit"].is_null(), "{shown}");
}

/// A virtual disk counts the drain itself; without one it is the sum of what all groups wrote.
#[test]
fn what_all_groups_write_in_the_drain_is_the_debt() {
    let debt = |web: Option<f64>| {
        let document = of_blocks(2, |_, measures| {
            let mut own = Measures::default();
            let kept = measures.iter().filter(|reading| reading.scope != Scope::Disk);
            kept.for_each(|reading| own.put(reading.clone()));
            own.set(&CONCURRENCY, Scope::Clients, 1.0);
            own.set(&DRAIN, Scope::Trial, 2.0);
            own.set(&DRAIN_WRITTEN, Scope::DATABASE, 1000.0);
            own.set_some(&DRAIN_WRITTEN, group("web"), web);
            *measures = own;
        });
        document.cells[0].debt.unwrap().bytes
    };
    assert_eq!((debt(None), debt(Some(24.0))), (Some(1000.0), Some(1024.0)));
}

const BETA: u32 = 1;
const GAMMA: u32 = 2;

/// So many seconds of beta's, and none of the others'.
fn of_beta(number: u32, seconds: f64) -> f64 {
    if number % 4 == BETA { seconds } else { 0.0 }
}

/// What is told of waits, and of what comes of them, in blocks with these measures.
fn of_waits(document: &Document) -> Vec<WarningKind> {
    const ALL: [WarningKind; 5] =
        [ClientsWaited, ServersWaited, ShortOfProcessors, ClientsWaitedAlike, ServersWaitedAlike];
    let kinds = document.warnings.iter().map(|warning| warning.kind);
    kinds.filter(|kind| ALL.contains(kind)).collect()
}

/// The same of six blocks of one client.
fn waits(change: impl Fn(u32, &mut Measures)) -> Document {
    of_blocks(6, |number, measures| {
        measures.set(&CONCURRENCY, Scope::Clients, 1.0);
        change(number, measures);
    })
}

/// A verdict that the waiting could have made is withheld: not where all wait alike, nor where the lead is
/// larger than what it could be made of.
#[test]
fn a_verdict_that_could_be_another_without_the_waiting_is_withheld() {
    use Verdict::{ShortOfProcessors as Withheld, Slower};
    /// Seconds of 20 by the engine.
    type Waited = fn(u32) -> f64;
    let cases: [(Waited, &[WarningKind], Verdict); 9] = [
        (|_| 0.0, &[], Slower),
        // Below 10 % nothing is said.
        (|_| 1.9, &[], Slower),
        // 2 (1 - 0.15) is slower.
        (|_| 3.0, &[ServersWaitedAlike], Slower),
        // The threads of one engine may have held its clients up, and those of the other nobody: 2 (1 - 0.6).
        (|_| 12.0, &[ShortOfProcessors], Withheld),
        // Twice as long, and without the waiting 2 (1 - 0.3) = 1.4 times; 2 (1 - 0.6) = 0.8 times.
        (|engine| of_beta(engine, 6.0), &[ServersWaitedAlike], Slower),
        (|engine| of_beta(engine, 12.0), &[ShortOfProcessors], Withheld),
        // More than there is.
        (|engine| of_beta(engine, 30.0), &[ShortOfProcessors], Withheld),
        // Gamma takes half as long as alpha, and without alpha's waiting 0.5 / (1 - 0.6) = 1.25 times. Beta takes
        // twice as long as alpha all the more.
        (|engine| if [0, 3].contains(&engine) { 12.0 } else { 0.0 }, &[ShortOfProcessors], Slower),
        // The fastest one would be faster still.
        (|engine| if engine == GAMMA { 12.0 } else { 0.0 }, &[ServersWaitedAlike], Slower),
    ];
    for (at, (waited_s, kinds, verdict)) in cases.into_iter().enumerate() {
        let document = waits(|number, measures| {
            measures.set(&RUN_DELAY, group("database"), waited_s(number % 4) / 2.0);
            measures.set(&RUN_DELAY, group("web"), waited_s(number % 4) / 2.0);
        });
        assert_eq!(of_waits(&document), kinds, "case {at}");
        let beta = document.comparisons.iter().filter(|it| it.level == "beta");
        assert_eq!(beta.map(|it| it.verdict).collect::<Vec<_>>(), [verdict; 2], "case {at}");
    }
}

/// Any group that waited for a processor made the clients wait, unless it waited for its quota. An embedded engine
/// works on the clients' threads, in its group's quota.
#[test]
fn who_waits_for_a_quota_takes_no_verdict_away() {
    for (scope, server, quota, throttled, expected) in [
        (group("database"), None, "stack", 0.0, true),
        (group("web"), None, "stack", 0.0, true),
        (group("database"), None, "stack", 90.0, false),
        (group("web"), None, "stack", 90.0, false),
        // It has no quota.
        (group("disk-daemon"), None, "stack", 90.0, true),
        (Scope::Clients, None, "database", 0.0, true),
        (Scope::Clients, None, "database", 50.0, false),
        // A server's quota does not hold the clients.
        (Scope::Clients, Some(0.0), "database", 50.0, true),
    ] {
        let document = waits(|number, measures| {
            measures.set(&DRIVERS, Scope::Clients, 1.0);
            measures.set(&CPU_LIMIT, group("stack"), 0.5);
            measures.set(&CPU_PERIODS, group("stack"), 100.0);
            measures.set(&SYNCS, group("database"), 1.0);
            measures.set(&WRITTEN, group("web"), 1.0);
            measures.set_some(&RUN_DELAY, Scope::DATABASE, server);
            measures.set(&RUN_DELAY, scope.clone(), of_beta(number, 12.0));
            measures.set(&CPU_THROTTLED, group(quota), throttled);
        });
        let withheld = of_waits(&document) == [ShortOfProcessors];
        assert_eq!(withheld, expected, "{scope:?}, {throttled} s of {quota}");
    }
}

/// An operation waits in its client and in its server: what each of them could not decide, both can.
#[test]
fn what_clients_and_servers_waited_is_judged_together() {
    // Beta takes twice as long: 2 (1 - 0.3) is still slower, 2 (1 - 0.6) is not.
    for (clients_s, server_s, told) in [
        (6.0, 0.0, ClientsWaitedAlike),
        (0.0, 6.0, ServersWaitedAlike),
        (6.0, 6.0, ShortOfProcessors),
    ] {
        let document = waits(|number, measures| {
            measures.set(&DRIVERS, Scope::Clients, 1.0);
            measures.set(&RUN_DELAY, Scope::Clients, of_beta(number, clients_s));
            measures.set(&RUN_DELAY, Scope::DATABASE, of_beta(number, server_s));
        });
        assert_eq!(of_waits(&document), [told]);
    }
}

/// A change is judged by the same rule as a comparison in blocks.
#[test]
fn what_a_change_buys_is_withheld_too_and_who_waited_is_named() {
    let document = waits(|number, measures| {
        measures.set(&RUN_DELAY, Scope::DATABASE, of_beta(number, 12.0));
    });
    let worst = "at worst for 60 % of the clients' time, at engine beta";
    assert_has(&told(&document, ShortOfProcessors), &[worst]);
    let levels = |engine| &cell(&document, engine).levels;
    let pairs = ["beta", "gamma"].map(|engine| (levels("alpha"), levels(engine)));
    let changes = compare_changes(&document.run.run, &document.trials, pairs);
    assert!(!changes.is_empty());
    for change in changes {
        let wanted = match &*change.to["engine"] {
            "beta" => Verdict::ShortOfProcessors,
            _ => Verdict::Faster,
        };
        assert_eq!(change.comparison.verdict, wanted, "{:?}", change.to);
    }
}

/// One wait holds up what is due behind it: it takes the answer back where no verdict is known, too.
#[test]
fn in_an_open_loop_waiting_alone_is_enough() {
    let told = |offered: Option<f64>, waited_s: f64| {
        let document = of_blocks(1, |_, measures| {
            measures.set(&CONCURRENCY, Scope::Clients, 1.0);
            measures.set_some(&OFFERED, Scope::Clients, offered);
            measures.set_some(&NOT_STARTED, Scope::Clients, offered.map(|_| 0.0));
            measures.set(&RUN_DELAY, Scope::DATABASE, waited_s);
        });
        let undecided = document.comparisons.iter().all(|it| it.low.is_none());
        assert!(undecided, "one block decides nothing");
        of_waits(&document)
    };
    assert_eq!(told(None, 3.0), [ServersWaitedAlike]);
    assert_eq!(told(Some(10.0), 3.0), [ServersWaited]);
    assert!(told(Some(10.0), 1.9).is_empty(), "below 10 % nothing is said");
}

#[test]
fn a_cell_in_two_modes_is_told_with_the_rate_of_each() {
    let told_of = |shares_after: u32| {
        let document = of_blocks(5, |number, measures| {
            let apart = number % 4 == BETA && number / 4 >= shares_after;
            measures.set(&TOGETHER, Scope::Trial, if apart { 0.1 } else { 0.9 });
            measures.set(&DONE_RATE, Scope::Clients, if apart { 12_000.0 } else { 82_000.0 });
        });
        let mut its = document.warnings.into_iter().filter(|it| it.kind == TwoPlacements);
        its.next().map(|warning| warning.text).unwrap_or_default()
    };
    let modes = "1 of 4 cells ran in two modes, at worst at engine beta: in 3 of 5 trials clients and \
                 server shared a processor, and in 2 they were apart: 82,000 against 12,000";
    assert_has(&told_of(3), &[modes]);
    assert_eq!([told_of(0), told_of(5)], ["", ""]);
    let refused = of_blocks(2, |number, measures| {
        measures.set_some(&BATCH_REFUSED, Scope::Clients, (number == 3).then_some(1.0));
    });
    assert_has(&told(&refused, NotBatch), &["in 1 of 8 trials", "SCHED_BATCH"]);
}
