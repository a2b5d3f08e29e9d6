//! A terminal or a pipe that is closed while bakeoff speaks.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use bakeoff_testkit::{PATIENCE, comes_while, ended_within, in_time};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::others::users;
use super::{Place, trials};

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
fn assert_resumable(place: &Place, user: u32) {
    place.assert_clean("r");
    assert_eq!(place.json("r")["run"]["status"], "interrupted");
    assert!(trials(&place.path("r")) < PLANNED);
    place.run_as(user, &["run", "--resume", "r"]).code(0);
    let document = place.json("r");
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

/// `bakeoff run … 2>&1 | head -1`; and a reader of standard output that goes before it has read anything:
/// nothing is said there before the end.
#[test]
fn a_run_whose_reader_has_gone_is_interrupted() {
    // Of errors by every user, and of the output by this one.
    let cases = users().into_iter().map(|user| (user, true)).chain([(users()[0], false)]);
    for (user, of_errors) in cases {
        let (place, said) = in_time("the run", |_| {
            let place = Place::of(user);
            place.write("slow.toml", SLOW);
            let run = ["run", "slow.toml", "--out", "r"];
            let mut run = place.command_as(user, &run).spawn().unwrap();
            if of_errors {
                return leave(&place, &mut run).then_some((place, None));
            }
            let begun = comes_while(&mut run, "the first trial", || trials(&place.path("r")) >= 1);
            drop(run.stdout.take());
            if !(begun && is_interrupted(&place, &mut run)) {
                return None;
            }
            let mut said = String::new();
            run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            Some((place, Some(said)))
        });
        if let Some(said) = said {
            assert!(said.contains("--resume r") && !said.contains("panicked"), "{said}");
        }
        assert_resumable(&place, user);
    }
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
        assert_resumable(&place, users()[0]);
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
