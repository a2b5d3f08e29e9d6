//! Folders, links and notes of other users: what is somebody else's to decide is not used, and
//! nothing of theirs or of one's own is written over or emptied through it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bakeoff_testkit::{AS_NOBODY, NOBODY, comes_while, in_time, needs_root};

use super::{Done, Place, SMALL, words};

/// An ordinary user who is not nobody.
const SOMEBODY: u32 = 1;

/// A folder where everybody may write and nobody can touch what is another's, as `/tmp`.
fn sticky() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    folder
}

/// A folder that belongs to a user.
fn folder_of(user: u32, path: PathBuf) -> PathBuf {
    fs::create_dir(&path).unwrap();
    chown(&path, Some(user), Some(user)).unwrap();
    path
}

impl Place {
    /// A place of an ordinary user's, for [`Place::run_as`].
    pub fn of(user: u32) -> Self {
        let place = Self::new();
        chown(place.path(""), Some(user), Some(user)).unwrap();
        place
    }

    /// A command of a user's, who has a place for notes.
    pub fn command_as(&self, user: u32, arguments: &[&str]) -> Command {
        let notes = self.path(&format!("notes-{user}"));
        if !notes.exists() {
            folder_of(user, notes.clone());
        }
        let mut command = self.command(arguments);
        command.uid(user).gid(user).env("HOME", self.path("")).env("XDG_RUNTIME_DIR", notes);
        command
    }

    pub fn run_as(&self, user: u32, arguments: &[&str]) -> Done {
        Done(self.command_as(user, arguments).output().unwrap())
    }

    /// The same by [`NOBODY`], where everybody may open /dev/fuse, as on most machines: in mounts of
    /// its own.
    pub fn run_as_nobody_where_all_may_open_fuse(&self, arguments: &[&str]) -> Done {
        let script = "mknod -m 666 fuse c 10 229 && mount --bind fuse /dev/fuse && exec \"$@\"";
        let ordinary = self.command_as(NOBODY, arguments);
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).args(AS_NOBODY);
        command.arg(ordinary.get_program()).args(ordinary.get_args());
        command.current_dir(self.path(""));
        for (name, value) in ordinary.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        Done(command.output().unwrap())
    }

    /// A finished run in `r`, all of which is a user's.
    fn finished_of(user: u32) -> (Self, PathBuf) {
        let place = Self::finished();
        for path in ["", "small.toml", "r"].map(|name| place.path(name)) {
            chown(path, Some(user), Some(user)).unwrap();
        }
        for file in fs::read_dir(place.path("r")).unwrap() {
            chown(file.unwrap().path(), Some(user), Some(user)).unwrap();
        }
        let run = place.path("r");
        (place, run)
    }
}

/// This user; and where that is root, one who is not.
pub fn users() -> Vec<u32> {
    let user = rustix::process::geteuid().as_raw();
    if user == 0 { vec![0, NOBODY] } else { vec![user] }
}

/// A file of a user's.
fn file_of(user: u32, place: &Place, name: &str, text: &str) -> PathBuf {
    let path = place.write(name, text);
    chown(&path, Some(user), Some(user)).unwrap();
    path
}

/// A user's folder with the mark of a work folder and something in it.
fn treasure(user: u32, path: PathBuf) -> PathBuf {
    let path = folder_of(user, path);
    for (name, text) in [(".bakeoff-work", ""), ("thesis", "years")] {
        fs::write(path.join(name), text).unwrap();
        chown(path.join(name), Some(user), Some(user)).unwrap();
    }
    path
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_folder_that_somebody_else_made_or_can_write_is_no_run_folder() {
    let (place, everybody) = (Place::small(), sticky());
    let open = place.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = place.typed("run small.toml --out open/r").code(3);
    refused.says(&["can be written by others", "chmod "]);
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
    if !needs_root("make what belongs to another user") {
        return;
    }
    let theirs = folder_of(NOBODY, everybody.path().join("theirs"));
    let refused = place.run(&["run", "small.toml", "--out", &text(&theirs)]).code(3);
    refused.says(&[&text(&theirs), "belongs to nobody", "another folder", "chown"]);
    // What a plan is asked for is looked at as a run would, and doctor makes nothing there.
    for out in [text(&theirs), text(&theirs.join("new"))] {
        let plan = place.run(&["run", "small.toml", "--out", &out, "--dry-run"]);
        plan.code(3).says(&["it would not begin here: ", "belongs to nobody"]);
    }
    place.typed("run small.toml --out new --dry-run").code(0);
    place.run(&["doctor", &text(&theirs)]).code(3).says(&["belongs to nobody"]);
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    // Nor is one of root's own below it, or behind a link of theirs.
    let below = folder_of(0, theirs.join("below"));
    place.run(&["run", "small.toml", "--out", &text(&below)]).code(3).says(&["belongs to nobody"]);
    let (link, target) = (everybody.path().join("link"), folder_of(0, place.path("target")));
    symlink(&target, &link).unwrap();
    lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
    let refused = place.run(&["run", "small.toml", "--out", &text(&link.join("r"))]).code(3);
    refused.says(&[&text(&link), "a link that belongs to nobody"]);
    // An ordinary user is as careful with those who are not root.
    let place = Place::of(NOBODY);
    place.write("small.toml", SMALL);
    let theirs = folder_of(SOMEBODY, everybody.path().join("somebody"));
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).unwrap();
    let out = text(&theirs.join("r"));
    let refused = place.run_as(NOBODY, &["run", "small.toml", "--out", &out]).code(3);
    refused.says(&[&text(&theirs), "belongs to daemon"]);
}

/// What is loaded may come from a file that others can't read.
#[test]
fn nobody_else_gets_to_what_a_run_works_with() {
    if !needs_root("run as root and as nobody") {
        return;
    }
    let place = Place::new();
    let secret = (0..20_000).map(|n| format!("line {n} is a secret\n")).collect::<String>();
    place.write("private.txt", &secret);
    fs::set_permissions(place.path("private.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    place.write("small.toml", &format!("text = \"private.txt\"\n{SMALL}"));
    let arguments = ["run", "small.toml", "--out", "r", "--repetitions", "2", "--seconds", "2"];
    fs::set_permissions(place.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let image = place.path("r/work/image-0");
    let found = in_time("the run", |_| {
        let _ = fs::remove_dir_all(place.path("r"));
        let mut run = place.command(&arguments);
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = comes_while(&mut run, "an image", || image.exists());
        let mut find = Command::new(AS_NOBODY[0]);
        find.args(&AS_NOBODY[1..]).arg("find").arg(place.path("r"));
        let found = find.args(["-type", "f", "-readable"]).output().unwrap();
        let goes_on = image.exists();
        assert!(run.wait().unwrap().success());
        (begun && goes_on).then(|| String::from_utf8(found.stdout).unwrap())
    });
    assert!(found.contains("r/run.sqlite") && !found.contains("r/work/"), "{found}");
}

#[test]
fn root_does_not_go_on_with_somebody_else_s_run() {
    if !needs_root("make what belongs to another user") {
        return;
    }
    let (place, run) = Place::finished_of(NOBODY);
    place.typed("report r").code(0);
    place.typed("run --resume r").code(3).says(&["belongs to nobody", "chown"]);
    // Neither where the folder is root's by now and a file in it is not.
    chown(place.path(""), Some(0), Some(0)).unwrap();
    chown(&run, Some(0), Some(0)).unwrap();
    let refused = place.typed("run --resume r").code(3);
    refused.says(&["run.sqlite belongs to nobody", "chown"]);
    for file in fs::read_dir(&run).unwrap() {
        chown(file.unwrap().path(), Some(0), Some(0)).unwrap();
    }
    place.typed("run --resume r").code(0);
}

#[test]
fn what_a_link_in_a_run_folder_leads_to_is_neither_written_over_nor_emptied() {
    for user in users() {
        let (place, run) = Place::finished_of(user);
        let victim = file_of(user, &place, "victim", "precious");
        fs::remove_file(run.join("report.html")).unwrap();
        symlink(&victim, run.join("report.html")).unwrap();
        place.run_as(user, &words("run --resume r")).code(0);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(fs::symlink_metadata(run.join("report.html")).unwrap().is_file());

        let treasure = treasure(user, place.path("treasure"));
        symlink(&treasure, run.join("work")).unwrap();
        let refused = place.run_as(user, &words("run --resume r"));
        assert_ne!(refused.0.status.code(), Some(0), "{}", refused.err());
        refused.says(&["work", "is a link", "rm "]);
        assert_eq!(fs::read_to_string(treasure.join("thesis")).unwrap(), "years");
        assert!(fs::symlink_metadata(run.join("work")).unwrap().is_symlink());
    }
}

#[test]
fn an_output_goes_through_no_link_of_somebody_else_s() {
    if !needs_root("make what belongs to another user") {
        return;
    }
    for user in [0, NOBODY] {
        let ((place, _), everybody) = (Place::finished_of(user), sticky());
        let victim = file_of(user, &place, "victim", "precious");
        let output = everybody.path().join("out.json");
        symlink(&victim, &output).unwrap();
        lchown(&output, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
        let report = ["report", "r", "--format", "json", "-o", &text(&output)];
        let refused = place.run_as(user, &report).code(1);
        refused.says(&[&text(&output), "a link that belongs to daemon"]);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        // One's own is followed, and so is a chain of them.
        let first = everybody.path().join("first.json");
        for (target, link) in [(&victim, &output), (&output, &first)] {
            let _ = fs::remove_file(link);
            symlink(target, link).unwrap();
            lchown(link, Some(user), Some(user)).unwrap();
        }
        let report = ["report", "r", "--format", "json", "-o", &text(&first)];
        place.run_as(user, &report).code(0);
        assert!(fs::read_to_string(&victim).unwrap().starts_with('{'));
        assert_eq!(fs::metadata(&victim).unwrap().uid(), user);
        assert!(fs::symlink_metadata(&first).unwrap().is_symlink());
    }
    let (place, everybody) = (Place::finished(), sticky());
    let theirs = folder_of(NOBODY, everybody.path().join("theirs"));
    let output = text(&theirs.join("out.json"));
    let refused = place.run(&["report", "r", "--format", "json", "-o", &output]).code(1);
    refused.says(&[&text(&theirs), "belongs to nobody"]);
    // A pipe in it would keep root waiting for its reader, who learns what is written.
    let pipe = everybody.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    chown(&pipe, Some(NOBODY), Some(NOBODY)).unwrap();
    let refused = place.run(&["report", "r", "-o", &text(&pipe)]).code(1);
    refused.says(&[&text(&pipe), "belongs to nobody"]);
}
