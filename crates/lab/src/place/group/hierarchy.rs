//! Finds where groups can be made: a controller of cgroup v2 if it is there, else of v1. Sources:
//! the kernel's admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

const MEND: &str = "run it as root, or as a unit of one's own: systemd-run --user --scope -p \
                    Delegate=yes bakeoff …";

pub const PROCESSES: &str = "cgroup.procs";
pub const CHILDREN: &str = "cgroup.subtree_control";
/// The child group that this process moves to.
const LEAF: &str = "lab";
const OWN: &str = "cgroup.controllers";

#[derive(Debug, PartialEq, Eq)]
pub struct Hierarchy {
    pub root: PathBuf,
    pub own: PathBuf,
    pub version: u8,
    pub controllers: Vec<&'static str>,
}

impl Hierarchy {
    pub fn find_by_controllers(controllers: &[&'static str]) -> Result<Vec<Self>, String> {
        let read = |path: &str| {
            let cant = |error| format!("nothing can be limited: {path} can't be read: {error}");
            fs::read_to_string(path).map_err(cant)
        };
        let (mounts, groups) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
        let mut all: Vec<Self> = Vec::new();
        let mut two = find_hierarchy(&mounts, &groups, 2, "");
        for controller in controllers {
            match &mut two {
                Some(two) if has_word(&two.root.join(OWN), controller) => {
                    two.controllers.push(controller);
                }
                _ => all.push(
                    find_hierarchy(&mounts, &groups, 1, controller)
                        .ok_or_else(|| missing_text(controller))?,
                ),
            }
        }
        all.extend(two.filter(|two| !two.controllers.is_empty()));
        Ok(all)
    }

    /// The group below which new groups are made: this process's own if it can be divided, else the
    /// nearest one above.
    pub fn find_parent(&self) -> Result<PathBuf, String> {
        if self.version == 1 {
            return match may_divide(&self.own) {
                true => Ok(self.own.clone()),
                false => Err(format!("no group can be made in {}: {MEND}", self.own.display())),
            };
        }
        // This process moved there when it took its group over.
        if let Some(parent) =
            self.own.parent().filter(|_| self.own.ends_with(super::group_name(LEAF)))
        {
            // It may have been for another controller.
            let divided = parent.join(CHILDREN);
            return match self.all_in(&divided) || fs::write(&divided, self.wanted()).is_ok() {
                true => Ok(parent.to_owned()),
                false => Err(format!("{} may not be divided: {MEND}", parent.display())),
            };
        }
        if self.all_in(&self.own.join(OWN)) && self.take_over().is_ok() {
            return Ok(self.own.clone());
        }
        let above = self.own.ancestors().take_while(|path| path.starts_with(&self.root));
        let mut divided = above.filter(|path| self.all_in(&path.join(CHILDREN)));
        divided
            .find(|path| may_divide(path))
            .map(Path::to_owned)
            .ok_or_else(|| format!("no group above {} may be divided: {MEND}", self.own.display()))
    }

    fn wanted(&self) -> String {
        self.controllers.iter().map(|it| format!("+{it}")).collect::<Vec<_>>().join(" ")
    }

    fn all_in(&self, file: &Path) -> bool {
        self.controllers.iter().all(|controller| has_word(file, controller))
    }

    /// A group that divides its controllers can't hold processes, unless it is the root. So this
    /// process, which must be the only one, moves to a child.
    fn take_over(&self) -> io::Result<()> {
        let divided = self.own.join(CHILDREN);
        let divide = || fs::write(&divided, self.wanted());
        if !self.all_in(&divided) && divide().is_err() {
            let me = std::process::id();
            if fs::read_to_string(self.own.join(PROCESSES))?.trim() != me.to_string() {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            let leaf = self.own.join(super::group_name(LEAF));
            fs::create_dir(&leaf)?;
            fs::write(leaf.join(PROCESSES), "0")?;
            divide()?;
        }
        may_divide(&self.own).then_some(()).ok_or(io::ErrorKind::PermissionDenied.into())
    }
}

fn may_divide(group: &Path) -> bool {
    let may = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    may(group) && may(&group.join(PROCESSES))
}

fn has_word(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|w| w == word))
}

fn missing_text(controller: &str) -> String {
    let boot = match controller {
        "memory" => "boot the kernel with cgroup_enable=memory, or ",
        _ => "",
    };
    let why = format!(
        "this kernel or container has no {controller} controller (cgroup v2 or v1): {boot}give the \
         container /sys/fs/cgroup"
    );
    super::unlimited_text(controller, &why)
}

/// Reads `/proc/self/mountinfo` (proc_pid_mountinfo(5)) and `/proc/self/cgroup` (cgroups(7)).
fn find_hierarchy(
    mounts: &str,
    groups: &str,
    version: u8,
    controller: &'static str,
) -> Option<Hierarchy> {
    let kind = if version == 1 { "cgroup" } else { "cgroup2" };
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
    // A container may see only a part of the hierarchy.
    let path = Path::new(path);
    let own = path.strip_prefix(inside).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    let own = if own == Path::new("") { root.into() } else { Path::new(root).join(own) };
    let controllers = Some(controller).filter(|it| !it.is_empty()).into_iter().collect();
    Some(Hierarchy { root: root.into(), own, version, controllers })
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
        let one = find_hierarchy(HYBRID, groups, 1, "memory").unwrap();
        assert_eq!(one.root, Path::new("/sys/fs/cgroup/memory"));
        assert_eq!(one.own, Path::new("/sys/fs/cgroup/memory/jobs/1"));
        let two = find_hierarchy(HYBRID, groups, 2, "").unwrap();
        assert_eq!(two.own, Path::new("/sys/fs/cgroup/unified/user.slice"));
        let cpu = find_hierarchy(HYBRID, groups, 1, "cpu").unwrap();
        assert_eq!((cpu.own.to_str(), cpu.controllers), (Some("/sys/fs/cgroup/cpu"), vec!["cpu"]));
        assert!(find_hierarchy(HYBRID, groups, 1, "pids").is_none());
    }

    #[test]
    fn a_container_s_group_is_found_where_it_is_seen() {
        let mounts = "31 25 0:27 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw";
        let own = |path: &str| find_hierarchy(mounts, &format!("0::{path}"), 2, "").unwrap().own;
        assert_eq!(own("/docker/abc/x"), Path::new("/sys/fs/cgroup/x"));
        assert_eq!(own("/docker/abc"), Path::new("/sys/fs/cgroup"));
        assert!(find_hierarchy(mounts, "0::/", 1, "memory").is_none());
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
        Hierarchy { root: place.into(), own, version: 2, controllers: vec!["memory"] }
    }

    #[test]
    fn new_groups_are_made_in_the_nearest_that_is_divided() {
        let place = tempfile::tempdir().unwrap();
        let tree = divided(place.path(), "user/app/scope");
        assert!(tree.find_parent().unwrap_err().contains("systemd-run --user --scope"));
        fs::write(place.path().join(CHILDREN), "cpu memory").unwrap();
        fs::write(place.path().join("user").join(CHILDREN), "memory pids").unwrap();
        assert_eq!(tree.find_parent().unwrap(), place.path().join("user"));
        // What wants both goes to where both are divided.
        let both = Hierarchy { controllers: vec!["memory", "cpu"], ..tree };
        assert_eq!(both.find_parent().unwrap(), place.path());
    }
}
