//! Many clients, where a process is given few open files; and few bytes of a file.

use std::process::{Command, Stdio};

use super::servers::{installed, trials};
use super::{Done, Place};

const CLIENTS: &str = "200";

/// Runs that many clients on these engines for a second, in a shell that sets limits first.
fn run(place: &Place, limits: &str, engines: &str, out: &str) -> Done {
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let arguments = ["run", "mine.toml", "--engine", engines, "--clients", CLIENTS, "--out", out];
    let more = ["--seconds", "1", "--repetitions", "1", "--disk", "host", "--neighbours", "0"];
    limited(place, limits, &[&arguments[..], &more].concat())
}

/// Runs bakeoff in a shell that sets limits first.
pub fn limited(place: &Place, limits: &str, arguments: &[&str]) -> Done {
    let bakeoff = place.command(arguments);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]).arg(bakeoff.get_program());
    shell.args(bakeoff.get_args()).current_dir(place.path("."));
    shell.envs(bakeoff.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Done(shell.stdin(Stdio::null()).output().unwrap())
}

#[test]
#[ignore = "slow: make test-slow"]
fn clients_and_servers_get_the_files_that_they_may_ask_for() {
    if !installed(&["mariadb:innodb", "postgres"]) {
        return;
    }
    let place = Place::new();
    run(&place, "ulimit -Sn 128; ulimit -Hn 4096", "mariadb:innodb,postgres", "r").code(0);
    let document = place.json("r");
    for (engine, trial) in trials(&document) {
        assert_eq!(
            (&trial["valid"], &trial["warnings"]),
            (&true.into(), &serde_json::json!([])),
            "{engine}"
        );
    }
}

#[test]
fn too_few_files_for_the_clients_are_refused_with_what_to_do() {
    let place = Place::new();
    run(&place, "ulimit -Sn 128; ulimit -Hn 150", "sqlite", "r").code(5).says(&[
        "200 clients take",
        "may have 150",
        "ulimit -n",
    ]);
}

/// The kernel's signal would end it without a word.
#[test]
fn a_limit_of_the_size_of_files_is_told() {
    let place = Place::small();
    let more = ["--engine", "sqlite", "--repetitions", "1", "--disk", "host", "--out"];
    let run = [&["run", "small.toml"][..], &more].concat();
    // In units of 512 bytes: no room for the record of a run, and none for the data of a trial.
    for (units, out, code) in [("16", "a", 3), ("1000", "b", 1)] {
        let done = limited(&place, &format!("ulimit -f {units}"), &[&run[..], &[out]].concat());
        let bytes = units.parse::<u64>().unwrap() * 512;
        let told =
            format!("this process may write files of at most {bytes} bytes: raise the limit");
        done.code(code).says(&[&told, "ulimit -f"]);
    }
}
