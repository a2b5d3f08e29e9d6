//! Virtual disks as their users meet them: mounted, looked at, changed, cut, unmounted; killed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bakeoff_testkit::{
    AS_NOBODY, NOBODY, PATIENCE, Since, ended_within, in_time, is_root, needs, needs_root,
    wait_until,
};
use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::Place;
use super::on_disks::can_mount;

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
        let stat = self.0.run(&["disk", "stat", "m", "--json"]).code(0);
        serde_json::from_str(&stat.out()).unwrap()
    }

    /// Unmounts it. What another test starts this moment has, until it is another program, what is open here.
    pub fn unmount(&self) {
        wait_until("an end of its use", || {
            let done = self.0.run(&["disk", "unmount", "m"]);
            let is_used = done.err().contains("is in use");
            if !is_used {
                done.code(0).says(&["m is unmounted"]);
            }
            !is_used
        });
    }

    fn is_mounted(&self, name: &str) -> bool {
        bakeoff_disk::table::is_ours(&self.0.path(name))
    }

    /// Nothing is left but what the user put there.
    pub fn assert_clean(&self) {
        assert!(!self.is_mounted("m"), "still mounted");
        assert_eq!(fs::read_dir(self.0.path("m")).unwrap().count(), 0);
        assert!(!self.0.path("b/.bakeoff-disk").exists(), "the volume's own folder is still there");
        self.0.assert_clean("b");
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for name in ["m", "m2", "m/m", "mnt"] {
            if self.is_mounted(name) {
                let _ = self.0.run(&["disk", "unmount", name]);
            }
        }
    }
}

/// So long after its first change the file system makes durable what was changed, though nobody has asked for it:
/// ext4's `commit`.
const COMMIT: Duration = Duration::from_secs(5);

#[test]
fn what_was_written_before_the_timing_is_on_the_device_when_it_comes_on() {
    if !can_mount() {
        return;
    }
    let written =
        |disks: &Disks| disks.stat()["files"]["all"]["device_writes"]["bytes"].as_u64().unwrap();
    let disks = in_time("the time before a commit", |_| {
        let disks = Disks::new()?;
        let mount = ["disk", "mount", "b", "m", "--model", "hdd-7200", "--timing", "off"];
        disks.0.run(&mount).code(0);
        let since = Since::now();
        fs::write(disks.0.path("m/file"), vec![1; 2_000_000]).unwrap();
        let bytes = written(&disks);
        let late = since.at_least(COMMIT);
        assert!(late || bytes == 0, "nobody has asked for it: {bytes}");
        (bytes == 0).then_some(disks)
    });
    disks.0.run(&["disk", "set", "m", "--timing", "on"]).code(0);
    assert!(written(&disks) >= 2_000_000);
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
    assert_eq!(fs::read_to_string(place.path("m/before")).unwrap(), "here before");
    for n in 0..20 {
        write_through(&place.path(&format!("m/{n}")), "a text").unwrap();
    }
    assert_eq!(fs::read_to_string(place.path("b/19")).unwrap(), "a text");

    let stat = disks.stat();
    assert_eq!((&stat["model"], &stat["timing"]), (&"hdd-7200".into(), &true.into()));
    assert!(stat["device"]["flushes"].as_u64() >= Some(20), "{stat}");
    assert!(stat["files"]["all"]["full_syncs"].as_u64() >= Some(20), "{stat}");
    assert!(stat["latency"]["slow"].as_u64() >= Some(20), "{stat}");
    // At 120 turns a second, each of at least two dependent writes.
    assert!(stat["device"]["busy_ns"].as_u64() >= Some(100_000_000), "{stat}");
    let table = place.run(&["disk", "stat", "m"]).code(0);
    table.says(&["hdd-7200", "neighbours 0", "timing on", "utilisation", "modelled", "achieved"]);

    let set = place.run(&["disk", "set", "m", "--neighbours", "x4"]).code(0);
    assert_eq!(set.out(), "m: neighbours x4\n");
    wait_until("work of neighbours", || {
        disks.stat()["device"]["neighbour_requests"].as_u64() > Some(5)
    });
    let since = Since::now();
    write_through(&place.path("m/busy"), "a text").unwrap();
    assert!(since.at_least(Duration::from_millis(20)), "it waits for its neighbours");
    let set = place.run(&["disk", "set", "m", "--timing", "off", "--neighbours", "0"]).code(0);
    assert_eq!(set.out(), "m: neighbours 0, timing off\n");
    let before = disks.stat();
    (0..20).for_each(|_| write_through(&place.path("m/free"), "a text").unwrap());
    let after = disks.stat();
    let syncs = |stat: &Value| stat["files"]["all"]["full_syncs"].as_u64().unwrap();
    assert_eq!(syncs(&after), syncs(&before) + 20);
    let asked = |stat: &Value| ["writes", "flushes"].map(|it| stat["device"][it].as_u64().unwrap());
    assert_eq!(asked(&after), asked(&before), "nobody waits for the device");
    assert_eq!(after["timing"], false);

    disks.unmount();
    disks.assert_clean();
    assert_eq!(fs::read_to_string(place.path("b/free")).unwrap(), "a text");
}

/// As the guide has it, with folders that are not there yet.
#[test]
fn folders_that_are_missing_are_made_and_the_mountpoint_goes_again() {
    let place = Place::new();
    // Nothing is left of a mount that fails.
    let wrong = ["disk", "mount", "files", "files/mnt", "--model", "null"];
    place.run(&wrong).code(3).says(&["may not be inside each other"]);
    let wrong = ["disk", "mount", "files", "mnt/deep", "--model", "null"];
    place.run(&wrong).code(3).says(&["mnt/deep: it can't be made"]);
    assert!(!place.path("files").exists() && !place.path("mnt").exists());
    if !can_mount() {
        return;
    }
    let disks = Disks(place);
    let place = &disks.0;
    let mount = ["disk", "mount", "files", "mnt", "--model", "null"];
    for round in 0..2 {
        place.run(&mount).code(0).says(&["mnt is a disk now", "disk unmount mnt"]);
        write_through(&place.path(&format!("mnt/{round}")), "a text").unwrap();
        wait_until("an end of its use", || {
            place.run(&["disk", "unmount", "mnt"]).0.status.success()
        });
        assert!(!place.path("mnt").exists(), "it was made for the mount");
        assert_eq!(fs::read_dir(place.path("files")).unwrap().count(), round + 1);
    }
    // What was there before stays.
    fs::create_dir(place.path("mnt")).unwrap();
    place.run(&mount).code(0);
    wait_until("an end of its use", || place.run(&["disk", "unmount", "mnt"]).0.status.success());
    assert!(place.path("mnt").exists());
}

#[test]
fn a_cut_leaves_an_image_and_a_mount_that_fails() {
    if !can_mount() {
        return;
    }
    let disks = in_time("the time before a commit", |_| {
        let disks = Disks::new()?;
        let place = &disks.0;
        disks.mount("hdd-7200/used=0.02");
        fs::create_dir(place.path("full")).unwrap();
        place.write("full/thesis", "years of work");

        let cut =
            |image: &str| place.run(&["disk", "cut", "m", "--keep", "drop-all", "--image", image]);
        cut("full").code(3).says(&["full", "not empty", "--image"]);
        cut("b/inside").code(3).says(&["inside the disk's backing folder"]);
        cut("m/inside").code(3).says(&["inside the disk's mount"]);
        cut("nowhere/image").code(3).says(&["nowhere/image"]);
        assert!(disks.stat()["off_at_ns"].is_null(), "none of these pulled the plug");

        let since = Since::now();
        write_through(&place.path("m/synced"), "kept").unwrap();
        fs::write(place.path("m/not-synced"), "lost").unwrap();
        let cut = place.run(&["disk", "cut", "m", "--keep", "drop-all", "--seed", "7"]).code(0);
        cut.says(&["the power is off", "b-crash"]);
        let (late, lost) = (since.at_least(COMMIT), !place.path("b-crash/not-synced").exists());
        assert!(late || lost, "it was never synced");
        lost.then_some(disks)
    });
    let place = &disks.0;
    assert_eq!(fs::read_to_string(place.path("b-crash/synced")).unwrap(), "kept");
    let error = fs::read(place.path("m/synced")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5), "EIO");
    assert_eq!(fs::write(place.path("m/new"), "").unwrap_err().raw_os_error(), Some(5));
    let off_at = disks.stat()["off_at_ns"].clone();
    assert!(off_at.is_u64(), "{off_at}");
    place.run(&["disk", "cut", "m", "--keep", "torn", "--image", "again"]).code(0);
    assert_eq!(fs::read_to_string(place.path("again/synced")).unwrap(), "kept");
    assert_eq!(disks.stat()["off_at_ns"], off_at, "another image of the same moment");
    place.run(&["disk", "arm", "m", "--at-sync", "1"]).code(1).says(&["off already"]);
    place.run(&["disk", "set", "m", "--timing", "off"]).code(1).says(&["the power of", "is off"]);
    place.run(&["disk", "set", "m", "--neighbours", "0"]).code(1).says(&["is off"]);
    place.run(&["disk", "fault", "m", "full:1M"]).code(1).says(&["is off"]);
    disks.unmount();
    disks.assert_clean();
}

#[test]
fn an_armed_disk_goes_off_within_the_sync_that_was_named() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    disks.mount("null");
    place.run(&["disk", "arm", "m", "--at-sync", "0"]).code(2).says(&["number 1"]);
    place.run(&["disk", "arm", "m"]).code(2).says(&["--at-sync", "--at-write", "--after-ms"]);
    place.run(&["disk", "arm", "m", "--at-write", "1", "--at-sync", "1"]).code(2);
    for (flag, value, says) in [
        ("--at-write", "x", "a whole number from 1"),
        ("--at-sync", "-1", "a whole number from 1"),
        ("--after-ms", "-5", "a whole number of milliseconds"),
    ] {
        place.run(&["disk", "arm", "m", flag, value]).code(2).says(&[flag, says]);
    }
    for (flag, says) in [
        ("--at-write", "the power goes within write number 86400000 from now"),
        ("--after-ms", "the power goes in 86400000 ms"),
    ] {
        place.run(&["disk", "arm", "m", flag, "86400000"]).code(0).says(&[says]);
    }
    let armed = place.run(&["disk", "arm", "m", "--at-sync", "2"]).code(0);
    armed.says(&["the power goes within sync number 2 from now"]);
    write_through(&place.path("m/first"), "kept").unwrap();
    assert!(disks.stat()["off_at_ns"].is_null());
    let error = write_through(&place.path("m/second"), "lost").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5), "EIO");
    assert!(disks.stat()["off_at_ns"].is_u64());
    place.run(&["disk", "cut", "m", "--keep", "drop-all"]).code(0);
    assert_eq!(fs::read_to_string(place.path("b-crash/first")).unwrap(), "kept");
    assert!(!place.path("b-crash/second").exists(), "its sync failed");
    disks.unmount();
    disks.assert_clean();
}

#[test]
fn faults_strike_on_demand() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    disks.mount("null");
    let fault = |rule: &str| place.run(&["disk", "fault", "m", rule]);
    let armed = fault("fsync:2:EIO:log").code(0);
    armed.says(&["fsync number 2 from now of what fits `log` fails with EIO, once"]);
    write_through(&place.path("m/log"), "one").unwrap();
    assert_eq!(disks.stat()["faults"], serde_json::json!(["fsync:1:EIO:log"]));
    assert_eq!(write_through(&place.path("m/log"), "two").unwrap_err().raw_os_error(), Some(5));
    write_through(&place.path("m/log"), "three").unwrap();
    // As a shell writes paths, and of a folder.
    fs::create_dir(place.path("m/db")).unwrap();
    let whole = place.path("m/db").canonicalize().unwrap();
    fault(&format!("fsync:1:EIO:{}", whole.display())).code(0).says(&["`db`"]);
    let sync = || fs::File::open(place.path("m/db")).unwrap().sync_all();
    assert_eq!(sync().unwrap_err().raw_os_error(), Some(5));
    sync().unwrap();
    fault("write:1:ENOSPC:m/db/*").code(0).says(&["`db/*`"]);
    fault("full:20M").code(0).says(&["20971520 bytes"]);
    let table = place.run(&["disk", "stat", "m"]).code(0);
    table.says(&["full:20971520, write:1:ENOSPC:db/*", "takes no time", "metadata ordered"]);
    fault("off").code(0).says(&["no fault is to come"]);
    fs::write(place.path("m/db/file"), "text").unwrap();
    assert_eq!(disks.stat()["faults"], serde_json::json!([]));

    fault("lightning").code(2).says(&["lightning", "read:N:EIO:PATH"]);
    fault("full:20X").code(2).says(&["`20X` is not a number of bytes"]);
    fault("read:1:EIO:/elsewhere/log").code(2).says(&["starts in the disk's root"]);
    disks.unmount();
    disks.assert_clean();
}

/// A script in a world of its own, whose mounts nobody else sees or sweeps; `$0` is bakeoff.
fn in_its_own_world(disks: &Disks, script: &str) -> Option<super::Done> {
    if !needs_root("make a world of its own") {
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-euc", script, env!("CARGO_BIN_EXE_bakeoff")]);
    let place = disks.0.path(".");
    command.current_dir(&place).env("XDG_RUNTIME_DIR", place);
    Some(super::Done(command.output().unwrap()))
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

/// As any file system that root mounts.
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
    mode("m", 0o700);
    assert!(!read("m/open").status.success());
    disks.unmount();
    disks.assert_clean();
}

#[test]
fn a_snapshot_is_of_now_and_the_disk_runs_on() {
    if !can_mount() {
        return;
    }
    let disks = in_time("the time before a commit", |_| {
        let disks = Disks::new()?;
        let place = &disks.0;
        disks.mount("null");
        let snapshot = |folder: &str| place.run(&["disk", "snapshot", "m", folder]);
        snapshot("b/inside").code(3).says(&["inside the disk's backing folder"]);
        snapshot("b").code(3).says(&["inside the disk's backing folder"]);
        let since = Since::now();
        write_through(&place.path("m/synced"), "kept").unwrap();
        fs::write(place.path("m/not-synced"), "lost").unwrap();
        snapshot("first").code(0).says(&["is in first", "runs on"]);
        let (late, lost) = (since.at_least(COMMIT), !place.path("first/not-synced").exists());
        assert!(late || lost, "it was not synced");
        lost.then_some(disks)
    });
    let place = &disks.0;
    let snapshot = |folder: &str| place.run(&["disk", "snapshot", "m", folder]);
    snapshot("first").code(3).says(&["first", "not empty"]);
    assert_eq!(fs::read_to_string(place.path("first/synced")).unwrap(), "kept");
    write_through(&place.path("m/not-synced"), "kept now").unwrap();
    let by = ["disk", "snapshot", "m", "second", "--keep", "torn", "--seed", "7"];
    place.run(&by).code(0);
    assert_eq!(fs::read_to_string(place.path("second/not-synced")).unwrap(), "kept now");
    assert!(disks.stat()["off_at_ns"].is_null());
    place.run(&["disk", "cut", "m", "--keep", "drop-all"]).code(0);
    assert_eq!(fs::read_to_string(place.path("b-crash/not-synced")).unwrap(), "kept now");
    snapshot("third").code(1).says(&["is off", "bakeoff disk cut"]);
    assert!(!place.path("third").exists());
    disks.unmount();
    disks.assert_clean();
}

#[test]
fn of_a_snapshot_without_room_nothing_is_left_and_the_disk_runs_on() {
    let Some(disks) = Disks::new() else { return };
    let script = r#"
        mkdir small
        mount -t tmpfs -o size=1m none small
        mkdir small/there
        $0 disk mount b m --model null
        head -c 4M /dev/urandom > m/large
        sync m/large
        $0 disk snapshot m small/there && exit 9
        $0 disk snapshot m small/new && exit 9
        test -z "$(ls small/there)"
        test "$(ls small)" = there
        echo more > m/more
        $0 disk snapshot m whole
        cmp m/large whole/large
        $0 disk unmount m
        cmp b/large whole/large
        "#;
    if let Some(done) = in_its_own_world(&disks, script) {
        done.code(0).says(&["No space left", "nothing of the image is left", "runs on"]);
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
        assert_eq!(fs::read_to_string(disks.0.path("b/file")).unwrap(), "text\n");
        assert!(!disks.0.path("other/bakeoff/disks").exists());
    }
}

#[test]
fn a_disk_is_found_by_its_mount_whatever_became_of_its_note() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    disks.mount("null");
    fs::create_dir(place.path("other, with a comma")).unwrap();
    fs::create_dir(place.path("m2")).unwrap();
    let elsewhere = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        super::Done(
            command.env("XDG_RUNTIME_DIR", place.path("other, with a comma")).output().unwrap(),
        )
    };
    elsewhere(&["disk", "stat", "m"]).code(0).says(&["null"]);
    elsewhere(&["disk", "mount", "b", "m2", "--model", "null"])
        .code(3)
        .says(&["is mounted already"]);
    elsewhere(&["disk", "unmount", "m"]).code(0);
    disks.assert_clean();

    elsewhere(&["disk", "mount", "b", "m", "--model", "null"]).code(0);
    let pid = disks.stat()["pid"].as_u64().unwrap();
    fs::remove_dir_all(place.path("other, with a comma/bakeoff")).unwrap();
    place.run(&["disk", "stat", "m"]).code(3).says(&["can't be reached", "disk unmount m"]);
    let open = fs::File::create(place.path("m/open")).unwrap();
    place.run(&["disk", "unmount", "m"]).code(3).says(&["is in use"]);
    drop(open);
    // A command that another test starts this moment may still hold it.
    wait_until("an end of its use", || place.run(&["disk", "unmount", "m"]).0.status.success());
    wait_until("the daemon's end", || !Path::new(&format!("/proc/{pid}")).exists());
    disks.assert_clean();
}

#[test]
fn another_user_s_disk_is_told_from_none() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    disks.mount("null");
    if is_root() {
        use std::os::unix::process::CommandExt;
        let at = place.path("m");
        let mut command = place.command(&["disk", "unmount", at.to_str().unwrap()]);
        let output = command.env_remove("XDG_RUNTIME_DIR").uid(NOBODY).gid(NOBODY).output();
        // Nobody may not go into every build's folder.
        if let Some(output) = needs(output) {
            super::Done(output).code(3).says(&["a disk of user 0", "root"]);
        }
    }
    disks.unmount();
    disks.assert_clean();
}

fn foreground(disks: &Disks) -> Child {
    let arguments = ["disk", "mount", "b", "m", "--model", "hdd-7200", "--foreground"];
    let mut command = disks.0.command(&arguments);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let [backing, at] = ["b", "m"].map(|name| disks.0.path(name).canonicalize().unwrap());
    let (backing, at) = (backing.display(), at.display());
    assert_eq!(said, format!("mounted {backing} on {at} as hdd-7200\n"));
    wait_until("the mount", || disks.is_mounted("m") && disks.0.path("bakeoff/disks").exists());
    wait_until("the daemon", || disks.0.run(&["disk", "stat", "m", "--json"]).0.status.success());
    child
}

#[test]
fn a_daemon_that_is_told_nothing_mounts_nothing() {
    let place = Place::new();
    let output = place.command(&["disk-daemon"]).stdin(Stdio::null()).output().unwrap();
    super::Done(output).code(2).says(&["standard input does not say what is to be mounted"]);
    let help = place.run(&["--help"]).code(0).out();
    assert!(help.contains("disk") && !help.contains("daemon"), "{help}");
}

#[test]
fn a_signal_unmounts_a_disk_even_while_it_is_used() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    let mut idle = foreground(&disks);
    rustix::process::kill_process(Pid::from_child(&idle), Signal::INT).unwrap();
    assert!(idle.wait().unwrap().success());
    disks.assert_clean();

    let mut used = foreground(&disks);
    let open = fs::File::create(place.path("m/open")).unwrap();
    place.run(&["disk", "unmount", "m"]).code(3).says(&["is in use"]);
    assert!(disks.is_mounted("m"), "a refusal changes nothing");
    rustix::process::kill_process(Pid::from_child(&used), Signal::TERM).unwrap();
    let ended = ended_within(PATIENCE, &mut used);
    drop(open);
    assert!(ended.is_some(), "it waits for who has a file open");
    disks.assert_clean();
}

#[test]
fn another_way_to_unmount_ends_the_daemon_too() {
    let Some(disks) = Disks::new() else { return };
    let mut child = foreground(&disks);
    bakeoff_disk::table::unmount(&disks.0.path("m"), bakeoff_disk::table::How::Now).unwrap();
    assert!(child.wait().unwrap().success());
    disks.assert_clean();
}

#[test]
fn bad_mounts_are_refused_and_nothing_is_harmed() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    fs::create_dir_all(place.path("full/inside")).unwrap();
    fs::create_dir_all(place.path("b/inside")).unwrap();
    fs::create_dir(place.path("m2")).unwrap();
    place.write("file", "");
    place.write("full/thesis", "years of work");
    let mount = |backing, at, more: &[&str]| {
        let mut arguments = vec!["disk", "mount", backing, at];
        arguments.extend(if more.is_empty() { &["--model", "null"] } else { more });
        place.run(&arguments)
    };
    mount("b", "m", &["--model", "hdd-720"]).code(2).says(&["`hdd-720`", "`hdd-7200` was meant"]);
    mount("b", "m", &["--model", "hdd-7200/rpm=0"]).code(2).says(&["rpm"]);
    mount("b", "m", &["--model", "hdd-7200", "--used-fraction", "2"]).code(2).says(&["used"]);
    mount("b", "m", &["--model", "null", "--used-fraction", "0.5"]).code(2).says(&["used"]);
    let used = |model, fraction| {
        mount("b", "m", &["--model", model, &format!("--used-fraction={fraction}")])
    };
    used("hdd-7200", "-1").code(2).says(&["used is -1"]);
    used("hdd-7200/used=0.5", "0.5").code(2).says(&["used is given twice"]);
    mount("b", "m", &["--model", "null", "--used-fraction", "-1"]).code(2).says(&["hard disks"]);
    mount("b", "m", &["--model", "null", "--seed", "-1"]).code(2).says(&["from 0 to"]);
    mount("b", "m", &["--model", "host"]).code(2).says(&["this machine's own disk"]);
    mount("b", "m", &["--model", "null", "--neighbours", "x4"]).code(2).says(&["no queue"]);
    mount("b", "m", &["--model", "null", "--neighbours", "4"]).code(2).says(&["x1 to x64"]);
    mount("b", "m", &["--neighbours", "x4"]).code(2).says(&["--model"]);
    mount("none/deep", "m", &[]).code(3).says(&["none/deep: it can't be made"]);
    mount("file", "m", &[]).code(3).says(&["file", "is not a folder"]);
    mount("b", "none/deep", &[]).code(3).says(&["none/deep: it can't be made"]);
    mount("b", "file", &[]).code(3).says(&["file", "is not a folder"]);
    mount("b", "full", &[]).code(3).says(&["full", "not empty"]);
    mount("b", "b/inside", &[]).code(3).says(&["inside each other"]);
    mount("full/inside", "full", &[]).code(3).says(&["inside each other"]);
    mount("b", "/proc", &[]).code(3).says(&["/proc", "proc"]);
    disks.assert_clean();

    disks.mount("null");
    mount("b", "m", &[]).code(3).says(&["a disk is mounted here", "bakeoff disk unmount"]);
    mount("b", "m2", &[]).code(3).says(&["is mounted already on", "unmount it first"]);
    mount("b/inside", "m2", &[]).code(3).says(&["part of the disk"]);
    mount("m/inside", "m2", &[]).code(3).says(&["part of the disk"]);
    place.run(&["disk", "set", "m", "--timing", "on"]).code(2).says(&["takes no time"]);
    place.run(&["disk", "set", "m", "--neighbours", "x1"]).code(2).says(&["no queue"]);
    place.run(&["disk", "set", "m"]).code(2).says(&["--neighbours", "--timing"]);
    place.run(&["disk", "cut", "m", "--keep", "most"]).code(2).says(&["drop-all", "torn"]);
    place.run(&["disk", "cut", "m2", "--keep", "torn"]).code(3).says(&["no virtual disk", "/m"]);
    place.run(&["disk", "unmount", "/proc"]).code(3).says(&["no virtual disk is mounted on /proc"]);
    place.run(&["disk", "stat", "nowhere/at/all"]).code(3).says(&["nowhere/at/all"]);
    disks.unmount();
    disks.assert_clean();
    assert_eq!(fs::read_to_string(place.path("full/thesis")).unwrap(), "years of work");
}

#[test]
fn disks_are_listed() {
    let list = Place::new().run(&["list", "disks"]).code(0);
    list.says(&["host", "null", "hdd-7200", "ebs-gp2:SIZE", "raid10:N×MODEL", "ssd-sata"]);
}
