//! Folders of all kinds, by root and by an ordinary user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

use bakeoff_testkit::{NOBODY, is_root, needs_root};

use super::*;

/// A folder to make others in, without links on the way.
fn place() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().canonicalize().unwrap();
    (place, path)
}

/// A folder of that mode, whatever the mask.
fn with_mode(path: PathBuf, mode: u32) -> PathBuf {
    let _ = fs::create_dir(&path);
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn a_folder_is_made_with_those_above_it_and_closed_to_others() {
    let (_place, path) = place();
    let deep = path.join("a/b/../c");
    let made = make(&deep).unwrap();
    assert!(made.was_made());
    assert_eq!(made.path(), path.join("a/c"));
    assert!(!make(&deep).unwrap().was_made());
    assert_eq!(folder(&deep).unwrap().path(), path.join("a/c"));
    for name in ["a", "a/b", "a/c"] {
        let mode = fs::metadata(path.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o022, 0, "{name}: {mode:o}");
    }
    let missing = folder(&path.join("missing")).unwrap_err();
    assert!(matches!(&missing, Error::System { .. }), "{missing}");
    fs::write(path.join("file"), "").unwrap();
    assert!(make(&path.join("file/below")).is_err());
}

#[test]
fn who_else_may_write_decides() {
    let (_place, path) = place();
    let root = is_root();
    for (mode, alone, holds) in [
        (0o755, true, true),
        (0o700, true, true),
        (0o775, !root, !root),
        (0o777, false, false),
        (0o1777, false, true),
    ] {
        let at = with_mode(path.join("at"), mode);
        assert_eq!(folder(&at).is_ok(), alone, "{mode:o}");
        assert_eq!(holder(&at).is_ok(), holds, "{mode:o}");
        assert_eq!(make(&at.join("below")).is_ok(), holds, "{mode:o}");
    }
}

/// Such a list, of one more user who may do all: acl(5), and the kernel's posix_acl_xattr.h.
#[test]
fn a_list_of_access_shows_in_the_mode() {
    if !needs_root("make what belongs to another user") {
        return;
    }
    let (_place, path) = place();
    let at = with_mode(path.join("at"), 0o755);
    let mut list = 2u32.to_le_bytes().to_vec();
    let none = u32::MAX;
    let (owner, user, group, mask, other) = (0x01u16, 0x02, 0x04, 0x10, 0x20);
    let entries = [
        (owner, 7u16, none),
        (user, 7, NOBODY),
        (group, 5, none),
        (mask, 7, none),
        (other, 5, none),
    ];
    for (tag, may, id) in entries {
        list.extend([&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat());
    }
    let flags = rustix::fs::XattrFlags::empty();
    match rustix::fs::setxattr(&at, "system.posix_acl_access", &list, flags) {
        Err(Errno::OPNOTSUPP) => return println!("this file system has no lists of access"),
        set => set.unwrap(),
    }
    let error = folder(&at).unwrap_err().to_string();
    assert!(error.contains("can be written by others") && error.contains("chmod go-w"), "{error}");
    assert!(make(&at.join("below")).is_err());
    // What mends it does.
    fs::set_permissions(&at, Permissions::from_mode(0o755)).unwrap();
    folder(&at).unwrap();
}

#[test]
fn owners_of_folders_and_links_are_looked_at_on_the_whole_way() {
    if !needs_root("make what belongs to another user") {
        return;
    }
    let (_place, path) = place();
    let own = with_mode(path.join("own"), 0o755);
    let theirs = with_mode(path.join("theirs"), 0o755);
    chown(&theirs, Some(NOBODY), None).unwrap();
    let below = with_mode(theirs.join("below"), 0o755);
    for at in [&theirs, &below, &theirs.join("new")] {
        let error = make(at).unwrap_err();
        assert!(matches!(&error, Error::Foreign { path, .. } if *path == theirs), "{error}");
    }
    // A link of root's is followed, and what it leads through is looked at as well.
    symlink("own", path.join("link")).unwrap();
    assert_eq!(folder(&path.join("link")).unwrap().path(), own);
    symlink(&below, path.join("astray")).unwrap();
    assert!(matches!(folder(&path.join("astray")).unwrap_err(), Error::Foreign { .. }));
    // One of somebody else's is not, nor one that lies where somebody else decides.
    lchown(path.join("link"), Some(NOBODY), None).unwrap();
    let error = folder(&path.join("link/../own")).unwrap_err();
    assert!(matches!(error, Error::Link { owner: NOBODY, .. }), "{error}");
    symlink(&own, theirs.join("link")).unwrap();
    assert!(folder(&theirs.join("link")).is_err());
    symlink("round", path.join("round")).unwrap();
    assert!(matches!(folder(&path.join("round")).unwrap_err(), Error::System { .. }));
}

#[test]
fn what_is_in_a_folder_is_neither_a_link_nor_another_s() {
    let (_place, path) = place();
    let held = folder(&path).unwrap();
    assert!(held.open_file("file").unwrap().is_none());
    fs::write(path.join("file"), "text").unwrap();
    assert!(held.open_file("file").unwrap().is_some());
    symlink("file", path.join("link")).unwrap();
    symlink(".", path.join("here")).unwrap();
    assert!(matches!(held.open_file("link").unwrap_err(), Error::NoFile { .. }));
    assert!(held.make_below("here").is_err() && held.make_below("file").is_err());
    // A pipe without a writer keeps nobody waiting.
    rustix::fs::mkfifoat(&held, "pipe", Mode::RWXU).unwrap();
    assert!(matches!(held.open_file("pipe").unwrap_err(), Error::NoFile { .. }));
    assert!(held.make_below("below").unwrap().was_made());
    assert!(!held.make_below("below").unwrap().was_made());
    fs::set_permissions(path.join("file"), Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(held.open_file("file").unwrap_err(), Error::Open { .. }));
    if is_root() {
        fs::set_permissions(path.join("file"), Permissions::from_mode(0o644)).unwrap();
        chown(path.join("file"), Some(NOBODY), None).unwrap();
        assert!(matches!(held.open_file("file").unwrap_err(), Error::Foreign { .. }));
    }
}
