//! Options of engines and parameters of disks as factors: what a cell is staged with.

use bakeoff_devices::device::model::DeviceModel;
use bakeoff_devices::device::ssd;
use bakeoff_experiment::{Experiment, Factor};
use bakeoff_lab::spec::DiskSpec;
use bakeoff_lab::{Plan, Registry, resolve_trial};

use crate::load;

const CARD: DeviceModel = DeviceModel::new("card", "a memory card", || {
    Box::new(ssd::SsdParameters { read_us: 900.0, ..ssd::SsdParameters::sata() })
});

fn registry() -> Registry {
    Registry::standard().with_model(CARD)
}

/// What each cell that can be had is staged with: its engine, its disk, and its options.
fn staged(experiment: &Experiment) -> Vec<String> {
    let registry = registry();
    let blocks = Plan::from_experiment(&registry, experiment).trials.blocks;
    let trials = blocks.iter().flat_map(|block| &block.trials);
    let mut staged: Vec<String> = trials
        .map(|trial| {
            let spec = resolve_trial(&registry, experiment, &trial.cell, 0).unwrap().spec;
            let disk = match &spec.disk {
                DiskSpec::Host => "host".to_owned(),
                DiskSpec::Virtual(disk) => disk.to_string(),
            };
            format!("{} on {disk} {:?}", spec.setup.recipe.into, spec.options)
        })
        .collect();
    staged.sort_unstable();
    staged
}

#[test]
fn an_engine_is_staged_with_the_options_that_factors_give_it() {
    let text = "workload = 'redmine'\ncompression = ['default', 'none', 'zlib']\n\
                engine = ['sqlite', 'mariadb:innodb', 'mariadb:innodb/innodb_doublewrite=0@x']\n";
    assert_eq!(
        staged(&load(&registry(), text).unwrap()),
        [
            "mariadb:innodb on host {}",
            "mariadb:innodb/compression=none on host {\"compression\": \"none\"}",
            "mariadb:innodb/compression=none/innodb_doublewrite=0 on host {\"compression\": \"none\"}",
            "mariadb:innodb/compression=zlib on host {\"compression\": \"zlib\"}",
            "mariadb:innodb/compression=zlib/innodb_doublewrite=0 on host {\"compression\": \"zlib\"}",
            "mariadb:innodb/innodb_doublewrite=0 on host {}",
            "sqlite on host {\"compression\": \"none\"}",
            "sqlite on host {}",
        ]
    );
}

/// By itself each is refused at strict; another one's blocks stay as they are.
#[test]
fn a_setting_that_touches_the_promise_is_run_at_the_level_that_it_keeps_and_told() {
    let text = "workload = 'point'\nengine = ['sqlite', 'lmdb']\nrepetitions = 3\n\
                sqlite.synchronous = ['default', 'NORMAL', 'OFF']\n";
    let planned = |text: &str| {
        let experiment = load(&registry(), text).unwrap();
        let registry = registry();
        let plan = Plan::from_experiment(&registry, &experiment);
        plan.ensure_comparable().expect("sqlite and lmdb are compared");
        let block = |it: &bakeoff_experiment::TrialBlock| {
            let name = |factor| it.trials[0].cell.base(factor).to_owned();
            let engines = it.trials.iter().map(|it| it.cell.base(Factor::ENGINE).to_owned());
            let mut engines: Vec<String> = engines.collect();
            engines.sort_unstable();
            format!("{}: {}", name(Factor::DURABILITY), engines.join(" "))
        };
        let mut blocks: Vec<String> = plan.trials.blocks.iter().map(block).collect();
        blocks.sort_unstable();
        let left_out: Vec<String> =
            plan.left_out.iter().map(bakeoff_lab::plan::describe_left_out).collect();
        (blocks, left_out)
    };
    let once = text.replace("repetitions = 3\n", "");
    let (blocks, told) = planned(&once);
    assert_eq!(
        blocks,
        [
            "none: sqlite/synchronous=OFF",
            "relaxed: sqlite/synchronous=NORMAL",
            "strict: lmdb sqlite",
        ]
    );
    let why = |level: &str, kept: &str| {
        format!(
            "not run: {level} × durability strict (1 trial): its settings keep durability {kept}, not \
             strict: it is run at {kept} instead"
        )
    };
    assert_eq!(
        told,
        [why("sqlite/synchronous=NORMAL", "relaxed"), why("sqlite/synchronous=OFF", "none")]
    );
    // Where that level is run, it is compared there, and nothing is run twice.
    let (blocks, _) = planned(&format!("{once}durability = ['strict', 'relaxed', 'none']\n"));
    assert_eq!(
        blocks,
        [
            "none: lmdb sqlite sqlite/synchronous=OFF",
            "relaxed: lmdb sqlite sqlite/synchronous=NORMAL",
            "strict: lmdb sqlite",
        ]
    );
}

/// The other engines go on.
#[test]
fn a_setting_that_its_engine_refuses_is_left_out_with_its_own_words() {
    let text =
        "workload = 'point'\nengine = ['sqlite', 'lmdb']\nsqlite.page_size = ['default', 5000]\n";
    let (trials, left_out) = crate::planned(&registry(), text);
    assert_eq!(trials, 2);
    let [one] = &left_out[..] else { panic!("{left_out:?}") };
    assert!(one.contains("sqlite/page_size=5000 (1 trial): SQLite does not take"), "{one}");
    let alone = load(&registry(), &text.replace(", 'lmdb'", "").replace("'default', ", ""));
    let (registry, alone) = (registry(), alone.unwrap());
    let refused = Plan::from_experiment(&registry, &alone).ensure_comparable();
    assert!(refused.unwrap_err().to_string().contains("it has 4096 then"));
}

#[test]
fn a_disk_is_staged_with_the_parameters_that_factors_give_it() {
    let text = "workload = 'redmine'\nengine = 'sqlite'\ncompare = 'disk'\nrpm = ['default', '10000']\n\
                disk = ['host', 'hdd-7200/used=0.5', 'raid10:4xhdd-5400', 'mine', 'raid10:2xcard', 'own']\n\
                [disks.mine]\nmodel = 'hdd-7200'\ncache = '64M'\n\
                [disks.own]\nmodel = 'card'\nread_us = 800\ncommit = 'fast'\n";
    let staged = staged(&load(&registry(), text).unwrap());
    let disks: Vec<&str> = staged
        .iter()
        .map(|it| it.split(" on ").nth(1).unwrap().split(' ').next().unwrap())
        .collect();
    assert_eq!(
        disks,
        [
            "card/commit=fast/read_us=800",
            "hdd-7200/cache=64M",
            "hdd-7200/cache=64M/rpm=10000",
            "hdd-7200/rpm=10000/used=0.5",
            "hdd-7200/used=0.5",
            "host",
            "raid10:2×card",
            "raid10:4×hdd-5400",
            "raid10:4×hdd-5400/rpm=10000",
        ]
    );
    let lines = "workload = 'redmine'\nengine = 'sqlite'\ndisk = 'cart'\n";
    let nearest = load(&registry(), lines).unwrap_err();
    assert!(nearest.contains("`card`"), "{nearest}");
}

#[test]
fn an_engine_is_cut_at_the_first_level_of_its_options() {
    let text = "workload = 'redmine'\nengine = ['sqlite', 'mariadb:innodb']\ncompression = ['zlib', 'none']\n\
                disk = ['host', 'ssd-sata']\nread_us = ['500']\ncuts = 2\n";
    let registry = registry();
    let experiment = load(&registry, text).unwrap();
    let plan = Plan::from_experiment(&registry, &experiment);
    assert_eq!(plan.cut_names(), [("mariadb:innodb".to_owned(), "strict".to_owned())]);
    let cell = experiment.cut_cell("mariadb:innodb", "strict");
    let spec = resolve_trial(&registry, &experiment, &cell, 0).unwrap().spec;
    assert_eq!(spec.setup.recipe.into, "mariadb:innodb/compression=zlib");
    let DiskSpec::Virtual(disk) = spec.disk else { panic!("{spec:?}") };
    assert_eq!(disk.to_string(), "ssd-sata/read_us=500");
}
