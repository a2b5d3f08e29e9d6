//! The life of a server: what it is given, who gets in, how it ends, and that its data outlive that.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use bakeoff_engines::servers::{Launch, PrivateServer};
use bakeoff_testkit::{PATIENCE, children, is_root, skip, wait_until};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::{Home, Program, TABLE, installed};

const READ: &str = "SELECT n FROM test.t";

/// Where a parent that is to die finds its server's folder.
const DIRECTORY: &str = "BAKEOFF_TEST_DIRECTORY";
/// Which of the servers it is.
const PROGRAM: &str = "BAKEOFF_TEST_PROGRAM";

/// Every process that is below this one, and itself.
fn family(pid: u32) -> Vec<u32> {
    let below = children(pid).into_iter().flat_map(family);
    std::iter::once(pid).chain(below).collect()
}

/// Those that are alive.
fn living(pids: Vec<u32>) -> Vec<u32> {
    let lives = |pid: &u32| {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    };
    pids.into_iter().filter(lives).collect()
}

#[test]
fn a_server_has_what_it_is_given_and_no_one_else_gets_in() {
    for program in installed() {
        let mut home = Home::initialised(program);
        // The last one counts.
        home.set("max_connections", "20");
        home.set("max_connections", "30");
        // What a group's file takes any file takes; as root's, the server could not open it.
        let group = home.folder.path().join("cgroup.procs");
        fs::write(&group, "").expect("room");
        fs::set_permissions(&group, Permissions::from_mode(0o600)).expect("our own");
        home.launch.groups = vec![group.clone()];
        let server = home.start();
        assert_eq!(home.must(&server, &program.show("max_connections")), "30");
        assert_eq!(fs::read_to_string(&group).expect("a file"), "0");
        listens_at_its_socket_alone(program, &server);
        shares_no_memory_or_mounts(program, server);

        home.launch.groups.push(home.folder.path().join("no-such-group/cgroup.procs"));
        let error = home.refused();
        assert!(error.to_string().contains("no-such-group"), "{error}");
    }
}

fn listens_at_its_socket_alone(program: Program, server: &PrivateServer) {
    let inodes = sockets(server.pid());
    for protocol in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/{}/net/{protocol}", server.pid()));
        let table = table.unwrap_or_default();
        let listens = table.lines().skip(1).filter_map(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            (fields.get(3) == Some(&"0A")).then(|| fields[9].to_owned())
        });
        assert_eq!(listens.filter(|inode| inodes.contains(inode)).count(), 0, "{program}");
    }
    let runtime = server.socket().parent().expect("a folder");
    let mode = fs::metadata(runtime).expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let runs_as = fs::metadata(format!("/proc/{}", server.pid())).expect("it runs").uid();
    assert_eq!(geteuid().is_root(), runs_as != geteuid().as_raw(), "{program} runs as {runs_as}");
}

/// The sockets that a process has open, by number.
fn sockets(pid: u32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("a process of ours").flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    let number = |link: std::path::PathBuf| {
        let number = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        Some(number.to_owned())
    };
    links.filter_map(number).collect()
}

/// All of what it has goes with it when it is killed.
fn shares_no_memory_or_mounts(program: Program, server: PrivateServer) {
    let pid = server.pid().to_string();
    let space =
        |of: &str, pid: &str| fs::read_link(format!("/proc/{pid}/ns/{of}")).expect("it runs");
    if is_root() {
        assert_ne!(space("mnt", &pid), space("mnt", "self"), "{program}");
        let device = |path: &str| fs::metadata(path).expect("it is there").dev();
        assert_ne!(device(&format!("/proc/{pid}/root/dev/shm")), device("/dev/shm"));
    }
    let own_memory = space("ipc", &pid) != space("ipc", "self");
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    server.kill();
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the kernel has it");
    assert!(!is_root() || !mounts.contains("/run/bakeoff/server"), "{mounts}");
    if !own_memory {
        skip(format_args!("this system gives {program} no name space of its own"));
        return;
    }
    assert!(!maps.contains("/dev/shm/"), "{maps}");
    let segments = fs::read_to_string("/proc/sysvipc/shm").expect("the kernel has it");
    let makers = segments.lines().filter_map(|line| line.split_whitespace().nth(4));
    assert_eq!(makers.filter(|maker| *maker == pid).count(), 0, "{segments}");
}

#[test]
fn data_outlive_every_end_of_their_server() {
    for program in installed() {
        let home = Home::initialised(program);
        let server = home.start();
        assert!(server.is_running());
        home.must(&server, TABLE);

        // Another server knows nothing of it, and is gone when it is dropped.
        let other = Home::initialised(program);
        let second = other.start();
        assert!(other.ask(&second, READ).is_err());
        let pid = second.pid();
        drop(second);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        assert_eq!(home.must(&server, READ), "1");

        server.stop().expect("it stops in order");
        // Done already, so it changes nothing.
        home.initialise();
        let server = home.start();
        assert_eq!(home.must(&server, READ), "1");

        let family = family(server.pid());
        assert!(program != Program::Postgres || family.len() > 3, "{family:?}");
        server.kill();
        assert_eq!(living(family), [0; 0], "{program}");
        let server = home.start();
        assert_eq!(home.must(&server, READ), "1");

        // Somebody else kills it.
        let pid = Pid::from_raw(server.pid().cast_signed()).expect("a process");
        kill_process(pid, Signal::KILL).expect("a process of ours");
        wait_until("the server's end", || !server.is_running());
        assert!(home.ask(&server, READ).is_err());
        let error = server.stop().expect_err("it can't stop").to_string();
        assert!(error.contains("SIGKILL") && error.contains("log"), "{error}");

        // As its maker's, and readable by all, as a careless copy is.
        let copy = Home::new(program);
        copy_folder(&home.launch.directory.join("data"), &copy.launch.directory.join("data"));
        assert_eq!(copy.must(&copy.start(), READ), "1");
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("room");
    fs::set_permissions(to, Permissions::from_mode(0o755)).expect("a folder of ours");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("room");
        }
    }
}

#[test]
fn what_is_no_data_may_be_elsewhere_and_a_setting_may_be_for_good() {
    for program in installed() {
        let mut home = Home::new(program);
        let runtime = home.folder.path().join("runtime");
        home.launch.runtime = Some(runtime.clone());
        if program == Program::MariaDb {
            home.set("innodb-page-size", "4096");
        }
        home.initialise();
        let server = home.start();
        assert_eq!(server.socket().parent(), Some(runtime.as_path()));
        let names = fs::read_dir(&home.launch.directory).expect("a folder").flatten();
        let mut names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        names.sort();
        assert_eq!(names, ["data", "tmp"]);
        if program == Program::MariaDb {
            assert_eq!(home.must(&server, &program.show("innodb_page_size")), "4096");
        }
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
    program.ask(&server, TABLE).expect("a table");
    println!("\npid {}", server.pid());
    std::io::stdout().flush().expect("a reader");
    std::thread::sleep(PATIENCE);
}

#[test]
fn a_server_dies_with_its_parent_and_the_next_one_waits_for_that() {
    for program in installed() {
        let home = Home::initialised(program);
        let mut parent = Command::new(std::env::current_exe().expect("a test program"));
        parent.args(["journeys::parent", "--exact", "--nocapture"]);
        parent.env(DIRECTORY, &home.launch.directory).env(PROGRAM, program.to_string());
        let mut parent = parent.stdout(Stdio::piped()).spawn().expect("it is this program");
        let output = BufReader::new(parent.stdout.take().expect("piped")).lines();
        let pid =
            output.map_while(Result::ok).find_map(|line| line.strip_prefix("pid ")?.parse().ok());
        let family = family(pid.expect("the parent starts a server"));
        parent.kill().expect("a child of ours");

        let server = home.start();
        assert_eq!(living(family), [0; 0], "{program}");
        assert_eq!(home.must(&server, READ), "1");
        parent.wait().expect("a child of ours");
    }
}
