//! Runs that are stopped or killed and go on: as they began, or not at all.

use std::io::{BufRead, BufReader, Write};
use std::process::Child;

use bakeoff_results::measure::SPACE;
use bakeoff_results::{Answers, RunFolder, Scope};
use bakeoff_testkit::{PATIENCE, children, comes_while, ended_within, in_time, wait_until};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::merge::{cut_short, describe};
use super::{Done, Place, measured, trials};

const SLOW: &str = r#"
name = "slow"
workload = "point"
engine = ["sqlite", "lmdb", "null"]
seconds = 0.5
repetitions = 3
"#;

const PLANNED: i64 = 9;

const RESUME: [&str; 3] = ["run", "--resume", "r"];

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Stops the trials of a run where they are. False: there was none. One that has not begun its own program
/// yet, and is stopped, can't ask to end with its parent.
fn stop_children(run: u32) -> bool {
    let begun = |pid: &&u32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split('\0').any(|word| word == "trial")
    };
    let pids = children(run);
    let pids = pids.iter().filter(begun);
    let pids = pids.filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?));
    pids.filter(|pid| kill_process(*pid, Signal::STOP).is_ok()).count() > 0
}

fn assert_whole(place: &Place, folder: &str) {
    let document = place.json(folder);
    assert_eq!(document["run"]["status"], "finished");
    let all = document["trials"].as_array().unwrap();
    let valid = all.iter().filter(|trial| trial["valid"] == true).count();
    assert_eq!(valid as i64, PLANNED, "every planned trial, once");
    for set_aside in all.iter().filter(|trial| trial["valid"] == false) {
        assert!(set_aside["reason"].as_str().unwrap().contains("interrupted"), "{set_aside}");
    }
    assert_eq!(document["comparisons"][0]["blocks"], 3);
    place.assert_clean(folder);
}

/// A run of [`SLOW`] in `r` that `stop` has ended when so many trials were there, and before its end.
fn stopped<T>(after: i64, mut stop: impl FnMut(&Place, Child) -> T) -> (Place, T) {
    in_time("the run", |_| {
        let place = Place::new();
        place.write("slow.toml", SLOW);
        let mut run = place.start(&["run", "slow.toml", "--out", "r"]);
        let ran = || trials(&place.path("r"));
        let begun = comes_while(&mut run, "enough trials", || ran() >= after);
        let stopped = stop(&place, run);
        (begun && ran() < PLANNED).then_some((place, stopped))
    })
}

#[test]
fn ctrl_c_keeps_what_is_done_and_resumes() {
    let (place, done) = stopped(4, |_, run| {
        signal(&run, Signal::INT);
        Done(run.wait_with_output().unwrap())
    });
    done.code(130).says(&["--resume r"]);
    place.assert_clean("r");
    assert_eq!(place.json("r")["run"]["status"], "interrupted");
    let kept = trials(&place.path("r"));
    place.run(&RESUME).code(0);
    assert_whole(&place, "r");
    let whole = trials(&place.path("r"));
    assert!(whole >= kept);

    // A run that is whole has nothing left to do, and says so by its report.
    let over = place.run(&RESUME).code(0);
    over.says(&["nothing is left to run: the run in r had finished", "report.html"]);
    assert_eq!(trials(&place.path("r")), whole);
    // A plan of what is left changes nothing, whether it may go on so or not.
    let record = || std::fs::read(place.path("r/run.sqlite")).unwrap();
    let before = record();
    place.run(&[&RESUME[..], &["--dry-run"]].concat()).code(0);
    place.run(&["run", "redmine", "--resume", "r", "--dry-run"]).code(2).says(&["`redmine`"]);
    // Nor is the place free for a new one.
    let taken = ["run", "slow.toml", "--out", "r"];
    let plan = place.run(&[&taken[..], &["--dry-run"]].concat()).code(3);
    plan.says(&["it would not begin here: r exists and is not empty", "all else equal"]);
    place.run(&taken).code(3);
    assert_eq!(record(), before);
    // What repeats it names no folder that is taken.
    assert!(!place.json("r")["run"]["command"].as_str().unwrap().contains("--out"));
}

#[test]
fn ctrl_c_does_not_wait_for_the_end_of_a_trial() {
    let place = Place::new();
    place.write("slow.toml", SLOW);
    let long = ["run", "slow.toml", "--seconds", "3600", "--engine", "null", "--log", "info"];
    let mut run = place.start(&[&long[..], &["--out", "r"]].concat());
    let errors = BufReader::new(run.stderr.take().unwrap());
    // Nobody reads on: what the run still says fits into the pipe.
    let mut lines = errors.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("trial begins")), "no trial has begun");
    signal(&run, Signal::INT);
    let ended = ended_within(PATIENCE, &mut run);
    if ended.is_none() {
        signal(&run, Signal::KILL);
    }
    assert_eq!(ended.and_then(|it| it.code()), Some(130), "it waits for the trial");
    place.assert_clean("r");
}

#[test]
fn ctrl_c_while_loading_leaves_nothing_but_the_way_to_go_on() {
    let place = Place::new();
    let toml = "workload = \"redmine\"\nengine = \"sqlite\"\nscale = \"giant\"\n";
    place.write("giant.toml", toml);
    let run = place.start(&["run", "giant.toml", "--out", "r"]);
    wait_until("the process that loads", || {
        place.path("r/work").exists() && !children(run.id()).is_empty()
    });
    signal(&run, Signal::INT);
    let done = Done(run.wait_with_output().unwrap()).code(130);
    assert!(!done.err().contains("could not load"), "{}", done.err());
    done.says(&["interrupted", "--resume r"]);
    place.assert_clean("r");
}

#[test]
fn a_killed_run_takes_its_trial_along_and_resumes() {
    // A trial that was stopped can't end by itself before its run is killed.
    let (place, orphans) = stopped(2, |_, mut run| {
        let id = run.id();
        comes_while(&mut run, "the next trial", || stop_children(id));
        let orphans = children(id);
        run.kill().unwrap();
        run.wait().unwrap();
        orphans
    });
    assert!(!orphans.is_empty());
    wait_until("the trial's end", || {
        orphans.iter().all(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        })
    });
    assert_eq!(place.json("r")["run"]["status"], "unfinished");
    place.run(&RESUME).code(0);
    assert_whole(&place, "r");
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next_one() {
    let place = in_time("the work folder", |_| {
        let (place, ()) = stopped(1, |_, mut run| {
            run.kill().unwrap();
            run.wait().unwrap();
        });
        place.path("r/work").exists().then_some(place)
    });
    let next = place.run(&["run", "slow.toml", "--out", "next", "--repetitions", "1"]).code(0);
    next.says(&["removed what a killed run had left"]);
    place.assert_clean("r");
    assert!(place.path("r/run.sqlite").exists(), "results are not left-overs");
}

#[test]
fn two_runs_do_not_share_a_folder() {
    let place = Place::new();
    place.write("slow.toml", SLOW);
    // It goes on for longer than the others take.
    let mut run = place.start(&["run", "slow.toml", "--repetitions", "100", "--out", "r"]);
    wait_until("the first trial", || trials(&place.path("r")) >= 1);
    place.run(&RESUME).code(3).says(&["another bakeoff"]);
    place.run(&["report", "r"]).code(0);
    signal(&run, Signal::TERM);
    assert_eq!(run.wait().unwrap().code(), Some(130));
}

/// `nohup bakeoff run …`.
#[test]
fn a_run_that_is_told_to_outlive_its_terminal_does() {
    let place = Place::small();
    let bakeoff = place.command(&["run", "small.toml", "--out", "r"]);
    let mut command = std::process::Command::new("nohup");
    command.arg(bakeoff.get_program()).args(bakeoff.get_args()).current_dir(place.path(""));
    command.env("XDG_RUNTIME_DIR", place.path("")).stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let run = command.spawn().unwrap();
    wait_until("the first trial", || trials(&place.path("r")) >= 1);
    signal(&run, Signal::HUP);
    Done(run.wait_with_output().unwrap()).code(0);
    assert_eq!(place.json("r")["run"]["status"], "finished");
}

#[test]
fn an_edited_experiment_and_a_damaged_database_are_refused() {
    let place = Place::finished();
    place.run(&[&RESUME[..], &["--seconds", "9"]].concat()).code(2).says(&["leave out --seconds"]);
    for another in ["redmine", "nowhere.toml", "small.toml"] {
        let named = place.run(&["run", another, "--resume", "r"]).code(2);
        named.says(&[&format!("leave out `{another}`")]);
    }

    let toml = std::fs::read_to_string(place.path("r/experiment.toml")).unwrap();
    place.write("r/experiment.toml", &toml.replace("repetitions = 2", "repetitions = 3"));
    let edited = ["was edited", "r/experiment.toml", "is `repetitions = 3`"];
    place.run(&RESUME).code(3).says(&edited);
    place.run(&[&RESUME[..], &["--dry-run"]].concat()).code(3).says(&edited);
    place.write("r/experiment.toml", &toml);

    let whole = std::fs::read(place.path("r/run.sqlite")).unwrap();
    for broken in [&whole[..whole.len() / 2], b"garbage"] {
        std::fs::write(place.path("r/run.sqlite"), broken).unwrap();
        place.run(&RESUME).code(3).says(&["run.sqlite"]);
        assert_eq!(std::fs::read(place.path("r/run.sqlite")).unwrap(), broken, "left as it was");
    }
    std::fs::write(place.path("r/run.sqlite"), &whole).unwrap();
    place.run(&RESUME).code(0);
    // As of a bakeoff that orders blocks otherwise.
    edit(&place, |run| {
        let swapped = "UPDATE trial SET levels = replace(levels, 'sqlite', 'lmdb')";
        assert!(run.execute(swapped, []).unwrap() >= 2);
    });
    place.run(&RESUME).code(3).says(&["another order", "--out"]);
}

/// A text or a file of rows that was changed is another one's: nothing is measured with it.
#[test]
fn a_run_goes_on_with_the_texts_and_rows_that_it_began_with() {
    let place = Place::new();
    let gzip = |what: &str| {
        let file = std::fs::File::create(place.path("mine.tsv.gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        for n in 1..=10_002 {
            writeln!(packed, "Title {n}\tThe {what} of article {n}.").unwrap();
        }
        packed.write_all(b"\n").unwrap();
        packed.finish().unwrap();
    };
    let text = "Quizzical xylophones juggle waltzing vexed fjords nightly.\n".repeat(2000);
    let plain = |what: &str| drop(place.write("mine.txt", &text.replace("vexed", what)));
    let common = "engine = [\"sqlite\", \"lmdb\"]\nscale = \"small\"\nseconds = 0.5\nrepetitions = 1\n\
                  durability = \"none\"\n";
    let rows = format!("rows_from = \"mine.tsv.gz\"\nworkload = \"text-oltp\"\n{common}");
    place.write("rows.toml", &(rows + "test = \"point_select\"\nclients = 1\n"));
    place.write("text.toml", &format!("text = \"mine.txt\"\nworkload = \"redmine\"\n{common}"));
    type Write<'a> = &'a dyn Fn(&str);
    let cases = [("rows", "mine.tsv.gz", &gzip as Write<'_>), ("text", "mine.txt", &plain)];
    for (name, file, write) in cases {
        write("text");
        let run = ["run", &format!("{name}.toml"), "--out", name];
        let done = place.run(&[&run[..], &["--neighbours", "0"]].concat()).code(0);
        let document = place.json(name);
        let told = document["run"]["text"].as_str().unwrap();
        assert!(told.contains(file), "{told}");
        if name == "rows" {
            done.says(&["10002 rows, 1 line skipped (1 empty)"]);
            // The rows that are made up come to 24 MB, those of the file to half of one.
            for trial in document["trials"].as_array().unwrap() {
                let space = measured(trial).get(&SPACE, &Scope::Trial).unwrap();
                assert!(space < 4e6, "{trial}");
            }
        }
        let (before, resume) = (trials(&place.path(name)), ["run", "--resume", name]);
        write("word");
        place.run(&resume).code(3).says(&["the text changed", file]);
        std::fs::remove_file(place.path(file)).unwrap();
        place.run(&resume).code(2).says(&[file]);
        write("text");
        place.run(&resume).code(0);
        assert_eq!(trials(&place.path(name)), before, "it had finished");
    }
    let large = ["run", "rows.toml", "--scale", "large", "--out", "none"];
    place.run(&large).says(&["it holds 10002 rows", "100000 are needed"]);
    assert!(!place.path("none").exists(), "nothing was begun");
}

/// A run of two blocks of two trials, of which the last trial was cut short.
fn begun() -> Place {
    let place = Place::finished();
    edit(&place, cut_short);
    place
}

pub fn edit(place: &Place, change: impl FnOnce(&Connection)) {
    change(&Connection::open(place.path("r/run.sqlite")).unwrap());
}

/// Has the record say something else of the run.
fn say(place: &Place, change: impl FnOnce(&mut Value)) {
    edit(place, |run| describe(run, change));
}

/// The text of the warning that another program or kernel went on.
fn warned(document: &Value) -> Option<&str> {
    let warnings = document["warnings"].as_array().unwrap();
    warnings.iter().find(|it| it["code"] == "another-binary")?["text"].as_str()
}

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
    say(&place, |it| it["machine"]["kernel"] = "5.10.0-other".into());
    refused(&["the kernel: it was 5.10.0-other", &format!("is {release}")]);
    say(&place, |it| {
        it["machine"]["kernel"] = release.into();
        it["machine"]["kernel_version"] = "#0 of another build".into();
        it["program_sha256"] = other.clone().into();
    });
    refused(&["(#0 of another build)", "bakeoff's program: it was", &other, &own]);

    place.run(&[&RESUME[..], &["--another-binary"]].concat()).code(0);
    let document = place.json("r");
    let run = &document["run"];
    assert_eq!((&run["status"], &run["program_sha256"]), (&"finished".into(), &other.into()));
    let taken = &run["takeovers"][0];
    assert_eq!((&taken["trials"], &taken["by"]["program_sha256"]), (&kept.into(), &own.into()));
    let text = warned(&document).expect("a warning");
    assert!(text.contains("Another program of bakeoff under another kernel went on"), "{text}");

    // What ran it last goes on without the flag.
    place.run(&RESUME).code(0).says(&["nothing is left to run"]);
    edit(&place, cut_short);
    place.run(&RESUME).code(0);
    let document = place.json("r");
    assert_eq!(document["run"]["takeovers"].as_array().map(Vec::len), Some(1));
    assert!(warned(&document).is_some());
}

/// What was noted of an image stands: were it asked again, the note would be another one.
#[test]
fn an_image_that_was_asked_is_not_asked_again() {
    let place = begun();
    let mut folder = RunFolder::resume(&place.path("r")).unwrap();
    let known = folder.run().unwrap().answers;
    let [one, two] = &known[..] else { panic!("{known:?}") };
    assert!(one.digest.is_some() && one.digest == two.digest, "{known:?}");
    for image in &known {
        let noted = Answers { digest: Some("as noted".into()), ..image.clone() };
        folder.note_answers(&noted).unwrap();
    }
    drop(folder);
    place.run(&RESUME).code(0);
    let document = place.json("r");
    let answers = document["run"]["answers"].as_array().unwrap();
    let is_noted = |it: &Value| it["digest"] == "as noted";
    assert!(answers.len() == 2 && answers.iter().all(is_noted), "{answers:?}");
    let method = place.run(&["report", "r", "--format", "md"]).code(0);
    method.says(&["the same answers from 2 engines."]);
}

#[test]
fn a_run_goes_on_without_a_word_by_what_began_it_or_where_nobody_knows_that() {
    let (known, unknown) = (begun(), begun());
    // As of a bakeoff that recorded neither.
    say(&unknown, |it| {
        let run = it.as_object_mut().unwrap();
        run.remove("program_sha256").expect("it is recorded");
        let machine = run["machine"].as_object_mut().unwrap();
        let added = ["kernel_version", "governor", "smt", "huge_pages", "mount_options"];
        for fact in added.into_iter().chain(["hardware", "virtualisation"]) {
            machine.remove(fact).expect(fact);
        }
    });
    // The flag allows what is not needed here.
    for (place, more, is_known) in [(known, &["--another-binary"][..], true), (unknown, &[], false)]
    {
        place.run(&[&RESUME[..], more].concat()).code(0);
        let document = place.json("r");
        let run = &document["run"];
        assert_eq!((&run["status"], &run["takeovers"]), (&"finished".into(), &Value::Null));
        assert_eq!((warned(&document), run["program_sha256"].is_string()), (None, is_known));
        let new = ["run", "small.toml", "--another-binary", "--out", "other"];
        place.run(&new).code(2).says(&["--out"]);
        place.run(&new[..3]).code(2).says(&["--resume"]);
    }
}

/// A merged run goes by what each part says of itself.
#[test]
fn a_part_of_a_plan_under_another_kernel_goes_on_as_a_machine_of_the_merged_run() {
    let place = Place::small();
    let shard = ["run", "small.toml", "--shard", "1/2", "--same-machine", "--quiet", "--out", "r"];
    place.run(&shard).code(0);
    edit(&place, cut_short);
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
