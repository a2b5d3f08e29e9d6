//! Options of engines and parameters of disks as factors: what a cell is staged with, and what of it
//! can't be had.

use bakeoff_experiment::{Experiment, FlagOverrides};
use bakeoff_lab::spec::DiskSpec;
use bakeoff_lab::{Possible, Registry, resolve};

fn load(more: &str) -> Experiment {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, format!("workload = 'redmine'\nrepetitions = 1\n{more}")).unwrap();
    let vocabulary = Registry::standard().vocabulary();
    let loaded = Experiment::load(&file.to_string_lossy(), &FlagOverrides::default(), &vocabulary);
    loaded.unwrap_or_else(|error| panic!("{error}"))
}

/// What each cell that can be had is staged with: its engine, its disk, and its options.
fn staged(experiment: &Experiment) -> Vec<String> {
    let registry = Registry::standard();
    let blocks = Possible::from_experiment(&registry, experiment).plan.blocks;
    let trials = blocks.iter().flat_map(|block| &block.trials);
    let mut staged: Vec<String> = trials
        .map(|trial| {
            let (spec, _) = resolve(&registry, experiment, &trial.cell, 0).unwrap();
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

/// What can't be had, and why.
fn left_out(experiment: &Experiment) -> Vec<String> {
    let possible = Possible::from_experiment(&Registry::standard(), experiment);
    possible.left_out.iter().map(bakeoff_lab::possible::line).collect()
}

#[test]
fn an_engine_is_staged_with_the_options_that_factors_give_it() {
    let experiment = load(
        "engine = ['sqlite', 'mariadb:innodb', 'mariadb:innodb/innodb_doublewrite=0@x']\n\
         compression = ['default', 'none', 'zlib']\n",
    );
    assert_eq!(
        staged(&experiment),
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
    // SQLite stores no compressed pages: what stands for that it has, and nothing else.
    assert_eq!(
        left_out(&experiment),
        ["not run: sqlite × compression zlib (1 trial): the engine has no option `compression`"]
    );
}

#[test]
fn a_disk_is_staged_with_the_parameters_that_factors_give_it() {
    let experiment = load(
        "engine = 'sqlite'\ncompare = 'disk'\nrpm = ['default', '7200', '10000']\n\
         disk = ['host', 'hdd-7200/used=0.5', 'raid10:4xhdd-5400', 'mine', 'ssd-sata']\n\
         [disks.mine]\nmodel = 'hdd-7200'\ncache = '64M'\n",
    );
    let disks: Vec<String> = staged(&experiment)
        .iter()
        .map(|it| it.split(" on ").nth(1).unwrap().split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        disks,
        [
            "hdd-7200/cache=64M",
            "hdd-7200/cache=64M",
            "hdd-7200/cache=64M/rpm=10000",
            "hdd-7200/rpm=10000/used=0.5",
            "hdd-7200/used=0.5",
            "hdd-7200/used=0.5",
            "host",
            "raid10:4×hdd-5400",
            "raid10:4×hdd-5400/rpm=10000",
            "raid10:4×hdd-5400/rpm=7200",
            "ssd-sata",
        ]
    );
    let left_out = left_out(&experiment);
    assert_eq!(left_out.len(), 4, "{left_out:?}");
    let ssd = "not run: disk ssd-sata × rpm 7200 (1 trial): the disk has no option `rpm`";
    assert!(left_out.iter().any(|line| line == ssd), "{left_out:?}");
}

#[test]
fn a_level_that_one_of_them_can_not_have_is_left_out_there() {
    let experiment = load(
        "engine = 'sqlite'\ncompare = 'disk'\nouter_mb_s = ['100']\n\
         disk = ['hdd-7200', 'hdd-5400']\n",
    );
    let left_out = left_out(&experiment);
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    let said = &left_out[0];
    assert!(said.contains("hdd-7200 × outer_mb_s 100"), "{said}");
    assert!(said.contains("outer_mb_s 100 is below inner_mb_s 110"), "{said}");
}

#[test]
fn the_power_of_an_engine_is_cut_at_the_first_level_of_its_options() {
    let experiment = load(
        "engine = ['sqlite', 'mariadb:innodb']\ncompression = ['zlib', 'none']\n\
         disk = ['host', 'ssd-sata']\nread_us = ['500']\ncuts = 2\n",
    );
    let possible = Possible::from_experiment(&Registry::standard(), &experiment);
    assert_eq!(possible.cuts, [("mariadb:innodb".to_owned(), "strict".to_owned())]);
    let cell = experiment.cut_cell("mariadb:innodb", "strict");
    let (spec, _) = resolve(&Registry::standard(), &experiment, &cell, 0).unwrap();
    assert_eq!(spec.setup.recipe.into, "mariadb:innodb/compression=zlib");
    let DiskSpec::Virtual(disk) = spec.disk else { panic!("{spec:?}") };
    assert_eq!(disk.to_string(), "ssd-sata/read_us=500");
}
