//! pgbench's own scripts, untouched.

use bakeoff_application::Application;
use bakeoff_engines::Action;
use bakeoff_workloads::Workload as _;

use crate::stage::{Stage, installed, to_files};

/// `pgbench -b tpcb-like` and `-b select-only` of PostgreSQL 15: `src/bin/pgbench/pgbench.c`.
const TPC_B: &str = include_str!("../../examples/pgbench/tpcb-like.sql");
const SELECT_ONLY: &str = include_str!("../../examples/pgbench/select-only.sql");
const INVARIANTS: &str = "\
SELECT (SELECT SUM(abalance) FROM pgbench_accounts) - (SELECT SUM(delta) FROM pgbench_history);
SELECT (SELECT SUM(tbalance) FROM pgbench_tellers) - (SELECT SUM(delta) FROM pgbench_history);
SELECT (SELECT SUM(bbalance) FROM pgbench_branches) - (SELECT SUM(delta) FROM pgbench_history);
";

const SCRIPTS: [(&str, &str); 3] =
    [("tpcb.sql", TPC_B), ("select.sql", SELECT_ONLY), ("invariants.sql", INVARIANTS)];

#[test]
fn every_engine_can_run_them() {
    let application = Application::new(to_files("pgbench", &SCRIPTS)).unwrap();
    for (operation, why) in application.explain_operations() {
        assert_eq!(why, None, "{operation}");
    }
    let scales: Vec<&str> = application.scales().iter().map(|scale| &*scale.name).collect();
    assert_eq!(scales, ["small", "medium", "large"]);
}

#[test]
fn balances_change_by_what_the_history_says_on_each_engine() {
    let mut answered = Vec::new();
    for name in ["sqlite", "mariadb:innodb", "postgres"] {
        let Some(engine) = installed(name) else { continue };
        let forget = Action::Delete { table: 3 };
        let stage = Stage::on(engine, to_files("pgbench", &SCRIPTS), vec![forget]);
        let record = stage.record(0, 1, 60, false);
        let sent: Vec<_> = record.operations.iter().map(|it| it.kept.clone()).collect();
        assert!(record.operations.iter().all(|it| it.error.is_none()), "{name}: {record:#?}");
        let rows: u64 = record.operations.iter().map(|it| it.tally.rows).sum();
        answered.push((sent, rows));
        let told = || stage.prepared.find_violations(&*stage.database).unwrap();
        assert_eq!(told(), Vec::<String>::new(), "{name}");
        // Each engine begins to number where it likes.
        assert!((1..9).any(|id| stage.run_added(0, &[id.into()]) == 1), "{name}");
        assert_eq!(told().len(), 3, "{name}");
    }
    assert!(answered.iter().all(|it| *it == answered[0]));
    assert!(answered[0].1 > 100);
}
