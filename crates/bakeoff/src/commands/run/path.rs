//! `--path`: places a run's data below a folder or on a raw device.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use bakeoff_experiment::Experiment;
use bakeoff_folders::trust::TrustedFolder;
use bakeoff_lab::place::device::HeldDevice;
use bakeoff_lab::{MediumKind, WORK_PREFIX};
use bakeoff_results::{Machine, RunFolder};

use super::usage_failure;
use crate::cli;
use crate::commands::layouts::{contents, devices};
use crate::commands::past_noise::PastNoise;
use crate::exit::{CommandFailure, Exit};
use crate::output::quote;

pub const DESTROYS: &str = "--i-know-this-destroys-data";
const MOST_LINKS: u32 = 40;

#[derive(Debug)]
pub enum DataLocation {
    Folder(TrustedFolder),
    Device(TakenDevice),
}

#[derive(Debug)]
pub struct TakenDevice {
    held: HeldDevice,
    /// The path as the user gave it; it may be a link.
    given: PathBuf,
    contents: String,
}

impl DataLocation {
    pub fn folder(&self) -> Option<&TrustedFolder> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Device(_) => None,
        }
    }

    pub fn device(&self) -> Option<&HeldDevice> {
        match self {
            Self::Folder(_) => None,
            Self::Device(device) => Some(&device.held),
        }
    }

    pub fn medium(data: Option<&Self>) -> MediumKind {
        match data {
            Some(Self::Device(_)) => MediumKind::RawDevice,
            Some(Self::Folder(_)) | None => MediumKind::Files,
        }
    }

    pub fn describe_location(&self) -> Result<String, CommandFailure> {
        match self {
            Self::Folder(folder) => {
                let shown = folder.path().display();
                let Machine { file_system, device, .. } =
                    describe_data_machine(Some(self), folder.path())?;
                Ok(format!("the data lie below {shown} ({file_system} on {device}) while it runs"))
            }
            Self::Device(TakenDevice { held, given, contents }) => {
                let path = &held.device().path;
                let Machine { device, .. } = describe_data_machine(Some(self), path)?;
                let mut shown = given.display().to_string();
                if given != path {
                    shown += &format!(", which is {},", path.display());
                }
                Ok(format!(
                    "everything on {shown} is lost: {device} is written over, and bakeoff's data stay on it \
                     ({contents})"
                ))
            }
        }
    }
}

pub fn take_location(path: &Path, destroys: bool) -> Result<DataLocation, CommandFailure> {
    let shown = path.display();
    let about = fs::metadata(path).map_err(|error| {
        usage_failure(format!(
            "--path {shown}: {error}; name a folder on the disk that is to be measured"
        ))
    })?;
    if about.file_type().is_block_device() {
        return take_device(path, destroys).map(DataLocation::Device);
    }
    if !about.is_dir() {
        return Err(usage_failure(format!(
            "--path {shown} is no folder; name a folder on the disk that is to be measured"
        )));
    }
    if destroys {
        return Err(usage_failure(format!(
            "{DESTROYS} is for a raw device, and --path {shown} is a folder: leave it out"
        )));
    }
    bakeoff_folders::trust::holder(path)
        .map(DataLocation::Folder)
        .map_err(|error| CommandFailure::from_folder_error(error.into()))
}

/// The names under which a device may be in use. The kernel lists mounts of /dev/mapper by the
/// link.
fn path_names(path: &Path) -> Vec<String> {
    let given = path.to_string_lossy().into_owned();
    let device = path.canonicalize().map(|device| device.to_string_lossy().into_owned());
    let device = device.ok().filter(|device| *device != given);
    [given].into_iter().chain(device).collect()
}

fn take_device(path: &Path, destroys: bool) -> Result<TakenDevice, CommandFailure> {
    // A link, as in /dev/disk, stands for its target.
    let device = follow_links(path)?;
    // Hold it before checking its use, so that no other program can start to use it in between.
    let held = HeldDevice::hold(&device);
    if let Some(why) = refuse_used(path, &devices::in_use(&path_names(path))) {
        return Err(usage_failure(why));
    }
    let held = match held {
        Err(error) if error.kind() == ErrorKind::ResourceBusy || destroys => {
            return Err(usage_failure(not_held(path, &error)));
        }
        Err(_) => return Err(usage_failure(not_given_up(path))),
        Ok(held) => held,
    };
    let number = held.device().number;
    let listed =
        format!("/sys/dev/block/{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    if let Some(why) = refuse_parted(path, &contents::list_partitions(Path::new(&listed))) {
        return Err(usage_failure(why));
    }
    if !destroys {
        return Err(usage_failure(not_given_up(path)));
    }
    Ok(TakenDevice {
        held,
        given: path.to_owned(),
        contents: contents::read_signatures(&device).to_string(),
    })
}

/// Follows only links of this user or root, in folders where nobody else can replace them.
fn follow_links(path: &Path) -> Result<PathBuf, CommandFailure> {
    let failed =
        |at: &Path, error: io::Error| usage_failure(format!("--path {}: {error}", at.display()));
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = at.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = bakeoff_folders::trust::holder(folder)
            .map_err(|error| CommandFailure::from_folder_error(error.into()))?;
        let name = at.file_name().ok_or_else(|| failed(path, ErrorKind::InvalidInput.into()))?;
        let entry = folder.path().join(name);
        let about = fs::symlink_metadata(&entry).map_err(|error| failed(&entry, error))?;
        if !bakeoff_folders::trust::is_trusted(about.uid()) {
            return Err(usage_failure(format!(
                "--path {} is somebody else's to choose: {} belongs to user {}",
                path.display(),
                entry.display(),
                about.uid()
            )));
        }
        if !about.is_symlink() {
            return Ok(entry);
        }
        let target = fs::read_link(&entry).map_err(|error| failed(&entry, error))?;
        at = folder.path().join(target);
    }
    Err(usage_failure(format!("--path {} leads through too many links", path.display())))
}

fn refuse_used(path: &Path, uses: &[String]) -> Option<String> {
    let shown = path.display();
    (!uses.is_empty()).then(|| {
        format!(
            "--path {shown} is a device in use ({}): bakeoff never writes to it; name a folder on the file \
             system that is to be measured",
            uses.join("; ")
        )
    })
}

fn refuse_parted(path: &Path, partitions: &[String]) -> Option<String> {
    let shown = path.display();
    (!partitions.is_empty()).then(|| {
        format!(
            "--path {shown} has the partitions {}: name one, or remove them",
            partitions.join(", ")
        )
    })
}

fn not_given_up(path: &Path) -> String {
    let shown = path.display();
    format!(
        "--path {shown} is a raw device, and everything on it would be lost. To measure it all the same, \
         without a file system, add {DESTROYS}. Or make a file system on it (`bakeoff layouts {shown}` \
         prints the commands), mount it, and name its mount point"
    )
}

fn not_held(path: &Path, error: &io::Error) -> String {
    let shown = path.display();
    if error.kind() == ErrorKind::ResourceBusy {
        return format!(
            "--path {shown} is a device in use: the kernel keeps it, a partition of it or the disk that it is a \
             partition of for somebody else; end that use, or name another device"
        );
    }
    format!("--path {shown} can't be written to: {error}")
}

pub fn existing_ancestor(dir: &Path) -> &Path {
    let there = |path: &&Path| !path.as_os_str().is_empty() && path.exists();
    dir.ancestors().find(there).unwrap_or(Path::new("."))
}

/// Refuses places whose paths are not UTF-8: the messages to a trial's process and the records hold
/// them as text.
pub fn check_places(arguments: &cli::RunArguments) -> Result<(), CommandFailure> {
    let places = [
        ("--out", arguments.out.as_deref()),
        ("--resume", arguments.resume.as_deref()),
        ("--path", arguments.path.as_deref()),
    ];
    for (flag, place) in places {
        if let Some(bad) = place.and_then(find_odd_path) {
            let shown = bad.display();
            return Err(usage_failure(format!(
                "{flag}: the path {shown} is not UTF-8; give it another name, or take another path"
            )));
        }
    }
    let is_named = arguments.out.is_some() || arguments.resume.is_some();
    match find_odd_path(Path::new(".")).filter(|_| !is_named) {
        Some(bad) => Err(usage_failure(format!(
            "the path of this folder, {}, is not UTF-8, and the run's folder would be in it; name \
             another one by --out",
            bad.display()
        ))),
        None => Ok(()),
    }
}

/// The whole path if it is not UTF-8, as it is written or where its links lead.
fn find_odd_path(path: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let led_to = existing_ancestor(&whole).canonicalize().ok();
    [Some(whole), led_to].into_iter().flatten().find(|path| path.to_str().is_none())
}

pub fn find_unfit_folder(
    arguments: &cli::RunArguments,
    folder: &Path,
) -> Vec<bakeoff_results::Error> {
    let taken = arguments.out.as_deref().and_then(|out| RunFolder::check_free(out).err());
    let out = arguments.out.as_deref().or(arguments.resume.as_deref());
    let open = if out == Some(folder) {
        bakeoff_folders::trust::folder
    } else {
        bakeoff_folders::trust::holder
    };
    taken.into_iter().chain(open(folder).err().map(Into::into)).collect()
}

pub fn describe_data_machine(
    data: Option<&DataLocation>,
    dir: &Path,
) -> Result<Machine, CommandFailure> {
    let at =
        existing_ancestor(data.and_then(DataLocation::folder).map_or(dir, TrustedFolder::path));
    let described = match data.and_then(DataLocation::device) {
        // Use the held device, whatever its path leads to by now.
        Some(held) => bakeoff_lab::machine::describe_device(held.device().number),
        None => bakeoff_lab::describe_machine(at),
    };
    described
        .map_err(|error| CommandFailure::new(Exit::Folder, format!("{}: {error}", at.display())))
}

/// From the runs in the folder that has this run's.
pub fn find_past_noise(
    arguments: &cli::RunArguments,
    experiment: &Experiment,
    data: Option<&DataLocation>,
) -> Option<PastNoise> {
    let here = Path::new(".");
    let dir = arguments.out.as_deref().or(arguments.resume.as_deref());
    let parent = dir.and_then(Path::parent).filter(|it| !it.as_os_str().is_empty());
    let machine = describe_data_machine(data, dir.unwrap_or(here)).ok()?;
    PastNoise::from_runs(parent.unwrap_or(here), &experiment.workload, &machine)
}

/// Data folders that other runs left here or still use.
pub fn find_left_folders(folder: &Path) -> Vec<String> {
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

/// Flags that `--resume` needs if the data lie outside the run folder.
pub fn resume_flags(path: Option<&Path>, destroys: bool) -> String {
    let Some(path) = path else { return String::new() };
    let flag = if destroys { format!(" {DESTROYS}") } else { String::new() };
    format!(" --path {}{flag}", quote(&path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn what_is_no_folder_is_refused_with_what_to_name() {
        for (path, words) in [
            ("/nowhere/at/all", "name a folder on the disk"),
            ("/dev/null", "is no folder"),
            ("/proc/version", "is no folder"),
        ] {
            for destroys in [false, true] {
                let failure = take_location(Path::new(path), destroys).expect_err(path);
                assert_eq!(failure.exit, Exit::Usage);
                assert!(failure.message.contains(words), "{}", failure.message);
            }
        }
    }

    #[test]
    fn a_path_that_is_not_utf_8_is_found_as_written_and_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let bad = place.join(OsStr::from_bytes(b"bad\xff\xfename"));
        fs::create_dir(&bad).unwrap();
        std::os::unix::fs::symlink(&bad, place.join("good")).unwrap();
        std::os::unix::fs::symlink(&place, place.join(OsStr::from_bytes(b"\xe4"))).unwrap();
        for path in [bad.clone(), bad.join("r"), place.join("good/r/s")] {
            assert!(find_odd_path(&path).is_some(), "{}", path.display());
        }
        assert!(find_odd_path(&place.join(OsStr::from_bytes(b"\xe4/r"))).is_some());
        assert_eq!(find_odd_path(&place.join("täglich #1,2/r")), None);
    }

    #[test]
    fn a_folder_is_nothing_to_be_destroyed() {
        let folder = tempfile::tempdir().unwrap();
        let failure = take_location(folder.path(), true).expect_err("it is a folder");
        assert!(failure.message.contains("leave it out"), "{}", failure.message);
        assert!(matches!(take_location(folder.path(), false), Ok(DataLocation::Folder(_))));
    }

    #[test]
    fn why_a_raw_device_is_refused_is_said_with_what_to_do() {
        let path = Path::new("/dev/xvdg");
        let raw = not_given_up(path);
        for words in ["is a raw device", DESTROYS, "bakeoff layouts /dev/xvdg", "its mount point"] {
            assert!(raw.contains(words), "{raw}");
        }
        assert_eq!((refuse_used(path, &[]), refuse_parted(path, &[])), (None, None));
        let uses = ["/dev/sda1 is mounted on /", "/dev/sda2 is swapped to"].map(str::to_owned);
        let used = refuse_used(Path::new("/dev/sda"), &uses).unwrap();
        let words = "in use (/dev/sda1 is mounted on /; /dev/sda2 is swapped to)";
        assert!(used.contains(words) && !used.contains(DESTROYS), "{used}");
        let parted = refuse_parted(path, &["xvdg1", "xvdg2"].map(str::to_owned)).unwrap();
        let words = "has the partitions xvdg1, xvdg2: name one, or remove them";
        assert!(parted.contains(words) && !parted.contains(DESTROYS), "{parted}");
    }

    #[test]
    fn a_device_is_looked_for_by_its_link_and_by_what_that_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let (device, link) = (place.join("dm-0"), place.join("vg-data"));
        fs::write(&device, "").unwrap();
        std::os::unix::fs::symlink(&device, &link).unwrap();
        let [device_name, link_name] = [&device, &link].map(|it| it.display().to_string());
        assert_eq!(path_names(&link), [link_name, device_name.clone()]);
        assert_eq!(path_names(&device), [device_name]);
    }

    #[test]
    fn folders_that_killed_runs_have_left_are_told_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bakeoff-work-2-9", "thesis", "bakeoff-work-1-9", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let [first, second] = &find_left_folders(folder.path())[..] else {
            panic!("two were left")
        };
        assert!(first.contains("/bakeoff-work-1-9 was left by a run that was killed"), "{first}");
        assert!(second.contains("/bakeoff-work-2-9 was"), "{second}");
    }

    #[test]
    fn links_are_followed_to_what_they_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        fs::write(at.join("it"), "").unwrap();
        std::os::unix::fs::symlink("it", at.join("near")).unwrap();
        std::os::unix::fs::symlink(at.join("near"), at.join("far")).unwrap();
        assert_eq!(follow_links(&at.join("far")).ok(), Some(at.join("it")));
        std::os::unix::fs::symlink("round", at.join("round")).unwrap();
        let failure = follow_links(&at.join("round")).expect_err("it has no end");
        assert!(failure.message.contains("too many links"), "{}", failure.message);
    }

    #[test]
    fn the_way_to_go_on_names_the_folder_or_the_device_with_its_flag() {
        assert_eq!(resume_flags(None, false), "");
        assert_eq!(
            resume_flags(Some(Path::new("/mnt/my array")), false),
            " --path '/mnt/my array'"
        );
        assert_eq!(
            resume_flags(Some(Path::new("/dev/sdz")), true),
            format!(" --path /dev/sdz {DESTROYS}")
        );
    }
}
