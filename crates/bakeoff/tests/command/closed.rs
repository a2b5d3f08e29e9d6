//! A terminal or a pipe that is closed while bakeoff speaks, and one that is full.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use bakeoff_testkit::{PATIENCE, comes_while, ended_within, in_time, needs_root, wait_until};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{Done, Place, SMALL, strangers, trials};

const SLOW: &str = r#"
name = "slow"
workload = "point"
engine = ["sqlite", "lmdb"]
seconds = 1.0
repetitions = 2
"#;

const PLANNED: i64 = 4;

/// The exit code of a run that ends by itself: 130 if it was interrupted, 0 if nothing was noticed.
#[track_caller]
fn soon(run: &mut Child) -> Option<i32> {
    let Some(status) = ended_within(PATIENCE, run) else {
        run.kill().unwrap();
        run.wait().unwrap();
        panic!("it goes on although nobody sees it");
    };
    status.code()
}

/// What was interrupted goes on, and is whole then.
#[track_caller]
fn assert_resumable(place: &Place, folder: &str) {
    place.assert_clean(folder);
    assert_eq!(place.json(folder)["run"]["status"], "interrupted");
    assert!(trials(&place.path(folder)) < PLANNED);
    place.run(&["run", "--resume", folder]).code(0);
    let document = place.json(folder);
    let valid = document["trials"].as_array().unwrap().iter().filter(|it| it["valid"] == true);
    assert_eq!(valid.count() as i64, PLANNED);
}

/// Whether a run has ended because it was interrupted, and not because it was over before.
#[track_caller]
fn is_interrupted(place: &Place, run: &mut Child) -> bool {
    let code = soon(run);
    if code == Some(0) || trials(&place.path("r")) >= PLANNED {
        return false;
    }
    assert_eq!(code, Some(130));
    true
}

/// As `head -1` does: reads a line, and goes when there is a trial. Whether that interrupted the run.
#[track_caller]
fn leave(place: &Place, run: &mut Child) -> bool {
    let mut reader = BufReader::new(run.stderr.take().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    let begun = comes_while(run, "the first trial", || trials(&place.path("r")) >= 1);
    drop(reader);
    begun && is_interrupted(place, run)
}

#[test]
#[ignore = "slow: make test-slow"]
fn an_ordinary_user_s_run_whose_reader_has_gone_is_interrupted() {
    if !needs_root("be somebody else") {
        return;
    }
    let place = in_time("the run", |_| {
        let place = Place::new();
        place.write("slow.toml", SLOW);
        strangers::give(&place);
        let arguments = ["run", "slow.toml", "--out", "r"];
        let mut run = strangers::as_stranger(&place, &arguments).spawn().unwrap();
        leave(&place, &mut run).then_some(place)
    });
    place.assert_clean("r");
    let resumed = strangers::as_stranger(&place, &["run", "--resume", "r"]).output().unwrap();
    Done(resumed).code(0);
}

/// `bakeoff run … 2>&1 | head -1`.
#[test]
fn a_run_whose_reader_has_gone_is_interrupted() {
    let place = in_time("the run", |_| {
        let place = Place::new();
        place.write("slow.toml", SLOW);
        let mut run = place.start(&["run", "slow.toml", "--out", "r"]);
        leave(&place, &mut run).then_some(place)
    });
    assert_resumable(&place, "r");
}

/// A reader of standard output that goes before it has read anything; `head -1` would stay, since nothing is said
/// there before the end.
#[test]
fn a_run_whose_report_nobody_will_read_is_interrupted() {
    let (place, said) = in_time("the run", |_| {
        let place = Place::new();
        place.write("slow.toml", SLOW);
        let mut run = place.start(&["run", "slow.toml", "--out", "r"]);
        let begun = comes_while(&mut run, "the first trial", || trials(&place.path("r")) >= 1);
        drop(run.stdout.take());
        if !(begun && is_interrupted(&place, &mut run)) {
            return None;
        }
        let mut said = String::new();
        run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        Some((place, said))
    });
    assert!(said.contains("--resume r") && !said.contains("panicked"), "{said}");
    assert_resumable(&place, "r");
}

/// A terminal: what a person has before them, and what programs are given.
fn terminal() -> (OwnedFd, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    (master, slave)
}

/// A run on a terminal that is its session's, or on one that is not, which nobody tells of its end.
fn on_terminal(place: &Place, slave: &File, controlling: bool, arguments: &[&str]) -> Child {
    let end = || Stdio::from(slave.try_clone().unwrap());
    let mut command = place.command(arguments);
    command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm");
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            if controlling {
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            }
            Ok(())
        });
    }
    command.spawn().unwrap()
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_run_whose_terminal_was_closed_is_interrupted() {
    for controlling in [true, false] {
        println!("controlling: {controlling}");
        let place = in_time("the run", |_| {
            let place = Place::new();
            place.write("slow.toml", SLOW);
            let (master, slave) = terminal();
            let arguments = ["run", "slow.toml", "--out", "r"];
            let mut run = on_terminal(&place, &slave, controlling, &arguments);
            drop(slave);
            // Somebody who looks on until then.
            let mut screen = File::from(master);
            let begun = comes_while(&mut run, "the first trial", || {
                let ready = rustix::event::PollFlags::IN;
                let mut looks = [rustix::event::PollFd::from_borrowed_fd(screen.as_fd(), ready)];
                let none = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
                if rustix::event::poll(&mut looks, Some(&none)) == Ok(1) {
                    let _ = screen.read(&mut [0; 4096]);
                }
                trials(&place.path("r")) >= 1
            });
            drop(screen);
            (begun && is_interrupted(&place, &mut run)).then_some(place)
        });
        assert_resumable(&place, "r");
    }
}

/// How the levels stand is a sentence, longer than what stands beside the bar: it is read to its end.
#[test]
fn a_terminal_of_80_columns_shows_how_the_levels_stand_in_whole_words() {
    let place = Place::new();
    let toml = "workload = 'point'\nengine = ['sqlite', 'lmdb']\ndurability = ['strict', 'relaxed']\n\
                seconds = 0.5\nrepetitions = 1\n";
    place.write("two.toml", toml);
    let (master, slave) = terminal();
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&slave, size).unwrap();
    let mut run = on_terminal(&place, &slave, true, &["run", "two.toml", "--out", "r"]);
    drop(slave);
    let mut shown = Vec::new();
    // The end of a terminal that nobody has is an error.
    let _ = File::from(master).read_to_end(&mut shown);
    assert!(run.wait().unwrap().success());
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let stands = shown.split("durability strict: lmdb ").nth(1).expect("how strict ones stand");
    // The rest of the sentence stands in the next line, or in this one.
    let sentence: String = stands.chars().take(120).collect();
    assert!(sentence.contains("so far (1 block)"), "{sentence:?}");
}

/// `nohup bakeoff run …`.
#[test]
fn a_run_that_is_told_to_outlive_its_terminal_does() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let mut command = Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_bakeoff")).args(["run", "small.toml", "--out", "r"]);
    command.current_dir(place.path("")).env("XDG_RUNTIME_DIR", place.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn().unwrap();
    wait_until("the first trial", || trials(&place.path("r")) >= 1);
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    Done(run.wait_with_output().unwrap()).code(0);
    assert_eq!(place.json("r")["run"]["status"], "finished");
}

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

#[test]
fn a_full_standard_error_changes_nothing() {
    let place = Place::new();
    // Something is said of settings that nobody takes.
    let settings = "[settings.\"mariadb:innodb\"]\nsync_binlog = 0\n";
    place.write("small.toml", &format!("{SMALL}{settings}"));
    let run = |arguments: &[&str]| place.command(arguments).stderr(full()).output().unwrap();
    Done(run(&["run", "small.toml", "--out", "r"])).code(0).says(&["The report"]);
    assert_eq!(place.json("r")["run"]["status"], "finished");
    // What is wrong is still told by the exit code.
    Done(run(&["run", "--resume", "nowhere"])).code(3);
    Done(run(&["run", "nowhere.toml"])).code(2);
}

#[test]
fn a_report_that_can_t_be_written_is_a_failure_and_one_that_nobody_reads_is_none() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    place.run(&["run", "small.toml", "--out", "r"]).code(0);
    for format in ["html", "json", "csv", "md", "term"] {
        let mut report = place.command(&["report", "r", "--format", format]);
        let done = Done(report.stdout(full()).output().unwrap()).code(4);
        done.says(&["standard output can't be written", "No space left"]);
        let mut report = place.start(&["report", "r", "--format", format]);
        drop(report.stdout.take());
        Done(report.wait_with_output().unwrap()).code(0);
    }
    let mut list = place.command(&["list"]);
    Done(list.stdout(full()).output().unwrap()).code(4);
}
