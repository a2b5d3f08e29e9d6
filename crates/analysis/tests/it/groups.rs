//! What is said of trials in which several groups of processes worked for the clients.

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::WarningKind::{
    ClientsWaited, ClientsWaitedAlike, ServersWaited, ServersWaitedAlike, ShortOfProcessors,
};
use bakeoff_analysis::{Document, GroupView, Verdict, WarningKind};
use bakeoff_results::measure::{
    CPU, CPU_LIMIT, CPU_PERIODS, CPU_THROTTLED, DRAIN, DRAIN_CPU, DRAIN_WRITTEN, MEMORY_LIMIT,
    MEMORY_PEAK, NOT_STARTED, OFFERED, READ, RUN_DELAY, SYNCS, WRITTEN,
};
use bakeoff_results::{Measures, RunFolder, Scope};

/// The document of a run of two blocks, of whose measures `change` makes something else. It is told the
/// trial's number.
fn document(change: impl Fn(u32, &mut Measures)) -> Document {
    of_blocks(2, change)
}

fn of_blocks(blocks: u32, change: impl Fn(u32, &mut Measures)) -> Document {
    let dir = crate::place();
    let run = run(&["1"], &["0"], 4);
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    let mut generator = TrialGenerator::new(5, 10);
    let trials = (0..blocks).flat_map(|block| generator.block(block, block, ["1", "0"]));
    for (number, mut trial) in trials.enumerate() {
        change(number as u32, &mut trial.measured.as_mut().unwrap().measures);
        folder.commit_trial(&trial).unwrap();
    }
    bakeoff_analysis::document(&folder).unwrap()
}

fn group(name: &'static str) -> Scope {
    Scope::Processes(name.into())
}

fn names(groups: &[GroupView]) -> Vec<&str> {
    groups.iter().map(|group| &*group.name).collect()
}

#[test]
fn each_group_of_a_cell_has_its_own_figures() {
    let document = document(|number, measures| {
        measures.set(&CPU, group("web"), f64::from(number) + 1.0);
        measures.set(&DRAIN_CPU, group("web"), 0.5);
        measures.set(&READ, group("web"), 4096.0);
        measures.set(&MEMORY_PEAK, group("web"), 1e6);
        // A limit that both share uses nothing of its own.
        measures.set(&MEMORY_LIMIT, group("stack"), 2e6);
        measures.set(&CPU, Scope::DISK_DAEMON, 7.0);
    });
    for cell in &document.cells {
        assert_eq!(
            names(&cell.groups),
            ["database", "stack", "web"],
            "the daemon is bakeoff's own"
        );
        let [database, stack, web] = &cell.groups[..] else { panic!("three") };
        assert_eq!((database.cpu_s, cell.cpu_s.engine), (Some(9.25), 9.25));
        assert_eq!(database.memory_limit_bytes, Some(f64::from(1 << 29)));
        assert_eq!((stack.memory_limit_bytes, stack.cpu_s), (Some(2e6), None));
        assert_eq!((web.drain_cpu_s, web.read_bytes), (Some(0.5), Some(4096.0)));
        assert_eq!((web.memory_peak_bytes, web.memory_limit_bytes), (Some(1e6), None));
    }
    // Trial number n took n + 1 seconds, two trials are of each cell, and each did 400 operations.
    let mean = |cell: usize| document.cells[cell].groups[2].cpu_s.unwrap();
    let (cells, number) = (document.cells.len(), document.trials.len() as f64);
    assert_eq!((0..cells).map(mean).sum::<f64>(), number * (number + 1.0) / 4.0);
    let each = |cell: usize| document.cells[cell].groups[2].cpu_per_operation_s.unwrap();
    assert!((each(0) - mean(0) / 400.0).abs() < 1e-12, "{} {}", each(0), mean(0));
}

#[test]
fn processor_time_of_an_operation_is_told_by_process() {
    let document = document(|_, measures| {
        measures.set(&CPU, Scope::Clients, 1.0);
        measures.set(&CPU, Scope::DATABASE, 4.0);
        measures.set(&CPU, group("php"), 12.0);
        measures.set(&CPU, group("web"), 2.0);
        // Neither a limit nor the virtual disk works for the clients.
        measures.set(&CPU_LIMIT, group("stack"), 1.0);
        measures.set(&CPU, Scope::DISK_DAEMON, 7.0);
    });
    for cell in &document.cells {
        // Each trial did 400 operations.
        let each: Vec<(&str, f64)> = cell
            .processes
            .iter()
            .map(|it| (&*it.name, (it.cpu_per_operation_s * 400.0).round()))
            .collect();
        assert_eq!(each, [("clients", 1.0), ("database", 4.0), ("php", 12.0), ("web", 2.0)]);
    }
}

#[test]
fn one_group_is_the_database() {
    let document = document(|_, _| {});
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
        let document = document(|_, measures| {
            let mut own = Measures::default();
            let kept = measures.iter().filter(|reading| reading.scope != Scope::Disk);
            kept.for_each(|reading| own.put(reading.clone()));
            own.set(&bakeoff_results::measure::CONCURRENCY, Scope::Clients, 1.0);
            own.set(&DRAIN, Scope::Trial, 2.0);
            own.set(&DRAIN_WRITTEN, Scope::DATABASE, 1000.0);
            own.set_some(&DRAIN_WRITTEN, group("web"), web);
            *measures = own;
        });
        document.cells[0].debt.unwrap().bytes
    };
    assert_eq!((debt(None), debt(Some(24.0))), (Some(1000.0), Some(1024.0)));
}

/// The place of beta among a block's engines: alpha, beta, gamma, and alpha again.
const BETA: u32 = 1;
const GAMMA: u32 = 2;

/// What is told of waits, and of what comes of them.
fn of_waits(document: &Document) -> Vec<WarningKind> {
    const ALL: [WarningKind; 5] =
        [ClientsWaited, ServersWaited, ShortOfProcessors, ClientsWaitedAlike, ServersWaitedAlike];
    let kinds = document.warnings.iter().map(|warning| warning.kind);
    kinds.filter(|kind| ALL.contains(kind)).collect()
}

/// The verdicts of beta, which takes twice as long as alpha, at all operations.
fn verdicts(document: &Document) -> Vec<Verdict> {
    let of_beta = document.comparisons.iter().filter(|it| it.level == "beta");
    let mut verdicts: Vec<Verdict> = of_beta.map(|it| it.verdict).collect();
    verdicts.dedup();
    verdicts
}

/// What is told of engines that wait so many of a trial's 20 seconds for a processor, by the engine's
/// number, and the verdict of beta.
fn told_of_waits(waited_s: impl Fn(u32) -> f64) -> (Vec<WarningKind>, Vec<Verdict>) {
    let document = of_blocks(6, |number, measures| {
        measures.set(&bakeoff_results::measure::CONCURRENCY, Scope::Clients, 1.0);
        measures.set(&RUN_DELAY, group("database"), waited_s(number % 4) / 2.0);
        measures.set(&RUN_DELAY, group("web"), waited_s(number % 4) / 2.0);
    });
    (of_waits(&document), verdicts(&document))
}

/// A verdict that the waiting could have made is withheld: not where all wait alike, nor where the lead is
/// larger than what it could be made of.
#[test]
fn a_verdict_that_could_be_another_without_the_waiting_is_withheld() {
    let held = || vec![Verdict::Slower];
    let withheld = || vec![Verdict::ShortOfProcessors];
    assert_eq!(told_of_waits(|_| 0.0), (vec![], held()));
    assert_eq!(told_of_waits(|_| 1.9), (vec![], held()), "below 10 % nothing is said");
    let alike = told_of_waits(|_| 3.0);
    assert_eq!(alike, (vec![ServersWaitedAlike], held()), "2 (1 - 0.15) is slower");
    // The threads of one engine may have held its clients up, and those of the other nobody: 2 (1 - 0.6).
    let long = told_of_waits(|_| 12.0);
    assert_eq!(long, (vec![ShortOfProcessors], withheld()), "as long for all, and long");
    let beta = |seconds: f64| move |engine: u32| if engine == BETA { seconds } else { 0.0 };
    // Twice as long, and without the waiting 2 (1 - 0.3) = 1.4 times; 2 (1 - 0.6) = 0.8 times.
    assert_eq!(told_of_waits(beta(6.0)), (vec![ServersWaitedAlike], held()));
    assert_eq!(told_of_waits(beta(12.0)), (vec![ShortOfProcessors], withheld()));
    assert_eq!(told_of_waits(beta(30.0)).1, withheld(), "more than there is");
    // Gamma takes half as long as alpha, and without alpha's waiting 0.5 / (1 - 0.6) = 1.25 times. Beta
    // takes twice as long as alpha all the more.
    let alpha = |engine: u32| if [0, 3].contains(&engine) { 12.0 } else { 0.0 };
    assert_eq!(told_of_waits(alpha), (vec![ShortOfProcessors], held()));
    // The fastest one would be faster still.
    let gamma = |engine: u32| if engine == GAMMA { 12.0 } else { 0.0 };
    assert_eq!(told_of_waits(gamma), (vec![ServersWaitedAlike], held()));
}

/// Any group that waited for a processor made the clients wait.
#[test]
fn a_group_that_waits_for_a_processor_counts_unless_it_waits_for_its_quota() {
    let withheld = |name: &'static str, throttled: f64| {
        let document = of_blocks(6, |number, measures| {
            measures.set(&bakeoff_results::measure::CONCURRENCY, Scope::Clients, 1.0);
            let waited_s = if number % 4 == BETA { 12.0 } else { 0.0 };
            measures.set(&RUN_DELAY, group(name), waited_s);
            measures.set(&CPU_LIMIT, group("stack"), 0.5);
            measures.set(&CPU_PERIODS, group("stack"), 100.0);
            measures.set(&CPU_THROTTLED, group("stack"), throttled);
            measures.set(&SYNCS, group("database"), 1.0);
            measures.set(&WRITTEN, group("web"), 1.0);
        });
        of_waits(&document) == [ShortOfProcessors]
    };
    assert!(withheld("database", 0.0) && withheld("web", 0.0));
    let quota = withheld("database", 90.0) || withheld("web", 90.0);
    assert!(!quota, "the kernel counts the quota's wait");
    assert!(withheld("disk-daemon", 90.0), "it has no quota");
}

/// An operation waits in its client and in its server: what each of them could not decide, both can.
#[test]
fn what_clients_and_servers_waited_is_judged_together() {
    let told = |clients_s: f64, server_s: f64| {
        let document = of_blocks(6, |number, measures| {
            let waited = |seconds: f64| if number % 4 == BETA { seconds } else { 0.0 };
            measures.set(&bakeoff_results::measure::CONCURRENCY, Scope::Clients, 1.0);
            measures.set(&bakeoff_results::measure::DRIVERS, Scope::Clients, 1.0);
            measures.set(&RUN_DELAY, Scope::Clients, waited(clients_s));
            measures.set(&RUN_DELAY, Scope::DATABASE, waited(server_s));
        });
        of_waits(&document)
    };
    // Beta takes twice as long: 2 (1 - 0.3) is still slower, 2 (1 - 0.6) is not.
    assert_eq!(told(6.0, 0.0), [ClientsWaitedAlike]);
    assert_eq!(told(0.0, 6.0), [ServersWaitedAlike]);
    assert_eq!(told(6.0, 6.0), [ShortOfProcessors]);
}

/// A change is judged by the same rule as a comparison in blocks.
#[test]
fn what_a_change_buys_is_withheld_too() {
    let dir = crate::place();
    let run = run(&["1"], &["0"], 4);
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    let mut generator = TrialGenerator::new(5, 10);
    let trials = (0..6).flat_map(|block| generator.block(block, block, ["1", "0"]));
    for (number, mut trial) in trials.enumerate() {
        let measures = &mut trial.measured.as_mut().unwrap().measures;
        measures.set(&bakeoff_results::measure::CONCURRENCY, Scope::Clients, 1.0);
        let waited_s = if number as u32 % 4 == BETA { 12.0 } else { 0.0 };
        measures.set(&RUN_DELAY, Scope::DATABASE, waited_s);
        folder.commit_trial(&trial).unwrap();
    }
    let document = bakeoff_analysis::document(&folder).unwrap();
    let cell = |engine: &str| {
        let cell = document.cells.iter().find(|cell| cell.levels["engine"] == engine);
        &cell.unwrap().levels
    };
    let pairs = [(cell("alpha"), cell("beta")), (cell("alpha"), cell("gamma"))];
    let changes = bakeoff_analysis::changes(&document.run.run, &document.trials, pairs);
    assert!(!changes.is_empty());
    for change in changes {
        let wanted = match &*change.to["engine"] {
            "beta" => Verdict::ShortOfProcessors,
            _ => Verdict::Faster,
        };
        assert_eq!(change.comparison.verdict, wanted, "{:?}", change.to);
    }
}

#[test]
fn the_engine_that_waited_is_named() {
    let document = of_blocks(6, |number, measures| {
        measures.set(&bakeoff_results::measure::CONCURRENCY, Scope::Clients, 1.0);
        let waited_s = if number % 4 == BETA { 12.0 } else { 0.0 };
        measures.set(&RUN_DELAY, Scope::DATABASE, waited_s);
    });
    let mut warnings = document.warnings.iter();
    let warning = warnings.find(|it| it.kind == ShortOfProcessors).expect("a warning");
    assert!(
        warning.text.contains("at worst for 60 % of the clients' time, at engine beta"),
        "{warning:?}"
    );
}

/// One wait holds up what is due behind it: it takes the answer back where no verdict is known, too.
#[test]
fn in_an_open_loop_waiting_alone_is_enough() {
    let told = |offered: Option<f64>, waited_s: f64| {
        let document = of_blocks(1, |_, measures| {
            measures.set(&bakeoff_results::measure::CONCURRENCY, Scope::Clients, 1.0);
            measures.set_some(&OFFERED, Scope::Clients, offered);
            measures.set_some(&NOT_STARTED, Scope::Clients, offered.map(|_| 0.0));
            measures.set(&RUN_DELAY, Scope::DATABASE, waited_s);
        });
        assert!(
            document.comparisons.iter().all(|it| it.low.is_none()),
            "one block decides nothing"
        );
        of_waits(&document)
    };
    assert_eq!(told(None, 3.0), [ServersWaitedAlike]);
    assert_eq!(told(Some(10.0), 3.0), [ServersWaited]);
    assert!(told(Some(10.0), 1.9).is_empty(), "below 10 % nothing is said");
}

/// An embedded engine works on the clients' threads, in its group's quota.
#[test]
fn clients_that_wait_for_an_engine_s_quota_take_no_verdict_away() {
    let withheld = |throttled: f64, server: Option<f64>| {
        let document = of_blocks(6, |number, measures| {
            measures.set(&bakeoff_results::measure::CONCURRENCY, Scope::Clients, 1.0);
            measures.set(&bakeoff_results::measure::DRIVERS, Scope::Clients, 1.0);
            let waited_s = if number % 4 == BETA { 12.0 } else { 0.0 };
            measures.set(&RUN_DELAY, Scope::Clients, waited_s);
            measures.set_some(&RUN_DELAY, Scope::DATABASE, server);
            measures.set(&CPU_THROTTLED, Scope::DATABASE, throttled);
        });
        of_waits(&document) == [ShortOfProcessors]
    };
    assert!(withheld(0.0, None));
    assert!(!withheld(50.0, None));
    assert!(withheld(50.0, Some(0.0)), "a server's quota does not hold the clients");
}
