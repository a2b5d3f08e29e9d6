//! Private servers in runs: held to their memory, given the user's settings, killed, missing.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use bakeoff_results::measure::{CPU, MEMORY_LIMIT};
use bakeoff_testkit::{NOBODY, in_time, needs, needs_root, open_to_all, write_script};

use super::{Place, measured};

/// A trial that is as short as can be.
const SHORT: [&str; 10] = [
    "--seconds",
    "1",
    "--repetitions",
    "1",
    "--disk",
    "host",
    "--neighbours",
    "0",
    "--clients",
    "2",
];

/// Whether these engines are installed.
pub fn installed(engines: &[&str]) -> bool {
    let find = |name: &&str| bakeoff_engines::find(name).expect("it is an engine");
    engines.iter().map(find).all(|engine| needs(engine.available()).is_some())
}

fn limited() -> bool {
    needs(bakeoff_lab::try_memory_limit()).is_some()
}

/// Every trial of a run with its engine.
pub fn trials(document: &Value) -> Vec<(&str, &Value)> {
    let trials = document["trials"].as_array().unwrap().iter();
    trials.map(|trial| (trial["levels"]["engine"].as_str().unwrap(), trial)).collect()
}

#[test]
#[ignore = "slow: make test-slow"]
fn servers_run_under_equal_memory_with_the_settings_of_the_user() {
    const ENGINES: [&str; 3] = ["mariadb:innodb", "mariadb:rocksdb", "postgres"];
    if !installed(&ENGINES) || !limited() {
        return;
    }
    let place = Place::new();
    place.write(
        "mine.toml",
        "workload = \"point\"\nengine = [\"mariadb:innodb\", \"mariadb:rocksdb\", \"postgres\"]\n\
         memory = \"256M\"\ndurability = \"strict\"\n\
         [settings.\"mariadb:innodb\"]\ninnodb-buffer-pool-size = \"64M\"\n\
         [settings.postgres]\nrandom_page_cost = 1.25\n",
    );
    let arguments = [&["run", "mine.toml", "--out", "r"][..], &SHORT].concat();
    place.run(&arguments).code(0);
    place.assert_clean("r");
    let document = place.json("r");
    for (engine, trial) in trials(&document) {
        assert_eq!(trial["valid"], true, "{engine}: {trial}");
        let limit = measured(trial).of_database(&MEMORY_LIMIT);
        assert_eq!(limit, Some(f64::from(256 << 20)), "{engine}");
    }
    let own: Vec<(&str, &str)> =
        vec![("innodb_buffer_pool_size", "64M"), ("random_page_cost", "1.25")];
    let applied = document["run"]["applied"].as_array().unwrap().iter();
    let settings = applied.flat_map(|applied| applied["settings"].as_array().unwrap());
    let mut found: Vec<(&str, &str)> = settings
        .filter(|setting| setting["reason"].is_null())
        .map(|setting| (setting["name"].as_str().unwrap(), setting["value"].as_str().unwrap()))
        .collect();
    found.sort_unstable();
    assert_eq!(found, own);
}

/// A folder that is an installation of PostgreSQL as this machine has it, but says another version.
fn another_installation(place: &Place) -> String {
    let installed = bakeoff_engines::postgres::SERVER.find().unwrap();
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
    if !installed(&["postgres"]) {
        return;
    }
    let place = Place::new();
    let level = format!("postgres/path={}/work_mem=5MB", another_installation(&place));
    place.write(
        "mine.toml",
        "workload = \"point\"\nengine = \"postgres\"\n[settings.postgres]\njit = \"on\"\n",
    );
    let engines = format!("postgres,{level}");
    let run = [&["run", "mine.toml", "--out", "r", "--engine", &engines][..], &SHORT].concat();
    let done = place.run(&run).code(0);
    assert!(done.err().contains(&format!("into {level}")), "it has an image of its own");
    let document = place.json("r");
    assert!(trials(&document).iter().all(|(_, trial)| trial["valid"] == true), "{document}");
    let version = |name: &str| {
        let mut engines = document["run"]["engines"].as_array().unwrap().iter();
        engines.find(|engine| engine["name"] == name).unwrap()["version"].as_str().unwrap()
    };
    assert_eq!(version(&level), "15.99");
    assert_ne!(version("postgres"), "15.99");
    for (engine, own) in [("postgres", "jit=on"), (&*level, "jit=on work_mem=5MB")] {
        let applied = document["run"]["applied"].as_array().unwrap().iter();
        let of_engine = applied.filter(|applied| applied["engine"] == engine);
        let settings = of_engine.flat_map(|applied| applied["settings"].as_array().unwrap());
        let users = settings.filter(|setting| setting["reason"].is_null());
        let written = |setting: &Value| {
            format!("{}={}", setting["name"].as_str().unwrap(), setting["value"].as_str().unwrap())
        };
        assert_eq!(users.map(written).collect::<Vec<_>>().join(" "), own, "{engine}");
    }
    place.assert_clean("r");
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_level_that_leaves_one_durability_alone_is_loaded_under_that() {
    if !installed(&["mariadb:innodb"]) {
        return;
    }
    let place = Place::new();
    let level = "mariadb:innodb/innodb_flush_method=fsync";
    place.write("mine.toml", &format!("workload = \"point\"\nengine = \"{level}\"\n"));
    let run = ["run", "mine.toml", "--out", "r", "--durability", "none,strict"];
    let done = place.run(&[&run[..], &SHORT].concat()).code(0);
    done.says(&["not run", "durability none", "which the level of durability sets"]);
    let document = place.json("r");
    let trials = trials(&document);
    assert_eq!(trials.len(), 1);
    assert_eq!(trials[0].1["valid"], true, "{document}");
}

/// One that it knows, and that it can't have once it serves.
#[test]
fn a_setting_that_the_server_refuses_fails_its_trials_and_no_others() {
    if !installed(&["postgres"]) {
        return;
    }
    let place = Place::new();
    place.write(
        "mine.toml",
        "workload = \"point\"\nengine = [\"postgres\", \"sqlite\"]\n\
         [settings.postgres]\nshared_buffers = \"4000GB\"\n",
    );
    let arguments = [&["run", "mine.toml", "--out", "r"][..], &SHORT].concat();
    place.run(&arguments).code(5).says(&["shared memory"]);
    let document = place.json("r");
    let valid = trials(&document).into_iter().map(|(engine, trial)| (engine, &trial["valid"]));
    assert_eq!(valid.filter(|(_, valid)| **valid == true).count(), 1);
    place.assert_clean("r");
}

/// Memory of one's own choice is not refused in the plan: the server refuses what does not fit, and lives.
#[test]
#[ignore = "slow: make test-slow"]
fn memory_that_is_full_fails_the_trial_with_what_the_server_says_and_leaves_nothing() {
    const ENGINE: &str = "tarantool:memtx";
    if !installed(&[ENGINE]) {
        return;
    }
    let place = Place::new();
    place.write(
        "mine.toml",
        "workload = \"point\"\nscale = \"large\"\nengine = [\"tarantool:memtx\", \"sqlite\"]\n\
         [settings.\"tarantool:memtx\"]\nmemtx_memory = 67108864\n",
    );
    let arguments = [&["run", "mine.toml", "--out", "r"][..], &SHORT].concat();
    place.run(&arguments).code(5).says(&["Failed to allocate"]);
    let document = place.json("r");
    for (engine, trial) in trials(&document) {
        assert_eq!(trial["valid"], engine != ENGINE, "{trial}");
        let said = trial["reason"].as_str().is_some_and(|why| why.contains("Failed to allocate"));
        assert_eq!(said, engine == ENGINE, "{trial}");
    }
    place.assert_clean("r");
}

/// The rows fit, and what clients insert does not: their operations fail with what the server says, ten in a row
/// end the trial, and the server that has answered each of them is stopped as any other.
#[test]
#[ignore = "slow: make test-slow"]
fn memory_that_clients_fill_ends_the_trial_with_what_the_server_answered() {
    if !installed(&["tarantool:memtx"]) {
        return;
    }
    let place = Place::new();
    place.write(
        "mine.toml",
        "workload = \"oltp\"\nscale = \"100k\"\ntest = \"insert\"\nengine = \"tarantool:memtx\"\n\
         durability = \"none\"\nrepetitions = 1\nclients = 16\n\
         [settings.\"tarantool:memtx\"]\nmemtx_memory = 67108864\n",
    );
    // It ends when memory is full, which is long before.
    let arguments = ["run", "mine.toml", "--out", "r", "--seconds", "600", "--disk", "host"];
    place.run(&arguments).code(5).says(&["gave up after 10 failures in a row"]);
    let document = place.json("r");
    let all = trials(&document);
    let [(_, trial)] = all[..] else { panic!("{document}") };
    assert_eq!(trial["valid"], false, "{trial}");
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
    let start = |arguments: &[&str]| {
        super::Done(place.command(arguments).env("PATH", &path).output().unwrap())
    };
    place.write(
        "mine.toml",
        "workload = \"point\"\n\
         engine = [\"sqlite\", \"mariadb:innodb\", \"postgres\", \"tarantool:memtx\"]\n",
    );
    let run = [&["run", "mine.toml", "--out", "r"][..], &SHORT].concat();
    let planned = start(&[&run[..], &["--dry-run"]].concat()).code(2);
    let done = start(&run).code(2);
    for said in [planned.err(), done.err()] {
        for (engine, mend) in [
            ("mariadb:innodb", "5.5.68 (PLACE/old/mariadbd) is too old: bakeoff needs 10.6 or"),
            ("postgres", "apt-get install postgresql"),
            ("tarantool:memtx", "1.10.15 (PLACE/old/tarantool) is too old: bakeoff needs 2.6 or"),
        ] {
            let mend = mend.replace("PLACE", place.0.path().to_str().unwrap());
            let line = said.lines().any(|line| {
                line.starts_with(&format!("- {engine} can't be used")) && line.contains(&mend)
            });
            assert!(line, "{engine}: {said}");
        }
        assert!(!said.contains("loaded "), "{said}");
    }
    assert!(!place.path("r").exists(), "the mended command finds its place free");
    // What is missing is said, and is no fault of the machine: it can run what needs no server.
    let doctor = start(&["doctor"]).code(0);
    doctor.says(&[
        "missing  engine mariadb:innodb: MariaDB 5.5.68",
        "can run here without what is missing",
    ]);
    start(&["list", "engines"]).code(0).says(&["postgres not", "mysql://"]);
}

/// The processes below another one whose command has all of these words: their numbers.
fn below(parent: u32, words: &[&str]) -> Vec<u32> {
    let mut found = Vec::new();
    let threads = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let children = threads.flat_map(|thread| {
        let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>()
    });
    for child in children {
        let command = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command);
        if words.iter().all(|word| command.contains(word)) {
            found.push(child);
        }
        found.extend(below(child, words));
    }
    found
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
        let engines = format!("engine = [\"null\", \"{ENGINE}\"]\n");
        place.write("mine.toml", &format!("workload = \"point\"\n{engines}"));
        let arguments = ["run", "mine.toml", "--out", "r", "--repetitions", "2", "--seconds", "3"];
        let mut run = place.start(&[&arguments[..], &["--log", "debug"]].concat());
        let mut said = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
        // The server of its first trial, whose clients are connected.
        for step in [&["trial begins", ENGINE][..], &["DEBUG ready"]] {
            let is_step = |line: String| step.iter().all(|word| line.contains(word));
            assert!(said.any(is_step), "{step:?} was not said");
        }
        let server = below(run.id(), &[ENGINE, "/data"]).first().copied();
        let server = server.and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed()));
        let kill = |pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        let killed = server.is_some_and(|pid| kill(pid).is_ok());
        let said: Vec<String> = said.collect();
        let code = run.wait().unwrap().code();
        (killed && code != Some(0)).then_some((place, said, code))
    });
    assert_eq!(code, Some(5), "{said:#?}");
    let document = place.json("r");
    let failed: Vec<&Value> = trials(&document)
        .into_iter()
        .filter(|(_, trial)| trial["valid"] == false)
        .map(|(failed, trial)| {
            assert_eq!(failed, ENGINE);
            trial
        })
        .collect();
    assert_eq!((trials(&document).len(), failed.len()), (4, 1), "{said:#?}");
    let reason = failed[0]["reason"].as_str().unwrap();
    assert!(reason.contains("the end of its log"), "{reason}");
    place.assert_clean("r");
}

/// A folder of a test's own whose path is longer than the address of a socket.
const DEEP: &str = "a-run-folder-of-which-the-path-is-by-itself-longer-than-what-the-address-of-a-\
                    socket-has-room-for/and-another-one-in-it-so-that-nobody-can-take-it-for-\
                    anything-but-long";

#[test]
#[ignore = "slow: make test-slow"]
fn a_server_runs_in_a_folder_with_a_long_path_for_an_ordinary_user() {
    const ENGINE: &str = "mariadb:innodb";
    if !needs_root("be another user") || !installed(&[ENGINE]) {
        return;
    }
    let place = Place::of(NOBODY);
    std::fs::create_dir_all(place.path(DEEP)).unwrap();
    let top = DEEP.split('/').next().unwrap();
    let mut give = std::process::Command::new("chown");
    give.args(["-R", "65534:65534", top]).current_dir(place.path(""));
    assert!(give.status().unwrap().success());
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let out = format!("{DEEP}/r");
    let run = ["run", "mine.toml", "--engine", ENGINE, "--out", &out];
    place.run_as(NOBODY, &[&run[..], &SHORT].concat()).code(0);
    let document = place.json(&out);
    let [(_, trial)] = trials(&document)[..] else { panic!("one trial: {document}") };
    assert_eq!(trial["valid"], true, "{trial}");
    // What its processes used is known.
    assert!(measured(trial).of_database(&CPU).is_some_and(|cpu| cpu > 0.0), "{trial}");
}

/// Before anything is loaded, in the plan and in the run.
#[test]
fn a_setting_that_a_server_does_not_know_is_found_before_the_first_load() {
    if !installed(&["mariadb:innodb", "mariadb:rocksdb", "postgres"]) {
        return;
    }
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\ndisk = \"host\"\n");
    let plan = |engine: &str| place.run(&["run", "mine.toml", "--dry-run", "--engine", engine]);
    for (engine, word) in [
        ("postgres/nonsense=1", "\"nonsense\""),
        ("postgres/work_mem=7apples", "work_mem"),
        ("mariadb:innodb/innodb_nonsense=1", "innodb_nonsense"),
        ("mariadb:innodb/innodb_flush_method=many,sqlite", "innodb-flush-method"),
        ("mariadb:rocksdb/rocksdb_nonsense=1", "rocksdb_nonsense"),
    ] {
        let said = plan(engine).err();
        assert!(said.contains("it would not begin here: ") && said.contains(word), "{said}");
    }
    for engine in ["postgres/work_mem=8MB", "mariadb:innodb/innodb_flush_neighbors=0"] {
        let said = plan(engine).err();
        assert!(!said.contains("it would not begin"), "{said}");
    }
    let both = "sqlite,mariadb:rocksdb/rocksdb_block_cache_size=9M,postgres/nonsense=1";
    let refused = place.run(&["run", "mine.toml", "--out", "r", "--engine", both]);
    refused.code(2).says(&["postgres/nonsense=1 can't be used: ", "unrecognized", "\"nonsense\""]);
    assert!(!place.path("r").exists());
    place.write(
        "set.toml",
        "workload = \"point\"\nengine = \"postgres\"\ndisk = \"host\"\n\
         [settings.postgres]\nnonsense = \"1\"\n",
    );
    place.run(&["run", "set.toml", "--out", "r"]).code(2).says(&["\"nonsense\""]);
}
