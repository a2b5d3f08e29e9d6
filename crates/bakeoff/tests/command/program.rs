//! An application's own program as the client: in Python and sh, well and badly behaved, trusted or not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::Place;

const RUN: &str = "--engine sqlite --clients 2 --seconds 0.5 --repetitions 1";
const SCHEMA: &str = "CREATE TABLE items (id INTEGER PRIMARY KEY, stock INTEGER NOT NULL);\n";
const FILL: &str = "#!/usr/bin/env python3\nimport os, sqlite3\n\
                    db = sqlite3.connect(os.environ['BAKEOFF_DATABASE'])\n\
                    db.executemany('INSERT INTO items VALUES (?, 7)', ((n,) for n in range(1000)))\n\
                    db.commit()\n";

/// A folder whose client is `client`, with `more` in its table of the program.
fn folder(client: &str, more: &str) -> Place {
    let place = Place::new();
    fs::create_dir(place.path("shop")).unwrap();
    place.write("shop/schema.sql", SCHEMA);
    let program = "[program]\nclient = './client'\noperations = { buy = 1, browse = 9 }\n";
    place.write("shop/workload.toml", &format!("{program}{more}[rows]\nitems = 1000\n"));
    for (name, text) in [("client", client), ("fill", FILL)] {
        let file = format!("shop/{name}");
        place.write(&file, text);
        fs::set_permissions(place.path(&file), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let helpers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/program");
    for helper in ["bakeoff.py", "bakeoff.sh"] {
        fs::copy(helpers.join(helper), place.path("shop").join(helper)).unwrap();
    }
    place
}

#[test]
fn programs_fill_and_are_asked_and_only_trusted_ones_run() {
    let guide = include_str!("../../../../docs/how-to/run-your-own-program.md");
    let (_, example) = guide.split_once("```python\n").unwrap();
    let place = folder(example.split_once("```").unwrap().0, "fill = './fill'\n");
    place.typed("check shop --engine sqlite").code(0).says(&["✓ sqlite: the program ran each"]);
    place.typed(&format!("run shop {RUN} --out r")).code(0);
    let trial = &place.json("r")["trials"][0];
    let operations = trial["operations"].as_array().unwrap();
    let names: Vec<&str> = operations.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!((names, trial["valid"].as_bool()), (vec!["buy", "browse"], Some(true)));
    place.typed("run shop --dry-run --engine lmdb").code(2).says(&["own program can't reach it"]);
    place.typed("run --resume r").code(2).says(&["--trust-experiment"]);
    place.typed("run --resume r --trust-experiment").code(0);
    fs::set_permissions(place.path("shop"), PermissionsExt::from_mode(0o777)).unwrap();
    let open = place.typed(&format!("run shop {RUN} --dry-run"));
    open.code(2).says(&["may do whatever you may do", "--trust-experiment"]);
    place.write(
        "shop/client",
        "#!/bin/sh\n. ./bakeoff.sh\nbuy() { [ $1 -lt 3 ]; }\nbrowse() { echo $1; }\nserve\n",
    );
    place.typed("run --resume r --trust-experiment").code(2).says(&["not what it was"]);
    let failed = place.typed(&format!("run shop {RUN} --out s --trust-experiment"));
    failed.says(&["the first: exit code 1"]);
    assert!(fs::read_to_string(place.path("s/programs.log")).unwrap().contains("client 1: 1"));
}

/// It tells of operations that it has run, each in about 1 ms, or as `told` says.
fn self_paced(told: &str) -> String {
    format!(
        "#!/usr/bin/env python3\nimport os, time\nsay = lambda line: os.write(3, line.encode() + b'\\n')\n\
         say('ready')\nos.read(3, 3)\nnow = time.monotonic_ns\nname = 0\nwhile True:\n  began = now()\n  \
         time.sleep(0.001)\n  name = 1 - name\n  say('op ' + ['buy', 'browse'][name] + {told})\n"
    )
}

#[test]
fn what_a_program_tells_of_its_own_pace_must_be_possible() {
    for (told, wrong) in [
        ("f' {began} {now()} ok'", None),
        ("f' {began} {now() + 2_000_000_000} ok'", Some("has not ended yet")),
        ("f' {began - 2_000_000_000} {now()} ok'", Some("begins before `go`")),
        ("f'-nothing {began} {now()} ok'", Some("there is no such operation")),
    ] {
        let place = folder(&self_paced(told), "pace = 'own'\n");
        let run = place.typed(&format!("run shop {RUN} --out r"));
        if let Some(wrong) = wrong {
            run.code(5).says(&[wrong]);
            continue;
        }
        run.code(0);
        let trial = &place.json("r")["trials"][0];
        for operation in trial["operations"].as_array().unwrap() {
            let mean = operation["mean_s"].as_f64().unwrap();
            assert!(operation["count"].as_u64() >= Some(20) && mean >= 0.001, "{operation}");
        }
        place.typed("check shop --engine sqlite").code(0);
        let rate = place.typed("run shop --engine sqlite --factor rate=100/s --dry-run");
        rate.code(2).says(&["chooses when operations begin"]);
    }
}

const ESCAPES: &str = "#!/bin/sh\necho $$ >>pids\nsetsid sleep 1000 & echo $! >>pids\n";

#[test]
fn programs_that_misbehave_are_ended_with_all_that_they_started() {
    let asked = "echo ready >&3; read -r go <&3; read -r line <&3";
    let cases = [
        (format!("{asked}; echo boom >&2; exit 3"), "ended with exit code 3; it wrote:\nboom"),
        (format!("{asked}; sleep 1000"), "has not answered `do "),
        (format!("{asked}; printf 'ok 1' >&3"), "ended in the middle of the line `ok 1`"),
        (format!("{asked}; echo perhaps >&3; sleep 1000"), "says `perhaps`"),
        ("exec yes ok >&3".into(), "written more than 1000 lines"),
        ("exec sleep 1000".into(), "has not said `ready` within 10 s"),
    ];
    std::thread::scope(|scope| {
        for (client, said) in cases {
            scope.spawn(move || {
                let place = folder(&format!("{ESCAPES}{client}\n"), "timeout = 1\n");
                place.typed(&format!("run shop {RUN} --out r")).code(5).says(&[said]);
                let pids = fs::read_to_string(place.path("shop/pids")).unwrap();
                let is_there = |pid: &&str| Path::new("/proc").join(pid).exists();
                assert!(pids.lines().count() >= 2);
                assert_eq!(pids.lines().find(is_there), None, "{said}");
            });
        }
    });
}

/// Its tables are made by the sessions' user, who may make none afterwards.
#[test]
fn redmine_itself_is_the_client_where_it_is_installed() {
    if !Path::new("/usr/share/redmine/lib/redmine/version.rb").exists() {
        eprintln!("skipped: no Redmine");
        return;
    }
    let engine = if super::servers::installed(&["postgres"]) { "postgres" } else { "sqlite" };
    let place = Place::new();
    let few = "--clients 1 --seconds 0.5 --repetitions 1 --factor programs=inside";
    place.typed(&format!("run redmine-rails --engine {engine} {few} --out r")).code(0);
    let document = place.json("r");
    let trial = document["trials"].as_array().unwrap().last().unwrap();
    assert_eq!(trial["valid"], true, "{trial}");
    let operations = trial["operations"].as_array().unwrap();
    let is_done = |it: &serde_json::Value| it["count"].as_u64() >= Some(1) && it["errors"] == 0;
    assert!(operations.len() == 2 && operations.iter().all(is_done), "{operations:?}");
    let measures = trial["measures"].as_array().unwrap();
    let value = |name: &str, scope: serde_json::Value| {
        let mut found = measures.iter().filter(|it| it["name"] == name && it["scope"] == scope);
        found.next().and_then(|it| it["value"].as_f64()).unwrap_or_default()
    };
    let [all, inside] = ["program_operations_us", "program_in_database_us"]
        .map(|name| value(name, "target".into()));
    assert!(0.0 < inside && inside < all, "{trial}");
    let group = if engine == "sqlite" { "database" } else { "application" };
    assert!(value("cpu", serde_json::json!({ "processes": group })) > 0.0, "{trial}");
}
