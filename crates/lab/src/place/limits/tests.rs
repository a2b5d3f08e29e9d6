use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bakeoff_testkit::{needs, wait_until};

use super::*;
use crate::machine::usage::Usage;
use crate::place::{group, page_cache};

const MIB: u64 = 1 << 20;

/// Groups with these limits.
fn limited<const N: usize>(wanted: [(&'static str, Limit); N]) -> Limits {
    Limits::create(&wanted.into()).unwrap()
}

/// A shell that joins a group, which is on the list of all its limits, and does this.
fn within(limits: &Limits, group: &str, script: &str) -> Child {
    let script = format!("for list; do echo 0 >\"$list\" || exit 9; done; {script}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh"]).args(limits.of(group).unwrap().processes());
    shell.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

/// A file of so many MiB that is on a disk, and not in the page cache.
fn file(folder: &Path, name: &str, mib: u64) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("data"), vec![7; (mib * MIB) as usize]).unwrap();
    page_cache::forget(&path).unwrap();
    path.join("data")
}

#[test]
fn two_groups_read_past_their_limits_and_each_is_charged_for_its_own_files() {
    if needs(group::try_memory_limit()).is_none() {
        return;
    }
    // Not the system's temporary folder: that may be in memory.
    let program = std::env::current_exe().unwrap();
    let place = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let (page, rows) = (file(place.path(), "page", 48), file(place.path(), "rows", 96));
    // By their names, not by their order: the smaller is named last.
    let limits = limited([
        ("database", Limit::memory(64 * MIB)),
        ("web", Limit::memory(24 * MIB)),
        ("idle", Limit::memory(24 * MIB)),
    ]);
    for (name, path) in [("web", &page), ("database", &rows)] {
        let script = format!("exec cat '{}'", path.display());
        let status = within(&limits, name, &script).wait().unwrap();
        assert!(status.success(), "{name}: {status}");
    }
    let account = limits.account(&Waited::new());
    for (name, most) in [("web", 24 * MIB), ("database", 64 * MIB)] {
        let of = |what| account.get(what, &Scope::Processes(name.into())).unwrap();
        let (limit, peak, cached) = (of(&MEMORY_LIMIT), of(&MEMORY_PEAK), of(&MEMORY_CACHED));
        let figures = format!("{name}: limit {limit}, peak {peak}, cached {cached}");
        assert_eq!(limit, most as f64, "{figures}");
        assert!(peak <= limit && cached <= peak, "{figures}");
        // Both files are larger than what may be cached of them.
        assert!(cached > limit / 2.0, "{figures}");
        assert_eq!(account.get(&CPU_LIMIT, &Scope::Processes(name.into())), None);
    }
    let idle = account.get(&MEMORY_CACHED, &Scope::Processes("idle".into()));
    assert_eq!(idle, Some(0.0), "what others read");
    assert!(!limits.has_killed());
}

#[test]
fn each_group_has_its_own_quota_of_processors() {
    if needs(group::try_cpu_limit()).is_none() {
        return;
    }
    // One thread that never rests uses up a fifth of a processor, and never one and a half.
    let limits = limited([("database", Limit::processors(200)), ("web", Limit::processors(1500))]);
    let begun = limits.waited();
    let busy = "while :; do :; done";
    let mut shells = ["database", "web"].map(|name| within(&limits, name, busy));
    wait_until("20 periods of both", || {
        let waited = limits.waited();
        waited["database"].throttled >= 20 && waited["web"].periods >= 20
    });
    // The time before the periods, so that none is missing.
    let used = Usage::of_family(shells[0].id()).unwrap().cpu;
    let account = limits.account(&begun);
    shells.iter_mut().for_each(|shell| shell.kill().unwrap());
    for shell in &mut shells {
        shell.wait().unwrap();
    }
    let of = |what, name: &'static str| account.get(what, &Scope::Processes(name.into()));
    let periods = of(&CPU_PERIODS, "database").unwrap();
    // What is charged to a period late is paid for in the next.
    let most = Duration::from_millis(20).mul_f64(periods + 3.0);
    assert!(used <= most, "{used:?} in {periods} periods of 20 ms each");
    assert_eq!(of(&CPU_LIMIT, "database"), Some(0.2));
    assert!(of(&CPU_THROTTLED, "database").unwrap() >= 20.0);
    assert!(of(&CPU_WAITED, "database").unwrap() > 0.0);
    assert_eq!((of(&CPU_LIMIT, "web"), of(&CPU_THROTTLED, "web")), (Some(1.5), Some(0.0)));
    assert_eq!(of(&MEMORY_LIMIT, "web"), None, "its memory is not limited");
    assert_eq!(of(&CPU_LIMIT, "application"), None);
}

#[test]
fn one_group_has_both_limits_and_what_was_before_the_clients_is_not_theirs() {
    let both = [group::try_memory_limit(), group::try_cpu_limit()];
    if both.into_iter().any(|tried| needs(tried).is_none()) {
        return;
    }
    let limits =
        limited([("database", Limit { memory_bytes: Some(32 * MIB), cpu_milli: Some(100) })]);
    assert!(!limits.leave_memory());
    let mut shell = within(&limits, "database", "while :; do :; done");
    wait_until("it is throttled", || limits.waited()["database"].throttled >= 3);
    shell.kill().unwrap();
    shell.wait().unwrap();
    let account = limits.account(&limits.waited());
    let of = |what| account.get(what, &Scope::DATABASE);
    assert_eq!((of(&MEMORY_LIMIT), of(&CPU_LIMIT)), (Some(32.0 * MIB as f64), Some(0.1)));
    assert_eq!((of(&CPU_PERIODS), of(&CPU_THROTTLED)), (Some(0.0), Some(0.0)));
    assert!(of(&MEMORY_PEAK).unwrap() > 0.0, "it was in the group of its memory, too");
}

#[test]
fn a_group_that_leaves_processes_behind_is_told_and_ended() {
    let limit = match group::try_memory_limit() {
        Ok(_) => Limit::memory(32 * MIB),
        Err(_) => Limit::processors(500),
    };
    if needs(group::try_memory_limit().or_else(|_| group::try_cpu_limit())).is_none() {
        return;
    }
    let limits = limited([("database", limit), ("web", limit)]);
    assert_eq!(limits.left_behind(), Vec::<String>::new());
    // It has run away from the shell, which has ended.
    let mut shell = within(&limits, "web", "setsid sleep 1000 & exit");
    shell.wait().unwrap();
    wait_until("it runs", || limits.of("web").unwrap().members() == ["sleep"]);
    let told = "its group web left 1 process behind, now ended: sleep";
    assert_eq!(limits.left_behind(), [told]);
    limits.end_processes().unwrap();
    assert_eq!(limits.left_behind(), Vec::<String>::new());
}

#[test]
fn nothing_is_held_without_a_limit() {
    let limits = limited([("database", Limit::default())]);
    assert!(limits.of("database").is_none() && limits.leave_memory());
    assert_eq!(limits.account(&limits.waited()), Measures::default());
}
