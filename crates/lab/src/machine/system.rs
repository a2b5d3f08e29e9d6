//! Reads the system's settings from /proc and /sys alone: no program is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that container managers leave. Sources: systemd.io/CONTAINER_INTERFACE; Docker's and
/// Podman's own marks.
const CONTAINER_MARKS: [(&str, &str); 2] =
    [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];

/// Parts of control group paths that show a container manager (cgroups(7)).
const CONTAINER_GROUPS: [&str; 4] = ["kubepods", "docker", "containerd", "lxc"];

/// Below a folder: the root, except in tests.
pub struct SystemFiles<'a>(pub &'a Path);

impl SystemFiles<'_> {
    /// Source: proc_sys_kernel(5).
    pub fn kernel_version(&self) -> Option<String> {
        self.read_line("/proc/sys/kernel/version")
    }

    /// What chooses the processors' frequency. Source: the kernel's
    /// Documentation/admin-guide/pm/cpufreq.rst.
    pub fn frequency_governor(&self) -> Option<String> {
        let policies = fs::read_dir(self.resolve_path("/sys/devices/system/cpu/cpufreq")).ok()?;
        let governors = policies.flatten().filter_map(|policy| {
            let text = fs::read(policy.path().join("scaling_governor")).ok()?;
            one_line(&text)
        });
        let governors: BTreeSet<String> = governors.collect();
        let governors = governors.into_iter().collect::<Vec<_>>().join(", ");
        Some(governors).filter(|it| !it.is_empty())
    }

    /// Source: the kernel's Documentation/ABI/testing/sysfs-devices-system-cpu.
    pub fn has_smt(&self) -> Option<bool> {
        match &*self.read_line("/sys/devices/system/cpu/smt/active")? {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        }
    }

    /// Source: the kernel's Documentation/admin-guide/mm/transhuge.rst.
    pub fn huge_pages(&self) -> Option<String> {
        chosen_word(&self.read_line("/sys/kernel/mm/transparent_hugepage/enabled")?)
    }

    /// Source: the kernel's Documentation/ABI/testing/sysfs-class-dmi.
    pub fn hardware_name(&self) -> Option<String> {
        let parts = ["sys_vendor", "product_name"]
            .into_iter()
            .filter_map(|name| self.read_line(&format!("/sys/class/dmi/id/{name}")));
        let hardware = parts.collect::<Vec<_>>().join(" ");
        Some(hardware).filter(|it| !it.is_empty())
    }

    /// Source: the kernel's Documentation/ABI/stable/sysfs-hypervisor-xen.
    pub fn virtualisation(&self) -> Option<String> {
        let flag = hypervisor_flag(&self.read_text("/proc/cpuinfo").unwrap_or_default());
        let hypervisor = match self.read_line("/sys/hypervisor/type") {
            Some(kind) => Some(format!("hypervisor {kind}")),
            None => flag.filter(|is_set| *is_set).map(|_| "hypervisor".to_owned()),
        };
        let container = self.find_container().map(|kind| format!("container {kind}"));
        let seen: Vec<String> = hypervisor.into_iter().chain(container).collect();
        match flag {
            _ if !seen.is_empty() => Some(seen.join(", ")),
            Some(false) => Some("none seen".to_owned()),
            _ => None,
        }
    }

    fn find_container(&self) -> Option<String> {
        let mark = |(path, kind): &(&str, &str)| {
            self.resolve_path(path).exists().then(|| (*kind).to_owned())
        };
        let named = self.read_line("/run/systemd/container");
        named.or_else(|| CONTAINER_MARKS.iter().find_map(mark)).or_else(|| {
            let groups = self.read_text("/proc/1/cgroup")?;
            let kind = CONTAINER_GROUPS.iter().find(|kind| groups.contains(**kind));
            kind.map(|kind| (*kind).to_owned())
        })
    }

    fn resolve_path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    fn read_text(&self, path: &str) -> Option<String> {
        let text = fs::read(self.resolve_path(path)).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn read_line(&self, path: &str) -> Option<String> {
        one_line(&fs::read(self.resolve_path(path)).ok()?)
    }
}

fn one_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The kernel puts the chosen one of several words in brackets.
fn chosen_word(words: &str) -> Option<String> {
    let (_, rest) = words.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    (!word.is_empty()).then(|| word.to_owned())
}

/// `None` on processors without the flags of x86.
fn hypervisor_flag(cpuinfo: &str) -> Option<bool> {
    let flags = cpuinfo.lines().find_map(|line| {
        let (name, flags) = line.split_once(':')?;
        (name.trim() == "flags").then_some(flags)
    })?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files.
    fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    #[test]
    fn files_are_read_as_the_kernel_writes_them() {
        let place = place(&[
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.0-1\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy3/affected_cpus", "3\n"),
            ("sys/devices/system/cpu/smt/active", "1\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ]);
        fs::write(place.path().join("sys/class/dmi/id/product_name"), b"m5.large\xff\n").unwrap();
        let files = SystemFiles(place.path());
        let version = files.kernel_version();
        assert_eq!(version.as_deref(), Some("#1 SMP PREEMPT_DYNAMIC Debian 6.1.0-1"));
        assert_eq!(files.frequency_governor().as_deref(), Some("performance, powersave"));
        assert_eq!(files.has_smt(), Some(true));
        assert_eq!(files.huge_pages().as_deref(), Some("madvise"));
        assert_eq!(files.hardware_name().as_deref(), Some("Amazon EC2 m5.large\u{fffd}"));
    }

    #[test]
    fn what_is_not_there_or_no_answer_is_none() {
        let silent = [
            ("proc/sys/kernel/version", "\n"),
            ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
            ("sys/devices/system/cpu/smt/active", "maybe\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always madvise never\n"),
            ("sys/class/dmi/id/sys_vendor", " \n"),
            // No processor of x86 says anything of a hypervisor.
            ("proc/cpuinfo", "Features\t: fp asimd\n"),
        ];
        for (files, below) in [(&silent[..], "."), (&[], "."), (&[], "nowhere")] {
            let place = place(files);
            let root = place.path().join(below);
            let files = SystemFiles(&root);
            let texts = [files.kernel_version(), files.frequency_governor(), files.huge_pages()];
            assert_eq!(texts, [None, None, None]);
            assert_eq!((files.has_smt(), files.hardware_name()), (None, None));
            assert_eq!(files.virtualisation(), None);
        }
        for words in ["[]", "]never[", "[never"] {
            assert_eq!(chosen_word(words), None, "{words}");
        }
    }

    #[test]
    fn a_hypervisor_and_a_container_are_told_beside_each_other() {
        const BARE: (&str, &str) = ("proc/cpuinfo", "model name\t: A: b\nflags\t\t: hypervisors\n");
        const VIRTUAL: (&str, &str) = ("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm\n");
        for (processor, file, told) in [
            (BARE, ("x", ""), "none seen"),
            (VIRTUAL, ("x", ""), "hypervisor"),
            (BARE, ("sys/hypervisor/type", "xen\n"), "hypervisor xen"),
            (BARE, (".dockerenv", ""), "container docker"),
            (VIRTUAL, ("run/.containerenv", ""), "hypervisor, container podman"),
            (BARE, ("run/systemd/container", "lxc\n"), "container lxc"),
            (BARE, ("proc/1/cgroup", "4:memory:/kubepods/pod1\n"), "container kubepods"),
            (BARE, ("proc/1/cgroup", "0::/init.scope\n"), "none seen"),
        ] {
            let place = place(&[processor, file]);
            let found = SystemFiles(place.path()).virtualisation();
            assert_eq!(found.as_deref(), Some(told), "{file:?}");
        }
        let named = place(&[BARE, ("run/systemd/container", "lxc\n"), (".dockerenv", "")]);
        let found = SystemFiles(named.path()).virtualisation();
        assert_eq!(found.as_deref(), Some("container lxc"));
        assert_eq!(hypervisor_flag("bugs\t: hypervisor\n"), None);
    }
}
