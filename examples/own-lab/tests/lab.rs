//! What this lab has added is there in every command, without a change to bakeoff.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use bakeoff_testkit::skip;

fn run(place: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own-lab"));
    command.args(arguments).current_dir(place).env("XDG_RUNTIME_DIR", place);
    command.output().unwrap()
}

/// What a command printed that has to succeed.
#[track_caller]
fn printed(place: &Path, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(place, arguments);
    assert!(status.success(), "{status}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn place() -> tempfile::TempDir {
    // Not the system's temporary folder: that may be in memory, where there is no direct I/O.
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Whether virtual disks can be had here.
fn has_disks(place: &Path) -> bool {
    let said = run(place, &["doctor"]);
    let has = String::from_utf8_lossy(&said.stdout).contains("ok       virtual disks");
    if !has {
        skip("no virtual disk can be had");
    }
    has
}

#[test]
fn it_lists_what_is_its_own_and_names_itself_and_not_bakeoff() {
    let place = place();
    let listed = printed(place.path(), &["list"]) + &printed(place.path(), &["list", "factors"]);
    for own in ["logstore", "jobs", "payload", "flash", "batch", "request_us"] {
        assert!(listed.contains(own), "{own} is not in\n{listed}");
    }
    assert!(printed(place.path(), &["--version"]).starts_with("own-lab "));
    let help = printed(place.path(), &["run", "--help"]);
    let said = String::from_utf8(run(place.path(), &["run"]).stderr).unwrap();
    for text in [listed, help, said] {
        assert!(text.contains("`own-lab list") && !text.contains("bakeoff list"), "{text}");
    }
}

#[test]
fn its_engine_runs_its_workload_with_its_factor_on_its_device_into_its_report() {
    let place = place();
    let disk = if has_disks(place.path()) { "flash" } else { "host" };
    let file = format!(
        "workload = 'jobs'\nengine = ['logstore', 'sqlite']\npayload = [10, 1000]\ndisk = '{disk}'\n\
         seconds = 1\nrepetitions = 2\n"
    );
    std::fs::write(place.path().join("mine.toml"), file).unwrap();
    printed(place.path(), &["run", "mine.toml", "--out", "r"]);
    let csv = printed(place.path(), &["report", "r", "--format", "csv"]);
    // Two engines, two payloads, two operations, two repetitions, and the heading.
    assert_eq!(csv.lines().count(), 17, "{csv}");
    let has = |line: &str| ["logstore", ",1000,", ",take,"].iter().all(|part| line.contains(part));
    assert!(csv.lines().any(has), "{csv}");
}

/// The clients of a mix that only looks never add or take: nobody waits for that, up to the cap of ten
/// times the seconds, and it is in no figure and no comparison.
#[test]
fn a_trial_has_the_operations_of_its_mix_and_waits_for_no_other() {
    let place = place();
    let file = "workload = 'jobs'\nengine = ['logstore', 'sqlite']\nmix = ['work', 'look']\n\
                seconds = 1\nrepetitions = 2\n";
    std::fs::write(place.path().join("mine.toml"), file).unwrap();
    printed(place.path(), &["run", "mine.toml", "--out", "r"]);
    let json = printed(place.path(), &["report", "r", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let array = |of: &serde_json::Value| of.as_array().unwrap().clone();
    let names = |of: &serde_json::Value| -> Vec<String> {
        let operations = array(&of["operations"]);
        operations.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(document["run"]["operations"], serde_json::json!(["add", "take", "look"]));
    let (trials, cells) = (array(&document["trials"]), array(&document["cells"]));
    assert_eq!((trials.len(), cells.len()), (8, 4));
    for of in trials.iter().chain(&cells) {
        let mix = of["levels"]["mix"].as_str().unwrap();
        let wanted: &[&str] = if mix == "look" { &["look"] } else { &["add", "take"] };
        assert_eq!(names(of), wanted, "{mix}");
    }
    for trial in trials.iter().filter(|trial| trial["levels"]["mix"] == "look") {
        let window = ["0", "1"].map(|end| trial.pointer(&format!("/window_s/{end}")).unwrap());
        let [from, to] = window.map(|end| end.as_f64().unwrap());
        // On a busy machine it may wait a while for what there is, and not up to the cap.
        assert!(from == 0.1 && (1.0..10.0).contains(&to), "it waited for what never is: {to}");
        assert!(trial["operations"][0]["count"].as_u64().unwrap() > 0);
    }
    let compared = array(&document["comparisons"]);
    let compared: BTreeSet<(&str, &str)> = compared
        .iter()
        .map(|it| (it["operation"].as_str().unwrap(), it["levels"]["mix"].as_str().unwrap()))
        .collect();
    assert_eq!(compared, BTreeSet::from([("add", "work"), ("take", "work"), ("look", "look")]));
    let page = std::fs::read_to_string(place.path().join("r/report.html")).unwrap();
    assert!(page.contains("not done here"), "the page says nothing of what a mix does not have");
}

#[test]
fn the_option_of_its_engine_and_the_parameter_of_its_device_are_factors() {
    let place = place();
    let (disk, factor) = match has_disks(place.path()) {
        true => ("flash", "request_us=40,160"),
        false => ("host", "payload=10,1000"),
    };
    let file = format!(
        "workload = 'jobs'\nengine = 'logstore'\ncompare = 'batch'\nbatch = [1, 4096]\n\
         disk = '{disk}'\nseconds = 0.5\nrepetitions = 1\n"
    );
    std::fs::write(place.path().join("mine.toml"), file).unwrap();
    printed(place.path(), &["run", "mine.toml", "--factor", factor, "--out", "r"]);
    let csv = printed(place.path(), &["report", "r", "--format", "csv"]);
    let (name, levels) = factor.split_once('=').unwrap();
    let heading: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let column = |name: &str| heading.iter().position(|it| *it == name).expect(name);
    let pair = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[column("batch")].to_owned(), cells[column(name)].to_owned())
    };
    let pairs: std::collections::BTreeSet<_> = csv.lines().skip(1).map(pair).collect();
    let wanted = ["1", "4096"]
        .into_iter()
        .flat_map(|batch| levels.split(',').map(move |level| (batch.to_owned(), level.to_owned())));
    assert_eq!(pairs, wanted.collect());
    let json = printed(place.path(), &["report", "r", "--format", "json"]);
    assert!(json.contains("\"batch\": \"4096\"") && json.contains("logstore/batch=4096"), "{json}");
}

#[test]
fn a_wrong_option_or_level_of_its_own_is_told_at_its_place() {
    let place = place();
    for (line, parts) in [
        (
            "batch = [64, 0]",
            &["`0` is no size of a batch", "mine.toml:3:14", "valid: 1 to 4096"][..],
        ),
        ("batsch = 1", &["unknown key `batsch`", "did you mean `batch`?"]),
        ("engine = 'logstore/bacth=1'", &["unknown option `bacth`", "did you mean `batch`?"]),
        ("engine = 'logstore/other=1'", &["unknown option `other`", "valid: batch=1 to 4096"]),
        (
            "payload = [100, 'much']",
            &["`much` is not a size of a payload", "mine.toml:3:17", "valid: 1 to 65536 bytes"],
        ),
    ] {
        let engine = if line.starts_with("engine") { "" } else { "engine = 'logstore'\n" };
        let file = format!("workload = 'jobs'\n{engine}{line}\n");
        std::fs::write(place.path().join("mine.toml"), file).unwrap();
        let done = run(place.path(), &["run", "mine.toml", "--dry-run"]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{line}: {said}");
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn ten_power_cuts_leave_what_its_engine_has_promised() {
    let place = place();
    if !has_disks(place.path()) {
        return;
    }
    let cuts = ["run", "power-cut", "--engine", "logstore", "--disk", "flash", "--cuts", "10"];
    let only = ["--durability", "relaxed,strict", "--repetitions", "0", "--out", "r", "--quiet"];
    // Exit code 6 tells of a broken promise.
    printed(place.path(), &[&cuts[..], &only].concat());
    let json = printed(place.path(), &["report", "r", "--format", "json"]);
    assert_eq!(json.matches("\"kept\": true").count(), 2, "both promises are kept");
}

/// The names and versions of the packages that a lock file has.
fn locked(file: &Path) -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let value = |line: &str| Some(line.split_once(" = ")?.1.trim_matches('"').to_owned());
    let packages = text.split("[[package]]\n").skip(1).map(str::lines);
    packages
        .map(|mut it| (value(it.next().unwrap()).unwrap(), value(it.next().unwrap()).unwrap()))
        .collect()
}

/// The names of what a package depends on, but for its tests.
fn dependencies(manifest: &str) -> Vec<&str> {
    let section = manifest.split("[dependencies]\n").nth(1).unwrap();
    let lines = section.lines().take_while(|line| !line.is_empty());
    lines.map(|line| line.split([' ', '.']).next().unwrap()).collect()
}

/// The `Cargo.toml` on the page is that of a program outside of the workspace, which then has the
/// dependencies that the workspace is tested with.
#[test]
fn a_program_outside_of_the_workspace_is_put_together_as_the_page_says() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bakeoff = here.ancestors().nth(2).unwrap();
    let page = std::fs::read_to_string(bakeoff.join("docs/architecture.md")).unwrap();
    let manifest = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let manifest = manifest.unwrap().replace("../bakeoff", bakeoff.to_str().unwrap());
    // What its sources use, those of this package.
    let packaged = std::fs::read_to_string(here.join("Cargo.toml")).unwrap();
    assert_eq!(dependencies(&manifest), dependencies(&packaged));
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("src")).unwrap();
    for file in std::fs::read_dir(here.join("src")).unwrap().map(Result::unwrap) {
        if file.path().is_file() {
            std::fs::copy(file.path(), place.path().join("src").join(file.file_name())).unwrap();
        }
    }
    std::fs::write(place.path().join("Cargo.toml"), manifest).unwrap();
    let lock = place.path().join("Cargo.lock");
    std::fs::copy(bakeoff.join("Cargo.lock"), &lock).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["update", "--workspace", "--offline"]).current_dir(place.path());
    let Output { status, stderr, .. } = cargo.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let (own, tested) = (locked(&lock), locked(&bakeoff.join("Cargo.lock")));
    let other: Vec<_> = own.difference(&tested).collect();
    assert!(other.is_empty(), "{other:?}");
}
