//! Virtual disks as their users meet them: mounted, looked at, changed, cut, unmounted; killed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bakeoff_testkit::{
    AS_NOBODY, NOBODY, PATIENCE, Since, ended_within, in_time, needs, needs_root, wait_until,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::on_disks::can_mount;
use super::{Done, Place};

/// A place with a backing folder `b` and a mountpoint `m`; what is mounted on it goes with it.
pub struct Disks(pub Place);

impl Disks {
    pub fn new() -> Option<Self> {
        let place = Place::new();
        fs::create_dir(place.path("b")).unwrap();
        fs::create_dir(place.path("m")).unwrap();
        can_mount().then_some(Self(place))
    }

    pub fn mount(&self, model: &str) {
        self.0.run(&["disk", "mount", "b", "m", "--model", model]).code(0).says(&["m is a disk"]);
    }

    pub fn stat(&self) -> Value {
        let stat = self.0.typed("disk stat m --json").code(0);
        serde_json::from_str(&stat.out()).unwrap()
    }

    pub fn unmount(&self) {
        self.unmount_at("m");
    }

    /// What another test starts this moment has, until it is another program, what is open here.
    fn unmount_at(&self, name: &str) {
        wait_until("an end of its use", || {
            let done = self.0.run(&["disk", "unmount", name]);
            let is_used = done.err().contains("is in use");
            if !is_used {
                done.code(0).says(&[name, "is unmounted"]);
            }
            !is_used
        });
    }

    fn is_mounted(&self, name: &str) -> bool {
        bakeoff_disk::mount_table::is_ours(&self.0.path(name))
    }

    /// Nothing is left but what the user put there.
    pub fn assert_clean(&self) {
        assert!(!self.is_mounted("m"), "still mounted");
        assert_eq!(fs::read_dir(self.0.path("m")).unwrap().count(), 0);
        assert!(!self.0.path("b/.bakeoff-disk").exists(), "the volume's own folder is still there");
        self.0.assert_clean("b");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path(name)).unwrap()
    }

    fn write_through(&self, name: &str, text: &str) -> std::io::Result<()> {
        write_through(&self.0.path(name), text)
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for name in ["m", "mnt"] {
            if self.is_mounted(name) {
                let _ = self.0.run(&["disk", "unmount", name]);
            }
        }
    }
}

/// Writes a file and syncs it.
pub fn write_through(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[test]
fn a_disk_is_mounted_looked_at_changed_and_unmounted() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    place.write("b/before", "here before");
    disks.mount("hdd-7200");
    assert_eq!(disks.read("m/before"), "here before");
    (0..20).for_each(|n| disks.write_through(&format!("m/{n}"), "a text").unwrap());
    assert_eq!(disks.read("b/19"), "a text");

    let stat = disks.stat();
    assert_eq!((&stat["model"], &stat["timing"]), (&"hdd-7200".into(), &true.into()));
    for (part, count) in [("device", "flushes"), ("latency", "slow")] {
        assert!(stat[part][count].as_u64() >= Some(20), "{stat}");
    }
    // At 120 turns a second, each of at least two dependent writes.
    assert!(stat["device"]["busy_ns"].as_u64() >= Some(100_000_000), "{stat}");
    let table = place.typed("disk stat m").code(0);
    table.says(&["hdd-7200", "neighbours 0", "timing on", "20 fsync", "modelled"]);

    let set = |flags: &[&str]| place.run(&[&["disk", "set", "m"], flags].concat()).code(0).out();
    assert_eq!(set(&["--neighbours", "x4"]), "m: neighbours x4\n");
    wait_until("work of neighbours", || {
        disks.stat()["device"]["neighbour_requests"].as_u64() > Some(5)
    });
    let since = Since::now();
    disks.write_through("m/busy", "a text").unwrap();
    assert!(since.at_least(Duration::from_millis(20)), "it waits for its neighbours");
    let off = set(&["--timing", "off", "--neighbours", "0"]);
    assert_eq!(off, "m: neighbours 0, timing off\n");
    let before = disks.stat();
    (0..20).for_each(|_| disks.write_through("m/free", "a text").unwrap());
    let after = disks.stat();
    let syncs = |stat: &Value| stat["files"]["all"]["full_syncs"].as_u64().unwrap();
    assert_eq!(syncs(&after), syncs(&before) + 20);
    let asked = |stat: &Value| ["writes", "flushes"].map(|it| stat["device"][it].as_u64().unwrap());
    assert_eq!(asked(&after), asked(&before), "nobody waits for the device");
    // What was written meanwhile is on the device when the timing comes on, before anybody waits for it.
    fs::write(place.path("m/large"), vec![1; 2_000_000]).unwrap();
    set(&["--timing", "on"]);
    let written = disks.stat()["files"]["all"]["device_writes"]["bytes"].as_u64();
    assert!(written >= Some(2_000_000), "{written:?}");

    disks.unmount();
    disks.assert_clean();
    assert_eq!(disks.read("b/free"), "a text");
}

/// As the guide has it, with folders that are not there yet.
#[test]
fn missing_folders_are_made_and_the_mountpoint_goes_again() {
    let place = Place::new();
    // Nothing is left of a mount that fails.
    for (at, why) in [("files/mnt", "inside each other"), ("mnt/deep", "it can't be made")] {
        let wrong = ["disk", "mount", "files", at, "--model", "null"];
        place.run(&wrong).code(3).says(&[why]);
    }
    assert!(!place.path("files").exists() && !place.path("mnt").exists());
    if !can_mount() {
        return;
    }
    let disks = Disks(place);
    let place = &disks.0;
    let mount = ["disk", "mount", "files", "mnt", "--model", "null"];
    for is_made in [true, false] {
        place.run(&mount).code(0).says(&["mnt is a disk now", "disk unmount mnt"]);
        disks.write_through("mnt/file", "a text").unwrap();
        disks.unmount_at("mnt");
        assert_eq!(place.path("mnt").exists(), !is_made, "what was there before stays");
        assert_eq!(fs::read_dir(place.path("files")).unwrap().count(), 1);
        fs::create_dir_all(place.path("mnt")).unwrap();
    }
}

/// What was not synced is in no image of what a power cut leaves, taken while the disk runs on or when the power went.
#[test]
fn a_snapshot_runs_on_and_a_cut_leaves_an_image_and_a_mount_that_fails() {
    // So long after its first change the file system makes durable what was changed, though nobody has asked for it:
    // ext4's `commit`.
    const COMMIT: Duration = Duration::from_secs(5);
    if !can_mount() {
        return;
    }
    let disks = in_time("the time before a commit", |_| {
        let disks = Disks::new()?;
        disks.mount("hdd-7200/used=0.02");
        let since = Since::now();
        disks.write_through("m/synced", "kept").unwrap();
        fs::write(disks.0.path("m/not-synced"), "lost").unwrap();
        let snapshot = disks.0.typed("disk snapshot m first").code(0);
        snapshot.says(&["is in first", "runs on"]);
        let (late, lost) = (since.at_least(COMMIT), !disks.0.path("first/not-synced").exists());
        assert!(late || lost, "it was not synced");
        lost.then_some(disks)
    });
    let place = &disks.0;
    assert_eq!(disks.read("first/synced"), "kept");
    let disk = |arguments: &[&str]| place.run(&[&["disk"], arguments].concat());
    disks.write_through("m/not-synced", "kept now").unwrap();
    disk(&["snapshot", "m", "second", "--keep", "torn", "--seed", "7"]).code(0);
    assert_eq!(disks.read("second/not-synced"), "kept now");
    let cut = ["cut", "m", "--keep", "drop-all", "--image"];
    for (arguments, why) in [
        (&["snapshot", "m", "first"][..], "not empty"),
        (&["snapshot", "m", "b"], "inside the disk's backing folder"),
        (&[&cut[..], &["second"]].concat(), "--image"),
        (&[&cut[..], &["b/inside"]].concat(), "inside the disk's backing folder"),
        (&[&cut[..], &["m/inside"]].concat(), "inside the disk's mount"),
        (&[&cut[..], &["nowhere/image"]].concat(), "nowhere/image"),
    ] {
        disk(arguments).code(3).says(&[why]);
    }
    assert!(disks.stat()["off_at_ns"].is_null(), "none of these pulled the plug");

    let cut = disk(&["cut", "m", "--keep", "drop-all", "--seed", "7"]).code(0);
    cut.says(&["the power is off", "b-crash"]);
    assert_eq!(disks.read("b-crash/not-synced"), "kept now");
    for error in [fs::read(place.path("m/synced")).err(), fs::write(place.path("m/new"), "").err()]
    {
        assert_eq!(error.unwrap().raw_os_error(), Some(5), "EIO");
    }
    disk(&["stat", "m"]).code(0).says(&["the power is off"]);
    let off_at = disks.stat()["off_at_ns"].clone();
    assert!(off_at.is_u64(), "{off_at}");
    disk(&["cut", "m", "--keep", "torn", "--image", "again"]).code(0);
    assert_eq!(disks.read("again/synced"), "kept");
    assert_eq!(disks.stat()["off_at_ns"], off_at, "another image of the same moment");
    for arguments in [
        &["set", "m", "--timing", "off"][..],
        &["fault", "m", "full:1M"],
        &["snapshot", "m", "third"],
    ] {
        disk(arguments).code(1).says(&["off"]);
    }
    disks.unmount();
    disks.assert_clean();
}

#[test]
fn faults_and_a_power_cut_strike_at_what_was_named() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    disks.mount("null");
    let fault = |rule: &str| place.run(&["disk", "fault", "m", rule]);
    let fails = |name: &str| disks.write_through(name, "text").err().map(|it| it.raw_os_error());
    fault("fsync:2:EIO:log").code(0).says(&["fsync number 2 from now of what fits `log`"]);
    assert_eq!(fails("m/log"), None);
    assert_eq!(disks.stat()["faults"], serde_json::json!(["fsync:1:EIO:log"]));
    assert_eq!([fails("m/log"), fails("m/log")], [Some(Some(5)), None]);
    // As a shell writes paths, and of a folder.
    fs::create_dir(place.path("m/db")).unwrap();
    let whole = place.path("m/db").canonicalize().unwrap();
    fault(&format!("fsync:1:EIO:{}", whole.display())).code(0).says(&["`db`"]);
    let sync = || fs::File::open(place.path("m/db")).unwrap().sync_all();
    assert_eq!(sync().unwrap_err().raw_os_error(), Some(5));
    fault("write:1:ENOSPC:m/db/*").code(0);
    fault("full:20M").code(0).says(&["20971520 bytes"]);
    let table = place.typed("disk stat m").code(0);
    table.says(&["full:20971520, write:1:ENOSPC:db/*", "takes no time"]);
    fault("off").code(0).says(&["no fault is to come"]);
    assert_eq!(fails("m/db/file"), None);
    for rule in ["lightning", "full:20X", "read:1:EIO:/elsewhere/log"] {
        fault(rule).code(2);
    }

    let arm = |flags: &[&str]| place.run(&[&["disk", "arm", "m"], flags].concat());
    for (flags, said) in [
        (&["--at-sync", "0"][..], "number 1"),
        (&[], "--after-ms"),
        (&["--at-write", "1", "--at-sync", "1"], "--at-sync"),
        (&["--at-write", "x"], "a whole number from 1"),
        (&["--after-ms", "-5"], "a whole number of milliseconds"),
    ] {
        arm(flags).code(2).says(&[said]);
    }
    arm(&["--at-write", "86400000"]).code(0).says(&["within write number 86400000 from now"]);
    arm(&["--after-ms", "86400000"]).code(0).says(&["in 86400000 ms"]);
    arm(&["--at-sync", "2"]).code(0).says(&["within sync number 2 from now"]);
    assert_eq!(fails("m/first"), None);
    assert!(disks.stat()["off_at_ns"].is_null());
    assert_eq!(fails("m/second"), Some(Some(5)));
    place.typed("disk cut m --keep drop-all").code(0);
    let is_left = ["first", "second"].map(|it| place.path("b-crash").join(it).exists());
    assert_eq!(is_left, [true, false], "the sync of the second one failed");
    disks.unmount();
    disks.assert_clean();
}

/// A script in a world of its own, whose mounts nobody else sees or sweeps; `$0` is bakeoff.
fn in_its_own_world(disks: &Disks, script: &str) -> Option<Done> {
    if !needs_root("make a world of its own") {
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-euc", script, env!("CARGO_BIN_EXE_bakeoff")]);
    let place = disks.0.path(".");
    command.current_dir(&place).env("XDG_RUNTIME_DIR", place);
    Some(Done(command.output().unwrap()))
}

/// As a service with `PrivateMounts=` has, or a container.
#[test]
fn a_disk_that_others_have_among_mounts_of_their_own_is_unmounted_whole() {
    let Some(disks) = Disks::new() else { return };
    // What is written to a map, and closed, is only in the kernel's memory.
    let script = r#"
        $0 disk mount b m --model null
        head -c 1M /dev/zero > m/mapped
        unshare --mount --propagation private sleep 600 &
        other=$!
        trap 'kill $other' EXIT
        while test "$(readlink /proc/$other/ns/mnt)" = "$(readlink /proc/$$/ns/mnt)"; do sleep 0.01; done
        python3 -c 'import mmap; f = open("m/mapped", "r+b"); m = mmap.mmap(f.fileno(), 0); m[70000:70004] = b"kept"'
        $0 disk unmount m
        grep -c kept b/mapped
        "#;
    if let Some(done) = in_its_own_world(&disks, script) {
        assert_eq!(done.code(0).out().lines().last(), Some("1"));
        disks.assert_clean();
    }
}

#[test]
fn what_a_killed_daemon_left_is_swept_by_the_next_command() {
    let Some(disks) = Disks::new() else { return };
    fs::create_dir(disks.0.path("other")).unwrap();
    // With its note and without, and by a shell that looks for notes elsewhere.
    for (surroundings, more) in
        [("", ""), ("XDG_RUNTIME_DIR=$PWD/other", ""), ("", "rm -r bakeoff")]
    {
        let script = format!(
            r#"
            # Other tests' disks would live as long as their copies here.
            sed -n 's/^bakeoff-disk:[^ ]* \([^ ]*\) .*/\1/p' /proc/self/mounts | xargs -r umount -l
            $0 disk mount b m --model hdd-7200
            echo text > m/file
            kill -9 $($0 disk stat m --json | sed -n 's/.*"pid": \([0-9]*\).*/\1/p')
            until stat -f m 2>&1 | grep 'not connected'; do sleep 0.02; done
            grep "$PWD/m fuse" /proc/self/mounts
            {more}
            # The mount fails from the moment the process begins to end; its lock goes later.
            tries=3000
            until {surroundings} $0 disk mount b m --model null 2>said; do
                tries=$((tries - 1)); [ $tries -gt 0 ]; sleep 0.02
            done
            cat said
            cat m/file
            $0 disk unmount m
            rm m/file 2>&1 || true
            "#
        );
        let Some(done) = in_its_own_world(&disks, &script) else { return };
        let freed = "unmounted, since its daemon was gone";
        done.code(0).says(&["m is a disk now", freed, "text\n"]);
        disks.assert_clean();
        assert_eq!(disks.read("b/file"), "text\n");
        assert!(!disks.0.path("other/bakeoff/disks").exists());
    }
}

/// Used as any file system that root mounts, and managed by nobody else.
#[test]
fn others_may_use_a_disk_of_root_s_as_the_modes_of_its_files_say() {
    let Some(disks) = Disks::new() else { return };
    if !needs_root("be root and nobody") {
        return;
    }
    let place = &disks.0;
    let mode = |name: &str, mode| {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    disks.mount("null");
    for (name, bits) in [("m/closed", 0o600), ("m/open", 0o644)] {
        fs::write(place.path(name), name).unwrap();
        mode(name, bits);
    }
    let read = |name: &str| {
        let path = place.path(name);
        Command::new(AS_NOBODY[0]).args(&AS_NOBODY[1..]).arg("cat").arg(path).output().unwrap()
    };
    assert_eq!(read("m/open").stdout, b"m/open");
    assert!(!read("m/closed").status.success());
    let at = place.path("m");
    let mut command = place.command(&["disk", "unmount", at.to_str().unwrap()]);
    let output = command.env_remove("XDG_RUNTIME_DIR").uid(NOBODY).gid(NOBODY).output();
    // Nobody may not go into every build's folder.
    if let Some(output) = needs(output) {
        Done(output).code(3).says(&["a disk of user 0", "root"]);
    }
    mode("m", 0o700);
    assert!(!read("m/open").status.success());
}

#[test]
fn a_disk_is_found_by_its_mount_whatever_became_of_its_note() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    let other = place.path("other, with a comma");
    fs::create_dir(&other).unwrap();
    let elsewhere = |arguments: &[&str]| {
        Done(place.command(arguments).env("XDG_RUNTIME_DIR", &other).output().unwrap())
    };
    disks.mount("null");
    elsewhere(&["disk", "stat", "m"]).code(0).says(&["null"]);
    let again = elsewhere(&["disk", "mount", "b", "m2", "--model", "null"]);
    again.code(3).says(&["is mounted already"]);
    elsewhere(&["disk", "unmount", "m"]).code(0);
    disks.assert_clean();

    elsewhere(&["disk", "mount", "b", "m", "--model", "null"]).code(0);
    let pid = disks.stat()["pid"].as_u64().unwrap();
    fs::remove_dir_all(other.join("bakeoff")).unwrap();
    place.typed("disk stat m").code(3).says(&["can't be reached", "disk unmount m"]);
    let open = fs::File::create(place.path("m/open")).unwrap();
    place.typed("disk unmount m").code(3).says(&["is in use"]);
    drop(open);
    disks.unmount();
    wait_until("the daemon's end", || !Path::new(&format!("/proc/{pid}")).exists());
    disks.assert_clean();
}

fn mount_in_the_foreground(disks: &Disks) -> Child {
    let arguments = ["disk", "mount", "b", "m", "--model", "hdd-7200", "--foreground"];
    let mut child = disks.0.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let [backing, at] = ["b", "m"].map(|name| disks.0.path(name).canonicalize().unwrap());
    assert_eq!(said, format!("mounted {} on {} as hdd-7200\n", backing.display(), at.display()));
    wait_until("the mount", || disks.is_mounted("m") && disks.0.path("bakeoff/disks").exists());
    wait_until("the daemon", || disks.0.typed("disk stat m --json").0.status.success());
    child
}

#[test]
fn a_signal_or_another_way_to_unmount_ends_the_daemon() {
    let Some(disks) = Disks::new() else { return };
    let mut unmounted = mount_in_the_foreground(&disks);
    let at = disks.0.path("m");
    bakeoff_disk::mount_table::unmount(&at, bakeoff_disk::mount_table::How::Now).unwrap();
    assert!(unmounted.wait().unwrap().success());
    disks.assert_clean();
    for (signal, is_used) in [(Signal::INT, false), (Signal::TERM, true)] {
        let mut child = mount_in_the_foreground(&disks);
        let open = is_used.then(|| fs::File::create(disks.0.path("m/open")).unwrap());
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = ended_within(PATIENCE, &mut child);
        drop(open);
        assert!(ended.is_some_and(|it| it.success()), "it waits for who has a file open");
        disks.assert_clean();
    }
}

#[test]
fn bad_mounts_are_refused_and_nothing_is_harmed() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    for folder in ["full/inside", "b/inside", "m2"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write("file", "");
    place.write("full/thesis", "years of work");
    for (flags, why) in [
        (&["--model", "hdd-7200/rpm=0"][..], "rpm"),
        (&["--model", "hdd-7200/used=0.5", "--used-fraction=0.5"], "given twice"),
        (&["--model", "null", "--seed", "-1"], "from 0 to"),
        (&["--model", "host"], "this machine's own disk"),
        (&["--model", "null", "--neighbours", "4"], "x1 to x64"),
        (&["--neighbours", "x4"], "--model"),
    ] {
        place.run(&[&["disk", "mount", "b", "m"], flags].concat()).code(2).says(&[why]);
    }
    let refused = |cases: &[(&str, &str, &str)]| {
        for (backing, at, why) in cases {
            let mount = ["disk", "mount", *backing, *at, "--model", "null"];
            place.run(&mount).code(3).says(&[*why]);
        }
    };
    refused(&[
        ("file", "m", "is not a folder"),
        ("b", "file", "is not a folder"),
        ("b", "full", "not empty"),
        ("full/inside", "full", "inside each other"),
        ("b", "/proc", "proc"),
    ]);
    disks.assert_clean();

    disks.mount("null");
    refused(&[
        ("b", "m2", "is mounted already on"),
        ("b/inside", "m2", "part of the disk"),
        ("m/inside", "m2", "part of the disk"),
    ]);
    for (arguments, code, why) in [
        (&["set", "m", "--timing", "on"][..], 2, "takes no time"),
        (&["set", "m", "--neighbours", "x1"], 2, "no queue"),
        (&["set", "m"], 2, "--timing"),
        (&["cut", "m", "--keep", "most"], 2, "torn"),
        (&["cut", "m2", "--keep", "torn"], 3, "no virtual disk"),
        (&["unmount", "/proc"], 3, "no virtual disk is mounted on /proc"),
        (&["stat", "nowhere/at/all"], 3, "nowhere/at/all"),
    ] {
        place.run(&[&["disk"], arguments].concat()).code(code).says(&[why]);
    }
    let untold = place.typed("disk-daemon").code(2);
    untold.says(&["standard input does not say what is to be mounted"]);
    disks.unmount();
    disks.assert_clean();
    assert_eq!(disks.read("full/thesis"), "years of work");
}
