//! Factors that are not the lab's own, and workloads that don't have all of the lab's.

use crate::common::{
    DEPTH, FILES, GOOD, OF_FILES, assert_has, flags, good, good_with, levels, load, plain,
    vocabulary, wrong, wrong_with,
};
use bakeoff_engines::Durability;
use bakeoff_experiment::{Declared, Factor};
use bakeoff_results::{DurabilityLevel, OwnFactor};

#[test]
fn an_experiment_has_the_factors_of_its_workload() {
    let experiment = good(FILES, "");
    let factors: Vec<Factor> = experiment.factors.keys().copied().collect();
    assert_eq!(factors, OF_FILES);
    assert_eq!(experiment.run_levels(Factor::ENGINE), [] as [&str; 0]);
    for factor in factors {
        let default = factor.default_level().unwrap_or("small");
        assert_eq!(experiment.run_levels(factor), [default]);
    }
}

#[test]
fn a_declared_factor_is_a_key_like_any_other() {
    let toml = format!(
        "{FILES}compare = \"depth\"\nnoise_floor = true\ndepth = [\"004\", 32]\nclients = 7\n\
         [quick]\ndepth = 1\n"
    );
    for (line, depths, clients) in [
        ("", "4 32 4@again", "7"),
        ("--quick", "1 1@again", "7"),
        // Any factor can be given by its name.
        ("--factor=depth=1, 016 --factor=clients =2,4", "1 16 1@again", "2 4"),
    ] {
        let it = good(&toml, line);
        assert_eq!(it.compare, DEPTH);
        assert_eq!(it.run_levels(DEPTH).join(" "), depths);
        assert_eq!(it.run_levels(Factor::CLIENTS).join(" "), clients);
    }
    assert_eq!(levels(GOOD, "--factor=engine=lmdb@mine", Factor::ENGINE), ["lmdb@mine"]);
    let given = flags("--factor=depth=1 --factor= disk =host --clients=1");
    let all = [DEPTH, Factor::DISK, Factor::CLIENTS, Factor::SCALE];
    assert_eq!(all.map(|factor| given.gives_factor(factor)), [true, true, true, false]);
}

#[test]
fn without_an_engine_the_first_factor_with_several_levels_is_compared() {
    for (more, compared) in [
        ("", Factor::DISK),
        ("depth = [1, 2]", DEPTH),
        ("depth = [1, 2]\nrate = [\"closed\", \"9/s\"]", Factor::RATE),
        ("depth = [1, 2]\ncompare = \"scale\"", Factor::SCALE),
    ] {
        assert_eq!(good(&format!("{FILES}{more}\n"), "").compare, compared);
    }
    assert_eq!(good(&format!("{GOOD}clients = [1, 2]\n"), "").compare, Factor::ENGINE);
}

#[test]
fn a_factor_is_looked_for_among_those_of_the_workload() {
    assert!(!wrong(&format!("{FILES}dept = 4\n"), "").contains("engine,"));
    assert_eq!(good(&format!("{FILES}cuts = 0\n"), "").cuts, None);
}

/// `[quick]` may name another workload: what is run decides which factors there are.
#[test]
fn the_table_quick_may_be_of_another_workload() {
    let toml = format!("{GOOD}clients = 2\n[quick]\nworkload = \"files\"\ndepth = 4\n");
    assert_eq!(good(&toml, "").workload, "redmine");
    let parts = ["the workload `files` has no factor `engine`", "«engine» = \"sqlite\""];
    assert_has(&wrong(&toml, "--quick"), &parts);
    let quick = good(&toml.replace("engine = \"sqlite\"\n", ""), "--quick");
    assert_eq!((&*quick.workload, quick.run_levels(DEPTH)), ("files", vec!["4".to_owned()]));
}

/// Two workloads may declare one name, each in its own way.
#[test]
fn a_name_means_what_its_own_workload_declares() {
    let mut vocabulary = vocabulary();
    static WIDE: Declared = Declared {
        canonical: &|text| match text {
            "flat" | "deep" => Ok(text.to_owned()),
            _ => Err(format!("`{text}` is neither flat nor deep")),
        },
        ..plain("depth", "flat")
    };
    vocabulary.workloads[1].factors.push(Factor::Declared(&WIDE));
    let reads = "workload = \"reads\"\nengine = \"lmdb\"\n";
    assert_eq!(good_with(reads, "", &vocabulary).run_levels(DEPTH), ["flat"]);
    good_with(&format!("{reads}depth = \"deep\"\n"), "", &vocabulary);
    wrong_with(&format!("{FILES}depth = \"deep\"\n"), "", &vocabulary);
}

#[test]
fn declared_factors_are_told_apart_by_name_and_come_after_the_labs_own() {
    assert!(Factor::OWN.iter().all(|own| *own < DEPTH && *own != DEPTH));
    assert!(Factor::OWN.is_sorted());
}

#[test]
fn a_record_names_factors_and_durability_as_an_experiment_does() {
    assert_eq!(Factor::OWN.map(Factor::name), OwnFactor::ALL.map(OwnFactor::as_str));
    let mut levels = Durability::ALL.map(Durability::name);
    // A record's begin with the one that promises most.
    levels.reverse();
    assert_eq!(levels, DurabilityLevel::ALL.map(DurabilityLevel::as_str));
}

#[test]
#[should_panic(expected = "the name of the declared factor `seed` is taken")]
fn a_declared_factor_can_not_have_a_keys_name() {
    let mut vocabulary = vocabulary();
    static SEED: Declared = plain("seed", "1");
    vocabulary.workloads[3].factors.push(Factor::Declared(&SEED));
    let _ = load(FILES, "", &vocabulary);
}
