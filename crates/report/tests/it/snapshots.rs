//! What a reader sees of every sample in every format, byte by byte.
//!
//! Where a change is meant, `BAKEOFF_SNAPSHOTS=write` writes the files anew: `git diff` then shows
//! what the change does to each report.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use bakeoff_report::{Options, Reports};

use crate::sample::{all, render};

/// What every page carries, by the file that has it: a snapshot of a page has its place alone.
const CARRIED: [(&str, &str); 2] = [
    ("templates/report.css", include_str!("../../templates/report.css")),
    ("templates/report.js", include_str!("../../templates/report.js")),
];

/// A report as it is kept: of a page what is its own.
fn own(format: &str, report: String) -> String {
    if format != "html" {
        return report;
    }
    CARRIED.iter().fold(report, |page, (file, text)| {
        assert_eq!(page.matches(text).count(), 1, "a page carries {file} once, and all of it");
        page.replace(text, &format!("({file})\n"))
    })
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots")
}

/// The first line that is not the same, with what stands around it.
fn first_difference(kept: &str, found: &str) -> String {
    let (kept, found): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), found.lines().collect());
    let same = kept.iter().zip(&found).take_while(|(kept, found)| kept == found).count();
    let after = |sign: &str, lines: &[&str]| -> String {
        let shown = lines.iter().skip(same).take(3);
        shown.map(|line| format!("{sign}{}\n", line.escape_debug())).collect()
    };
    let before = same.checked_sub(1).map_or("", |at| kept[at]).escape_debug().to_string();
    format!(
        "line {}:\n {before}\n{}{}({} lines kept, {} found)\n",
        same + 1,
        after("-", &kept),
        after("+", &found),
        kept.len(),
        found.len()
    )
}

#[test]
fn every_report_of_every_sample_is_as_it_was() {
    let write = std::env::var_os("BAKEOFF_SNAPSHOTS").is_some_and(|value| value == "write");
    let options = Options { color: true, width: 80, ..Options::default() };
    let mut changed = String::new();
    let mut names = BTreeSet::new();
    for (sample, document) in all::all() {
        // `text` is `term` without colours, as a test of the formats says.
        for format in Reports::standard().formats().filter(|format| *format != "text") {
            let found = own(format, render(&document, format, &options).expect("a report"));
            let name = format!("{sample}.{format}");
            let path = folder().join(&name);
            if write {
                fs::write(&path, &found).expect("a snapshot can be written");
            }
            let kept = fs::read_to_string(&path).unwrap_or_default();
            if kept != found {
                changed += &format!("{name}, {}", first_difference(&kept, &found));
            }
            names.insert(name);
        }
    }
    assert!(changed.is_empty(), "{changed}if that is meant: BAKEOFF_SNAPSHOTS=write");
    let files = fs::read_dir(folder()).expect("the snapshots");
    let files: BTreeSet<String> = files
        .map(|file| file.expect("a file").file_name().into_string().expect("a name"))
        .collect();
    assert_eq!(files, names, "files of samples that are no more");
}
