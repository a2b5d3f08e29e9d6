//! What a reader sees, piece by piece: each section in each of its states, each sentence once.
//!
//! A file in `snapshots` has all pieces of one subject. Where a change is meant,
//! `BAKEOFF_SNAPSHOTS=write` writes the files anew: `git diff` then shows what the change does.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use bakeoff_analysis::Document;
use bakeoff_report::Options;

use crate::reading::{parse_csv, section};
use crate::{
    blocks, cuts, first_screen, formats, lines, machines, over_time, published, sections, two_runs,
};

/// A part of a report: what it is of, and how it looks.
#[derive(Clone)]
pub struct Piece {
    name: String,
    text: String,
}

impl Piece {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// A section as a format has it.
    pub fn section(name: &str, title: &str, format: &str, document: &Document) -> Self {
        // Colours tell what is good, bad and open.
        let options = Options { color: true, ..Options::default() };
        let text = section(document, format, title, &options);
        let text = if format == "html" { set_out(&text) } else { text };
        Self::new(format!("{name}: {format}"), text)
    }

    /// What differs of a section from that of another document.
    pub fn change(name: &str, title: &str, format: &str, from: &Document, to: &Document) -> Self {
        Self::section("", title, format, from).to(Self::section(name, title, format, to))
    }

    /// What differs in another piece.
    pub fn to(self, other: Self) -> Self {
        Self { text: difference(&self.text, &other.text), ..other }
    }

    /// A section as a page and a terminal have it.
    pub fn both(name: &str, title: &str, document: &Document) -> [Self; 2] {
        ["term", "html"].map(|format| Self::section(name, title, format, document))
    }
}

/// Markup of which each long line is broken between its elements, without the signs of levels, which are
/// drawn anew at each name.
pub fn set_out(page: &str) -> String {
    let mut short = String::new();
    for (number, part) in page.split("<svg ").enumerate() {
        let is_sign = ["class=\"key\"", "class=\"sign\""].iter().any(|it| part.starts_with(it));
        match part.split_once("</svg>").filter(|_| number > 0 && is_sign) {
            Some((sign, rest)) => {
                let class = sign.split("<g class=\"mark ").nth(1).expect("a style");
                let name = &sign["class=\"".len()..][..3];
                short += &format!("({name} {}){rest}", class.split('"').next().expect("its end"));
            }
            None if number > 0 => short += &format!("<svg {part}"),
            None => short += part,
        }
    }
    let line = |line: &str| match line.len() {
        0..160 => line.to_owned(),
        _ => line.replace("><", ">\n<"),
    };
    let lines = short.lines().filter(|line| !line.trim().is_empty());
    lines.map(line).collect::<Vec<_>>().join("\n")
}

/// The lines that one text has alone, and how many of another one it lacks.
fn difference(from: &str, to: &str) -> String {
    fn own<'a>(lines: &'a str, others: &str) -> Vec<&'a str> {
        let others: BTreeSet<&str> = others.lines().collect();
        lines.lines().filter(|line| !others.contains(line)).collect()
    }
    format!("(without {} lines)\n{}", own(from, to).len(), own(to, from).join("\n"))
}

/// Makes the pieces of a file.
type Pieces = fn() -> Vec<Piece>;

/// Each file, and what it keeps.
const FILES: [(&str, Pieces); 37] = [
    ("applications.txt", sections::applications),
    ("articles.txt", published::articles),
    ("blocks.txt", blocks::pieces),
    ("cells.txt", sections::cells),
    ("changes.txt", sections::changes),
    ("conditions.txt", sections::conditions),
    ("costs.txt", sections::costs),
    ("cuts.csv", || table(&cuts::rows())),
    ("cuts.txt", cuts::pieces),
    ("debts.txt", sections::debts),
    ("every-moment.txt", cuts::every_moment),
    ("first-screen.txt", first_screen::pieces),
    ("limits.txt", sections::limits),
    ("lines.txt", sections::lines),
    ("machines.txt", machines::pieces),
    ("method.txt", sections::method),
    ("neighbours.txt", sections::neighbours),
    ("offered.txt", sections::offered),
    ("operations.txt", sections::operations),
    ("over-time.txt", over_time::pieces),
    ("page.txt", formats::page),
    ("panels.txt", lines::pieces),
    ("priced.txt", sections::priced),
    ("processor.txt", sections::processor),
    ("published.txt", published::pieces),
    ("repeat.txt", sections::repeat),
    ("report.json", || vec![Piece::new("", formats::written())]),
    ("series.csv", || table(&over_time::rows())),
    ("settings.txt", sections::settings),
    ("slowest.txt", sections::slowest),
    ("space.txt", sections::space),
    ("states.txt", sections::restarts),
    ("trials.csv", || table(&formats::rows())),
    ("trials.txt", sections::trials),
    ("two-runs.txt", two_runs::pieces),
    ("warnings.txt", sections::warnings),
    ("work.txt", sections::work),
];

/// Rows of CSV, whose line breaks are two signs.
fn table(rows: &str) -> Vec<Piece> {
    parse_csv(rows);
    vec![Piece::new("", rows.replace("\r\n", "\n"))]
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots")
}

fn joined(pieces: &[Piece]) -> String {
    if let [only] = pieces {
        return only.text.clone();
    }
    let one = |it: &Piece| format!("════ {}\n{}\n\n", it.name, it.text.trim_end());
    pieces.iter().map(one).collect()
}

/// The first line that is not the same, and the piece that it is of.
fn first_difference(kept: &str, found: &str) -> String {
    let (kept, found): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), found.lines().collect());
    let same = kept.iter().zip(&found).take_while(|(kept, found)| kept == found).count();
    let after = |sign: &str, lines: &[&str]| -> String {
        let shown = lines.iter().skip(same).take(3);
        shown.map(|line| format!("{sign}{}\n", line.escape_debug())).collect()
    };
    let mut above = found.iter().take(same + 1).rev();
    let piece = above.find(|line| line.starts_with("════")).unwrap_or(&"");
    format!("line {} {piece}\n{}{}", same + 1, after("-", &kept), after("+", &found))
}

#[test]
fn every_piece_is_as_it_was() {
    let write = std::env::var_os("BAKEOFF_SNAPSHOTS").is_some_and(|value| value == "write");
    let mut changed = String::new();
    for (name, pieces) in FILES {
        let pieces = pieces();
        let names: BTreeSet<&str> = pieces.iter().map(|it| it.name.as_str()).collect();
        if names.len() < pieces.len() {
            changed += &format!("{name}: two pieces have one name\n");
        }
        let found = joined(&pieces);
        let path = folder().join(name);
        if write {
            fs::write(&path, &found).expect("a snapshot can be written");
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        if kept != found {
            changed += &format!("{name}, {}", first_difference(&kept, &found));
        }
    }
    assert!(changed.is_empty(), "{changed}if that is meant: BAKEOFF_SNAPSHOTS=write");
    let files = fs::read_dir(folder()).expect("the snapshots");
    let files: BTreeSet<String> = files
        .map(|file| file.expect("a file").file_name().into_string().expect("a name"))
        .collect();
    let names = FILES.map(|(name, _)| name.to_owned()).into();
    assert_eq!(files, names, "files that nobody makes any more");
}
