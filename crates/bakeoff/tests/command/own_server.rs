//! A server that the application brings: run, cut and audited, and ended where it misbehaves.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bakeoff_testkit::folder_for_all;
use serde_json::Value;

use super::Place;
use super::disk::Disks;

/// Keys in a log: `set KEY` is answered once the line is written, or synced; `get KEY` says 1 or 0.
const SERVER: &str = r#"#!/usr/bin/env python3
import os, socket, sys, threading
folder, path, sync = sys.argv[1:]
log = open(folder + "/log", "a+b", buffering=0)
log.seek(0)
keys = {line.strip() for line in log.read().split(b"\n")}
lock = threading.Lock()
def serve(client):
    for line in client.makefile("rb"):
        word, key = line.split()
        if word == b"set":
            with lock:
                log.write(key + b"\n")
                if sync == "sync":
                    os.fdatasync(log.fileno())
                keys.add(key)
        client.sendall(b"1" if key in keys else b"0")
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"#;

const CLIENT: &str = r#"#!/usr/bin/env python3
import os, socket, sys, bakeoff
db = socket.socket(socket.AF_UNIX)
db.connect(os.environ["BAKEOFF_SOCKET"])
def ask(word, key):
    db.sendall(f"{word} {key}\n".encode())
    return db.recv(1) == b"1"
def put(number):
    key = f"{bakeoff.CLIENT}-{number}"
    if not ask("set", key):
        raise RuntimeError("not set")
    bakeoff.ack(key)
def check(key):
    if not ask("get", key):
        return "lost"
if sys.argv[1:]:
    bakeoff.audit(check)
else:
    bakeoff.serve(put=put)
"#;

const CONFIGURATION: &str = r#"
[program]
client = "./client.py"
audit = ["./client.py", "audit"]
operations = { put = 1 }
[server]
name = "log"
start = START
version = VERSION
start_period = 2
grace = 2
[server.durability]
strict = ["sync"]
none = ["no-sync"]
"#;

/// A folder that every user may enter, with an application that starts its server so.
fn application(start: &str, version: &str) -> (Place, tempfile::TempDir) {
    let folder = folder_for_all();
    let helper = include_str!("../../../../examples/program/bakeoff.py");
    let configuration = CONFIGURATION.replace("START", start).replace("VERSION", version);
    for (name, text) in [
        ("workload.toml", &*configuration),
        ("server.py", SERVER),
        ("client.py", CLIENT),
        ("bakeoff.py", helper),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    (Place::new(), folder)
}

const PYTHON: &str = r#"["python3", "--version"]"#;
const START: &str = r#"["./server.py", "{data}", "{socket}"]"#;

fn lost(document: &Value) -> u64 {
    let cuts = document["cuts"].as_array().unwrap();
    // One before any acknowledgement shows nothing.
    let shown = |cut: &&Value| cut["failed"].is_null();
    assert!(cuts.iter().any(|cut| shown(&cut)), "{cuts:?}");
    let judged = cuts.iter().filter(shown).flat_map(|cut| {
        assert!(cut["acknowledged"].as_u64() > Some(0), "{cut}");
        cut["judged"].as_array().unwrap()
    });
    judged.map(|it| it["verdict"]["lost"].as_u64().unwrap()).sum()
}

#[test]
fn a_server_that_syncs_keeps_what_its_program_was_promised_and_one_that_lies_is_caught() {
    if Disks::new().is_none() {
        return;
    }
    let (place, folder) = application(START, PYTHON);
    let named = folder.path().to_str().unwrap();
    place.run(&["check", named]).code(0).says(&["✓ log: the program ran each operation once"]);
    let other = place.run(&["run", named, "--engine", "sqlite", "--dry-run"]);
    other.code(2).says(&["brings its own server: name log"]);
    let cuts = ["--cuts", "3", "--clients", "2", "--seconds", "0.5", "--repetitions", "1"];
    place.run(&[&["run", named, "--out", "kept"][..], &cuts].concat()).code(0);
    place.assert_clean("kept");
    let document = place.whole_json("kept");
    assert_eq!((lost(&document), &document["trials"][0]["valid"]), (0, &true.into()));
    let promise = &document["promises"][0];
    assert_eq!((&promise["engine"], &promise["kept"]), (&"log".into(), &true.into()), "{promise}");

    let configuration = folder.path().join("workload.toml");
    let text = fs::read_to_string(&configuration).unwrap().replace("[\"sync\"]", "[\"no-sync\"]");
    fs::write(configuration, text).unwrap();
    let lies = place.run(&[&["run", named, "--out", "lies"][..], &cuts].concat());
    lies.code(6).says(&["log broke its promise"]);
    assert!(lost(&place.whole_json("lies")) > 0);
}

#[test]
fn a_server_that_misbehaves_is_ended_with_all_that_it_started() {
    let listens = "import socket, time, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); \
                   t = socket.socket(); t.bind(('0.0.0.0', 0)); t.listen(); time.sleep(9876543)";
    let python = format!("[\"python3\", \"-c\", \"{listens}\", \"{{socket}}\"]");
    let shell = |script: &str| format!("[\"sh\", \"-c\", \"{script}\"]");
    let cases = [
        (shell("setsid sleep 9876543 & exit 0"), "ended while it was starting (exit status: 0)"),
        (shell("echo boom; exit 3"), "(exit status: 3): boom"),
        (shell("sleep 9876543"), "did not answer within 2 s"),
        (python, "listens on 0.0.0.0:"),
        ("[\"no-such-program\"]".into(), "no program no-such-program"),
        // It knows no question for its version either.
        (shell("exec sleep 9876543"), "did not answer within 2 s"),
    ];
    for (start, said) in cases {
        let version = if start.contains("exec") { &start } else { PYTHON };
        let (place, folder) = application(&start, version);
        let named = folder.path().to_str().unwrap();
        let run = ["run", named, "--seconds", "0.5", "--repetitions", "1", "--out", "r"];
        let done = place.run(&run);
        assert_ne!(done.0.status.code(), Some(0), "{said}: {}", done.out());
        done.says(&[said]);
    }
    let sleeps = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("9876543")
    });
    assert_eq!(sleeps.count(), 0, "something was left");
}

#[test]
fn the_sample_of_redis_runs_and_is_cut() {
    let needed = Path::new("/usr/bin/redis-server").exists().then_some(()).ok_or("redis-server");
    if bakeoff_testkit::needs(needed.map_err(ToString::to_string)).is_none()
        || Disks::new().is_none()
    {
        return;
    }
    // It has a copy of its own, as a user's folder has.
    let [copy, helper] = [
        include_str!("../../../../examples/redis/bakeoff.py"),
        include_str!("../../../../examples/program/bakeoff.py"),
    ];
    assert_eq!(copy, helper);
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/redis");
    let (place, folder) = (Place::new(), folder_for_all());
    for entry in fs::read_dir(sample).unwrap().flatten().filter(|it| it.path().is_file()) {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let named = folder.path().to_str().unwrap();
    let run = ["run", named, "--seconds", "0.5", "--repetitions", "1", "--cuts", "2", "--out", "r"];
    place.run(&run).code(0);
    assert_eq!(lost(&place.whole_json("r")), 0);
}
