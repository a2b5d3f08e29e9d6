//! `--path`: data that lie, while a run goes on, on the file system that is to be measured.

use std::fs::{self, FileType};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use bakeoff_lab::WORK_PREFIX;
use bakeoff_trust::Folder;

use super::usage;
use crate::commands::layouts::devices;
use crate::exit::{Exit, Failure};
use crate::output::quote;

/// The folder that is to have the data, held open.
///
/// # Errors
/// It is not there, no folder, or somebody else decides what is in it.
pub fn held(path: &Path) -> Result<Folder, Failure> {
    let shown = path.display();
    let about = fs::metadata(path).map_err(|error| {
        usage(format!("--path {shown}: {error}; name a folder on the disk that is to be measured"))
    })?;
    if !about.is_dir() {
        return Err(usage(no_folder(path, about.file_type())));
    }
    bakeoff_trust::holder(path).map_err(|error| Failure::folder(error.into()))
}

/// Why what is there is not taken.
fn no_folder(path: &Path, kind: FileType) -> String {
    if !kind.is_block_device() {
        let shown = path.display();
        return format!(
            "--path {shown} is no folder; name a folder on the disk that is to be measured"
        );
    }
    no_device(path, &devices::in_use(&names(path)))
}

/// The names by which a device may be in use: as it is given, and where that is a link, what it leads to. The
/// kernel lists mounts of those in /dev/mapper by the link.
fn names(path: &Path) -> Vec<String> {
    let given = path.to_string_lossy().into_owned();
    let device = path.canonicalize().map(|device| device.to_string_lossy().into_owned());
    let device = device.ok().filter(|device| *device != given);
    [given].into_iter().chain(device).collect()
}

/// Why a device is not taken, which is in use by these.
fn no_device(path: &Path, uses: &[String]) -> String {
    let shown = path.display();
    if uses.is_empty() {
        return format!(
            "--path {shown} is a raw device, and what is on it would be lost: bakeoff writes to files alone. \
             Make a file system on it (`bakeoff layouts {shown}` prints the commands), mount it, and name its \
             mount point"
        );
    }
    format!(
        "--path {shown} is a device in use ({}): bakeoff never writes to it; name a folder on the file system \
         that is to be measured",
        uses.join("; ")
    )
}

/// Where the data lie, with the file system and the device there.
pub fn described(folder: &Path) -> Result<String, Failure> {
    let shown = folder.display();
    let machine = bakeoff_lab::describe_machine(folder)
        .map_err(|error| Failure::new(Exit::Folder, format!("{shown}: {error}")))?;
    let (kind, device) = (machine.file_system, machine.device);
    Ok(format!("the data lie below {shown} ({kind} on {device}) while it runs"))
}

/// Folders that runs have left in a folder, or that runs have which go on, each in a line.
pub fn left(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(WORK_PREFIX)).collect();
    names.sort();
    let line = |name: &String| {
        let path = folder.join(name);
        let path = path.display();
        format!("{path} was left by a run that was killed; remove it if none is going on")
    };
    names.iter().map(line).collect()
}

/// What `--resume` of a run needs besides, whose data lay somewhere else than in its folder.
pub fn again(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| format!(" --path {}", quote(&path.to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_folder_is_refused_with_what_to_name() {
        let why = |path: &str| held(Path::new(path)).expect_err(path);
        for (path, words) in [
            ("/nowhere/at/all", "name a folder on the disk"),
            ("/dev/null", "is no folder"),
            ("/proc/version", "is no folder"),
        ] {
            let failure = why(path);
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.message.contains(words), "{}", failure.message);
        }
    }

    #[test]
    fn a_raw_device_is_never_written_to_and_who_uses_it_is_told() {
        let raw = no_device(Path::new("/dev/xvdg"), &[]);
        for words in ["is a raw device", "bakeoff layouts /dev/xvdg", "name its mount point"] {
            assert!(raw.contains(words), "{raw}");
        }
        let uses = ["/dev/sda1 is mounted on /", "/dev/sda2 is swapped to"].map(str::to_owned);
        let used = no_device(Path::new("/dev/sda"), &uses);
        let words = "in use (/dev/sda1 is mounted on /; /dev/sda2 is swapped to)";
        assert!(used.contains(words), "{used}");
    }

    #[test]
    fn a_device_is_looked_for_by_its_link_and_by_what_that_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let (device, link) = (place.join("dm-0"), place.join("vg-data"));
        fs::write(&device, "").unwrap();
        std::os::unix::fs::symlink(&device, &link).unwrap();
        let [device_name, link_name] = [&device, &link].map(|it| it.display().to_string());
        assert_eq!(names(&link), [link_name, device_name.clone()]);
        assert_eq!(names(&device), [device_name]);
    }

    #[test]
    fn folders_that_killed_runs_have_left_are_told_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bakeoff-work-2-9", "thesis", "bakeoff-work-1-9", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let [first, second] = &left(folder.path())[..] else { panic!("two were left") };
        assert!(first.contains("/bakeoff-work-1-9 was left by a run that was killed"), "{first}");
        assert!(second.contains("/bakeoff-work-2-9 was"), "{second}");
    }

    #[test]
    fn the_way_to_go_on_names_the_folder() {
        assert_eq!(again(None), "");
        assert_eq!(again(Some(Path::new("/mnt/my array"))), " --path '/mnt/my array'");
    }
}
