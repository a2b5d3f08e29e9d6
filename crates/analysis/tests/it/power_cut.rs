//! The page docs/findings/power-cut.md says what its CSV files say: how often each promise stood is counted there.

use std::collections::BTreeMap;

use bakeoff_analysis::PromiseView;

use super::kept;

const PAGE: &str = include_str!("../../../../docs/findings/power-cut.md");
const RULES: [&str; 4] = ["drop-all", "prefix", "subset", "torn"];
/// What an image may have that was not promised, as counts.
const FOUND: [&str; 5] = ["lost", "phantom", "torn", "hole", "index_broken"];

/// A row of a CSV file, by the names of its columns.
type Image = BTreeMap<String, String>;

/// The images of an engine at a level.
struct Group<'a> {
    names: [&'a str; 2],
    images: Vec<&'a Image>,
}

/// The records of a CSV file. Commas and ends of lines within quotes part none.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = vec![vec![String::new()]];
    let mut is_quoted = false;
    for letter in text.chars() {
        let record = records.last_mut().unwrap();
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(String::new()),
            '\n' if !is_quoted => records.push(vec![String::new()]),
            '\r' if !is_quoted => {}
            _ => record.last_mut().unwrap().push(letter),
        }
    }
    // What stands behind the last end of a line.
    records.pop();
    records
}

fn images(name: &str) -> Vec<Image> {
    let text = std::fs::read_to_string(kept::path(name)).unwrap();
    let mut records = records(&text).into_iter();
    let columns = records.next().unwrap();
    records.map(|record| columns.iter().cloned().zip(record).collect()).collect()
}

/// In the order of the file.
fn groups(images: &[Image]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for image in images {
        let names = [image["engine"].as_str(), image["durability"].as_str()];
        let place = groups.iter().position(|group| group.names == names);
        let place = place.unwrap_or_else(|| {
            groups.push(Group { names, images: Vec::new() });
            groups.len() - 1
        });
        groups[place].images.push(image);
    }
    groups
}

fn is_intact(image: &Image) -> bool {
    image["corrupt"] == "false" && FOUND.iter().all(|column| image[*column] == "0")
}

impl Group<'_> {
    /// How many images a rule left, and of how many of them something holds.
    fn count(&self, rule: &str, holds: impl Fn(&Image) -> bool) -> (usize, usize) {
        let judged = self.images.iter().filter(|image| image["keep"] == rule);
        judged.fold((0, 0), |(all, held), image| (all + 1, held + usize::from(holds(image))))
    }

    /// After how many cuts the promise stood, by each rule; bold where not after all.
    fn stood(&self) -> [String; 4] {
        RULES.map(|rule| match self.count(rule, |image| image["broken"] == "false") {
            (all, stood) if all == stood => format!("{stood} of {all}"),
            (all, stood) => format!("**{stood} of {all}**"),
        })
    }

    fn promise(&self) -> &'static str {
        let is_broken = self.images.iter().any(|image| image["broken"] == "true");
        if is_broken { "**broken**" } else { "kept" }
    }

    fn most_lost(&self) -> String {
        let lost = self.images.iter().map(|image| image["lost"].parse::<u64>().unwrap());
        match lost.max().unwrap() {
            0 => "–".into(),
            most => most.to_string(),
        }
    }
}

#[track_caller]
fn assert_page(rows: &[String], number: usize) {
    assert_eq!(rows.len(), number, "{rows:?}");
    let missing: Vec<&str> =
        rows.iter().map(String::as_str).filter(|row| !PAGE.contains(row)).collect();
    let rows = missing.join("\n");
    assert!(missing.is_empty(), "docs/findings/power-cut.md should hold these rows:\n{rows}");
}

/// What fjall broke at every moment, which is kept as a report.
fn broken_at_every_moment() -> String {
    let report = std::fs::read_to_string(kept::path("power-cut-every.html")).unwrap();
    let (_, rest) = report.split_once("fjall broke its promise at strict in ").expect("it was cut");
    let (counts, _) = rest.split_once(" crash images").expect("the number of images");
    let (broken, images) = counts.split_once(" of ").expect("two counts");
    let images = images.split_whitespace().collect::<Vec<_>>().join(",");
    format!("after {broken} of {images} images at `strict`")
}

/// What the index of the findings says of these cuts.
pub fn in_index() -> Vec<String> {
    let document =
        kept::read("power-cut-again", |folder| bakeoff_analysis::document(folder).unwrap());
    let myrocks = |durability: &str| {
        let is_it =
            |it: &&PromiseView| it.engine == "mariadb:rocksdb" && it.durability == durability;
        let it = document.promises.iter().find(is_it).expect("it was cut");
        format!("{} of {} cuts at `{durability}`", it.broken, it.cuts)
    };
    let starts =
        format!("does not start after {}, and after {}", myrocks("strict"), myrocks("relaxed"));
    vec![broken_at_every_moment(), starts]
}

#[test]
fn what_one_cut_left_is_what_the_images_say() {
    let images = images("power-cut.csv");
    let row = |group: &Group<'_>| {
        let [engine, level] = group.names;
        let (promise, cells) = match level {
            "none" => {
                let intact = RULES.map(|rule| format!("{} intact", group.count(rule, is_intact).1));
                ("nothing promised", intact)
            }
            _ => (group.promise(), group.stood()),
        };
        let (cells, most) = (cells.join(" | "), group.most_lost());
        format!("\n| {engine} | {level} | {promise} | {cells} | {most} | ")
    };
    assert_page(&groups(&images).iter().map(row).collect::<Vec<_>>(), 21);
}

#[test]
fn what_a_second_cut_left_is_what_the_images_say() {
    let images = images("power-cut-recovery.csv");
    let row = |group: &Group<'_>| {
        let [engine, level] = group.names;
        let in_time = |image: &&&Image| !image["again"].starts_with("after it was ");
        let (cut, all) = (group.images.iter().filter(in_time).count(), group.images.len());
        let (promise, cells) = (group.promise(), group.stood().join(" | "));
        format!("\n| {engine} | {level} | {promise} | {cells} | {cut} of {all} |\n")
    };
    assert_page(&groups(&images).iter().map(row).collect::<Vec<_>>(), 14);
}

#[test]
fn what_was_left_on_each_file_system_is_what_the_images_say() {
    let images = images("power-cut-posix.csv");
    let row = |group: &Group<'_>| {
        let [engine, level] = group.names;
        let on = |file_system: &str| {
            let is_of = |image: &&&Image| image["file_system"] == file_system;
            let images = group.images.iter().filter(is_of).copied().collect();
            let cells = Group { images, ..*group }.stood();
            cells.map(|cell| cell.replace(" of 50", "")).join(", ") + " of 50"
        };
        format!("\n| {engine} | {level} | {} | {} |\n", on("posix"), on("ext4"))
    };
    assert_page(&groups(&images).iter().map(row).collect::<Vec<_>>(), 14);
}
