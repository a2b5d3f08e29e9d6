//! The run folders that are kept beside the findings, with their databases packed, and how pages write figures.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bakeoff_results::RunFolder;
use flate2::read::GzDecoder;

/// Where a file or a folder of docs/findings is.
pub fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../docs/findings", name].iter().collect()
}

/// What is taken out of a run folder of docs/findings. Its database is unpacked into a temporary folder, which is
/// removed afterwards.
pub fn read<T>(name: &str, take: impl FnOnce(&RunFolder) -> T) -> T {
    let place = crate::place();
    let path = path(name).join("run.sqlite.gz");
    let packed = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut database = File::create(place.path().join("run.sqlite")).unwrap();
    io::copy(&mut GzDecoder::new(packed), &mut database).unwrap();
    drop(database);
    take(&RunFolder::open(place.path()).unwrap())
}

/// Three significant digits.
pub fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let whole = value.abs().log10().floor().max(-4.0) as i32;
    let step = 10_f64.powi(whole - 2);
    format!("{:.*}", (2 - whole).max(0) as usize, (value / step).round() * step)
}

/// What lies in a folder of docs/findings, folders in it too, by its path from there.
fn all(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path("").join(folder)).expect("a folder");
    let names = entries.map(|entry| folder.join(entry.expect("an entry").file_name()));
    let each = names.flat_map(|name| match path("").join(&name).is_dir() {
        true => all(&name),
        false => vec![name],
    });
    each.collect()
}

/// What a page of docs/findings links to that lies beside it.
fn linked(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(path("").join(page)).expect("a page");
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.trim_end_matches('/').to_owned()).collect()
}

/// A run is kept as a folder with its database, or as CSV files made of it.
#[test]
fn each_finding_links_to_what_is_kept_of_its_runs_and_nothing_is_kept_without_a_page() {
    let files = all(Path::new(""));
    let is_kept = |file: &&PathBuf| {
        let name = file.file_name().expect("a file").to_string_lossy();
        name == "run.sqlite.gz" || (name.starts_with("power-cut") && name.ends_with(".csv"))
    };
    let kept: Vec<&PathBuf> = files.iter().filter(is_kept).collect();
    let is_page = |file: &&PathBuf| {
        file.extension().is_some_and(|it| it == "md") && file.as_path() != Path::new("README.md")
    };
    let pages: Vec<&PathBuf> = files.iter().filter(is_page).collect();
    assert!(pages.len() >= 6 && kept.len() >= pages.len(), "{pages:?} {kept:?}");
    let mut unnamed = kept.clone();
    for page in pages {
        let links = linked(page);
        let of_page = |file: &PathBuf| links.iter().any(|link| file.starts_with(link));
        assert!(kept.iter().any(|file| of_page(file)), "{} names no kept run", page.display());
        unnamed.retain(|file| !of_page(file));
    }
    assert!(unnamed.is_empty(), "no page links to {unnamed:?}");
}
