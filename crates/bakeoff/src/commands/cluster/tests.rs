//! The job files: as a shell reads them, as they run beside programs that stand in for a scheduler's, and
//! as Kubernetes describes them.

mod by_ssh;
mod schema;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use bakeoff_testkit::write_script;
use serde_json::Value;

use self::by_ssh::stand_in_for_ssh;
use super::*;

/// The file of a run folder that holds what was measured.
const RECORDS: &str = "run.sqlite";

/// What a shell would take apart, were it not quoted.
const NASTY: &str = "/tmp/it's a $(touch owned); `touch owned` \"& #";

fn job(program: &str) -> ClusterJob {
    ClusterJob {
        experiment: ClusterExperiment::Preset("redmine-sweep".into()),
        name: scheduler_name("redmine-sweep"),
        shards: 2,
        program: program.into(),
        sha256: checksum::of_file(Path::new(program)).unwrap_or("0".into()),
        flags: vec!["--engine".into(), "sqlite;reboot".into()],
    }
}

fn hosts() -> Vec<String> {
    vec!["one".into(), "me@two".into()]
}

/// A job of a file, where everything that is given is nasty.
fn nasty() -> ClusterJob {
    ClusterJob {
        experiment: ClusterExperiment::File(NASTY.into()),
        flags: vec![NASTY.into()],
        ..job(NASTY)
    }
}

fn bash(arguments: &[&str], script: &str, place: &Path) -> Output {
    std::fs::write(place.join("script"), script).unwrap();
    let mut command = Command::new("bash");
    command.args(arguments).arg("script").current_dir(place).stdin(Stdio::null());
    command.env("TMPDIR", place).env("SLURM_JOB_ID", "7").env("SLURM_ARRAY_TASK_ID", "2");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.display()));
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{err}")
}

#[test]
fn whatever_is_given_is_one_word_of_a_shell() {
    let place = tempfile::tempdir().unwrap();
    for script in
        [slurm::build_script(&nasty(), NASTY), ssh::build_script(&nasty(), &hosts(), NASTY)]
    {
        let checked = bash(&["-n"], &script, place.path());
        assert!(checked.status.success(), "{}: {script}", said(&checked));
        // The words that the script sets, as a shell understands them.
        let is_set = |line: &&str| line.starts_with("bakeoff=") || line.starts_with("out=");
        let set = script.lines().filter(is_set);
        let mut read: String = set.map(|line| format!("{line}\n")).collect();
        read += "printf '%s\\n' \"$bakeoff\" \"$out\"";
        let read = bash(&[], &read, place.path());
        assert_eq!(said(&read), format!("{NASTY}\n{NASTY}\n"));
        // Of what Slurm reads nothing is somebody's.
        let mut directives = script.lines().filter(|line| line.starts_with("#SBATCH"));
        assert!(directives.all(|line| !line.contains("owned")), "{script}");
    }
    assert!(!place.path().join("owned").exists());
    for text in ["a\nb", "a\rb", "\u{1b}[2J", "a\u{85}b"] {
        assert!(check_plain_text("x", text).is_err(), "{text:?}");
    }
}

#[test]
fn slurm_is_asked_for_whole_nodes() {
    let script = slurm::build_script(&job("/opt/bakeoff"), "/data/all");
    let directives: Vec<&str> =
        script.lines().filter_map(|line| line.strip_prefix("#SBATCH ")).collect();
    for wanted in [
        "--array=1-2",
        "--nodes=1",
        "--exclusive",
        "--mem=0",
        "--signal=B:TERM@300",
        "--job-name=bakeoff-redmine-sweep",
    ] {
        assert!(directives.contains(&wanted), "{directives:?}");
    }
    // Slurm reads no directive after the first command.
    let lines: Vec<&str> = script.lines().collect();
    let first = lines.iter().position(|line| !line.starts_with('#')).unwrap();
    let last = lines.iter().rposition(|line| line.starts_with("#SBATCH")).unwrap();
    assert!(last < first, "{script}");
}

/// A program in the place of bakeoff that does this.
fn write_stand_in(place: &Path, text: &str) -> String {
    let program = place.join("stand-in");
    write_script(&program, text);
    program.to_str().unwrap().to_owned()
}

/// One that says how it was called, and leaves a folder.
fn stand_in(place: &Path, ends_with: u32) -> String {
    let text = format!(
        "printf '%s\\n' \"$@\" >\"{}/called-$$\"\n\
         [ \"$4\" != auto ] || [ \"$BAKEOFF_SHARDS\" = 2 ] || exit 9\n\
         mkdir \"$6\"\n\
         echo records >\"$6/run.sqlite\"\n\
         exit {ends_with}\n",
        place.display()
    );
    write_stand_in(place, &text)
}

/// How the program was called, a call an element.
fn calls(place: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    let is_call = |path: &std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("called-"))
    };
    let texts = entries.filter(is_call).map(|path| std::fs::read_to_string(path).unwrap());
    let mut calls: Vec<String> = texts.map(|text| text.replace('\n', " ")).collect();
    calls.sort();
    calls
}

#[test]
fn a_task_of_slurm_runs_its_shard_on_its_own_disk_and_brings_it_back() {
    // With a failed trial the folder is worth as much.
    for ends_with in [0, 5] {
        let place = tempfile::tempdir().unwrap();
        let (place, out) = (place.path(), place.path().join("all of it"));
        let script = slurm::build_script(&job(&stand_in(place, ends_with)), out.to_str().unwrap());
        let done = bash(&[], &script, place);
        assert_eq!(done.status.code(), Some(ends_with as i32), "{}", said(&done));
        let [call]: [String; 1] = calls(place).try_into().expect("one call");
        assert!(call.starts_with("run redmine-sweep --shard auto --out "), "{call}");
        assert!(call.ends_with("/shard --engine sqlite;reboot "), "{call}");
        assert!(out.join("shard-2/run.sqlite").is_file());
        let collected = format!("collected to {}/shard-2, ", out.display());
        assert!(said(&done).contains(&collected), "{}", said(&done));
        let left = std::fs::read_dir(place).unwrap().filter(|entry| {
            entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("bakeoff.")
        });
        assert_eq!(left.count(), 0, "the folder on the node's own disk is still there");
        // What is there already is not written over, which is known before anything is run.
        let again = bash(&[], &script, place);
        assert_eq!(again.status.code(), Some(3), "{}", said(&again));
        assert!(said(&again).contains("shard-2 is there already"), "{}", said(&again));
        assert_eq!(calls(place).len(), 1);
    }
}

/// One that has its job stopped, and ends a moment after it was told to.
const STOPPED: &str = "trap 'sleep 0.2; echo whole >>\"$folder/run.sqlite\"; exit 6' TERM\n\
    folder=$6\n\
    mkdir \"$folder\"\n\
    kill -TERM \"$PPID\"\n\
    while :; do sleep 0.05; done\n";

/// A `$` alone would stand before a variable's name.
fn expand_as_kubernetes(text: &str) -> String {
    let single = text.replace("$$", "");
    assert!(!single.contains('$'), "{text}");
    text.replace("$$", "$")
}

/// What a pod would run, in folders of a place of its own.
fn pod(job: &ClusterJob, place: &Path) -> Output {
    let pod = kubernetes::Pod { image: "lab", claim: "runs", program: &job.program };
    let manifest: Value =
        serde_json::from_str(&kubernetes::build_manifest(job, &pod).unwrap()).unwrap();
    let command = &manifest["spec"]["template"]["spec"]["containers"][0]["command"];
    let script = expand_as_kubernetes(command[2].as_str().unwrap());
    let script = ["/collected", "/local"].iter().fold(script, |script, folder| {
        std::fs::create_dir_all(place.join(&folder[1..])).unwrap();
        script.replace(&format!("{folder}/"), &format!("{}{folder}/", place.display()))
    });
    let mut command = Command::new("sh");
    command.args(["-c", &script, "bakeoff", &job.program]).current_dir(place);
    command.env("JOB_COMPLETION_INDEX", "1").env("BAKEOFF_SHARDS", "2");
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_job_that_is_stopped_waits_for_its_run_and_collects_it() {
    let place = tempfile::tempdir().unwrap();
    let (place, out) = (place.path(), place.path().join("all"));
    let job = job(&write_stand_in(place, STOPPED));
    let slurm = bash(&[], &slurm::build_script(&job, out.to_str().unwrap()), place);
    let collected = place.join("collected/bakeoff-redmine-sweep-shard-2");
    for (done, shard) in [(slurm, out.join("shard-2")), (pod(&job, place), collected)] {
        assert_eq!(done.status.code(), Some(6), "{}", said(&done));
        let told = format!("collected to {}, ", shard.display());
        assert!(said(&done).contains(&told), "{}", said(&done));
        let records = std::fs::read_to_string(shard.join("run.sqlite")).unwrap();
        assert_eq!(records, "whole\n");
    }
}

#[test]
fn a_copy_that_was_cut_short_is_in_no_later_one() {
    let place = tempfile::tempdir().unwrap();
    let (place, out) = (place.path(), place.path().join("all"));
    stand_in_for_ssh(place);
    let job = job(&stand_in(place, 0));
    let collected = place.join("collected/bakeoff-redmine-sweep-shard-2");
    let [slurm_out, ssh_out] = ["slurm", "ssh"].map(|name| out.join(name));
    let cut_short = [
        slurm_out.join("shard-2.part-7"),
        ssh_out.join("shard-2.part"),
        collected.with_extension("part"),
    ];
    for folder in &cut_short {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("half"), "").unwrap();
    }
    let at = |out: &Path| out.to_str().unwrap().to_owned();
    let jobs = [
        bash(&[], &slurm::build_script(&job, &at(&slurm_out)), place),
        bash(&[], &ssh::build_script(&job, &hosts(), &at(&ssh_out)), place),
        pod(&job, place),
    ];
    let shards = [slurm_out.join("shard-2"), ssh_out.join("shard-2"), collected];
    for (done, (shard, part)) in jobs.iter().zip(shards.iter().zip(&cut_short)) {
        assert!(done.status.success(), "{}", said(done));
        let names: Vec<String> = std::fs::read_dir(shard)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["run.sqlite"], "{}", said(done));
        assert!(!part.exists(), "{}", part.display());
    }
}

#[test]
fn another_program_under_the_same_path_is_not_run() {
    let place = tempfile::tempdir().unwrap();
    let job = job(&stand_in(place.path(), 0));
    stand_in(place.path(), 1);
    let done = bash(&[], &slurm::build_script(&job, "/nowhere"), place.path());
    assert_eq!(done.status.code(), Some(2), "{}", said(&done));
    let sum = checksum::of_file(Path::new(&job.program)).unwrap();
    let wanted = "is another bakeoff than the one that made this job: its SHA-256 is";
    assert_eq!(said(&done), format!("{} {wanted} {sum}\n", job.program));
    assert!(calls(place.path()).is_empty());
}

#[test]
fn the_manifest_is_a_job_as_kubernetes_describes_it() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine.toml");
    std::fs::write(&file, "workload = \"point\"\n").unwrap();
    let pod = kubernetes::Pod { image: NASTY, claim: "runs", program: NASTY };
    let of_file = ClusterJob {
        experiment: ClusterExperiment::File(file.to_str().unwrap().to_owned()),
        ..job("/opt/bakeoff")
    };
    let [preset, list] = [job("/opt/bakeoff"), of_file].map(|job| -> Value {
        serde_json::from_str(&kubernetes::build_manifest(&job, &pod).unwrap()).unwrap()
    });
    assert_eq!((&list["kind"], &list["apiVersion"]), (&Value::from("List"), &Value::from("v1")));
    assert_eq!(list["items"][0]["data"]["mine.toml"], "workload = \"point\"\n");
    for (what, object) in
        [("Job", &preset), ("ConfigMap", &list["items"][0]), ("Job", &list["items"][1])]
    {
        let wrong = schema::problems(what, object);
        assert!(wrong.is_empty(), "{wrong:?}: {object:#}");
    }
    let spec = &preset["spec"];
    assert_eq!((&spec["completions"], &spec["parallelism"]), (&Value::from(2), &Value::from(2)));
    assert_eq!(spec["completionMode"], "Indexed");
    // A pod that fails leaves the others alone.
    assert_eq!(spec["backoffLimitPerIndex"], 0);
    assert!(spec["backoffLimit"].is_null(), "{spec:#}");
    assert_eq!(spec["template"]["spec"]["terminationGracePeriodSeconds"], 300);
    // Nodes are found by a label, and kept free of others by a taint; the manifest says how both are set.
    assert_eq!(spec["template"]["spec"]["nodeSelector"], serde_json::json!({ "bakeoff": "only" }));
    assert_eq!(spec["template"]["spec"]["tolerations"][0]["key"], "bakeoff");
    let told = preset["metadata"]["annotations"]["bakeoff-nodes"].as_str().unwrap();
    let page = include_str!("../../../../../docs/machines.md");
    for command in
        ["kubectl label nodes NODE bakeoff=only", "kubectl taint nodes NODE bakeoff=:NoSchedule"]
    {
        assert!(told.contains(command) && page.contains(command), "{command}: {told}");
    }
    // Nor do pods of two jobs share a node.
    let label = serde_json::json!("shard");
    assert_eq!(spec["template"]["metadata"]["labels"]["bakeoff"], label);
    let apart = &spec["template"]["spec"]["affinity"]["podAntiAffinity"];
    let apart = &apart["requiredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!(apart["labelSelector"]["matchLabels"]["bakeoff"], label);
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!(container["env"][0], serde_json::json!({ "name": SHARDS, "value": "2" }));
    let expanded = |at: usize| expand_as_kubernetes(container["command"][at].as_str().unwrap());
    assert_eq!(expanded(4), NASTY);
    let script = expanded(2);
    let checked = bash(&["-n"], &script, place.path());
    assert!(checked.status.success() && !script.contains("owned"), "{}", said(&checked));
}

#[test]
fn a_claim_has_a_name_that_kubernetes_takes() {
    let longest = "x".repeat(253);
    for name in ["runs", "r", "my-runs.of-2026", longest.as_str()] {
        assert!(kubernetes::check_claim(name).is_ok(), "{name}");
    }
    let too_long = "x".repeat(254);
    for name in
        ["UP_", "Runs", "my_runs", "-runs", "runs-", "a..b", ".a", "", "ü", too_long.as_str()]
    {
        let failure = kubernetes::check_claim(name).expect_err(name);
        assert!(failure.message.contains("lower-case letters"), "{}", failure.message);
    }
}

#[test]
fn names_are_such_as_schedulers_take() {
    for (name, wanted) in [
        ("redmine", "bakeoff-redmine"),
        ("articles/Redmine 2", "bakeoff-articles-redmine-2"),
        ("ü!", "bakeoff"),
    ] {
        assert_eq!(scheduler_name(name), wanted);
    }
    assert!(scheduler_name(&"x".repeat(99)).len() <= 40);
}
