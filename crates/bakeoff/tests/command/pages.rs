//! Every page of the guide: it is in the list, its links lead somewhere, and its commands are right.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::Place;
use super::guide::{estimated, seconds};

/// The guide's list of pages, which names the others.
const LIST: &str = "docs/SUMMARY.md";
/// Pages beside the guide, whose links are held, too.
const BESIDE: [&str; 3] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"];
/// Pages whose runs tell how long they took, and not what the plan says.
const FINDINGS: &str = "docs/findings/";
/// What is run where a page shows no file of its own.
const SHORTEST: &str = "workload = \"redmine\"\nengine = \"sqlite\"\n";

/// A page, by its path in the repository.
struct Page {
    path: String,
    text: String,
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository is there")
}

fn read(path: &str) -> Page {
    let text = std::fs::read_to_string(root().join(path));
    Page { path: path.into(), text: text.unwrap_or_else(|error| panic!("{path}: {error}")) }
}

/// The paths of all pages in a folder and below it.
fn below(folder: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(root().join(folder)).expect("the folder is there") {
        let entry = entry.expect("it can be read");
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            below(&path, found);
        } else if path.ends_with(".md") {
            found.insert(path);
        }
    }
}

/// The paths of the pages in docs, the list among them.
fn of_the_guide() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    below("docs", &mut found);
    found
}

fn pages() -> Vec<Page> {
    let guide = of_the_guide();
    guide.iter().map(String::as_str).chain(BESIDE).map(read).collect()
}

/// The lines of a page, each with the language of the block that it is in: none outside of blocks.
fn lines(text: &str) -> Vec<(Option<&str>, &str)> {
    let mut block = None;
    let mut found = Vec::new();
    for line in text.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(language) => block = if block.is_none() { Some(language.trim()) } else { None },
            None => found.push((block, line)),
        }
    }
    found
}

/// What a page says outside of blocks.
fn prose(text: &str) -> Vec<&str> {
    lines(text).into_iter().filter(|(block, _)| block.is_none()).map(|(_, line)| line).collect()
}

/// Where the links of a page lead that stay in the repository.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text).join("\n");
    let mut found = Vec::new();
    for paragraph in prose.split("\n\n") {
        // Every second piece is code.
        let words: String = paragraph.split('`').step_by(2).collect();
        for rest in words.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if !target.contains("://") && !target.contains(char::is_whitespace) {
                found.push(target.to_owned());
            }
        }
    }
    found
}

/// A path without `.` and `..`, seen from a page's folder.
fn from_page(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::Normal(name) => parts.push(name.to_str().expect("it was text")),
            _ => {}
        }
    }
    parts.join("/")
}

/// The name by which a heading is linked to.
fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || "_- ".contains(*c);
    heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

/// All that a link may name on a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    let headings = headings.map(|line| slug(line.trim_start_matches('#')));
    let named = text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    headings.chain(named.map(str::to_owned)).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        for link in links(&page.text) {
            count += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let path =
                if file.is_empty() { page.path.clone() } else { from_page(&page.path, file) };
            let is_there = root().join(&path).exists();
            let of_a_page = is_there && path.ends_with(".md") && !anchor.is_empty();
            if !is_there || of_a_page && !anchors(&read(&path).text).contains(anchor) {
                wrong.push(format!("{}: {link}", page.path));
            }
        }
    }
    assert!(count > 150, "{count} links");
    assert_eq!(wrong, Vec::<String>::new(), "links that lead nowhere");
}

#[test]
fn links_and_headings_are_told_from_code() {
    let page = "# What it *owes*: `a_b`\n[x](a.md#b-c) `[y](no.md)`\n```sh\n[z](no.md)\n# no\n```\n<a id=\"n\">";
    assert_eq!(links(page), ["a.md#b-c"]);
    let expected: BTreeSet<String> = ["what-it-owes-a_b", "n"].map(str::to_owned).into();
    assert_eq!(anchors(page), expected);
    assert_eq!(from_page("docs/findings/a.md", "../disks.md"), "docs/disks.md");
}

#[test]
fn every_page_is_named_once_in_the_list_and_nothing_else_is() {
    let mut there = of_the_guide();
    there.remove(LIST);
    let listed: Vec<String> =
        links(&read(LIST).text).iter().map(|link| from_page(LIST, link)).collect();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(once, there, "{LIST} against the pages of docs");
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
}

/// Words as `wc -w` counts them.
#[test]
fn the_guide_and_each_finding_are_short() {
    let words = |path: &String| read(path).text.split_whitespace().count();
    let guide = of_the_guide();
    let long = |path: &&String| path.starts_with(FINDINGS) && words(path) > 1_200;
    assert_eq!(guide.iter().filter(long).collect::<Vec<_>>(), Vec::<&String>::new());
    let all: usize = guide.iter().map(words).sum();
    assert!(
        all <= 50_000,
        "{all} words: say a fact once, and leave tables of figures to files beside the page"
    );
}

/// A command of bakeoff's on a page.
struct Shown {
    /// Its words, without the program's name.
    words: Vec<String>,
    /// What stands behind it.
    comment: String,
}

/// The commands of a page that stand in blocks for a shell.
fn commands(text: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    for (block, line) in lines(text) {
        let of_a_shell = matches!(block, Some("" | "sh"));
        if !of_a_shell || !line.starts_with("bakeoff ") {
            continue;
        }
        let (typed, comment) = line.split_once(" #").unwrap_or((line, ""));
        for command in typed.split(';') {
            // What a shell makes of it: quotes hold a word together, and files take what is printed.
            let command = command.split(" > ").next().unwrap_or_default().replace(['"', '\''], "");
            let words = command.split_whitespace().skip(1).map(str::to_owned).collect();
            found.push(Shown { words, comment: comment.into() });
        }
    }
    found
}

#[test]
fn every_command_on_a_page_has_flags_that_bakeoff_knows() {
    let place = Place::new();
    let known = |words: &[String]| {
        let words: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        place.run(&words)
    };
    // Flags are read one after the other, so that help does not hide a wrong one before it.
    known(&["run".into(), "redmine".into(), "--no-such-flag".into()]).code(2);
    let mut count = 0;
    for page in pages() {
        for shown in commands(&page.text) {
            // Such a run is planned below, which reads its flags, too.
            if is_planned(&shown.words) {
                continue;
            }
            let done = known(&shown.words);
            assert!(done.0.status.success(), "{}: {:?}: {}", page.path, shown.words, done.err());
            count += 1;
        }
    }
    assert!(count > 25, "{count} commands");
}

/// The file that a page shows for its commands to run, or the shortest.
fn experiment_of(text: &str) -> String {
    let mut blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let is_one = |block: &&str| block.lines().any(|line| line.starts_with("workload ="));
    blocks.find(is_one).unwrap_or(SHORTEST).to_owned()
}

/// What a run needs that no test has: a file of rows, a run that was interrupted, or a folder or a device of one's own.
const NEEDS: [&str; 3] = ["--rows-from", "--resume", "--path"];

/// Whether it is a run that a test can plan: it needs none of these, and no server.
fn is_planned(words: &[String]) -> bool {
    let needs = |word: &String| word.contains("://") || NEEDS.contains(&word.as_str());
    words.first().is_some_and(|word| word == "run") && !words.iter().any(needs)
}

/// Whether it is not known beforehand how long a run takes.
fn goes_on(words: &[String]) -> bool {
    words.iter().any(|word| word == "--find-limit" || word == "--until-decided")
}

/// What is wrong with a run that a page shows: it can't be planned, or takes longer or shorter than the page
/// says, where that `is_told`. One that is only planned need not say a time.
fn wrong(place: &Place, Shown { words, comment }: &Shown, is_told: bool) -> Option<String> {
    let is_dry = words.iter().any(|word| word == "--dry-run");
    let mut typed: Vec<&str> = words.iter().map(String::as_str).collect();
    typed.extend((!is_dry).then_some("--dry-run"));
    let done = place.run(&typed);
    // What a page names may not be on this machine: then there is a plan, and no run.
    let is_planned = done.err().contains("it would not begin here: ") && !done.out().is_empty();
    if !done.0.status.success() && !is_planned {
        return Some(format!("{words:?} can't be planned: {}", done.err()));
    }
    if !is_told || goes_on(words) {
        return None;
    }
    let planned_s = estimated(&done.out());
    match seconds(comment) {
        None if is_dry => None,
        None => Some(format!("{words:?} says no time; it is {planned_s} s")),
        Some(told_s) if (0.8..1.25).contains(&(told_s / planned_s)) => None,
        Some(told_s) => Some(format!("{words:?} says {told_s} s; it is {planned_s} s")),
    }
}

/// Every run of a page can be planned, and takes as long as the page says beside it.
#[test]
fn every_run_on_a_page_can_be_planned_and_says_its_time() {
    let place = Place::new();
    std::os::unix::fs::symlink(root().join("docs"), place.path("docs")).expect("a link");
    place.run(&["new", "shop"]).code(0);
    for script in ["buy.sql", "browse.sql"] {
        place.write(script, "SELECT abalance FROM pgbench_accounts WHERE aid = 1;\n");
    }
    let mut planned = 0;
    let mut problems = Vec::new();
    for page in pages() {
        let is_told = page.path.starts_with("docs/") && !page.path.starts_with(FINDINGS)
            || page.path == "README.md";
        let experiment = experiment_of(&page.text);
        for shown in commands(&page.text) {
            let words = &shown.words;
            if !is_planned(words) {
                continue;
            }
            let of_the_page = |word: &&String| word.ends_with(".toml") && !word.contains('/');
            if let Some(file) = words.get(1).filter(of_the_page) {
                place.write(file, &experiment);
            }
            let problem = wrong(&place, &shown, is_told);
            problems.extend(problem.map(|problem| format!("{}: {problem}", page.path)));
            planned += 1;
        }
    }
    assert!(planned > 40, "{planned} runs");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What a command of cargo names, and in which folder of a package it is.
const PROGRAMS: [(&str, &str); 3] =
    [("--test", "tests"), ("--bench", "benches"), ("--example", "examples")];

/// The folders of the workspace's packages, by their names.
fn packages() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for members in ["crates", "examples"] {
        for entry in std::fs::read_dir(root().join(members)).expect("the folder is there") {
            let folder = entry.expect("it can be read").path();
            let Ok(manifest) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = \""));
            let name = name.expect("a package has a name").trim_end_matches('"').to_owned();
            found.insert(name, folder);
        }
    }
    found
}

/// The words behind `cargo` of each command on a page, in blocks and in sentences, without those that cargo hands on.
fn of_cargo(text: &str) -> Vec<Vec<String>> {
    let of_a_shell = |(block, _): &(Option<&str>, &str)| matches!(block, Some("" | "sh"));
    let blocks = lines(text).into_iter().filter(of_a_shell).map(|(_, line)| line.to_owned());
    let prose = prose(text).join("\n");
    // Every second piece is code.
    let code = prose.split("\n\n").flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
    let words = |command: String| -> Vec<String> {
        let typed = command.split(" #").next().unwrap_or_default();
        let words = typed.split_whitespace().skip_while(|word| *word != "cargo").skip(1);
        words.take_while(|word| *word != "--").map(str::to_owned).collect()
    };
    let commands = blocks.chain(code.map(str::to_owned)).map(words);
    commands.filter(|words| !words.is_empty()).collect()
}

/// What of a command of cargo's is not there: packages, or programs of those that it names.
fn missing(packages: &BTreeMap<String, PathBuf>, words: &[String]) -> Vec<String> {
    let after = |flags: &[&str]| -> Vec<String> {
        let pairs = words.windows(2).filter(|pair| flags.contains(&pair[0].as_str()));
        pairs.map(|pair| pair[1].clone()).collect()
    };
    let named = after(&["-p", "--package"]);
    let mut missing: Vec<String> =
        named.iter().filter(|name| !packages.contains_key(*name)).cloned().collect();
    for (flag, below) in PROGRAMS {
        let is_there = |program: &String| {
            named.iter().filter_map(|name| packages.get(name)).any(|package| {
                let programs = package.join(below);
                programs.join(format!("{program}.rs")).is_file()
                    || programs.join(program).join("main.rs").is_file()
            })
        };
        missing.extend(after(&[flag]).into_iter().filter(|program| !is_there(program)));
    }
    missing
}

#[test]
fn every_package_and_program_that_a_command_of_cargo_names_is_there() {
    let packages = packages();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        for words in of_cargo(&page.text) {
            count += usize::from(words.iter().any(|word| word == "-p"));
            let missing = missing(&packages, &words);
            if !missing.is_empty() {
                wrong.push(format!("{}: {words:?}: there is no {missing:?}", page.path));
            }
        }
    }
    assert!(count > 10, "{count} commands name a package");
    assert_eq!(wrong, Vec::<String>::new());
    let none = ["-p", "none", "--test", "gone"].map(str::to_owned);
    assert_eq!(missing(&packages, &none), ["none", "gone"]);
}
