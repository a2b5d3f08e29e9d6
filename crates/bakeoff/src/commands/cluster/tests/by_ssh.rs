//! The script that runs shards by ssh, where every host is this machine.

use super::*;

/// Copies on this machine what scp would copy between two.
const SCP: &str = "while [ \"$1\" != -- ]; do shift; done\n\
                   exec cp -r -- \"${2#*:}\" \"${3#*:}\"\n";

/// Programs in the place of ssh and scp, for which every host is this machine.
pub fn stand_in_for_ssh(place: &Path) {
    let ssh = "[ \"$1\" != -n ] || { shift; exec </dev/null; }\n\
               [ \"$1\" = -- ] || exit 255\n\
               exec bash -c \"$3\"\n";
    write_script(&place.join("ssh"), ssh);
    write_script(&place.join("scp"), SCP);
}

#[test]
fn each_host_runs_a_shard_with_the_program_and_the_file_that_it_is_sent() {
    let place = tempfile::tempdir().unwrap();
    let (place, out) = (place.path(), place.path().join("all"));
    stand_in_for_ssh(place);
    let file = place.join("my own.toml");
    std::fs::write(&file, "workload = 'point'\n").unwrap();
    let job = ClusterJob {
        experiment: ClusterExperiment::File(file.to_str().unwrap().to_owned()),
        ..job(&stand_in(place, 0))
    };
    let script = ssh::build_script(&job, &hosts(), out.to_str().unwrap());
    let done = bash(&[], &script, place);
    assert!(done.status.success(), "{}", said(&done));
    let wanted = [1, 2].map(|shard| {
        format!("run mine.toml --shard {shard}/2 --out shard --engine sqlite;reboot ")
    });
    assert_eq!(calls(place), wanted);
    for shard in ["shard-1", "shard-2"] {
        assert!(out.join(shard).join(RECORDS).is_file(), "{}", said(&done));
    }
    let again = bash(&[], &script, place);
    assert_eq!(again.status.code(), Some(3), "{}", said(&again));
    assert_eq!(calls(place).len(), 2, "nothing was run again");
}

/// A program that tells how it goes, and has a report.
const TELLING: &str =
    "mkdir \"$6\"\necho 'block 1 of 2' >&2\necho 'The report: shard/report.html'\nexit 5\n";

#[test]
fn each_line_says_of_which_host_it_is_and_no_report_is_printed() {
    let place = tempfile::tempdir().unwrap();
    let (place, out) = (place.path(), place.path().join("all"));
    stand_in_for_ssh(place);
    let script =
        ssh::build_script(&job(&write_stand_in(place, TELLING)), &hosts(), out.to_str().unwrap());
    let done = bash(&[], &script, place);
    // Whoever writes the names hides no exit code.
    assert_eq!(done.status.code(), Some(5), "{}", said(&done));
    let said = said(&done);
    for (number, host) in [(1, "one"), (2, "me@two")] {
        let collected = format!("{host}: collected to {}/shard-{number}, ", out.display());
        let ended = format!("{host}: shard {number} ended with 5");
        let progress = format!("{host}: block 1 of 2");
        for begin in [progress, collected, ended] {
            let count = said.lines().filter(|line| line.starts_with(&begin)).count();
            assert_eq!(count, 1, "{begin}: {said}");
        }
    }
    assert_eq!(said.lines().count(), 6, "{said}");
    assert!(!said.contains("The report"), "{said}");
}

/// The folder that a line of what was said ends with.
fn folder_at_the_end(done: &Output, begins: &str) -> std::path::PathBuf {
    let said = said(done);
    let line = said.lines().find(|line| line.starts_with(begins));
    let line = line.unwrap_or_else(|| panic!("{begins:?} is not in:\n{said}"));
    line.rsplit(' ').next().unwrap().into()
}

#[test]
fn a_copy_that_fails_names_the_host_and_leaves_what_was_measured_alone() {
    let place = tempfile::tempdir().unwrap();
    let (place, out) = (place.path(), place.path().join("all"));
    let job = job(&stand_in(place, 0));
    let script = ssh::build_script(&job, &hosts(), out.to_str().unwrap());
    let fails_for = |which: &str| {
        stand_in_for_ssh(place);
        let fails = format!("case \"$*\" in {which}) exit 1;; esac\n{SCP}");
        write_script(&place.join("scp"), &fails);
        bash(&[], &script, place)
    };
    // To the second host nothing can be copied.
    let done = fails_for("*' me@two:'*");
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    let folder = folder_at_the_end(&done, "me@two: shard 2 was not begun");
    assert!(!folder.exists(), "{}", folder.display());
    assert!(out.join("shard-1").join(RECORDS).is_file() && !out.join("shard-2").exists());
    assert_eq!(calls(place).len(), 1);
    // From it nothing can: the only copy stays.
    let done = fails_for("*'-- me@two:'*");
    assert_ne!(done.status.code(), Some(0), "{}", said(&done));
    let shard = folder_at_the_end(&done, "me@two: shard 2 could not be fetched");
    assert!(shard.join(RECORDS).is_file(), "{}", said(&done));
    std::fs::remove_dir_all(shard.parent().unwrap()).unwrap();
    assert!(!out.join("shard-2").exists());
}

#[test]
fn hosts_that_can_t_be_meant_are_refused() {
    let of = |hosts: &[&str], asked| {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        ssh::count_shards(&hosts, asked).map_err(|failure| failure.message)
    };
    assert_eq!(of(&["one", "two"], None), Ok(2));
    assert_eq!(of(&["one", "two"], Some(2)), Ok(2));
    assert!(of(&["one", "two"], Some(3)).unwrap_err().contains("2 hosts"));
    assert!(of(&["one", "one"], None).unwrap_err().contains("named twice"));
    assert!(of(&["-oProxyCommand=x"], None).unwrap_err().contains("USER@HOST"));
}
