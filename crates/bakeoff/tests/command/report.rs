//! Reports of a run: their forms, where they are written, and what of a run they never write over.

use std::fs::OpenOptions;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use super::{Done, Place, SMALL, trials};

#[test]
fn every_form_of_report_can_be_had() {
    let place = Place::finished();
    place.run(&["report", "r"]).code(0).says(&["sqlite", "lmdb"]);
    let csv = place.run(&["report", "r", "--format", "csv"]).code(0);
    let rows = csv.out().lines().count() as i64;
    assert_eq!(rows, 1 + trials(&place.path("r")), "a header, and a row a trial and operation");
    place.run(&["report", "r", "--format", "md"]).code(0).says(&["| "]);
    let nowhere = place.run(&["report", "r", "-o", "nowhere/x.html"]).code(1);
    assert!(!nowhere.err().contains(".tmp"), "no name that nobody gave: {}", nowhere.err());
    nowhere.says(&["nowhere/x.html can't be written: No such file or directory"]);
    // Nor is what was recorded written over, by whatever way.
    symlink("r/run.sqlite", place.path("link")).unwrap();
    for own in ["r/run.sqlite", "r/../r/experiment.toml", "link"] {
        let refused = place.run(&["report", "r", "--format", "csv", "-o", own]).code(2);
        refused.says(&["is the run's own record"]);
    }
    // The ending says it, unless something else does.
    place.run(&["report", "r", "-o", "x.html"]).code(0);
    place.run(&["report", "r", "--format", "md", "-o", "y.html"]).code(0);
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert!(read("y.html").contains("| "));
    assert!(read("x.html").to_lowercase().starts_with("<!doctype html>"));
    assert_eq!(read("x.html"), read("r/report.html"));
    let pdf = place.run(&["report", "r", "--output", "x.pdf"]).code(2);
    pdf.says(&["as `.pdf`", ".html", ".md", ".csv", "--format FORMAT"]);
    place.run(&["report", "r", "--rows", "cuts"]).code(2).says(&["--rows needs --format csv"]);
}

/// Whatever a command shows, and nothing of what programs read.
#[test]
fn a_locale_without_utf8_gets_ascii() {
    let place = Place::finished();
    let path = place.write("bücher.toml", "engine = \"sqlit\" # é\nworkload = \"point\"\n");
    std::fs::rename(place.path("r"), place.path("bücher")).unwrap();
    let run = rusqlite::Connection::open(place.path("bücher/run.sqlite")).unwrap();
    let titled = "UPDATE run SET description = json_set(description, '$.title', 'Bücher')";
    run.execute(titled, []).unwrap();
    drop(run);
    let done_in = |locale: &str, arguments: &[&str]| {
        let mut command = place.command(arguments);
        Done(command.env("LC_ALL", locale).env_remove("TERM").output().unwrap())
    };
    let array = ["run", "fileio", "--disk", "raid10:4×ebs-gp2", "--factor", "depth=1", "--dry-run"];
    for arguments in [
        &["report", "bücher"][..],
        &["report", "bücher", "--format", "term"],
        &["report", "bücher", "--format", "text"],
        &["list", "disks"],
        &["list"],
        &["run", "--help"],
        &["run", "--quick×"],
        &["run", path.to_str().unwrap()],
        &["report", "ärger"],
        &array,
    ] {
        let shown = |locale| {
            let done = done_in(locale, arguments);
            format!("{}{}", done.out(), done.err())
        };
        let (utf8, ascii) = (shown("C.UTF-8"), shown("C"));
        assert!(!utf8.is_ascii() && ascii.is_ascii(), "{arguments:?}: {ascii}");
        let is_wide = |line: &str| line.len() > 80 && arguments[0] == "report";
        let is_told = ascii.starts_with("error: ");
        assert!(is_told || !ascii.lines().any(is_wide), "{arguments:?}: {ascii}");
    }
    for data in [&["report", "bücher", "--format", "json"], &["report", "bücher", "--format", "md"]]
    {
        let out = |locale| done_in(locale, data).code(0).out();
        assert_eq!(out("C"), out("C.UTF-8"));
        assert!(out("C").contains("Bücher"), "{data:?}");
    }
}

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

#[test]
fn a_report_goes_through_links_and_into_pipes() {
    let place = Place::finished();
    place.write("target.csv", "");
    symlink("target.csv", place.path("link.csv")).unwrap();
    let csv = ["report", "r", "--format", "csv", "--output"];
    let written_to = |output| place.run(&[&csv[..], &[output]].concat());
    written_to("link.csv").code(0);
    assert!(std::fs::symlink_metadata(place.path("link.csv")).unwrap().is_symlink());
    assert!(std::fs::read_to_string(place.path("target.csv")).unwrap().contains("sqlite"));
    written_to("/dev/stdout").code(0).says(&["sqlite"]);
    written_to("/dev/full").code(4);
    assert!(!std::fs::metadata("/dev/full").unwrap().is_file(), "a device stays a device");
    // One that can't be written is a failure, and one that nobody reads is none.
    for format in ["html", "json", "csv", "md", "term"] {
        let mut report = place.command(&["report", "r", "--format", format]);
        let done = Done(report.stdout(full()).output().unwrap()).code(4);
        done.says(&["standard output can't be written", "No space left"]);
        let mut report = place.start(&["report", "r", "--format", format]);
        drop(report.stdout.take());
        Done(report.wait_with_output().unwrap()).code(0);
    }
    Done(place.command(&["list"]).stdout(full()).output().unwrap()).code(4);
}

#[test]
fn a_full_standard_error_changes_nothing() {
    let place = Place::new();
    // Something is said of settings that nobody takes.
    let settings = "[settings.\"mariadb:innodb\"]\nsync_binlog = 0\n";
    place.write("small.toml", &format!("{SMALL}{settings}"));
    let run = |arguments: &[&str]| place.command(arguments).stderr(full()).output().unwrap();
    let short = ["run", "small.toml", "--out", "r", "--repetitions", "1"];
    Done(run(&short)).code(0).says(&["The report"]);
    assert_eq!(place.json("r")["run"]["status"], "finished");
    // What is wrong is still told by the exit code.
    Done(run(&["run", "--resume", "nowhere"])).code(3);
    Done(run(&["run", "nowhere.toml"])).code(2);
}

#[test]
fn what_is_in_use_today_is_marked_and_colours_are_for_those_who_ask() {
    let place = Place::finished();
    let colored = |variables: &[(&str, &str)]| {
        let mut command = place.command(&["report", "r", "--present", "engine=lmdb"]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.envs(variables.iter().copied());
        Done(command.output().unwrap()).code(0).out().contains("\x1b[")
    };
    assert!(!colored(&[]), "it goes to no terminal");
    assert!(colored(&[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    let present = ["run", "small.toml", "--out", "s", "--present", "engine=postgres"];
    place.run(&present).code(2).says(&["no such level of engine"]);
    assert!(!place.path("s").exists(), "the mended command finds its place free");
}
