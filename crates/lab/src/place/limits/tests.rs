use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bakeoff_testkit::{in_time, needs, wait_until};

use super::*;
use crate::machine::usage::Usage;
use crate::place::{group, page_cache};

const MIB: u64 = 1 << 20;

/// Groups with these limits.
fn limited<const N: usize>(wanted: [(&'static str, ResourceLimit); N]) -> LimitedGroups {
    LimitedGroups::create(&wanted.into(), &[]).unwrap()
}

/// A shell that joins a group, which is on the list of all its limits, and does this.
fn within(limits: &LimitedGroups, group: &str, script: &str) -> Child {
    let script = format!("for list; do echo 0 >\"$list\" || exit 9; done; {script}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh"]).args(limits.find_group(group).unwrap().processes());
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
        ("database", ResourceLimit::memory(64 * MIB)),
        ("web", ResourceLimit::memory(24 * MIB)),
        ("idle", ResourceLimit::memory(24 * MIB)),
    ]);
    // The machine may take pages back at any time.
    in_time("a full cache of both", |_| {
        for (name, path) in [("web", &page), ("database", &rows)] {
            let script = format!("exec cat '{}'", path.display());
            let status = within(&limits, name, &script).wait().unwrap();
            assert!(status.success(), "{name}: {status}");
        }
        let account = limits.account(&GroupWaits::new());
        let mut are_full = true;
        for (name, most) in [("web", 24 * MIB), ("database", 64 * MIB)] {
            let of = |what| account.get(what, &Scope::Processes(name.into())).unwrap();
            let (limit, peak, cached) = (of(&MEMORY_LIMIT), of(&MEMORY_PEAK), of(&MEMORY_CACHED));
            let figures = format!("{name}: limit {limit}, peak {peak}, cached {cached}");
            println!("{figures}");
            assert_eq!(limit, most as f64, "{figures}");
            assert!(peak <= limit && cached <= peak, "{figures}");
            // Both files are larger than what may be cached of them.
            are_full &= cached > limit / 2.0;
            assert_eq!(account.get(&CPU_LIMIT, &Scope::Processes(name.into())), None);
        }
        let idle = account.get(&MEMORY_CACHED, &Scope::Processes("idle".into()));
        assert_eq!(idle, Some(0.0), "what others read");
        assert!(!limits.has_killed());
        are_full.then_some(())
    });
}

#[test]
fn each_group_has_its_own_quota_of_processors() {
    if needs(group::try_cpu_limit()).is_none() {
        return;
    }
    // One thread that never rests uses up a twentieth of a processor, even where many others want one, and
    // never one and a half.
    let limits = limited([
        ("database", ResourceLimit::processors(50)),
        ("web", ResourceLimit::processors(1500)),
    ]);
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
    // What is charged to a period late is paid for in the next; and before it joined it used a little.
    let most = Duration::from_millis(5).mul_f64(periods) + Duration::from_millis(60);
    assert!(used <= most, "{used:?} in {periods} periods of 5 ms each");
    assert_eq!(of(&CPU_LIMIT, "database"), Some(0.05));
    assert!(of(&CPU_THROTTLED, "database").unwrap() >= 20.0);
    assert!(of(&CPU_WAITED, "database").unwrap() > 0.0);
    // A period that begins late is longer, and its quota may be used up: now and then.
    let (throttled, periods) =
        (of(&CPU_THROTTLED, "web").unwrap(), of(&CPU_PERIODS, "web").unwrap());
    assert!(throttled <= periods / 4.0, "{throttled} of {periods}");
    assert_eq!(of(&CPU_LIMIT, "web"), Some(1.5));
    assert_eq!(of(&MEMORY_LIMIT, "web"), None, "its memory is not limited");
    assert_eq!(of(&CPU_LIMIT, "application"), None);
}

#[test]
fn one_group_has_both_limits_and_what_was_before_the_clients_is_not_theirs() {
    let both = [group::try_memory_limit(), group::try_cpu_limit()];
    if both.into_iter().any(|tried| needs(tried).is_none()) {
        return;
    }
    let limits = limited([(
        "database",
        ResourceLimit { memory_bytes: Some(32 * MIB), cpu_milli: Some(50) },
    )]);
    assert!(!limits.leave_memory());
    let mut shell = within(&limits, "database", "while :; do :; done");
    wait_until("it is throttled", || limits.waited()["database"].throttled >= 3);
    shell.kill().unwrap();
    shell.wait().unwrap();
    let account = limits.account(&limits.waited());
    let of = |what| account.get(what, &Scope::DATABASE);
    assert_eq!((of(&MEMORY_LIMIT), of(&CPU_LIMIT)), (Some(32.0 * MIB as f64), Some(0.05)));
    assert_eq!((of(&CPU_PERIODS), of(&CPU_THROTTLED)), (Some(0.0), Some(0.0)));
    assert!(of(&MEMORY_PEAK).unwrap() > 0.0, "it was in the group of its memory, too");
}

#[test]
fn a_group_that_leaves_processes_behind_is_told_and_ended() {
    let limit = match group::try_memory_limit() {
        Ok(_) => ResourceLimit::memory(32 * MIB),
        Err(_) => ResourceLimit::processors(500),
    };
    if needs(group::try_memory_limit().or_else(|_| group::try_cpu_limit())).is_none() {
        return;
    }
    let limits = limited([("database", limit), ("web", limit)]);
    assert_eq!(limits.left_behind(), Vec::<String>::new());
    // It has run away from the shell, which has ended.
    let mut shell = within(&limits, "web", "setsid sleep 1000 & exit");
    shell.wait().unwrap();
    wait_until("it runs", || limits.find_group("web").unwrap().members() == ["sleep"]);
    let told = "its group web left 1 process behind, now ended: sleep";
    assert_eq!(limits.left_behind(), [told]);
    limits.end_processes().unwrap();
    assert_eq!(limits.left_behind(), Vec::<String>::new());
}

#[test]
fn nothing_is_held_without_a_limit() {
    let limits = limited([("database", ResourceLimit::default())]);
    assert!(limits.find_group("database").is_none() && limits.leave_memory());
    assert_eq!(limits.account(&limits.waited()), Measures::default());
}

/// Two groups that share a limit, and have none of their own.
fn sharing(limit: ResourceLimit) -> LimitedGroups {
    let shared = SharedLimit { name: "stack", groups: vec!["database", "web", "idle"], limit };
    let own = ["database", "web", "idle"].map(|name| (name, ResourceLimit::default()));
    LimitedGroups::create(&own.into(), &[shared]).unwrap()
}

/// What a process was killed for shows in the group that it was in, whatever the shell around it says.
#[test]
fn what_is_lifted_holds_no_process() {
    if needs(group::try_memory_limit()).is_none() {
        return;
    }
    // All of it is in memory before the first byte goes on.
    let holds = "head -c 48M /dev/zero | tail -c 48M | wc -c >/dev/null";
    let alone = || limited([("database", ResourceLimit::memory(16 * MIB))]);
    let together = || sharing(ResourceLimit::memory(16 * MIB));
    for limits in [&alone as &dyn Fn() -> LimitedGroups, &together] {
        let held = limits();
        within(&held, "database", holds).wait().unwrap();
        assert!(held.has_killed());
        let lifted = limits();
        lifted.lift_memory().unwrap();
        within(&lifted, "database", holds).wait().unwrap();
        assert!(!lifted.has_killed());
        // What it was is told all the same.
        assert!(!lifted.leave_memory());
    }
}

#[test]
fn groups_that_share_memory_are_held_together_and_charged_each_for_its_own() {
    if needs(group::try_memory_limit()).is_none() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    let place = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let (page, rows) = (file(place.path(), "page", 12), file(place.path(), "rows", 96));
    let copy = place.path().join("copy");
    // The first reads less than the limit, the second reads and writes past it.
    let scripts = [
        ("web", format!("exec cat '{}'", page.display())),
        ("database", format!("exec cp '{}' '{}'", rows.display(), copy.display())),
    ];
    // The machine may take pages back at any time.
    in_time("a full cache of both", |_| {
        page_cache::forget(place.path()).unwrap();
        let limits = sharing(ResourceLimit::memory(48 * MIB));
        for (name, script) in &scripts {
            let status = within(&limits, name, script).wait().unwrap();
            assert!(status.success(), "{name}: {status}");
        }
        are_charged_each_for_its_own(&limits, 48.0 * MIB as f64).then_some(())
    });
}

/// Fails if groups that share a limit have more than it, or what others read. Whether they have put it to use, each
/// with its own files.
fn are_charged_each_for_its_own(limits: &LimitedGroups, limit: f64) -> bool {
    let account = limits.account(&GroupWaits::new());
    let of = |what, name: &'static str| account.get(what, &Scope::Processes(name.into())).unwrap();
    let peak = |name| of(&MEMORY_PEAK, name);
    let cached = |name| of(&MEMORY_CACHED, name);
    let figures = format!("{:?}", account.iter().collect::<Vec<_>>());
    println!("{figures}");
    assert_eq!((of(&MEMORY_LIMIT, "stack"), of(&MEMORY_LIMIT, "web")), (limit, limit));
    assert!(peak("stack") <= limit, "{figures}");
    // In one group both would have read the same.
    assert!(peak("web") < 24.0 * MIB as f64, "{figures}");
    // In two groups that share nothing they would have more together.
    let (web, database) = (cached("web"), cached("database"));
    assert!(web + database <= limit, "{figures}");
    assert_eq!(cached("idle"), 0.0, "what others read");
    assert!(!limits.leave_memory() && !limits.has_killed());
    // The three are not read at one moment.
    let adds_up = (cached("stack") - web - database).abs() < 0.1 * limit;
    let own = peak("web") > 12.0 * MIB as f64 && peak("database") > 24.0 * MIB as f64;
    peak("stack") > 0.9 * limit && own && database > limit / 2.0 && adds_up
}

#[test]
fn groups_that_share_a_quota_have_no_more_than_it_together() {
    if needs(group::try_cpu_limit()).is_none() {
        return;
    }
    let limits = sharing(ResourceLimit::processors(100));
    let begun = limits.waited();
    let mut shells = ["database", "web"].map(|name| within(&limits, name, "while :; do :; done"));
    wait_until("20 periods of both", || limits.waited()["stack"].throttled >= 20);
    // The time before the periods, so that none is missing.
    let used = shells.each_ref().map(|shell| Usage::of_family(shell.id()).unwrap().cpu);
    let account = limits.account(&begun);
    shells.iter_mut().for_each(|shell| shell.kill().unwrap());
    for shell in &mut shells {
        shell.wait().unwrap();
    }
    let of = |what, name: &'static str| account.get(what, &Scope::Processes(name.into()));
    let periods = of(&CPU_PERIODS, "stack").unwrap();
    // What is charged to a period late is paid for in the next.
    let most = Duration::from_millis(10).mul_f64(periods) + Duration::from_millis(60);
    let all: Duration = used.iter().sum();
    assert!(all <= most, "{used:?} in {periods} periods of 10 ms for both");
    assert!(used.iter().all(|each| *each > Duration::ZERO), "{used:?}");
    assert_eq!((of(&CPU_LIMIT, "stack"), of(&CPU_LIMIT, "web")), (Some(0.1), Some(0.1)));
    assert_eq!(of(&MEMORY_LIMIT, "stack"), None);
}

#[test]
fn a_group_has_its_own_limit_within_the_one_it_shares() {
    let both = [group::try_memory_limit(), group::try_cpu_limit()];
    if both.into_iter().any(|tried| needs(tried).is_none()) {
        return;
    }
    let wanted = [
        ("database", ResourceLimit { memory_bytes: Some(32 * MIB), cpu_milli: Some(900) }),
        ("web", ResourceLimit::memory(512 * MIB)),
        ("alone", ResourceLimit::processors(700)),
    ];
    let limit = ResourceLimit { memory_bytes: Some(64 * MIB), cpu_milli: Some(500) };
    let shared = [
        SharedLimit { name: "stack", groups: vec!["database", "web"], limit },
        SharedLimit { name: "free", groups: vec!["idle"], limit: ResourceLimit::default() },
    ];
    let limits = LimitedGroups::create(&wanted.into(), &shared).unwrap();
    let of = |name: &str| limits.find_group(name).map(LimitedGroup::limit);
    assert_eq!(
        of("database"),
        Some(ResourceLimit { memory_bytes: Some(32 * MIB), cpu_milli: Some(500) })
    );
    assert_eq!(of("web"), Some(limit));
    assert_eq!((of("alone"), of("idle")), (Some(ResourceLimit::processors(700)), None));
    assert_eq!(of("stack"), None, "no process joins it");
    // What one of them leaves behind is told, and goes with all groups.
    let mut shell = within(&limits, "web", "setsid sleep 1000 & exit");
    shell.wait().unwrap();
    wait_until("it runs", || limits.find_group("web").unwrap().members() == ["sleep"]);
    assert_eq!(limits.left_behind(), ["its group web left 1 process behind, now ended: sleep"]);
    let lists = limits.find_group("web").unwrap().processes();
    let above = lists[0].ancestors().nth(2).unwrap().to_owned();
    assert!(above.exists() && limits.shared["stack"].0.processes().len() == lists.len());
    drop(limits);
    assert!(!above.exists(), "{}", above.display());
}

#[test]
fn memory_that_runs_out_names_the_group_and_the_limit_that_it_shares() {
    if needs(group::try_memory_limit()).is_none() {
        return;
    }
    let limits = sharing(ResourceLimit::memory(24 * MIB));
    // It keeps more than the limit.
    let script = "x=$(head -c 100000000 /dev/zero | tr '\\0' x); exit 0";
    let status = within(&limits, "web", script).wait().unwrap();
    assert!(!status.success(), "{status}");
    let judged = limits.judge(Err(TrialError::User("it ended".into()))).unwrap_err().to_string();
    for part in [
        "out of memory at the limit of 25.2 MB of the group web",
        "limit 25.2 MB of database and web and idle together",
    ] {
        assert!(judged.contains(part), "{part} is not in {judged}");
    }
}
