//! The run folders that are kept beside the findings, with their databases packed, and how pages write figures.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bakeoff_analysis::{Comparison, Contrast, Document, RatioIs, counted};
use bakeoff_report::{Options, Reports};
use bakeoff_results::measure::{DONE_RATE, LITTLE_RATE};
use bakeoff_results::{RunFolder, Scope};
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

/// How many times as much, or as long, with its interval: "2.34 times as much (2.23 to 2.46)".
pub fn times(as_what: &str, [ratio, low, high]: [f64; 3]) -> String {
    let [ratio, low, high] = [ratio, low, high].map(digits);
    format!("{ratio} times {as_what} ({low} to {high})")
}

/// How many times as fast a level is as its baseline, and the verdict: "6.68 times as much (6.48 to 6.88, faster)".
pub fn judged(as_what: &str, it: &Comparison) -> String {
    let verdict = it.verdict.word();
    let of = Contrast::from_comparison(it).map(Contrast::turned).expect("it has pairs");
    assert_eq!(of.is, RatioIs::Exact);
    let (Some(low), Some(high)) = of.ends else { panic!("no interval") };
    let told = times(as_what, [of.ratio, low, high]);
    format!("{}, {verdict})", told.trim_end_matches(')'))
}

/// How sure the report of a run is of its answer: "low confidence".
pub fn confidence(document: &Document) -> String {
    let json = Reports::standard().render(document, "json", &Options::default()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let level = json["answer"]["confidence"]["level"].as_str().expect("something is compared");
    format!("{level} confidence")
}

/// How many times what is counted the rates of trials were that followed from latencies: the least and the most.
pub fn rates_by_latency(documents: &[&Document]) -> String {
    let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
    for trial in documents.iter().flat_map(|it| counted(&it.trials)) {
        let of = |measure| trial.measures.get(measure, &Scope::Clients);
        let (Some(by_latency), Some(ended)) = (of(&LITTLE_RATE), of(&DONE_RATE)) else { continue };
        let times = by_latency / ended;
        ends = (ends.0.min(times), ends.1.max(times));
    }
    format!("{} to {} times what is counted", digits(ends.0), digits(ends.1))
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
