//! Private servers in runs: held to their memory, given the user's settings, killed, missing.

use std::io::{BufRead, BufReader};

use bakeoff_application::list_built_in;
use bakeoff_results::measure::MEMORY_LIMIT;
use bakeoff_testkit::{children, in_time, needs, open_to_all, write_script};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Done, Place, measured, words};

/// A run of `mine.toml` whose trials are as short as can be, into the folder `r`.
const RUN: &str = "run mine.toml --out r --seconds 1 --repetitions 1 --disk host --clients 2";

/// Whether these engines are installed.
pub fn installed(engines: &[&str]) -> bool {
    let find = |name: &&str| bakeoff_engines::find_level(name).expect("it is an engine");
    engines.iter().map(find).all(|engine| needs(engine.available()).is_some())
}

/// Every trial of a run with its engine.
pub fn trials(document: &Value) -> Vec<(&str, &Value)> {
    let trials = document["trials"].as_array().unwrap().iter();
    trials.map(|trial| (trial["levels"]["engine"].as_str().unwrap(), trial)).collect()
}

/// Runs `point`, or what the text says instead, and these flags.
fn run(place: &Place, toml: &str, flags: &str) -> (Done, Value) {
    place.write("mine.toml", &format!("workload = \"point\"\n{toml}"));
    let done = place.typed(&format!("{RUN} {flags}")).code(0);
    place.assert_clean("r");
    (done, place.json("r"))
}

/// The settings of an engine that are the user's own, as a list.
fn own_settings(document: &Value, engine: &str) -> String {
    let applied = document["run"]["applied"].as_array().unwrap().iter();
    let of_engine = applied.filter(|applied| applied["engine"] == engine);
    let settings = of_engine.flat_map(|applied| applied["settings"].as_array().unwrap());
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let own = settings.filter(|setting| setting["reason"].is_null());
    let own = own.map(|it| format!("{}={}", text(&it["name"]), text(&it["value"])));
    own.collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "slow: make test-slow"]
fn servers_run_under_equal_memory_with_the_settings_of_the_user() {
    let engines = ["mariadb:innodb", "mariadb:rocksdb", "postgres"];
    if !installed(&engines) || needs(bakeoff_lab::try_memory_limit()).is_none() {
        return;
    }
    let toml = "engine = [\"mariadb:innodb\", \"mariadb:rocksdb\", \"postgres\"]\nmemory = \"512M\"\n\
                durability = \"strict\"\n\
                [settings.\"mariadb:innodb\"]\ninnodb-buffer-pool-size = \"64M\"\n\
                [settings.postgres]\nrandom_page_cost = 1.25\n";
    let (_, document) = run(&Place::new(), toml, "");
    assert_eq!(trials(&document).len(), 3);
    for (engine, trial) in trials(&document) {
        assert_eq!(trial["valid"], true, "{engine}: {trial}");
        let limit = measured(trial).of_database(&MEMORY_LIMIT);
        assert_eq!(limit, Some(f64::from(512 << 20)), "{engine}");
    }
    let own = ["innodb_buffer_pool_size=64M", "", "random_page_cost=1.25"];
    assert_eq!(engines.map(|engine| own_settings(&document, engine)), own);
}

/// A folder that is an installation of PostgreSQL as this machine has it, but says another version.
fn another_installation(place: &Place) -> String {
    let installed = bakeoff_engines::postgres::SERVER.find_installed().unwrap();
    std::fs::create_dir(place.path("pg")).unwrap();
    for (name, program) in [("postgres", &installed.server), ("initdb", &installed.initialiser)] {
        let text = format!(
            "[ \"$1\" = --version ] && {{ echo 'postgres 15.99'; exit; }}\nexec '{}' \"$@\"",
            program.display()
        );
        write_script(&place.path("pg").join(name), &text);
    }
    // The server's user has to get there.
    open_to_all(place.0.path());
    place.path("pg").display().to_string()
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_level_with_options_is_an_engine_of_its_own() {
    if !installed(&["postgres", "mariadb:innodb"]) {
        return;
    }
    let place = Place::new();
    let level = format!("postgres/path={}/work_mem=5MB", another_installation(&place));
    let jit = "engine = \"postgres\"\n[settings.postgres]\njit = \"on\"\n";
    let (done, document) = run(&place, jit, &format!("--engine postgres,{level}"));
    assert!(done.err().contains(&format!("into {level}")), "it has an image of its own");
    assert!(trials(&document).iter().all(|(_, trial)| trial["valid"] == true), "{document}");
    let engines = document["run"]["engines"].as_array().unwrap();
    for (name, own) in [("postgres", "jit=on"), (&*level, "jit=on work_mem=5MB")] {
        let engine = engines.iter().find(|engine| engine["name"] == name).unwrap();
        assert_eq!(engine["version"] == "15.99", name == level, "{engine}");
        assert_eq!(own_settings(&document, name), own, "{name}");
    }
    // One that keeps other levels is loaded under the weakest of them.
    let toml = "engine = \"mariadb:innodb/innodb_flush_method=fsync\"\n";
    let (done, document) = run(&Place::new(), toml, "--durability none,strict");
    done.says(&["not run", "durability none", "keep durability relaxed, not none"]);
    let ran = trials(&document);
    assert_eq!(ran.len(), 2, "{document}");
    assert!(ran.iter().all(|(_, trial)| trial["valid"] == true), "{document}");
}

/// Memory of one's own choice is not refused in the plan: the server refuses what does not fit, and lives. Ten failures
/// of its clients in a row end the trial.
#[test]
#[ignore = "slow: make test-slow"]
fn memory_that_clients_fill_ends_the_trial_with_what_the_server_answered() {
    if !installed(&["tarantool:memtx"]) {
        return;
    }
    let place = Place::new();
    let toml = "workload = \"oltp\"\nscale = \"100k\"\ntest = \"insert\"\nengine = \"tarantool:memtx\"\n\
                durability = \"none\"\nrepetitions = 1\nclients = 16\n\
                [settings.\"tarantool:memtx\"]\nmemtx_memory = 67108864\n";
    place.write("mine.toml", toml);
    // It ends when memory is full, which is long before.
    place
        .typed("run mine.toml --out r --seconds 600 --disk host")
        .code(5)
        .says(&["gave up after 10 failures in a row"]);
    let document = place.json("r");
    let [(_, trial)] = trials(&document)[..] else { panic!("one trial: {document}") };
    let why = trial["reason"].as_str().unwrap();
    assert!(why.contains("of transaction: ") && why.contains("Failed to allocate"), "{why}");
    place.assert_clean("r");
}

/// A folder with a server that is too old, for the front of PATH.
fn too_old(place: &Place) -> String {
    let folder = place.path("old");
    std::fs::create_dir(&folder).unwrap();
    for (name, said) in [
        ("mariadbd", "mariadbd  Ver 5.5.68-MariaDB"),
        ("mariadb-install-db", ""),
        ("postgres", "postgres (PostgreSQL) 9.6.24"),
        ("initdb", ""),
        ("tarantool", "Tarantool 1.10.15-0-g1bd7bba"),
    ] {
        write_script(&folder.join(name), &format!("echo '{said}'"));
    }
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

#[test]
fn every_server_that_can_not_be_used_is_named_before_anything_is_loaded() {
    let place = Place::new();
    let path = too_old(&place);
    let start = |line: &str| Done(place.command(&words(line)).env("PATH", &path).output().unwrap());
    let engines = "[\"sqlite\", \"mariadb:innodb\", \"postgres\", \"tarantool:memtx\"]";
    place.write("mine.toml", &format!("workload = \"point\"\nengine = {engines}\n"));
    for more in ["--dry-run", ""] {
        let said = start(&format!("{RUN} {more}")).code(2).err();
        for (engine, mend) in [
            ("mariadb:innodb", "5.5.68 (PLACE/old/mariadbd) is too old: bakeoff needs 10.6 or"),
            ("postgres", "apt-get install postgresql"),
            ("tarantool:memtx", "1.10.15 (PLACE/old/tarantool) is too old: bakeoff needs 2.6 or"),
        ] {
            let mend = mend.replace("PLACE", place.0.path().to_str().unwrap());
            let start = format!("- {engine} can't be used");
            let is_it = |line: &str| line.starts_with(&start) && line.contains(&mend);
            assert!(said.lines().any(is_it), "{engine}: {said}");
        }
        assert!(!said.contains("loaded "), "{said}");
    }
    assert!(!place.path("r").exists(), "the mended command finds its place free");
    // What is missing is said, and is no fault of the machine: it can run what needs no server.
    let doctor = start("doctor").code(0);
    doctor.says(&["missing  engine mariadb:innodb: MariaDB 5.5.68", "without what is missing"]);
    start("list engines").code(0).says(&["postgres not", "mysql://"]);
}

/// The first process below another one whose command has all of these words.
fn find_below(parent: u32, words: &[&str]) -> Option<u32> {
    let is_it = |child: &u32| {
        let command = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).into_owned();
        words.iter().all(|word| command.contains(word))
    };
    let all = children(parent);
    all.iter().copied().find(is_it).or_else(|| all.iter().find_map(|it| find_below(*it, words)))
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_server_that_dies_fails_its_trial_and_no_other() {
    const ENGINE: &str = "postgres";
    if !installed(&[ENGINE]) {
        return;
    }
    let (place, said, code) = in_time("the server's trial", |_| {
        let place = Place::new();
        place.write("mine.toml", "workload = \"point\"\nengine = [\"null\", \"postgres\"]\n");
        let run = "run mine.toml --out r --repetitions 2 --seconds 3 --log debug";
        let mut run = place.start(&words(run));
        let mut said = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
        // The server of its first trial, whose clients are connected.
        for step in [&["trial begins", ENGINE][..], &["DEBUG ready"]] {
            let is_step = |line: String| step.iter().all(|word| line.contains(word));
            assert!(said.any(is_step), "{step:?} was not said");
        }
        let server = find_below(run.id(), &[ENGINE, "/data"]);
        let server = server.and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let killed = server.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok());
        let said: Vec<String> = said.collect();
        let code = run.wait().unwrap().code();
        // Where a processor was waited for, the clients are still on their way to it, or nobody has looked at its
        // accounts yet.
        let told = place.json("r").to_string();
        let is_early =
            ["could not connect", "no account of what"].iter().any(|it| told.contains(it));
        (killed && !is_early && code != Some(0)).then_some((place, said, code))
    });
    assert_eq!(code, Some(5), "{said:#?}");
    let document = place.json("r");
    let trials = trials(&document);
    let failed: Vec<_> = trials.iter().filter(|(_, trial)| trial["valid"] == false).collect();
    assert_eq!(trials.len(), 4, "{said:#?}");
    let [(ENGINE, trial)] = failed[..] else { panic!("one failed: {said:#?}") };
    assert!(trial["reason"].as_str().unwrap().contains("the end of its log"), "{trial}");
    place.assert_clean("r");
}

/// Before anything is loaded, in the plan and in the run.
#[test]
fn a_setting_that_a_server_does_not_know_is_found_before_the_first_load() {
    if !installed(&["mariadb:innodb", "mariadb:rocksdb", "postgres"]) {
        return;
    }
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    for (engine, word) in [
        ("postgres/work_mem=7apples,sqlite", "work_mem"),
        ("mariadb:rocksdb/rocksdb_nonsense=1", "rocksdb_nonsense"),
        ("postgres/work_mem=8MB,mariadb:innodb/innodb_flush_neighbors=0", ""),
    ] {
        let said = place.typed(&format!("{RUN} --dry-run --engine {engine}")).err();
        let is_refused = said.contains("does not take its settings: ");
        assert!(said.contains(word) && is_refused != word.is_empty(), "{engine}: {said}");
    }
    let own = "engine = \"postgres\"\n[settings.postgres]\nnonsense = \"1\"\n";
    place.write("mine.toml", &format!("workload = \"point\"\n{own}"));
    place.typed(RUN).code(2).says(&["can't be used: ", "unrecognized", "\"nonsense\""]);
    assert!(!place.path("r").exists());
}

/// Tarantool's two storages are the ones that are no SQL.
#[test]
#[ignore = "slow: make test-slow"]
fn every_workload_runs_on_tarantool_and_is_answered_as_by_sqlite() {
    if !installed(&["tarantool:memtx", "tarantool:vinyl"]) {
        return;
    }
    let engines = "engine = [\"sqlite\", \"tarantool:memtx\", \"tarantool:vinyl\"]";
    for workload in list_built_in().filter(|it| it.program().is_none()) {
        let (place, name) = (Place::new(), workload.name());
        let toml = format!("workload = \"{name}\"\n{engines}\ndurability = \"strict\"\n");
        place.write("mine.toml", &toml);
        place.typed(&format!("{RUN} --noise-floor false --quiet")).code(0);
        place.assert_clean("r");
        let document = place.json("r");
        assert_eq!(trials(&document).len(), 3, "{name}: {document}");
        for (engine, trial) in trials(&document) {
            let operations = trial["operations"].as_array().unwrap();
            let sum =
                |what: &str| operations.iter().filter_map(|it| it[what].as_u64()).sum::<u64>();
            let is_whole = trial["valid"] == true && sum("count") > 0 && sum("errors") == 0;
            assert!(is_whole, "{name} on {engine}: {trial}");
        }
        assert!(!document["warnings"].to_string().contains("answers-differ"), "{name}");
    }
}
