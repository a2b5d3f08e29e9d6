//! bakeoff's `fileio`, on files that are made once.

use std::fs;
use std::path::{Path, PathBuf};

use bakeoff_lab::place::TargetPlace;
use bakeoff_lab::process::job::Task;
use bakeoff_results::Scope;
use bakeoff_results::measure::CPU;

use crate::work::Work;
use crate::{driven, job};

/// Files, and what they were made by.
pub struct Files<'a> {
    /// Where experiments' files are.
    place: &'a Path,
    folder: PathBuf,
    shape: &'a [(&'a str, &'a str)],
}

impl<'a> Files<'a> {
    /// Makes the files of these levels in a new folder of that name.
    pub fn load(place: &'a Path, name: &str, shape: &'a [(&'a str, &'a str)]) -> Self {
        let folder = place.join(name);
        fs::create_dir(&folder).expect("a folder");
        let keys = keys(shape.iter(), 1, 1);
        let (setup, _) = job::cell(place, None, &keys);
        job::perform(&setup, &TargetPlace::from_folder(&folder), Task::Load);
        Self { place, folder, shape }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The first of them.
    pub fn first(&self) -> PathBuf {
        self.folder.join("data-0")
    }

    /// Has clients work at these levels for so many seconds.
    pub fn run(&self, levels: &[(&str, &str)], clients: usize, seconds: u32) -> Work {
        let named = |name: &str| levels.iter().any(|(other, _)| *other == name);
        let shape = self.shape.iter().filter(|(name, _)| !named(name));
        let keys = keys(shape.chain(levels), clients, seconds);
        let (setup, cell) = job::cell(self.place, None, &keys);
        let place = TargetPlace::from_folder(&self.folder);
        let measured = driven::drive(&setup, &place, &cell);
        let clients = driven::to_work(&measured);
        // Of the whole process: what is not the clients' own is that of the group of the files.
        let files = measured.measures.get(&CPU, &Scope::Processes("files".into()));
        Work { cpu: clients.cpu + files.expect("counted"), ..clients }
    }
}

/// The keys of an experiment at these levels, on the machine's own disk.
fn keys<'a, 'b: 'a>(
    levels: impl Iterator<Item = &'a (&'b str, &'b str)>,
    clients: usize,
    seconds: u32,
) -> Vec<(&'b str, String)> {
    let levels = levels.map(|(name, level)| (*name, format!("\"{level}\"")));
    let others = [
        ("workload", "\"fileio\"".to_owned()),
        ("compare", "\"disk\"".to_owned()),
        ("disk", "\"host\"".to_owned()),
        ("clients", clients.to_string()),
        ("seconds", seconds.to_string()),
    ];
    others.into_iter().chain(levels).collect()
}
