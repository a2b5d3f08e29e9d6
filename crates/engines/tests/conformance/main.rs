//! The suite of `bakeoff_testkit::conformance` on every engine that is built in. `broken` holds engines with a
//! known fault each, and shows that the suite finds it. `CONFORMANCE_ENGINE=NAME cargo test -p
//! bakeoff-engines --test conformance` tries one engine, or a level of it with options.

mod broken;
mod debt;
mod instead;
mod places;
mod texts;

use bakeoff_engines::{ENGINES, Engine, EngineDescription};
use bakeoff_testkit::conformance::{Check, Of, TRANSACTIONAL, bank, folder, sequences, survival};
use bakeoff_testkit::conformance::{concurrency, terms};

bakeoff_testkit::suite!(ENGINES);

fn on(of: Of, check: Check) {
    bakeoff_testkit::conformance::on(ENGINES, of, check);
}

#[test]
fn every_engine_is_for_the_suite_or_does_something_instead() {
    for engine in ENGINES {
        let about = engine.about();
        let held = [TRANSACTIONAL, instead::IRREVOCABLE, instead::FORGETFUL].map(|of| of(&about));
        assert_eq!(held.iter().filter(|held| **held).count(), 1, "{}", about.name);
    }
}

/// The faults of `broken` are found on the engine that is the quickest to open.
fn quickest() -> &'static dyn Engine {
    let quick = |about: EngineDescription| about.stores && about.packages.is_empty();
    let mut engines = ENGINES.iter().copied();
    engines.find(|engine| quick(engine.about())).expect("one is built in")
}
