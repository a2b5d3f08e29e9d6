//! Servers that die: killed, or with the process that started them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use bakeoff_servers::{Launch, PrivateServer};
use bakeoff_testkit::{PATIENCE, children, skip, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use crate::client::{ask, must, table};
use crate::{Home, Program, installed};

/// Where a parent that is to die finds its server's folder.
const DIRECTORY: &str = "BAKEOFF_TEST_DIRECTORY";
/// Which of the servers it is.
const PROGRAM: &str = "BAKEOFF_TEST_PROGRAM";

/// Every process that is below this one, and itself.
fn family(pid: u32) -> Vec<u32> {
    let below = children(pid).into_iter().flat_map(family);
    std::iter::once(pid).chain(below).collect()
}

fn lives(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

#[test]
fn a_killed_server_is_gone_at_once_and_recovers() {
    for program in installed() {
        let home = Home::initialised(program);
        let server = PrivateServer::start(&program, &home.launch).expect("it starts");
        must(program, &server, table());
        let family = family(server.pid());
        assert!(program != Program::Postgres || family.len() > 3, "{family:?}");
        server.kill();
        let left: Vec<_> = family.into_iter().filter(|pid| lives(*pid)).collect();
        assert!(left.is_empty(), "{program}: {left:?}");
        let server = PrivateServer::start(&program, &home.launch).expect("it recovers");
        assert_eq!(must(program, &server, "SELECT n FROM test.t"), "1");
    }
}

#[test]
fn a_server_that_dies_is_told() {
    for program in installed() {
        let home = Home::initialised(program);
        let server = PrivateServer::start(&program, &home.launch).expect("it starts");
        let pid = Pid::from_raw(server.pid().cast_signed()).expect("a process");
        kill_process(pid, Signal::KILL).expect("a process of ours");
        wait_until("the server's end", || !server.is_running());
        assert!(ask(program, &server, "SELECT 1").is_err());
        let error = server.stop().expect_err("it can't stop").to_string();
        assert!(error.contains("SIGKILL") && error.contains("log"), "{error}");
    }
}

/// What a parent that is to die does: it starts a server, says so, and waits. A test by name only,
/// so that the program can start itself as such.
#[test]
fn parent() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let launch = Launch { directory: directory.into(), ..Launch::default() };
    let program = match std::env::var(PROGRAM).as_deref() {
        Ok("MariaDB") => Program::MariaDb,
        _ => Program::Postgres,
    };
    // The thread that starts it ends at once, and the server must not end with it.
    let start = move || PrivateServer::start(&program, &launch).expect("it starts");
    let server = std::thread::spawn(start).join().expect("a server");
    must(program, &server, table());
    println!("\npid {}", server.pid());
    std::io::stdout().flush().expect("a reader");
    std::thread::sleep(PATIENCE);
}

#[test]
fn a_server_dies_with_its_parent_and_the_next_one_waits_for_that() {
    for program in installed() {
        let home = Home::initialised(program);
        let mut parent = Command::new(std::env::current_exe().expect("a test program"));
        parent.args(["ends::parent", "--exact", "--nocapture"]);
        parent.env(DIRECTORY, &home.launch.directory).env(PROGRAM, program.to_string());
        let mut parent = parent.stdout(Stdio::piped()).spawn().expect("it is this program");
        let output = BufReader::new(parent.stdout.take().expect("piped")).lines();
        let pid =
            output.map_while(Result::ok).find_map(|line| line.strip_prefix("pid ")?.parse().ok());
        let family = family(pid.expect("the parent starts a server"));
        parent.kill().expect("a child of ours");

        let server = PrivateServer::start(&program, &home.launch).expect("it recovers");
        let left: Vec<_> = family.into_iter().filter(|pid| lives(*pid)).collect();
        assert!(left.is_empty(), "{program}: {left:?}");
        assert_eq!(must(program, &server, "SELECT n FROM test.t"), "1");
        parent.wait().expect("a child of ours");
    }
}

#[test]
fn a_killed_server_leaves_no_shared_memory() {
    for program in installed() {
        let home = Home::initialised(program);
        let server = PrivateServer::start(&program, &home.launch).expect("it starts");
        let pid = server.pid();
        let space = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/ipc"));
        let (its, ours) = (space(&pid.to_string()), space("self"));
        if its.expect("it runs") == ours.expect("we run") {
            skip(format_args!("this system gives {program} no name space of its own"));
            continue;
        }
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
        assert!(!maps.contains("/dev/shm/"), "{maps}");
        server.kill();
        let segments = std::fs::read_to_string("/proc/sysvipc/shm").expect("the kernel has it");
        let makers = segments.lines().filter_map(|line| line.split_whitespace().nth(4));
        assert_eq!(makers.filter(|maker| *maker == pid.to_string()).count(), 0, "{segments}");
    }
}
