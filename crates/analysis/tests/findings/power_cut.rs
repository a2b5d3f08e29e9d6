//! docs/findings/power-cut.md: how often each promise stood, of images that are rows of CSV files.

use std::collections::BTreeMap;

use bakeoff_analysis::PromiseView;
use bakeoff_stats::quantile::median;

use crate::kept;
use crate::page::{check_page, path, table};

const RULES: [&str; 4] = ["drop-all", "prefix", "subset", "torn"];
/// What an image may have that was not promised, as counts.
const FOUND: [&str; 5] = ["lost", "phantom", "torn", "hole", "index_broken"];

/// A row of a CSV file, by the names of its columns.
type Image = BTreeMap<String, String>;

/// The images of an engine at a level, in the order of the file.
type Group = ((String, String), Vec<Image>);

/// The records of a CSV file. Commas and ends of lines within quotes part none.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = vec![vec![String::new()]];
    let mut is_quoted = false;
    for letter in text.chars() {
        let record = records.last_mut().expect("it begins with one");
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(String::new()),
            '\n' if !is_quoted => records.push(vec![String::new()]),
            '\r' if !is_quoted => {}
            _ => record.last_mut().expect("it begins with one").push(letter),
        }
    }
    // What stands behind the last end of a line.
    records.pop();
    records
}

fn groups(name: &str) -> Vec<Group> {
    let text = std::fs::read_to_string(path("docs/findings").join(name)).expect(name);
    let mut records = records(&text).into_iter();
    let columns = records.next().expect("the names of columns");
    let mut groups: Vec<Group> = Vec::new();
    for record in records {
        let image: Image = columns.iter().cloned().zip(record).collect();
        let names = (image["engine"].clone(), image["durability"].clone());
        match groups.iter_mut().find(|(known, _)| *known == names) {
            Some((_, images)) => images.push(image),
            None => groups.push((names, vec![image])),
        }
    }
    groups
}

/// How many of some images are such ones.
fn count(images: &[&Image], is: impl Fn(&Image) -> bool) -> usize {
    images.iter().filter(|image| is(image)).count()
}

/// After how many cuts the promise stood, by each rule; bold where not after all.
fn stood(images: &[&Image]) -> [String; 4] {
    RULES.map(|rule| {
        assert_eq!(count(images, |it| it["keep"] == rule), 50, "the page says so");
        match count(images, |it| it["keep"] == rule && it["broken"] == "false") {
            50 => "50".to_owned(),
            stood => format!("**{stood}**"),
        }
    })
}

fn kept_or_broken(images: &[&Image]) -> &'static str {
    if count(images, |it| it["broken"] == "true") == 0 { "kept" } else { "**broken**" }
}

/// The numbers of a column, in their order.
fn numbers(images: &[&Image], column: &str) -> Vec<f64> {
    let mut numbers: Vec<f64> = images.iter().filter_map(|it| it[column].parse().ok()).collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

fn seconds(value: f64) -> String {
    if value < 1.0 { format!("{:.0} ms", value * 1e3) } else { format!("{value:.2} s") }
}

/// What one cut left.
fn first_row(((engine, level), images): Group) -> String {
    let images: Vec<&Image> = images.iter().collect();
    let is_intact = |it: &Image| it["corrupt"] == "false" && FOUND.iter().all(|at| it[*at] == "0");
    let (promise, cells) = match &*level {
        "none" => {
            let intact = |rule| count(&images, |it| it["keep"] == rule && is_intact(it));
            ("none", RULES.map(|rule| format!("({})", intact(rule))))
        }
        _ => (kept_or_broken(&images), stood(&images)),
    };
    let most = numbers(&images, "lost").last().copied().filter(|most| *most > 0.0);
    let most = most.map_or("–".to_owned(), |most| most.to_string());
    let oldest = numbers(&images, "oldest_lost_s").last().copied().map_or("–".into(), seconds);
    let recovery = numbers(&images, "recovery_s");
    let [median, longest] =
        [median(&recovery), recovery.last().copied()].map(|it| seconds(it.expect("it has images")));
    let recovery = format!("{median}, at most {longest}");
    let cells = cells.join(" | ");
    format!("{engine} | {level} | {promise} | {cells} | {most} | {oldest} | {recovery}")
}

/// What a second cut left, during the recovery.
fn second_row(((engine, level), images): Group) -> String {
    let images: Vec<&Image> = images.iter().collect();
    let in_time = count(&images, |it| !it["again"].starts_with("after it was "));
    assert_eq!(images.len(), 200, "the page says so");
    let (promise, cells) = (kept_or_broken(&images), stood(&images).join(" | "));
    format!("{engine} | {level} | {promise} | {cells} | {in_time}")
}

fn row_of_file_systems(((engine, level), images): Group) -> String {
    let on = |file_system: &str| {
        let its: Vec<&Image> =
            images.iter().filter(|it| it["file_system"] == file_system).collect();
        match stood(&its) {
            [first, rest @ ..] if rest.iter().all(|it| *it == first) => first,
            different => different.join(", "),
        }
    };
    format!("{engine} | {level} | {} | {}", on("posix"), on("ext4"))
}

/// How many cuts that were made again each promise stood, of the run in this folder.
fn made_again(folder: &str) -> String {
    let row = |PromiseView { engine, durability, rules, .. }: &PromiseView| {
        let own =
            if engine.contains("rocksdb") { " with `rocksdb_wal_recovery_mode=1`" } else { "" };
        let stood = rules.iter().map(|it| format!("{} of {}", it.cuts - it.broken, it.cuts));
        format!("{engine}{own} | {durability} | {}", stood.collect::<Vec<_>>().join(" | "))
    };
    table("engine | level | subset | torn", kept::read(folder).promises.iter().map(row))
}

#[test]
fn the_page_is_of_the_images() {
    let rows = |name, row: fn(Group) -> String| groups(name).into_iter().map(row);
    let rules = RULES.join(" | ");
    let first = format!("engine | level | promise | {rules} | most lost | oldest loss | recovery");
    let second = format!("engine | level | promise | {rules} | second cut in time");
    let blocks = [
        ("first", table(&first, rows("power-cut.csv", first_row))),
        ("second", table(&second, rows("power-cut-recovery.csv", second_row))),
        (
            "file-systems",
            table(
                "engine | level | on posix | on ext4",
                rows("power-cut-posix.csv", row_of_file_systems),
            ),
        ),
        ("again", made_again("findings/power-cut-again")),
        ("again-recovery", made_again("findings/power-cut-again-recovery")),
    ];
    check_page("docs/findings/power-cut.md", &blocks);
}
