//! What the program says of its own commands: completions of shells, and manual pages.

use std::process::Command;

use super::Place;

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
fn the_completions_of_each_shell_name_all_commands_that_help_shows() {
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
    }
}

#[test]
fn bash_completes_a_command_by_its_beginning() {
    let place = Place::new();
    let script = place.run(&["completions", "bash"]).code(0).out();
    place.write("completions", &script);
    let complete = |word: &str| {
        let typed = format!(
            ". ./completions; COMP_WORDS=(bakeoff {word}); COMP_CWORD=1; \
             _bakeoff bakeoff {word} bakeoff; echo \"${{COMPREPLY[@]}}\""
        );
        let bash = Command::new("bash").arg("-c").arg(typed).current_dir(place.path("")).output();
        let done = super::Done(bash.expect("bash is there")).code(0);
        assert_eq!(done.err(), "");
        done.out().trim().to_owned()
    };
    assert_eq!(complete("rep"), "report");
    assert_eq!(complete("doc"), "doctor");
    assert_eq!(complete("tri"), "", "a trial's own process is nobody's to start");
}

/// Its letters are like those of another flag, whose meaning is another one.
#[test]
fn a_flag_of_other_programs_is_answered_with_what_there_is_for_it() {
    let place = Place::new();
    for (typed, tip) in [
        (&["run", "redmine", "--duration", "5"][..], "`--seconds S`"),
        (&["run", "redmine", "--duration=5"], "`--seconds S`"),
        (&["run", "redmine", "--json"], "report DIR --format json`"),
        (&["report", "r", "--json"], "`--format json`"),
        (&["compare", "r", "s", "--json"], "`--format json`"),
        (&["run", "--sql", "shop.sql"], "docs/how-to/add-a-workload.md"),
    ] {
        let said = place.run(typed).code(2).err();
        assert!(said.contains("unexpected argument") && said.contains(tip), "{said}");
        assert_eq!(said.matches("tip:").count(), 1, "{said}");
    }
    // Another one has clap's own tip.
    let said = place.run(&["run", "redmine", "--secnds", "5"]).code(2).err();
    assert!(said.contains("'--seconds'"), "{said}");
}

#[test]
fn a_preset_that_is_typed_as_a_command_is_answered_with_the_command_that_runs_it() {
    let place = Place::new();
    let list = place.run(&["list"]).code(0).out();
    let (_, after) = list.split_once("list presets\n").expect("the presets");
    let (names, _) = after.split_once("\n\n").expect("their end");
    let names: Vec<&str> = names.split([',', '\n', ' ']).filter(|it| !it.is_empty()).collect();
    assert!(names.contains(&"demo") && names.len() > 10, "{names:?}");
    for name in names.into_iter().chain(["articles"]) {
        let said = place.run(&[name, "--quick"]).code(2).err();
        assert!(said.contains(&format!("run {name}\n")), "{said}");
        assert_eq!(said.matches("tip:").count(), 1, "{said}");
    }
    let none = place.run(&["lst"]).code(2).err();
    assert!(none.contains("'list'") && !none.contains("preset"), "{none}");
}

/// clap would advise to put `--` before a flag that it does not know, and say nothing of what stands behind it.
#[test]
fn a_flag_that_is_none_is_told_without_a_tip_that_leads_nowhere() {
    let place = Place::new();
    let flag = place.run(&["run", "redmine", "--junk"]).code(2);
    assert!(
        flag.err().contains("'--junk'") && !flag.err().contains("as a value"),
        "{}",
        flag.err()
    );
    let near = place.run(&["run", "redmine", "--engin", "sqlite"]).code(2);
    near.says(&["'--engin'", "'--engine'"]);
    let behind = place.run(&["run", "redmine", "--dry-run", "--", "--junk"]).code(2);
    behind.says(&["'--junk'", "`--` ends the flags", "leave `--` out"]);
    // What comes after it may be no flag of the command itself.
    let one_more = place.run(&["run", "redmine", "oltp"]).code(2);
    assert!(!one_more.err().contains("ends the flags"), "{}", one_more.err());
}

#[test]
fn a_shell_that_has_no_completions_is_refused_with_those_that_have() {
    let refused = Place::new().run(&["completions", "tcsh"]).code(2);
    refused.says(&["tcsh", "bash", "zsh", "fish"]);
}

#[test]
fn the_manual_page_names_all_commands_and_the_version() {
    let place = Place::new();
    let page = place.run(&["man"]).code(0).out();
    let plain = page.replace('\\', "");
    for command in commands(&place, &[]) {
        let named = format!("bakeoff-{command}(1)");
        assert!(plain.contains(&named), "{named} is not in:\n{page}");
    }
    assert!(page.contains(".SH NAME") && plain.contains(env!("CARGO_PKG_VERSION")), "{page}");
}

#[test]
fn each_command_that_help_shows_has_a_manual_page_in_the_folder() {
    let place = Place::new();
    std::fs::create_dir(place.path("man")).unwrap();
    place.run(&["man", "--output", "man"]).code(0);
    let mut wanted = vec!["bakeoff.1".to_owned()];
    for command in commands(&place, &[]) {
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
    let run = std::fs::read_to_string(place.path("man").join("bakeoff-run.1")).unwrap();
    let run = run.replace('\\', "");
    assert!(run.contains("--repetitions") && run.contains("--dry-run"), "{run}");
}

#[test]
fn a_folder_for_manual_pages_that_is_not_there_is_named() {
    Place::new().run(&["man", "--output", "nowhere"]).code(1).says(&["nowhere"]);
}
