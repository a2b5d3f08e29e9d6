//! The page in a browser: its figures are those of the JSON, each of its controls does what it says, nothing
//! goes wrong, and nothing is asked of a network. Needs Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;

use bakeoff_analysis::Document;
use bakeoff_results::Levels;
use bakeoff_testkit::needs;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::reading::text;
use crate::sample::{Sample, three};

const BEFORE: &str = include_str!("browser/before.js");
const AFTER: &str = include_str!("browser/after.js");
const FITS: &str = include_str!("browser/fits.js");

/// So many seconds a browser has, that takes one: only one that hangs is ended.
const LONGEST: &str = "1800";

/// What the script saw that was added to the page.
#[derive(Deserialize)]
struct Seen {
    /// What the browser has loaded beside the page.
    resources: Vec<String>,
    /// Elements that would load something, or send it.
    outside: Vec<String>,
    links: Vec<String>,
    /// Links to a place of the page that is not there.
    lost: Vec<String>,
    sections: Vec<String>,
    /// Promise, name and what is said of each figure of the first chart.
    chart: Vec<(String, String, String)>,
    head: Vec<String>,
    trials: Vec<Vec<String>>,
    folds: Vec<bool>,
    /// Of each heading how the column is sorted after one press, and after two.
    sorted: Vec<(String, Sorted, Sorted)>,
    /// Of each box its name, and whether its rows were hidden, the others not, and all shown again.
    boxes: Vec<(String, bool, bool, bool)>,
    /// What was held against, the row, and what it said.
    against: Vec<(String, String, Vec<String>)>,
    copied: Vec<String>,
    said: Vec<String>,
    printed: bool,
    after_print: bool,
    /// Controls that were not used.
    unused: Vec<String>,
    wrong: Vec<String>,
}

/// How a column is sorted, and its values.
type Sorted = (String, Vec<String>);

fn browser() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut places =
        std::env::split_paths(&path).flat_map(|folder| names.map(|it| folder.join(it)));
    places.find(|place| place.is_file()).ok_or_else(|| "there is no Chromium".to_owned())
}

/// What the browser makes of a page: its elements as text, and what it says of errors.
fn opened(browser: &Path, folder: &Path, page: &str, width: u32) -> (String, String) {
    let file = folder.join("page.html");
    std::fs::write(&file, page).expect("a page can be written");
    let output = Command::new("timeout")
        .args(["--signal=KILL", LONGEST])
        .arg(browser)
        // Root has no sandbox; the page is our own.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        // In a container there may be 64 MB of shared memory: it takes files instead.
        .arg("--disable-dev-shm-usage")
        .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", folder.join("browser").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("timeout, of coreutils");
    let [out, said] =
        [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
    assert!(output.status.success(), "{}: {said}", output.status);
    (out, said)
}

/// The page with both scripts around its own.
fn watched(page: &str) -> String {
    assert_eq!((page.matches("</head>").count(), page.matches("</body>").count()), (1, 1));
    let page = page.replace("</head>", &format!("<script>{BEFORE}</script></head>"));
    allow(&page.replace("</body>", &format!("<script>{AFTER}</script></body>")), &[BEFORE, AFTER])
}

/// The page's policy lets these scripts run, too; its own runs by its hash.
fn allow(page: &str, scripts: &[&str]) -> String {
    const OWN: &str = "script-src 'sha256-";
    assert_eq!(page.matches(OWN).count(), 1);
    let hash = |script: &&str| format!("'sha256-{}' ", STANDARD.encode(Sha256::digest(script)));
    let hashes: String = scripts.iter().map(hash).collect();
    page.replacen("script-src ", &format!("script-src {hashes}"), 1)
}

/// Text of which some bytes are written as `%` and two hexadecimal digits.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (byte, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(byte, 16).expect("two digits"));
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).expect("UTF-8")
}

/// Opens the page of a document, and uses all of it.
fn seen(document: &Document) -> Option<Seen> {
    let browser = needs(browser())?;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = watched(&text(document, "html"));
    let (elements, said) = opened(&browser, folder.path(), &page, 1400);
    assert!(!said.contains("CONSOLE"), "{said}");
    Some(serde_json::from_str(&left(&elements, &said)).expect("what the script saw"))
}

/// What a script left in the page.
fn left(elements: &str, said: &str) -> String {
    let left = elements.split("<pre id=\"seen\">").nth(1).and_then(|it| it.split("</pre>").next());
    decoded(left.unwrap_or_else(|| panic!("the script did not end: {said}")))
}

/// Three engines under two promises: what has every control.
fn sample() -> Sample {
    Sample { factors: vec![("durability", vec!["strict", "relaxed"])], ..three() }
}

/// "5.00 ms" as seconds.
fn seconds(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap_or_else(|| panic!("{text}"));
    let scale = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        "ns" => 1e-9,
        other => panic!("{other} in {text}"),
    };
    number_of(number) * scale
}

fn number_of(text: &str) -> f64 {
    let digits: String = text.chars().filter(|it| !it.is_whitespace()).collect();
    digits.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

/// The same but for rounding to three digits.
fn same(shown: f64, exact: f64) -> bool {
    (shown / exact - 1.0).abs() <= 0.0051
}

fn figures_are_those_of_the_json(seen: &Seen, json: &Value) {
    let cells = json["cells"].as_array().expect("cells");
    let mean = |promise: &str, engine: &str, operation: &str| {
        let is = |cell: &&Value| {
            cell["levels"]["durability"] == promise && cell["levels"]["engine"] == engine
        };
        let cell = cells.iter().find(is).expect("a cell");
        let mut operations = cell["operations"].as_array().expect("operations").iter();
        let found = operations.find(|it| it["name"] == operation).expect("an operation");
        found["mean_s"].as_f64().expect("a mean")
    };
    // Three engines, two promises, two operations.
    assert_eq!(seen.chart.len(), 3 * 2 * 2);
    for (promise, engine, said) in &seen.chart {
        let (place, figures) = said.split_once(": ").expect("a figure");
        let operation = place.split(", ").next().expect("an operation");
        let shown = seconds(figures.split(", ").next().expect("a mean"));
        let exact = mean(promise, engine, operation);
        assert!(same(shown, exact), "{said}: {exact}");
    }
    let trials = json["trials"].as_array().expect("trials");
    assert_eq!(seen.trials.len(), trials.len());
    let column = |name: &str| {
        let place = seen.head.iter().position(|it| it == name);
        place.unwrap_or_else(|| panic!("no column {name} in {:?}", seen.head))
    };
    for row in &seen.trials {
        let at = |name: &str| number_of(&row[column(name)]);
        let is = |trial: &&Value| {
            trial["block"].as_f64() == Some(at("block"))
                && trial["order"].as_f64() == Some(at("order"))
        };
        let trial = trials.iter().find(is).expect("a trial");
        assert_eq!(trial["levels"]["engine"], row[column("engine")].as_str());
        for operation in trial["operations"].as_array().expect("operations") {
            let name = operation["name"].as_str().expect("a name");
            let exact = operation["mean_s"].as_f64().expect("a mean") * 1e3;
            assert!(same(at(&format!("{name} mean, ms")), exact), "{row:?}: {exact}");
        }
    }
}

fn controls_do_what_they_say(seen: &Seen) {
    assert!(
        !seen.folds.is_empty() && seen.folds.iter().all(|changed| *changed),
        "{:?}",
        seen.folds
    );
    assert!(seen.printed && seen.after_print);
    assert_eq!(seen.sorted.len(), seen.head.len(), "a heading each");
    for (name, (up, rising), (down, falling)) in &seen.sorted {
        assert_eq!((up.as_str(), down.as_str()), ("ascending", "descending"), "{name}");
        assert_eq!((rising.len(), falling.len()), (seen.trials.len(), seen.trials.len()));
        if let Ok(numbers) = rising.iter().map(|it| it.parse()).collect::<Result<Vec<f64>, _>>() {
            assert!(numbers.is_sorted(), "{name}: {numbers:?}");
            let falling: Vec<f64> = falling.iter().map(|it| number_of(it)).collect();
            assert!(falling.is_sorted_by(|one, other| one >= other), "{name}: {falling:?}");
        }
    }
    let of_block = seen.sorted.iter().find(|(name, ..)| name == "block").expect("a column");
    assert!(of_block.1.1 != of_block.2.1, "up is not down");
    let names: Vec<&str> = seen.boxes.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    for (name, hidden, others, again) in &seen.boxes {
        assert!(*hidden && *others && *again, "{name}: {hidden}, {others}, {again}");
    }
    // The fastest or one of three, for each of six rows: one text is shown, and it is another one.
    assert_eq!(seen.against.len(), 4 * 6);
    assert!(seen.against.iter().all(|(.., told)| told.len() == 1), "{:?}", seen.against);
    let told_of = |chosen: &str, name: &str| {
        let mut rows = seen.against.iter().filter(|(by, row, _)| by == chosen && row == name);
        rows.next().map(|(.., told)| told[0].clone()).expect("a row")
    };
    assert_eq!(told_of("lmdb", "lmdb"), "what the others are held against");
    assert!(told_of("sqlite", "lmdb").starts_with("2.0× as fast"), "{}", told_of("sqlite", "lmdb"));
    assert_ne!(told_of("", "fjall"), told_of("fjall", "fjall"));
    assert!(!seen.copied.is_empty() && seen.copied.len() == seen.said.len());
    assert!(seen.said.iter().all(|it| it == "Copied"), "{:?}", seen.said);
    let first = &seen.copied[0];
    assert!(
        first.contains('\t') && first.contains("lmdb") && !first.contains("held against"),
        "{first}"
    );
    assert!(seen.unused.is_empty(), "nobody tried {:?}", seen.unused);
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_page_in_a_browser_shows_the_figures_of_the_json_and_each_control_works() {
    let document = sample().document();
    let Some(seen) = seen(&document) else { return };
    assert!(seen.wrong.is_empty(), "{:?}", seen.wrong);
    assert!(seen.resources.is_empty() && seen.outside.is_empty(), "{:?}", seen.resources);
    let away = seen.links.iter().filter(|link| !link.starts_with('#'));
    assert_eq!(away.count(), 0, "{:?}", seen.links);
    assert!(seen.lost.is_empty(), "{:?}", seen.lost);
    assert!(seen.sections.iter().any(|it| it == "method"), "{:?}", seen.sections);
    let json = serde_json::from_str(&text(&document, "json")).expect("JSON");
    figures_are_those_of_the_json(&seen, &json);
    controls_do_what_they_say(&seen);
}

/// On a screen, on a telephone and on paper each map is whole, no figure stands in the next column, and no number of an
/// axis runs into the next one.
#[test]
#[ignore = "slow: make test-slow"]
fn a_page_has_room_for_its_maps_figures_and_axes_on_every_screen_and_on_paper() {
    let Some(browser) = needs(browser()) else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Figures of four digits with their units, and axes over more than a decade.
    let mean = |operation: &str, levels: &Levels| {
        let slow = if levels["engine"] == "fjall" { 11.3 } else { 1.13 };
        let strict = if levels["durability"] == "strict" { 5.03 } else { 1.0 };
        if operation == "create_issue" { 0.00471 * slow * strict } else { 0.00932 * slow * strict }
    };
    let page = text(&Sample { mean, ..sample() }.document(), "html");
    assert_eq!(page.matches("</body>").count(), 1);
    let page = page.replace("</body>", &format!("<script>{FITS}</script></body>"));
    let page = allow(&page, &[FITS]);
    let paper = page.replacen("<html", "<html data-paper", 1);
    for (width, page) in [(1400, &page), (1000, &page), (390, &page), (980, &paper)] {
        let (elements, said) = opened(&browser, folder.path(), page, width);
        let seen: Value = serde_json::from_str(&left(&elements, &said)).expect("what was seen");
        let counted = seen["counted"].as_array().expect("numbers");
        assert!(counted.iter().all(|number| number.as_u64() > Some(1)), "{width}: {seen}");
        assert_eq!(seen["wrong"], serde_json::json!([]), "at {width}");
    }
}
