//! Where groups that limit memory can be made: cgroup v2 where it has the memory controller, else
//! v1. Sources: the kernel's admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// What to do where no group can be made.
const MEND: &str = "run it as root, or as a unit of one's own: systemd-run --user --scope -p \
                    Delegate=yes bakeoff …";

/// The files of a group, by what they hold.
#[derive(Debug, PartialEq, Eq)]
pub struct Files {
    /// Which cgroups these are.
    pub version: u8,
    /// The limit in bytes.
    pub limit: &'static str,
    /// The limit of what is swapped out, and what it is set to for a limit of so many bytes.
    pub swap: (&'static str, fn(u64) -> u64),
    /// Bytes in use.
    pub usage: &'static str,
    /// The most that was in use.
    pub peak: &'static str,
    /// Bytes in the page cache, in `memory.stat`; shared memory is among them.
    pub cached: &'static str,
    /// The file that has a line `oom_kill` with the number of processes killed.
    pub kills: &'static str,
}

/// Version 1: its limit of swap counts memory and swap together.
const V1: Files = Files {
    version: 1,
    limit: "memory.limit_in_bytes",
    swap: ("memory.memsw.limit_in_bytes", |limit| limit),
    usage: "memory.usage_in_bytes",
    peak: "memory.max_usage_in_bytes",
    cached: "cache",
    kills: "memory.oom_control",
};

/// Version 2.
const V2: Files = Files {
    version: 2,
    limit: "memory.max",
    swap: ("memory.swap.max", |_| 0),
    usage: "memory.current",
    peak: "memory.peak",
    cached: "file",
    kills: "memory.events",
};

/// The list of a group's processes.
pub const PROCESSES: &str = "cgroup.procs";
/// The controllers that a group's children have.
const CHILDREN: &str = "cgroup.subtree_control";
/// What the group is called that this process moves to.
const LEAF: &str = "lab";
/// The controllers that a group may give to its children.
const OWN: &str = "cgroup.controllers";

/// A hierarchy of groups.
#[derive(Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Where it is mounted.
    pub root: PathBuf,
    /// This process's group.
    pub own: PathBuf,
    /// What its files are called.
    pub files: &'static Files,
}

impl Hierarchy {
    /// The hierarchy that has the memory controller.
    ///
    /// # Errors
    /// There is none, and what to do.
    pub fn find() -> Result<Self, String> {
        let read = |path: &str| {
            fs::read_to_string(path).map_err(|error| format!("{path} can't be read: {error}"))
        };
        let (mounts, groups) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
        let memory = |two: &Self| holds(&two.root.join(OWN), "memory");
        let two = find(&mounts, &groups, &V2).filter(memory);
        two.or_else(|| find(&mounts, &groups, &V1)).ok_or_else(|| {
            "this kernel or container has no memory controller (cgroup v2 or v1): boot the kernel \
             with cgroup_enable=memory, or give the container /sys/fs/cgroup"
                .into()
        })
    }

    /// The group below which new ones are to be made: it is this process's own where that can be
    /// divided, else the nearest above it that is.
    ///
    /// # Errors
    /// No group can be made, and what to do.
    pub fn parent(&self) -> Result<PathBuf, String> {
        if self.files.version == 1 {
            return match may_divide(&self.own) {
                true => Ok(self.own.clone()),
                false => Err(format!("no group can be made in {}: {MEND}", self.own.display())),
            };
        }
        // This process has moved there when it took its group over.
        if let Some(parent) = self.own.parent().filter(|_| self.own.ends_with(super::name(LEAF))) {
            return Ok(parent.to_owned());
        }
        if holds(&self.own.join(OWN), "memory") && self.take_over().is_ok() {
            return Ok(self.own.clone());
        }
        let above = self.own.ancestors().take_while(|path| path.starts_with(&self.root));
        let mut divided = above.filter(|path| holds(&path.join(CHILDREN), "memory"));
        divided
            .find(|path| may_divide(path))
            .map(Path::to_owned)
            .ok_or_else(|| format!("no group above {} may be divided: {MEND}", self.own.display()))
    }

    /// Has this process's own group divide its memory. A group that does can't hold processes,
    /// unless it is the root, so this one, which must be the only one, moves to a child.
    fn take_over(&self) -> io::Result<()> {
        let divided = self.own.join(CHILDREN);
        let divide = || fs::write(&divided, "+memory");
        if !holds(&divided, "memory") && divide().is_err() {
            let me = std::process::id();
            if fs::read_to_string(self.own.join(PROCESSES))?.trim() != me.to_string() {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            let leaf = self.own.join(super::name(LEAF));
            fs::create_dir(&leaf)?;
            fs::write(leaf.join(PROCESSES), "0")?;
            divide()?;
        }
        may_divide(&self.own).then_some(()).ok_or(io::ErrorKind::PermissionDenied.into())
    }
}

/// Whether this process may make groups in a group, and move processes into them.
fn may_divide(group: &Path) -> bool {
    let may = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    may(group) && may(&group.join(PROCESSES))
}

/// Whether a word stands in a file.
fn holds(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|w| w == word))
}

/// A version's hierarchy with this process's group in it: from the text of `/proc/self/mountinfo`
/// (proc_pid_mountinfo(5)) and that of `/proc/self/cgroup` (cgroups(7)).
fn find(mounts: &str, groups: &str, files: &'static Files) -> Option<Hierarchy> {
    let (kind, controller) =
        if files.version == 1 { ("cgroup", "memory") } else { ("cgroup2", "") };
    let mount = mounts.lines().find_map(|line| {
        let (fields, file_system) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let mut file_system = file_system.split(' ');
        let right = file_system.next()? == kind
            && (controller.is_empty() || file_system.nth(1)?.split(',').any(|c| c == controller));
        right.then_some((fields.next()?, fields.next()?))
    });
    let path = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|c| c == controller).then_some(path)
    });
    let ((inside, root), path) = (mount?, path?);
    // A container may see a part of the hierarchy only.
    let path = Path::new(path);
    let own = path.strip_prefix(inside).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    let own = if own == Path::new("") { root.into() } else { Path::new(root).join(own) };
    Some(Hierarchy { root: root.into(), own, files })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
25 20 0:22 / /sys rw - sysfs sysfs rw
30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
31 25 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory
32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";

    #[test]
    fn this_process_s_group_is_found_in_both_versions() {
        let groups = "9:name=systemd:/\n4:memory:/jobs/1\n1:cpu,cpuacct:/\n0::/user.slice";
        let one = find(HYBRID, groups, &V1).unwrap();
        assert_eq!(one.root, Path::new("/sys/fs/cgroup/memory"));
        assert_eq!(one.own, Path::new("/sys/fs/cgroup/memory/jobs/1"));
        let two = find(HYBRID, groups, &V2).unwrap();
        assert_eq!(two.own, Path::new("/sys/fs/cgroup/unified/user.slice"));
    }

    #[test]
    fn a_container_s_group_is_found_where_it_is_seen() {
        let mounts = "31 25 0:27 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw";
        let own = |path: &str| find(mounts, &format!("0::{path}"), &V2).unwrap().own;
        assert_eq!(own("/docker/abc/x"), Path::new("/sys/fs/cgroup/x"));
        assert_eq!(own("/docker/abc"), Path::new("/sys/fs/cgroup"));
        assert!(find(mounts, "0::/", &V1).is_none());
    }

    /// A folder that looks like groups of version 2: real ones are divided by the kernel alone.
    fn divided(place: &Path, own: &str) -> Hierarchy {
        let own = place.join(own);
        fs::create_dir_all(&own).unwrap();
        for group in own.ancestors().take_while(|path| path.starts_with(place)) {
            fs::write(group.join(PROCESSES), "1\n").unwrap();
            // This process's own group has no memory to divide.
            let controllers = if group == own { "cpu" } else { "cpu memory" };
            fs::write(group.join(OWN), controllers).unwrap();
            fs::write(group.join(CHILDREN), "").unwrap();
        }
        Hierarchy { root: place.into(), own, files: &V2 }
    }

    #[test]
    fn new_groups_are_made_in_the_nearest_that_is_divided() {
        let place = tempfile::tempdir().unwrap();
        let tree = divided(place.path(), "user/app/scope");
        assert!(tree.parent().unwrap_err().contains("systemd-run --user --scope"));
        fs::write(place.path().join(CHILDREN), "cpu memory").unwrap();
        fs::write(place.path().join("user").join(CHILDREN), "memory pids").unwrap();
        assert_eq!(tree.parent().unwrap(), place.path().join("user"));
    }
}
