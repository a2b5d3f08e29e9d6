//! Models of devices that are registered beside those that are built in.

use bakeoff_devices::device::model::DeviceModel;
use bakeoff_devices::device::ssd;
use bakeoff_experiment::{Experiment, FlagOverrides};
use bakeoff_lab::spec::DiskSpec;
use bakeoff_lab::{Registry, resolve};

const CARD: DeviceModel = DeviceModel::new("card", "a memory card", || {
    Box::new(ssd::SsdParameters { read_us: 900.0, ..ssd::SsdParameters::sata() })
});

fn registry() -> Registry {
    Registry::standard().with_model(CARD)
}

fn load(disks: &str) -> Result<Experiment, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, format!("workload = 'redmine'\nengine = 'sqlite'\n{disks}")).unwrap();
    let experiment = Experiment::load(
        &file.to_string_lossy(),
        &FlagOverrides::default(),
        &registry().vocabulary(),
    );
    experiment.map_err(|error| error.to_string())
}

#[test]
fn an_experiment_may_name_them() {
    let experiment = load(
        "compare = 'disk'\ndisk = ['card', 'raid10:2xcard', 'mine']\n\
         [disks.mine]\nmodel = 'card'\nread_us = 800\ncommit = 'fast'\n",
    )
    .unwrap();
    let plan = experiment.plan();
    let mut disks: Vec<String> = Vec::new();
    for trial in &plan.blocks[0].trials {
        let (spec, _) = resolve(&registry(), &experiment, &trial.cell, 0).unwrap();
        let DiskSpec::Virtual(disk) = spec.disk else { panic!("{spec:?}") };
        disks.push(disk.to_string());
    }
    disks.sort_unstable();
    assert_eq!(disks, ["card", "card/commit=fast/read_us=800", "raid10:2×card"]);
}

#[test]
fn a_message_proposes_them() {
    let nearest = load("disk = 'cart'").unwrap_err();
    assert!(nearest.contains("`card`"), "{nearest}");
    let parameter = load("disk = 'card/read_ns=1'").unwrap_err();
    assert!(parameter.contains("perhaps `read_us` was meant"), "{parameter}");
    let taken = load("disk = 'card'\n[disks.card]\nmodel = 'null'\n").unwrap_err();
    assert!(taken.contains("there is a disk `card` already"), "{taken}");
}

#[test]
fn one_that_cannot_be_among_them_is_told() {
    assert!(registry().problems().is_empty());
    let twice = registry().with_model(CARD);
    assert_eq!(twice.problems(), ["two disk models are registered by the name `card`; rename one"]);
    assert_eq!(twice.models().listed(), registry().models().listed());
}
