//! Pages, and the parts of them that are generated.

use std::fs;
use std::path::PathBuf;

use bakeoff_analysis::Document;

/// Text with places for figures, in sections with the names of blocks.
const WORDS: &str = include_str!("words.md");

/// A generated part of a page, or a figure of its words: its name, and its text.
pub type Named = (&'static str, String);

/// A file of the repository.
pub fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../..", name].iter().collect()
}

/// Checks that a file is as it would be generated, or writes it where `make findings` asks for it.
#[track_caller]
pub fn check_file(name: &str, wanted: &str) {
    let found = fs::read_to_string(path(name)).unwrap_or_default();
    if std::env::var_os("BAKEOFF_SNAPSHOTS").is_some_and(|value| value == "write") {
        fs::write(path(name), wanted).expect("the file can be written");
    } else if found != wanted {
        let mut pairs = found.lines().zip(wanted.lines());
        let (is, would) = pairs.find(|(is, would)| is != would).unwrap_or(("less", "more"));
        panic!("{name} has\n{is}\nand would be generated with\n{would}\n`make findings` writes it");
    }
}

/// The same of a page with these blocks, which are all that it has.
#[track_caller]
pub fn check_page(name: &str, blocks: &[Named]) {
    let mut page = fs::read_to_string(path(name)).expect(name);
    let marked = page.matches("<!-- generated: ").count();
    assert_eq!(marked, blocks.len(), "{name} has blocks that nobody generates, or lacks some");
    for (block, text) in blocks {
        let start = format!("<!-- generated: {block} -->");
        let (before, rest) = page.split_once(&start).unwrap_or_else(|| panic!("{name}: {start}"));
        let (old, after) = rest.split_once("<!-- end -->").expect("a block has an end");
        // The lines around it stay as they are: in README there is no room for empty ones.
        let (ahead, behind) = old.split_once(old.trim()).expect("it is a part of itself");
        page = format!("{before}{start}{ahead}{}{behind}<!-- end -->{after}", text.trim());
    }
    check_file(name, &page);
}

/// Checks that a page names each warning of a run.
#[track_caller]
pub fn check_warnings(name: &str, document: &Document) {
    let page = fs::read_to_string(path(name)).expect(name);
    assert!(!document.warnings.is_empty());
    for warning in &document.warnings {
        assert!(page.contains(warning.kind.code()), "{name} should tell of this: {warning}");
    }
}

/// The words of a block with figures in their places.
pub fn fill(block: &'static str, figures: &[Named]) -> Named {
    let (_, section) = WORDS.split_once(&format!("## {block}\n\n")).expect(block);
    let mut text = section.split("\n## ").next().unwrap_or(section).to_owned();
    for (name, figure) in figures {
        text = text.replace(&format!("{{{name}}}"), figure);
    }
    assert!(!text.contains('{'), "a place without a figure: {text}");
    (block, text)
}

/// A table; bars part its columns, and the cells of a row.
pub fn table(columns: &str, rows: impl IntoIterator<Item = String>) -> String {
    let number = columns.split(" | ").count();
    let mut table = format!("| {columns} |\n|{}\n", "---|".repeat(number));
    for row in rows {
        assert_eq!(row.split(" | ").count(), number, "{columns}: {row}");
        table += &format!("| {row} |\n");
    }
    table
}

/// The same as a file of values parted by commas, without the ticks of code.
pub fn csv(columns: &str, rows: impl IntoIterator<Item = String>) -> String {
    let number = columns.split(" | ").count();
    let record = |row: &str| {
        assert_eq!(row.split(" | ").count(), number, "{columns}: {row}");
        assert!(!row.contains(['"', ',']), "it would need quotes: {row}");
        row.replace(" | ", ",").replace('`', "") + "\n"
    };
    let rows: String = rows.into_iter().map(|row| record(&row)).collect();
    record(columns) + &rows
}
