//! The run folders that are kept in docs, with their databases packed, and what is looked up in them.

use std::fs::File;
use std::io;

use bakeoff_analysis::{CellView, Comparison, Document, read_document};
use bakeoff_results::{Levels, OperationSummary, RunFolder};
use flate2::read::GzDecoder;

use crate::page::path;

/// Levels by their factors.
pub type Place<'a> = [(&'a str, &'a str)];

/// What is taken out of a run folder below docs. Its database is unpacked into a temporary folder.
pub fn open<T>(name: &str, take: impl FnOnce(&RunFolder) -> T) -> T {
    let place = tempfile::tempdir().expect("a temporary folder");
    let packed = File::open(path("docs").join(name).join("run.sqlite.gz")).expect(name);
    let mut database = File::create(place.path().join("run.sqlite")).expect("a new file");
    io::copy(&mut GzDecoder::new(packed), &mut database).expect("it is whole");
    drop(database);
    take(&RunFolder::open(place.path()).expect(name))
}

pub fn read(name: &str) -> Document {
    open(name, |folder| read_document(folder).expect(name))
}

pub fn has(levels: &Levels, wanted: &Place<'_>) -> bool {
    wanted.iter().all(|(factor, level)| levels.get(*factor).is_some_and(|it| it == level))
}

/// The only cell at these levels; `None` where none of its trials counts.
pub fn cell<'a>(document: &'a Document, at: &Place<'_>) -> Option<&'a CellView> {
    let mut found = document.cells.iter().filter(|it| has(&it.levels, at));
    let first = found.next();
    assert!(found.next().is_none(), "more cells than one at {at:?}");
    first
}

pub fn operation<'a>(operations: &'a [OperationSummary], name: &str) -> &'a OperationSummary {
    operations.iter().find(|it| it.name == name).expect(name)
}

/// The only comparison of a level with another one; of this operation, or of the only one that is compared.
pub fn compared<'a>(
    document: &'a Document,
    [level, baseline]: [&str; 2],
    operation: Option<&str>,
    at: &Place<'_>,
) -> Option<&'a Comparison> {
    let all = document.comparisons.iter().chain(&document.between);
    let mut found = all.filter(|it| {
        let is_named = operation.is_none_or(|operation| it.operation == operation);
        is_named && it.level == level && it.baseline == baseline && has(&it.levels, at)
    });
    let first = found.next();
    assert!(found.next().is_none(), "more comparisons than one of {level} at {at:?}");
    first
}

/// The levels of a factor, in the plan's order.
pub fn levels_of<'a>(document: &'a Document, factor: &str) -> &'a [String] {
    let found = document.run.run.factors.iter().find(|(name, _)| name == factor);
    &found.expect(factor).1
}
