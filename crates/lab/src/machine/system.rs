//! What the system tells of how it is set up: files of /proc and /sys alone, so that no program is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that are there in a container, and whose it is then. Sources: systemd's container interface
/// (systemd.io/CONTAINER_INTERFACE), Docker's and Podman's own marks.
const CONTAINER_MARKS: [(&str, &str); 2] =
    [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];

/// What paths of control groups hold where a container has them (cgroups(7)).
const CONTAINER_GROUPS: [&str; 4] = ["kubepods", "docker", "containerd", "lxc"];

/// The system's files below a folder, which is the root but in tests.
pub struct SystemFiles<'a>(pub &'a Path);

impl SystemFiles<'_> {
    /// The build of the kernel's release. Source: proc_sys_kernel(5).
    pub fn kernel_version(&self) -> Option<String> {
        self.line("/proc/sys/kernel/version")
    }

    /// What chooses the processors' frequency; each once where processors differ. Source: the kernel's
    /// Documentation/admin-guide/pm/cpufreq.rst.
    pub fn governor(&self) -> Option<String> {
        let policies = fs::read_dir(self.path("/sys/devices/system/cpu/cpufreq")).ok()?;
        let governors = policies.flatten().filter_map(|policy| {
            let text = fs::read(policy.path().join("scaling_governor")).ok()?;
            one_line(&text)
        });
        let governors: BTreeSet<String> = governors.collect();
        let governors = governors.into_iter().collect::<Vec<_>>().join(", ");
        Some(governors).filter(|it| !it.is_empty())
    }

    /// Whether two threads share a core. Source: the kernel's
    /// Documentation/ABI/testing/sysfs-devices-system-cpu.
    pub fn smt(&self) -> Option<bool> {
        match &*self.line("/sys/devices/system/cpu/smt/active")? {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        }
    }

    /// Who gets transparent huge pages. Source: the kernel's Documentation/admin-guide/mm/transhuge.rst.
    pub fn huge_pages(&self) -> Option<String> {
        chosen(&self.line("/sys/kernel/mm/transparent_hugepage/enabled")?)
    }

    /// The maker and the model. Source: the kernel's Documentation/ABI/testing/sysfs-class-dmi.
    pub fn hardware(&self) -> Option<String> {
        let parts = ["sys_vendor", "product_name"]
            .into_iter()
            .filter_map(|name| self.line(&format!("/sys/class/dmi/id/{name}")));
        let hardware = parts.collect::<Vec<_>>().join(" ");
        Some(hardware).filter(|it| !it.is_empty())
    }

    /// The hypervisor and the container, as far as they show; `None` where the system does not tell of either.
    /// Source: the kernel's Documentation/ABI/stable/sysfs-hypervisor-xen.
    pub fn virtualisation(&self) -> Option<String> {
        let flag = hypervisor_flag(&self.text("/proc/cpuinfo").unwrap_or_default());
        let hypervisor = match self.line("/sys/hypervisor/type") {
            Some(kind) => Some(format!("hypervisor {kind}")),
            None => flag.filter(|is_set| *is_set).map(|_| "hypervisor".to_owned()),
        };
        let container = self.container().map(|kind| format!("container {kind}"));
        let seen: Vec<String> = hypervisor.into_iter().chain(container).collect();
        match flag {
            _ if !seen.is_empty() => Some(seen.join(", ")),
            Some(false) => Some("none seen".to_owned()),
            _ => None,
        }
    }

    /// The container that this process is in, by who made it.
    fn container(&self) -> Option<String> {
        let mark =
            |(path, kind): &(&str, &str)| self.path(path).exists().then(|| (*kind).to_owned());
        let named = self.line("/run/systemd/container");
        named.or_else(|| CONTAINER_MARKS.iter().find_map(mark)).or_else(|| {
            let groups = self.text("/proc/1/cgroup")?;
            let kind = CONTAINER_GROUPS.iter().find(|kind| groups.contains(**kind));
            kind.map(|kind| (*kind).to_owned())
        })
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    fn text(&self, path: &str) -> Option<String> {
        let text = fs::read(self.path(path)).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn line(&self, path: &str) -> Option<String> {
        one_line(&fs::read(self.path(path)).ok()?)
    }
}

/// The first line without blanks around it; `None` where it is empty.
fn one_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The word in brackets: that of several which is chosen.
fn chosen(words: &str) -> Option<String> {
    let (_, rest) = words.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    (!word.is_empty()).then(|| word.to_owned())
}

/// Whether the processor says that a hypervisor is below it; `None` of one that has no flags of x86.
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
    fn place(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    #[test]
    fn a_system_without_these_files_tells_nothing() {
        let place = place(&[]);
        let nowhere = place.path().join("nowhere");
        for root in [place.path(), &nowhere] {
            let files = SystemFiles(root);
            assert_eq!((files.kernel_version(), files.governor(), files.smt()), (None, None, None));
            assert_eq!((files.huge_pages(), files.hardware()), (None, None));
            assert_eq!(files.virtualisation(), None);
        }
    }

    #[test]
    fn files_are_read_as_the_kernel_writes_them() {
        let place = place(&[
            ("proc/sys/kernel/version", b"#1 SMP PREEMPT_DYNAMIC Debian 6.1.0-1\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", b"powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", b"performance\n"),
            ("sys/devices/system/cpu/cpufreq/policy2/scaling_governor", b"powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy3/affected_cpus", b"3\n"),
            ("sys/devices/system/cpu/smt/active", b"1\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", b"always [madvise] never\n"),
            ("sys/class/dmi/id/sys_vendor", b"Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", b"m5.large\xff\n"),
        ]);
        let files = SystemFiles(place.path());
        let version = files.kernel_version();
        assert_eq!(version.as_deref(), Some("#1 SMP PREEMPT_DYNAMIC Debian 6.1.0-1"));
        assert_eq!(files.governor().as_deref(), Some("performance, powersave"));
        assert_eq!(files.smt(), Some(true));
        assert_eq!(files.huge_pages().as_deref(), Some("madvise"));
        assert_eq!(files.hardware().as_deref(), Some("Amazon EC2 m5.large\u{fffd}"));
    }

    #[test]
    fn what_is_no_answer_is_none() {
        let place = place(&[
            ("proc/sys/kernel/version", b"\n"),
            ("sys/devices/system/cpu/cpufreq/boost", b"1\n"),
            ("sys/devices/system/cpu/smt/active", b"maybe\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", b"always madvise never\n"),
            ("sys/class/dmi/id/sys_vendor", b" \n"),
            ("proc/cpuinfo", b"Features\t: fp asimd\n"),
        ]);
        let files = SystemFiles(place.path());
        assert_eq!((files.kernel_version(), files.governor(), files.smt()), (None, None, None));
        assert_eq!((files.huge_pages(), files.hardware()), (None, None));
        assert_eq!(files.virtualisation(), None, "no processor of x86 says anything");
        for words in ["[]", "]never[", "[never"] {
            assert_eq!(chosen(words), None, "{words}");
        }
    }

    #[test]
    fn the_hypervisor_is_a_flag_of_its_own() {
        let of =
            |flags: &str| hypervisor_flag(&format!("model name\t: A: b\nflags\t\t: {flags}\n"));
        assert_eq!(of("fpu vme hypervisor lahf_lm"), Some(true));
        assert_eq!(of("fpu vme hypervisors"), Some(false));
        assert_eq!(hypervisor_flag("bugs\t: hypervisor\n"), None);
    }

    #[test]
    fn a_hypervisor_and_a_container_are_told_beside_each_other() {
        const BARE: (&str, &[u8]) = ("proc/cpuinfo", b"flags\t\t: fpu vme\n");
        const VIRTUAL: (&str, &[u8]) = ("proc/cpuinfo", b"flags\t\t: fpu hypervisor\n");
        let told = |files: &[(&str, &[u8])]| {
            let place = place(files);
            SystemFiles(place.path()).virtualisation().unwrap_or_default()
        };
        assert_eq!(told(&[BARE]), "none seen");
        assert_eq!(told(&[VIRTUAL]), "hypervisor");
        assert_eq!(told(&[BARE, ("sys/hypervisor/type", b"xen\n")]), "hypervisor xen");
        assert_eq!(told(&[BARE, (".dockerenv", b"")]), "container docker");
        assert_eq!(told(&[VIRTUAL, ("run/.containerenv", b"")]), "hypervisor, container podman");
        let named: [(&str, &[u8]); 2] = [("run/systemd/container", b"lxc\n"), (".dockerenv", b"")];
        assert_eq!(told(&named), "container lxc");
        let groups = |text: &'static [u8]| [BARE, ("proc/1/cgroup", text)];
        assert_eq!(told(&groups(b"4:memory:/kubepods/pod1\n")), "container kubepods");
        assert_eq!(told(&groups(b"0::/init.scope\n")), "none seen");
    }
}
