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

/// After how many cuts the promise stood, by each rule, or once where these agree; bold where not after all.
fn stood(images: &[&Image]) -> String {
    let each = RULES.map(|rule| {
        assert_eq!(count(images, |it| it["keep"] == rule), 50, "the page says so");
        match count(images, |it| it["keep"] == rule && it["broken"] == "false") {
            50 => "50".to_owned(),
            stood => format!("**{stood}**"),
        }
    });
    if each.iter().all(|it| *it == each[0]) { each[0].clone() } else { each.join(", ") }
}

/// The numbers of a column, in their order.
fn numbers(images: &[&Image], column: &str) -> Vec<f64> {
    let mut numbers: Vec<f64> = images.iter().filter_map(|it| it[column].parse().ok()).collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

fn largest(images: &[&Image], column: &str) -> Option<f64> {
    numbers(images, column).last().copied()
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.0}", seconds * 1e3)
}

/// What cuts left of each promise: one, another during the recovery, and on posix.
fn kept() -> String {
    let [first, second, others] =
        ["power-cut.csv", "power-cut-recovery.csv", "power-cut-posix.csv"].map(groups);
    let row = |(names, images): &Group| {
        let of = |groups: &[Group]| {
            let found = groups.iter().find(|(it, _)| it == names);
            found.unwrap_or_else(|| panic!("{names:?}")).1.clone()
        };
        let (again, others) = (of(&second), of(&others));
        let (images, again): (Vec<_>, Vec<_>) = (images.iter().collect(), again.iter().collect());
        let in_time = count(&again, |it| !it["again"].starts_with("after it was "));
        assert_eq!(again.len(), 200, "the page says so");
        let posix =
            stood(&others.iter().filter(|it| it["file_system"] == "posix").collect::<Vec<_>>());
        let lost =
            largest(&images, "lost").filter(|most| *most > 0.0).map_or("–".into(), |most| {
                let oldest = largest(&images, "oldest_lost_s").expect("one was lost");
                format!("{most}, {}", milliseconds(oldest))
            });
        let recovery = numbers(&images, "recovery_s");
        let [middle, most] = [median(&recovery), recovery.last().copied()]
            .map(|it| milliseconds(it.expect("it has images")));
        let (engine, level) = names;
        let (one, two) = (stood(&images), stood(&again));
        format!(
            "{engine} {level} | {one} | {two} ({in_time}) | {posix} | {lost} | {middle}, {most}"
        )
    };
    let promises = first.iter().filter(|((_, level), _)| level != "none");
    let columns = "engine, level | one cut | a second one (in time) | posix | most lost, oldest ms | recovery, ms";
    table(columns, promises.map(row))
}

/// What cuts left where nothing is promised.
fn without_promise() -> String {
    let all = groups("power-cut.csv");
    let all: Vec<Vec<&Image>> = all
        .iter()
        .filter(|((_, level), _)| level == "none")
        .map(|(_, its)| its.iter().collect())
        .collect();
    let is_intact = |it: &Image| it["corrupt"] == "false" && FOUND.iter().all(|at| it[*at] == "0");
    let intact = all
        .iter()
        .flat_map(|its| RULES.map(|rule| count(its, |it| it["keep"] == rule && is_intact(it))));
    let intact: Vec<usize> = intact.collect();
    let of_all = |column| all.iter().filter_map(|its| largest(its, column)).fold(0.0, f64::max);
    format!(
        "At `none`, which promises nothing, all was there after {} to {} of 50 cuts of a rule; {} transactions were lost \
         at most, {} ms old.",
        intact.iter().min().expect("engines"),
        intact.iter().max().expect("engines"),
        of_all("lost"),
        milliseconds(of_all("oldest_lost_s"))
    )
}

/// How many cuts that were made again each promise stood, of the run in this folder.
fn made_again(folder: &str, which: &str) -> Vec<String> {
    let row = |PromiseView { engine, durability, rules, .. }: &PromiseView| {
        let own = if engine.contains("rocksdb") { ", mode 1" } else { "" };
        let stood = rules.iter().map(|it| format!("{}/{}", it.cuts - it.broken, it.cuts));
        let stood = stood.collect::<Vec<_>>().join(" | ");
        format!("{engine} {durability}{own}{which} | {stood}")
    };
    kept::read(folder).promises.iter().map(row).collect()
}

#[test]
fn the_page_is_of_the_images() {
    let again = [("again", ""), ("again-recovery", ", second cuts")];
    let again = again.map(|(run, which)| made_again(&format!("findings/power-cut-{run}"), which));
    let blocks = [
        ("kept", kept()),
        ("none", without_promise()),
        ("again", table("engine, level | subset | torn", again.concat())),
    ];
    check_page("docs/findings/power-cut.md", &blocks);
}
