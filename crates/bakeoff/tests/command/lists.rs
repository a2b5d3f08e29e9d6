//! What the program says of itself and of this machine: lists, help, completions, manual pages, doctor.

use std::io::{BufRead, BufReader};
use std::process::Command;

use bakeoff_engines::ENGINES;
use bakeoff_testkit::{PATIENCE, Tmpfs, ended_within};
use bakeoff_workloads::COLLECTIONS;
use rustix::process::{Pid, Signal, kill_process};

use super::{Done, Place};

/// So many lines of a terminal can be looked at together.
const SCREEN: usize = 60;

#[test]
fn a_list_of_everything_is_short_and_names_by_question_the_list_that_says_more() {
    let place = Place::new();
    let all = place.typed("list").code(0).says(&["redmine", "neighbours", "host", "poisson"]).out();
    assert!(all.lines().count() <= SCREEN, "{all}");
    let questions: Vec<_> = all.lines().filter_map(|line| line.split_once(" More: ")).collect();
    assert!(questions.len() >= 8, "{all}");
    for (question, more) in questions {
        assert!(question.ends_with('?'), "{question}");
        let (_, name) = more.rsplit_once(" list ").expect("the command of a list");
        let list = place.run(&["list", name]).code(0).out();
        assert!(list.lines().count() > 1, "{name}: {list}");
    }
    let engines: Vec<&str> = ENGINES.iter().map(|engine| engine.about().name).collect();
    place.typed("list engines").code(0).says(&engines).says(&["strict", "synchronous=FULL"]);
    place.typed("list workloads").code(0).says(&["giant"]);
    // Their times stand in comments of their files.
    place.typed("list presets").code(0).says(&["13 min", "3 min 30 s", "2 min 10 s"]);
}

#[test]
fn doctor_says_what_can_be_run_and_what_brings_the_rest() {
    let place = Place::new();
    let [large, small] = ["large", "small"].map(|name| place.path(name));
    // Without one its folder is an ordinary one, on whatever disk this is.
    let disks = Tmpfs::mount(&large, "3g").zip(Tmpfs::mount(&small, "50m"));
    let done = place.typed("doctor large").code(0).says(&["nginx and php-fpm, for pages"]);
    let said = done.out();
    for engine in ENGINES {
        let line = format!("engine {}: ", engine.about().name);
        assert!(said.contains(&line), "{line}: {said}");
    }
    for collection in &COLLECTIONS {
        let line = format!("text {}: ", collection.name);
        let line = said.lines().find(|it| it.contains(&line)).expect("its line");
        // There it is described, and where it is missing the command brings it.
        assert!(line.contains(collection.package), "{line}");
        assert_eq!(line.starts_with("ok "), collection.is_installed(), "{line}");
    }
    assert_eq!(std::fs::read_dir(&large).unwrap().count(), 0, "doctor cleans up");
    place.assert_clean("large");
    if disks.is_none() {
        return;
    }
    done.says(&[
        "missing  neighbours: ",
        "redmine --quick` can run here without what is missing",
        "Which engines can be compared?\nok       engine sqlite: ",
        "They don't say which engine is faster",
        "What to run first: bakeoff run demo",
    ]);
    let done = place.typed("doctor small").code(1);
    assert!(!done.out().contains("--out on another disk"), "{}", done.out());
    done.says(&[
        "redmine --quick` can't run here, since this is missing: room",
        "bakeoff doctor DIR",
        "missing  engine mariadb:innodb: not tried: only ",
    ]);
}

#[test]
fn nothing_is_left_of_a_doctor_that_is_interrupted() {
    let place = Place::new();
    std::fs::create_dir(place.path("here")).unwrap();
    let mut doctor = place.command(&["doctor", "here"]).spawn().unwrap();
    let mut said = BufReader::new(doctor.stdout.take().unwrap()).lines().map_while(Result::ok);
    // Servers come next.
    said.by_ref().take_while(|line| !line.starts_with("ok       engine fjall")).count();
    kill_process(Pid::from_child(&doctor), Signal::TERM).unwrap();
    let status = ended_within(PATIENCE, &mut doctor).expect("it ends");
    assert_eq!(status.code(), Some(130));
    assert_eq!(std::fs::read_dir(place.path("here")).unwrap().count(), 0);
}

/// The commands that `--help` shows: names in lines that begin with two blanks.
fn commands(place: &Place, of: &[&str]) -> Vec<String> {
    let help = place.run(&[of, &["--help"]].concat()).code(0).out();
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let rows = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        let row = line.strip_prefix("  ")?;
        (!row.starts_with(' ')).then(|| row.split_whitespace().next().unwrap_or_default().into())
    });
    rows.collect()
}

#[test]
fn completions_name_all_commands_that_help_shows() {
    let place = Place::new();
    let commands = commands(&place, &[]);
    assert!(commands.iter().any(|it| it == "run") && commands.len() >= 8, "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell]).code(0).out();
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell} does not know {command}");
        }
        assert!(script.contains("durability"), "{shell} does not know a factor's flag");
        assert!(!script.contains("disk-daemon"), "{shell} offers what help hides");
        place.write(shell, &script);
    }
    place.typed("completions tcsh").code(2).says(&["tcsh", "bash", "zsh", "fish"]);
    let complete = |word: &str| {
        let typed = format!(
            ". ./bash; COMP_WORDS=(bakeoff {word}); COMP_CWORD=1; \
             _bakeoff bakeoff {word} bakeoff; echo \"${{COMPREPLY[@]}}\""
        );
        let bash = Command::new("bash").arg("-c").arg(typed).current_dir(place.path("")).output();
        let done = Done(bash.expect("bash is there")).code(0);
        assert_eq!(done.err(), "");
        done.out().trim().to_owned()
    };
    assert_eq!(complete("rep"), "report");
    assert_eq!(complete("tri"), "", "a trial's own process is nobody's to start");
}

#[test]
fn each_command_that_help_shows_has_a_manual_page() {
    let place = Place::new();
    let page = place.typed("man").code(0).out();
    let plain = page.replace('\\', "");
    assert!(page.contains(".SH NAME") && plain.contains(env!("CARGO_PKG_VERSION")), "{page}");
    std::fs::create_dir(place.path("man")).unwrap();
    place.typed("man --output man").code(0);
    let mut wanted = vec!["bakeoff.1".to_owned()];
    for command in commands(&place, &[]) {
        assert!(plain.contains(&format!("bakeoff-{command}(1)")), "{command} is not in:\n{page}");
        wanted.push(format!("bakeoff-{command}.1"));
    }
    for group in ["disk", "cluster"] {
        let of_group = commands(&place, &[group]).into_iter().filter(|it| it != "help");
        wanted.extend(of_group.map(|command| format!("bakeoff-{group}-{command}.1")));
    }
    let files = std::fs::read_dir(place.path("man")).unwrap();
    let mut there: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    wanted.sort();
    there.sort();
    assert_eq!(there, wanted);
    let run = std::fs::read_to_string(place.path("man/bakeoff-run.1")).unwrap().replace('\\', "");
    assert!(run.contains("--repetitions") && run.contains("--dry-run"), "{run}");
    place.typed("man --output nowhere").code(1).says(&["nowhere"]);
}

/// clap's own tips lead nowhere for a flag of other programs, and for one that it does not know.
#[test]
fn a_word_that_is_no_flag_and_no_command_is_answered_with_what_there_is_for_it() {
    let place = Place::new();
    for (typed, tip) in [
        (&["run", "redmine", "--duration", "5"][..], "`--seconds S`"),
        (&["run", "redmine", "--duration=5"], "`--seconds S`"),
        (&["run", "redmine", "--json"], "report DIR --format json`"),
        (&["report", "r", "--json"], "`--format json`"),
        (&["compare", "r", "s", "--json"], "`--format json`"),
        (&["run", "--sql", "shop.sql"], "run FILE.sql"),
        (&["run", "redmine", "--secnds", "5"], "'--seconds'"),
        (&["run", "redmine", "--dry-run", "--", "--junk"], "leave `--` out"),
        (&["articles", "--quick"], "run articles\n"),
        (&["demo", "--quick"], "run demo\n"),
        (&["lst"], "'list'"),
    ] {
        let said = place.run(typed).code(2).err();
        assert!(said.contains(tip), "{typed:?}: {said}");
        assert_eq!(said.matches("tip:").count(), 1, "{said}");
    }
    // Neither as a value, nor behind the end of flags, where none is.
    for (typed, none) in [("--junk", "as a value"), ("oltp", "ends the flags")] {
        let said = place.run(&["run", "redmine", typed]).code(2).err();
        assert!(said.contains(typed) && !said.contains(none), "{said}");
    }
    // Each preset that is typed as a command.
    let list = place.typed("list").code(0).out();
    let (_, after) = list.split_once("list presets\n").expect("the presets");
    let (names, _) = after.split_once("\n\n").expect("their end");
    let names: Vec<&str> = names.split([',', '\n', ' ']).filter(|it| !it.is_empty()).collect();
    assert!(names.contains(&"demo") && names.len() > 10, "{names:?}");
    for name in names {
        let said = place.run(&[name]).code(2).err();
        assert!(said.contains(&format!("run {name}\n")), "{said}");
    }
}
