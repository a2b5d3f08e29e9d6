//! Runs that another program of bakeoff, or another kernel, goes on with.

use rusqlite::Connection;
use serde_json::Value;

use super::merge::{cut_short, describe};
use super::{Place, SMALL, trials};

/// A run of two blocks of two trials, of which the last trial was cut short.
fn begun() -> Place {
    let place = Place::new();
    place.write("small.toml", SMALL);
    place.run(&["run", "small.toml", "--quiet", "--out", "r"]).code(0);
    edit(&place, "r", cut_short);
    place
}

fn edit(place: &Place, folder: &str, change: impl FnOnce(&Connection)) {
    change(&Connection::open(place.path(folder).join("run.sqlite")).unwrap());
}

/// Has the record say something else of the run.
fn say(place: &Place, change: impl FnOnce(&mut Value)) {
    edit(place, "r", |run| describe(run, change));
}

/// The text of the warning that another program or kernel went on.
fn warned(document: &Value) -> Option<&str> {
    let warnings = document["warnings"].as_array().unwrap();
    warnings.iter().find(|it| it["code"] == "another-binary")?["text"].as_str()
}

const RESUME: [&str; 3] = ["run", "--resume", "r"];

#[test]
fn a_run_of_another_program_or_kernel_goes_on_where_that_is_allowed_and_its_report_warns() {
    let place = begun();
    let began = place.json("r")["run"].clone();
    let own = began["program_sha256"].as_str().expect("a sum").to_owned();
    let (release, other) = (began["machine"]["kernel"].as_str().unwrap(), "f".repeat(64));
    assert_eq!((own.len(), began["takeovers"].is_null()), (64, true));
    let kept = trials(&place.path("r"));
    let refused = |said: &[&str]| {
        let done = place.run(&RESUME).code(3);
        done.says(said).says(&["--another-binary", "--out", "the report then warns"]);
        assert_eq!(trials(&place.path("r")), kept, "nothing was run");
        assert!(place.json("r")["run"]["takeovers"].is_null());
    };
    say(&place, |it| it["program_sha256"] = other.clone().into());
    refused(&["bakeoff's program: it was", &other, &own]);
    say(&place, |it| it["program_sha256"] = own.clone().into());
    say(&place, |it| it["machine"]["kernel"] = "5.10.0-other".into());
    refused(&["the kernel: it was 5.10.0-other", &format!("is {release}")]);
    say(&place, |it| {
        it["machine"]["kernel"] = release.into();
        it["machine"]["kernel_version"] = "#0 of another build".into();
    });
    refused(&["(#0 of another build)"]);
    say(&place, |it| it["program_sha256"] = other.clone().into());
    refused(&["bakeoff's program", "the kernel"]);

    place.run(&[&RESUME[..], &["--another-binary"]].concat()).code(0);
    let document = place.json("r");
    let run = &document["run"];
    assert_eq!((&run["status"], &run["program_sha256"]), (&"finished".into(), &other.into()));
    let taken = &run["takeovers"][0];
    assert_eq!((&taken["trials"], &taken["by"]["program_sha256"]), (&kept.into(), &own.into()));
    let text = warned(&document).expect("a warning");
    let said = "Another program of bakeoff under another kernel went on with the run, and ran 2 of 4 trials";
    assert!(text.starts_with(said), "{text}");
    for format in ["html", "md", "term"] {
        let report = place.run(&["report", "r", "--format", format]).code(0);
        report.says(&["Another program of bakeoff under another kernel"]);
    }

    // What ran it last goes on without the flag.
    place.run(&RESUME).code(0).says(&["nothing is left to run"]);
    edit(&place, "r", cut_short);
    place.run(&RESUME).code(0);
    let document = place.json("r");
    assert_eq!(document["run"]["takeovers"].as_array().map(Vec::len), Some(1));
    assert!(warned(&document).is_some());
}

#[test]
fn a_run_goes_on_by_the_program_that_began_it_and_nothing_is_warned_of() {
    let place = begun();
    // The flag allows what is not needed here.
    place.run(&[&RESUME[..], &["--another-binary"]].concat()).code(0);
    let document = place.json("r");
    assert_eq!((&document["run"]["takeovers"], warned(&document)), (&Value::Null, None));
    let new = ["run", "small.toml", "--another-binary"];
    place.run(&new).code(2).says(&["--resume"]);
    place.run(&[&new[..], &["--out", "other"]].concat()).code(2).says(&["--out"]);
}

#[test]
fn a_record_of_a_bakeoff_that_knew_neither_goes_on_as_it_did() {
    let place = begun();
    say(&place, |it| {
        let run = it.as_object_mut().unwrap();
        run.remove("program_sha256").expect("it is recorded");
        let machine = run["machine"].as_object_mut().unwrap();
        let added = ["kernel_version", "governor", "smt", "huge_pages", "mount_options"];
        for fact in added.into_iter().chain(["hardware", "virtualisation"]) {
            machine.remove(fact).expect(fact);
        }
    });
    place.run(&RESUME).code(0);
    let document = place.json("r");
    assert_eq!(document["run"]["status"], "finished");
    assert_eq!((&document["run"]["takeovers"], warned(&document)), (&Value::Null, None));
    assert!(document["run"]["program_sha256"].is_null(), "nobody knows what began it");
}

/// A merged run goes by what each part says of itself.
#[test]
fn a_part_of_a_plan_under_another_kernel_goes_on_as_a_machine_of_the_merged_run() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let shard = ["run", "small.toml", "--shard", "1/2", "--same-machine", "--quiet"];
    place.run(&[&shard[..], &["--out", "r"]].concat()).code(0);
    edit(&place, "r", cut_short);
    say(&place, |it| it["machine"]["kernel"] = "5.10.0-other".into());
    for flags in [&["--same-machine"][..], &["--same-machine", "--another-binary"]] {
        let done = place.run(&[&RESUME[..], flags].concat()).code(3);
        done.says(&["the kernel changed", "5.10.0-other", "bakeoff merge", "--resume ALL"]);
    }
    place.run(&["merge", "all", "r"]).code(0);
    place.run(&["run", "--resume", "all"]).code(0);
    let document = place.json("all");
    let members = document["run"]["merged"]["members"].as_array().unwrap();
    let kernels: Vec<&Value> = members.iter().map(|it| &it["machine"]["kernel"]).collect();
    assert_eq!((kernels.len(), kernels[0]), (2, &"5.10.0-other".into()));
    assert_ne!(kernels[1], kernels[0]);
    assert_eq!(document["run"]["status"], "finished");
}
