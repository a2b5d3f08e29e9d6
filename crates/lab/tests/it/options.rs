//! Options of engines and parameters of disks as factors: what a cell is staged with.

use bakeoff_devices::device::model::DeviceModel;
use bakeoff_devices::device::ssd;
use bakeoff_experiment::Experiment;
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
