//! What keeps a run from being made on a raw device: there are no files on it, no disk under it and no copy of
//! it.

use std::collections::BTreeSet;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_experiment::{Factor, HOST};

use crate::place::device::RawDevice;
use crate::place::images::Recipe;
use crate::spec::{DiskSpec, TrialSpec};
use crate::{Registry, TrialError};

/// All that keeps these trials from it; `cuts` says whether power is to be cut, too.
pub fn problems(
    registry: &Registry,
    device: &RawDevice,
    trials: &[TrialSpec],
    cuts: bool,
) -> Vec<TrialError> {
    let mut whys = BTreeSet::new();
    if cuts {
        whys.insert("its power can't be cut: leave --cuts out".to_owned());
    }
    if device.is_in_memory() {
        let why =
            "it keeps its data in memory, or nobody can tell where: no disk would be measured";
        whys.insert(why.to_owned());
    }
    if trials.iter().any(|trial| trial.disk != DiskSpec::Host) {
        whys.insert(format!(
            "a virtual disk keeps its data in files: take --{} {HOST}",
            Factor::DISK
        ));
    }
    if trials.iter().any(|trial| trial.neighbours != NeighbourLevel::None) {
        whys.insert(format!(
            "neighbours have a file of their own: take --{} 0",
            Factor::NEIGHBOURS
        ));
    }
    let unfit = |trial: &TrialSpec| {
        registry.target(trial.setup.target)?.fits_device(&trial.setup.subject, device).err()
    };
    whys.extend(trials.iter().filter_map(unfit));
    let contents: BTreeSet<&Recipe> = trials.iter().map(|trial| &trial.setup.recipe).collect();
    if contents.len() > 1 {
        let keys: Vec<&str> = contents.iter().map(|recipe| &*recipe.key).collect();
        whys.insert(format!(
            "its contents are written once for all trials, and these are {}: {}; name one level of each",
            keys.len(),
            keys.join(", ")
        ));
    }
    let shown = device.path.display();
    whys.into_iter().map(|why| TrialError::User(format!("the raw device {shown}: {why}"))).collect()
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::{Experiment, FlagOverrides};

    use super::*;
    use crate::spec;

    const DEVICE: u64 = 16 << 20;

    /// What keeps an experiment from a device of 16 MiB.
    fn told(toml: &str) -> Vec<String> {
        let place = tempfile::tempdir().unwrap();
        let registry = Registry::standard();
        let file = place.path().join("it.toml");
        std::fs::write(&file, toml).unwrap();
        let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
        let experiment = Experiment::load(&file, &changes, &registry.vocabulary()).unwrap();
        let plan = experiment.plan();
        let cells = plan.blocks.iter().flat_map(|block| &block.trials).map(|trial| &trial.cell);
        let trials: Vec<TrialSpec> =
            cells.map(|cell| spec::resolve(&registry, &experiment, cell, 0).unwrap().0).collect();
        let device = RawDevice { path: "/dev/sdz".into(), number: 0, bytes: DEVICE, sector: 8192 };
        problems(&registry, &device, &trials, false).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_raw_device_takes_one_content_that_fits_read_and_written_around_the_page_cache() {
        let fileio = "workload = 'fileio'\ndisk = 'host'\nblock = '16K'\n";
        let of = |more: &str| told(&format!("{fileio}{more}\n"));
        assert_eq!(of("size = '16M'\npattern = ['randread', 'randwrite']"), Vec::<String>::new());
        for (levels, words) in [
            ("size = '17M'", &["17825792 bytes", "16777216"][..]),
            ("size = '8M'\nfiles = 2", &["`files` 1"]),
            ("size = '8M'\naccess = 'buffered'", &["`access` direct"]),
            ("size = ['8M', '4M']", &["these are 2", "size=4M", "size=8M"]),
            ("size = '8M'\ndata = ['random', 'zeros']", &["data=random", "data=zeros"]),
        ] {
            let told = of(levels);
            assert_eq!(told.len(), 1, "{levels}: {told:?}");
            assert!(told[0].starts_with("the raw device /dev/sdz: "), "{levels}: {told:?}");
            for words in words {
                assert!(told[0].contains(*words), "{levels}: {told:?}");
            }
        }
        let small = told("workload = 'fileio'\ndisk = 'host'\nsize = '8M'\nblock = '4K'\n");
        assert!(small[0].contains("4096") && small[0].contains("8192"), "{small:?}");
    }

    #[test]
    fn what_needs_files_is_kept_off_a_raw_device() {
        let engine = told("workload = 'ledger'\nengine = 'sqlite'\ndisk = 'host'\n");
        assert!(engine.iter().any(|it| it.contains("name a folder")), "{engine:?}");
        let disk = told("workload = 'fileio'\nsize = '8M'\nblock = '16K'\ndisk = 'ssd-sata'\n");
        assert!(disk.len() == 1 && disk[0].contains("--disk host"), "{disk:?}");
        let fileio = "workload = 'fileio'\nsize = '8M'\nblock = '16K'\ndisk = 'host'\n";
        let beside = told(&format!("{fileio}neighbours = 'x2'\n"));
        assert!(beside.len() == 1 && beside[0].contains("--neighbours 0"), "{beside:?}");
    }
}
