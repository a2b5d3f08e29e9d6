//! The kernel's accounts of a process and its descendants.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::ops::{Add, Sub};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_load::cpu::process_cpu;

/// How long to wait until no process starts or ends during a look: a thousand clients may have as
/// many processes, which take seconds to end on a busy machine.
const SETTLING: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub cpu: Duration,
    /// Bytes asked for in read calls, also from the page cache.
    pub read_calls: u64,
    /// Bytes given in write calls, also to the page cache.
    pub write_calls: u64,
    pub read: u64,
    /// Bytes sent to storage, or dirtied to be sent later.
    pub write: u64,
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            read_calls: self.read_calls + other.read_calls,
            write_calls: self.write_calls + other.write_calls,
            read: self.read + other.read,
            write: self.write + other.write,
        }
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            read_calls: self.read_calls.saturating_sub(earlier.read_calls),
            write_calls: self.write_calls.saturating_sub(earlier.write_calls),
            read: self.read.saturating_sub(earlier.read),
            write: self.write.saturating_sub(earlier.write),
        }
    }
}

impl Usage {
    pub fn from_this_process() -> io::Result<Self> {
        Ok(Self { cpu: process_cpu(), ..read_io(Path::new("/proc/self"))? })
    }

    /// Of a process and all its descendants, ended ones included: the kernel adds a child's use to
    /// its parent when the parent waits for it. Fails for another user's process, and if an ended
    /// descendant was not waited for.
    pub fn of_family(root: u32) -> io::Result<Self> {
        let start = Instant::now();
        let mut family = find_members(root)?;
        while start.elapsed() < SETTLING {
            let usage: io::Result<Vec<Self>> = family.iter().map(of_member).collect();
            let now = find_members(root)?;
            // The kernel may show the account of an ended process to root alone. Its parent has its
            // use as soon as it has waited for it.
            let unread = matches!(&usage, Err(error) if error.kind() == ErrorKind::PermissionDenied)
                && now.values().any(|member| member.has_ended);
            if now.keys().eq(family.keys()) && !unread {
                return Ok(usage?.into_iter().fold(Self::default(), Self::add));
            }
            // A process ended meanwhile: its use may be counted with it or with its parent.
            thread::sleep(PAUSE);
            family = find_members(root)?;
        }
        let ended = family.iter().find(|(_, member)| member.has_ended);
        let what = match ended {
            Some((pid, _)) => format!("{pid} below {root} has ended, and nobody waits for it"),
            None => format!("the processes of {root} come and go too fast to be counted"),
        };
        Err(io::Error::new(ErrorKind::TimedOut, what))
    }

    /// Without `apart` and its descendants. The use between the two looks, a few milliseconds,
    /// counts here.
    pub fn of_family_without(root: u32, apart: u32) -> io::Result<Self> {
        let apart = Self::of_family(apart)?;
        Ok(Self::of_family(root)? - apart)
    }

    /// Of all below this process, without `apart` and its descendants.
    pub fn of_children(apart: Option<u32>) -> io::Result<Self> {
        let (own, root) = (Self::from_this_process()?, std::process::id());
        let family =
            apart.map_or_else(|| Self::of_family(root), |it| Self::of_family_without(root, it));
        Ok(family? - own)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FamilyProcess {
    parent: u32,
    /// Includes children that were waited for.
    cpu: Duration,
    /// It has no memory any more: it has ended, or is about to.
    has_ended: bool,
}

fn of_member((pid, member): (&u32, &FamilyProcess)) -> io::Result<Usage> {
    Ok(Usage { cpu: member.cpu, ..read_io(Path::new(&format!("/proc/{pid}")))? })
}

/// Source: proc_pid_io(5).
fn read_io(process: &Path) -> io::Result<Usage> {
    let text = fs::read_to_string(process.join("io"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    Ok(Usage {
        cpu: Duration::ZERO,
        read_calls: field("rchar:"),
        write_calls: field("wchar:"),
        read: field("read_bytes:"),
        write: field("write_bytes:"),
    })
}

/// Of any user's processes: what they read and wrote, they show to root and their owner alone.
pub fn read_cpu_of_family(root: u32) -> io::Result<Duration> {
    Ok(find_members(root)?.values().map(|member| member.cpu).sum())
}

pub fn list_family(root: u32) -> io::Result<Vec<u32>> {
    Ok(find_members(root)?.into_keys().collect())
}

fn find_members(root: u32) -> io::Result<BTreeMap<u32, FamilyProcess>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // It may be gone by now.
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        all.extend(parse_member(&text).map(|found| (pid, found)));
    }
    let belongs = |pid: u32| {
        let mut at = Some(pid);
        while let Some(pid) = at.filter(|pid| *pid != root) {
            at = all.get(&pid).map(|member| member.parent);
        }
        at.is_some()
    };
    let family = all.iter().filter(|(pid, _)| belongs(**pid));
    let family: BTreeMap<u32, FamilyProcess> =
        family.map(|(pid, member)| (*pid, *member)).collect();
    if family.contains_key(&root) {
        Ok(family)
    } else {
        Err(io::Error::new(ErrorKind::NotFound, format!("there is no process {root}")))
    }
}

/// Source: proc_pid_stat(5): field 4 is the parent, fields 14 to 17 the times, field 23 the mapped
/// memory. Field 2, the name, may contain anything, so count from its end.
fn parse_member(text: &str) -> Option<FamilyProcess> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    let ticks: u64 = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let nanoseconds = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    let cpu = Duration::from_nanos(ticks * nanoseconds);
    Some(FamilyProcess { parent, cpu, has_ended: *fields.get(20)? == "0" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    #[test]
    fn writes_are_accounted() {
        let folder = tempfile::tempdir().unwrap();
        let before = Usage::from_this_process().unwrap();
        fs::write(folder.path().join("file"), vec![1u8; 300_000]).unwrap();
        let used = Usage::from_this_process().unwrap() - before;
        assert!(used.write_calls >= 300_000, "{used:?}");
    }

    /// Starts a program that goes on until it is ended; its first line.
    fn started(program: &str, arguments: &[&str]) -> (Child, String) {
        let mut process = Command::new(program);
        process.args(arguments).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
        let (mut process, mut line) = (process.spawn().unwrap(), String::new());
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (process, line.trim().to_owned())
    }

    fn end(mut process: Child) {
        drop(process.stdin.take());
        process.wait().unwrap();
    }

    #[test]
    fn a_family_counts_its_living_and_its_dead() {
        // A shell, a child of it that works and ends, and one that has worked and lives on.
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; head -c 300000 /dev/zero";
        let script = format!(
            "sh -c '{work} >/dev/null; true'; sh -c '{work} >/dev/null; echo $$; exec sleep 60' & \
             read go; kill $!; wait"
        );
        let (shell, child) = started("sh", &["-c", &script]);
        let (id, child) = (shell.id(), child.parse().unwrap());
        let whole = Usage::of_family(id).unwrap();
        let rest = Usage::of_family_without(id, child).unwrap();
        let apart = Usage::of_family(child).unwrap();
        let alone = read_io(Path::new(&format!("/proc/{id}"))).unwrap();
        end(shell);
        assert!(alone.write_calls >= 300_000, "the dead child's bytes: {alone:?}");
        assert!(whole.write_calls >= alone.write_calls + 300_000, "{whole:?} {alone:?}");
        assert!(whole.cpu >= Duration::from_millis(20), "{whole:?}");
        // One of them is counted apart.
        assert!(apart.write_calls >= 300_000, "{apart:?}");
        assert!(rest.write_calls < alone.write_calls + 300_000, "{rest:?}");
        assert!(Usage::of_family(id).is_err(), "it is gone");
    }

    /// Does something as an ordinary user, which this process is or this thread becomes.
    fn as_an_ordinary_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        use rustix::process::{Gid, Uid};
        use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                if rustix::process::geteuid().is_root() {
                    set_thread_groups(&[]).unwrap();
                    set_thread_gid(Gid::from_raw(65534)).unwrap();
                    set_thread_uid(Uid::from_raw(65534)).unwrap();
                }
                work()
            });
            thread.join().unwrap()
        })
    }

    #[test]
    fn one_that_has_ended_and_is_not_waited_for_yet_is_counted_when_it_is() {
        // Its child reads and ends, and is waited for half a second later.
        let script = "$| = 1; my $child = fork; if (!$child) { open(my $zero, '<', '/dev/zero'); \
                      sysread($zero, my $bytes, 300000); exit } \
                      1 until `cat /proc/$child/stat` =~ /\\) Z/; print \"ready\\n\"; \
                      select(undef, undef, undef, 0.5); waitpid($child, 0); <STDIN>";
        let family = as_an_ordinary_user(|| {
            let (perl, line) = started("perl", &["-e", script]);
            assert_eq!(line, "ready");
            let family = Usage::of_family(perl.id());
            end(perl);
            family
        });
        assert!(family.as_ref().is_ok_and(|used| used.read_calls >= 300_000), "{family:?}");
    }

    #[test]
    fn who_may_not_know_what_a_living_process_does_is_told_so_at_once() {
        // The first process is somebody else's, and may not be seen at all.
        let error = as_an_ordinary_user(|| Usage::of_family(1)).unwrap_err();
        let known = [ErrorKind::PermissionDenied, ErrorKind::NotFound];
        // Whoever has waited for it to settle is told that the time is out.
        assert!(known.contains(&error.kind()), "{error}");
    }

    #[test]
    fn a_family_whose_members_go_one_after_the_other_is_waited_for() {
        // As a server's processes end, one a client, when their clients have gone.
        let script = "for t in $(seq 0.1 0.003 1.6); do sleep $t & done; echo go; wait; read go";
        let (shell, _) = started("sh", &["-c", script]);
        let family = Usage::of_family(shell.id());
        end(shell);
        assert!(family.is_ok(), "{family:?}");
    }

    #[test]
    fn a_name_with_brackets_and_spaces_misleads_nobody() {
        let text = "7 (a) b) S 3 1 1 0 -1 4 0 0 0 0 100 20 3 4 20 0 1 0 5 4096 0";
        let ticks = rustix::param::clock_ticks_per_second();
        let cpu = Duration::from_nanos(127 * 1_000_000_000 / ticks);
        assert_eq!(parse_member(text), Some(FamilyProcess { parent: 3, cpu, has_ended: false }));
        let gone = text.replace("S 3", "Z 3").replace("4096", "0");
        assert!(parse_member(&gone).unwrap().has_ended);
    }
}
