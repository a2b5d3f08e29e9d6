//! The factor `prepared`: an application means the same at both levels.

use bakeoff_engines::{DeclaredLevels, Preparation, find_level};
use bakeoff_workloads::{PREPARED, Workload};

use crate::stage::{Stage, compile, example, installed, to_files};

const OPERATIONS: usize = 60;

fn level(prepared: &str) -> (String, String) {
    (PREPARED.name.into(), prepared.into())
}

#[test]
fn every_application_has_the_factor_and_its_rows_are_the_same() {
    let shop = compile(example());
    let factor = shop.factors().into_iter().find(|factor| factor.name == PREPARED.name).unwrap();
    assert!(!shop.shapes_rows(factor));
    for (written, preparation) in
        [("on", Preparation::OncePerSession), ("off", Preparation::EachExecution)]
    {
        assert_eq!((factor.canonical)(written).as_deref(), Ok(written));
        let levels = DeclaredLevels::from_iter([level(written)]);
        assert_eq!(shop.find_preparation(&levels), preparation);
    }
    assert_eq!(shop.find_preparation(&DeclaredLevels::default()), Preparation::OncePerSession);
    assert!((factor.canonical)("maybe").is_err());
}

/// What clients send depends on the answers.
#[test]
fn texts_that_are_sent_each_time_are_answered_as_prepared_ones() {
    for engine in ["sqlite", "mariadb:innodb", "postgres"].into_iter().filter_map(installed) {
        let [on, off] = ["on", "off"].map(|prepared| {
            let levels = DeclaredLevels::from_iter([level(prepared)]);
            let stage = Stage::at_levels(engine, example(), Vec::new(), levels);
            let record = stage.record(0, 1, OPERATIONS, false);
            let failed: Vec<_> =
                record.operations.iter().filter_map(|it| it.error.clone()).collect();
            assert_eq!(failed, [""; 0], "prepared={prepared}");
            assert_eq!(stage.prepared.find_violations(&*stage.database).unwrap(), [""; 0]);
            let tallies: Vec<_> = record.operations.iter().map(|it| it.tally).collect();
            let kept: Vec<Vec<String>> = record.operations.into_iter().map(|it| it.kept).collect();
            (tallies, kept)
        });
        assert!(on.1.iter().flatten().count() > OPERATIONS, "{on:?}");
        assert_eq!(on, off, "{}", engine.about().name);
    }
}

/// It is no variable, and takes none's place.
#[test]
fn variables_of_factors_keep_their_values_beside_it() {
    let files = to_files(
        "lab",
        &[
            ("schema.sql", "CREATE TABLE items (id BIGSERIAL PRIMARY KEY, n INTEGER NOT NULL);"),
            ("workload.toml", "[rows]\nitems = 5\n[factors]\nhot = [1, 20]\n"),
            ("op.sql", "\\assert :hot = 20 AND :items = 5\nSELECT n FROM items WHERE id = 1;"),
        ],
    );
    let levels = DeclaredLevels::from_iter([level("off"), ("hot".into(), "20".into())]);
    let stage = Stage::at_levels(find_level("sqlite").unwrap(), files, Vec::new(), levels);
    let sent = stage.record(0, 1, 1, false).operations.remove(0);
    assert_eq!((sent.error, sent.kept.len()), (None, 1));
}
