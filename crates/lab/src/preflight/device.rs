//! Finds what prevents a run on a raw device, which has no files, no disk model and no copy.

use std::collections::BTreeSet;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_experiment::{Factor, HOST};

use crate::TrialError;
use crate::place::device::RawDevice;
use crate::place::images::Recipe;
use crate::spec::{DiskSpec, TrialSpec};

pub fn find_problems(device: &RawDevice, trials: &[&TrialSpec], cuts: bool) -> Vec<TrialError> {
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
    let unfit = |trial: &&TrialSpec| trial.setup.subject.fits_device(device).err();
    whys.extend(trials.iter().filter_map(unfit));
    let contents: BTreeSet<&Recipe> = trials.iter().map(|trial| &trial.setup.recipe).collect();
    if contents.len() > 1 {
        let keys: Vec<&str> = contents.iter().map(|recipe| &*recipe.key).collect();
        whys.insert(format!(
            "its contents are written once for all trials, and these are {}: {}; name one level of each, and one image",
            keys.len(),
            keys.join(", ")
        ));
    }
    let shown = device.path.display();
    whys.into_iter().map(|why| TrialError::User(format!("the raw device {shown}: {why}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Registry, spec, tests};

    const DEVICE: u64 = 16 << 20;

    /// What keeps an experiment from a device of 16 MiB.
    fn told(toml: &str) -> Vec<String> {
        let (registry, experiment) = (Registry::standard(), tests::load(toml));
        let plan = experiment.plan();
        let cells = plan.blocks.iter().flat_map(|block| &block.trials).map(|trial| &trial.cell);
        let resolve = |cell| spec::resolve_trial(&registry, &experiment, cell, 0).unwrap().spec;
        let trials: Vec<TrialSpec> = cells.map(resolve).collect();
        let trials: Vec<&TrialSpec> = trials.iter().collect();
        let device = RawDevice { path: "/dev/sdz".into(), number: 0, bytes: DEVICE, sector: 8192 };
        find_problems(&device, &trials, false).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_raw_device_takes_one_content_that_fits_around_the_page_cache() {
        let fileio = "workload = 'fileio'\nblock = '16K'\n";
        let fits = "disk = 'host'\nsize = '16M'\npattern = ['randread', 'randwrite']\n";
        assert_eq!(told(&format!("{fileio}{fits}")), Vec::<String>::new());
        for (levels, words) in [
            ("disk = 'host'\nsize = '17M'", &["17825792 bytes", "16777216"][..]),
            ("disk = 'host'\nsize = '8M'\nfiles = 2", &["`files` 1"]),
            ("disk = 'host'\nsize = '8M'\naccess = 'buffered'", &["`access` direct"]),
            ("disk = 'host'\nsize = ['8M', '4M']", &["these are 2", "size=4M", "size=8M"]),
            (
                "disk = 'host'\nsize = '8M'\ndata = ['random', 'zeros']",
                &["data=random", "data=zeros"],
            ),
            ("disk = 'ssd-sata'\nsize = '8M'", &["--disk host"]),
            ("disk = 'host'\nsize = '8M'\nneighbours = 'x2'", &["--neighbours 0"]),
        ] {
            let told = told(&format!("{fileio}{levels}\n"));
            assert_eq!(told.len(), 1, "{levels}: {told:?}");
            assert!(told[0].starts_with("the raw device /dev/sdz: "), "{levels}: {told:?}");
            assert!(words.iter().all(|words| told[0].contains(words)), "{levels}: {told:?}");
        }
        let small = told("workload = 'fileio'\ndisk = 'host'\nsize = '8M'\nblock = '4K'\n");
        assert!(small[0].contains("4096") && small[0].contains("8192"), "{small:?}");
        let engine = told("workload = 'ledger'\nengine = 'sqlite'\ndisk = 'host'\n");
        assert!(engine.iter().any(|it| it.contains("name a folder")), "{engine:?}");
    }
}
