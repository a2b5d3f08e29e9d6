use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bakeoff_results::measure::Measure;
use bakeoff_testkit::{in_time, needs, wait_until};

use super::*;
use crate::machine::usage::Usage;
use crate::place::{group, page_cache};
use crate::tests::folder_on_disk;

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
    page_cache::drop_from_cache(&path).unwrap();
    path.join("data")
}

fn is_had<const N: usize>(tried: [Result<String, String>; N]) -> bool {
    tried.into_iter().all(|tried| needs(tried).is_some())
}

fn get(account: &Measures, what: &'static Measure, name: &'static str) -> Option<f64> {
    account.get(what, &Scope::Processes(name.into()))
}

/// Two groups that share a limit, of which one has a lower one of its own: each is charged for its own files, by
/// their names and not by their order.
#[test]
fn groups_read_past_their_limits_and_are_charged_for_their_own_files() {
    if !is_had([group::try_memory_limit()]) {
        return;
    }
    let place = folder_on_disk();
    let (page, rows) = (file(place.path(), "page", 48), file(place.path(), "rows", 96));
    let copy = place.path().join("copy");
    let scripts = [
        ("web", format!("exec cat '{}'", page.display())),
        ("database", format!("exec cp '{}' '{}'", rows.display(), copy.display())),
    ];
    // The machine may take pages back at any time.
    in_time("a full cache of both", |_| {
        page_cache::drop_from_cache(place.path()).unwrap();
        let own = [("web", ResourceLimit::from_memory(24 * MIB))];
        let limits = sharing(&own, ResourceLimit::from_memory(64 * MIB));
        for (name, script) in &scripts {
            let status = within(&limits, name, script).wait().unwrap();
            assert!(status.success(), "{name}: {status}");
        }
        let account = limits.account_since(&GroupWaits::new());
        let figures = format!("{:?}", account.iter().collect::<Vec<_>>());
        let of = |what, name| get(&account, what, name).unwrap() / MIB as f64;
        for (name, limit) in [("stack", 64.0), ("web", 24.0), ("database", 64.0)] {
            assert_eq!(of(&MEMORY_LIMIT, name), limit, "{name}");
            let (peak, cached) = (of(&MEMORY_PEAK, name), of(&MEMORY_CACHED, name));
            assert!(peak <= limit && cached <= peak, "{name}: {figures}");
            assert_eq!(get(&account, &CPU_LIMIT, name), None);
        }
        assert_eq!(of(&MEMORY_CACHED, "idle"), 0.0, "what others read");
        assert!(!limits.leave_memory() && !limits.has_killed());
        // The first may be taken back for the second. The three are not read at one moment.
        let [stack, web, database] =
            ["stack", "web", "database"].map(|name| of(&MEMORY_CACHED, name));
        let adds_up = (stack - web - database).abs() < 6.4;
        let are_full =
            of(&MEMORY_PEAK, "stack") > 57.6 && of(&MEMORY_PEAK, "web") > 12.0 && database > 32.0;
        (are_full && adds_up).then_some(())
    });
}

/// Threads that never rest use up a twentieth and a tenth of a processor, even where many others want one, and
/// never one and a half.
#[test]
fn groups_have_their_own_quota_of_processors_and_share_one() {
    if !is_had([group::try_memory_limit(), group::try_cpu_limit()]) {
        return;
    }
    let both = ResourceLimit { memory_bytes: Some(32 * MIB), cpu_milli: Some(50) };
    let own = [("database", both), ("alone", ResourceLimit::from_processors(1500))];
    let limits = sharing(&own, ResourceLimit::from_processors(100));
    assert!(!limits.leave_memory());
    let begun = limits.read_waits();
    let names = ["database", "web", "alone"];
    let mut shells = names.map(|name| within(&limits, name, "while :; do :; done"));
    wait_until("20 periods of all", || {
        let waited = limits.read_waits();
        let throttled = ["database", "stack"].map(|name| waited[name].throttled >= 20);
        throttled == [true; 2] && waited["alone"].periods >= 20
    });
    // The time before the periods, so that none is missing.
    let used = shells.each_ref().map(|shell| Usage::of_family(shell.id()).unwrap().cpu);
    let account = limits.account_since(&begun);
    for shell in &mut shells {
        shell.kill().unwrap();
        shell.wait().unwrap();
    }
    let of = |what, name| get(&account, what, name);
    let together = used[0] + used[1];
    for (name, used, each_ms, limit) in
        [("database", used[0], 5, 0.05), ("stack", together, 10, 0.1)]
    {
        // What is charged to a period late is paid for in the next; and before it joined it used a little.
        let periods = of(&CPU_PERIODS, name).unwrap();
        let most = Duration::from_millis(each_ms).mul_f64(periods) + Duration::from_millis(60);
        assert!(used <= most, "{name}: {used:?} in {periods} periods of {each_ms} ms each");
        assert_eq!(of(&CPU_LIMIT, name), Some(limit));
        assert!(of(&CPU_THROTTLED, name).unwrap() >= 20.0);
        assert!(of(&CPU_WAITED, name).unwrap() > 0.0);
    }
    assert!(used.iter().all(|each| *each > Duration::ZERO), "{used:?}");
    assert_eq!(of(&MEMORY_LIMIT, "database"), Some(32.0 * MIB as f64));
    assert_eq!((of(&CPU_LIMIT, "web"), of(&MEMORY_LIMIT, "stack")), (Some(0.1), None));
    // A period that begins late is longer, and its quota may be used up: now and then.
    let (throttled, periods) =
        (of(&CPU_THROTTLED, "alone").unwrap(), of(&CPU_PERIODS, "alone").unwrap());
    assert!(throttled <= periods / 4.0, "{throttled} of {periods}");
    assert_eq!((of(&CPU_LIMIT, "alone"), of(&MEMORY_LIMIT, "alone")), (Some(1.5), None));
    assert_eq!(of(&CPU_LIMIT, "application"), None);
    // What was before the clients is not theirs.
    let later = limits.account_since(&limits.read_waits());
    let of = |what| get(&later, what, "database");
    assert_eq!((of(&CPU_PERIODS), of(&CPU_THROTTLED)), (Some(0.0), Some(0.0)));
}

#[test]
fn nothing_is_held_without_a_limit() {
    let limits = limited([("database", ResourceLimit::default())]);
    assert!(limits.find_group("database").is_none() && limits.leave_memory());
    assert_eq!(limits.account_since(&limits.read_waits()), Measures::default());
}

/// Groups that share a limit, with these limits of their own.
fn sharing(own: &[(&'static str, ResourceLimit)], limit: ResourceLimit) -> LimitedGroups {
    let groups = vec!["database", "web", "idle"];
    let shared = SharedLimit { name: "stack", groups, limit };
    LimitedGroups::create(&own.iter().copied().collect(), &[shared]).unwrap()
}

/// What a process was killed for shows in the group that it was in, whatever the shell around it says.
#[test]
fn what_is_lifted_holds_no_process() {
    if !is_had([group::try_memory_limit()]) {
        return;
    }
    // All of it is in memory before the first byte goes on.
    let holds = "head -c 48M /dev/zero | tail -c 48M | wc -c >/dev/null";
    let alone = || limited([("database", ResourceLimit::from_memory(16 * MIB))]);
    let together = || sharing(&[], ResourceLimit::from_memory(16 * MIB));
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
fn a_group_has_its_own_limit_within_the_one_it_shares() {
    if !is_had([group::try_memory_limit(), group::try_cpu_limit()]) {
        return;
    }
    let wanted = [
        ("database", ResourceLimit { memory_bytes: Some(32 * MIB), cpu_milli: Some(900) }),
        ("web", ResourceLimit::from_memory(512 * MIB)),
        ("alone", ResourceLimit::from_processors(700)),
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
    assert_eq!((of("alone"), of("idle")), (Some(ResourceLimit::from_processors(700)), None));
    assert_eq!(of("stack"), None, "no process joins it");
    // What one of them leaves behind is told, and goes with all groups.
    let mut shell = within(&limits, "web", "setsid sleep 1000 & exit");
    shell.wait().unwrap();
    wait_until("it runs", || limits.find_group("web").unwrap().members() == ["sleep"]);
    assert_eq!(limits.left_behind(), ["its group web left 1 process behind, now ended: sleep"]);
    limits.end_processes().unwrap();
    assert_eq!(limits.left_behind(), Vec::<String>::new());
    let lists = limits.find_group("web").unwrap().processes();
    let above = lists[0].ancestors().nth(2).unwrap().to_owned();
    assert!(above.exists() && limits.shared["stack"].0.processes().len() == lists.len());
    drop(limits);
    assert!(!above.exists(), "{}", above.display());
}

#[test]
fn memory_that_runs_out_names_the_group_and_the_limit_that_it_shares() {
    if !is_had([group::try_memory_limit()]) {
        return;
    }
    let limits = sharing(&[], ResourceLimit::from_memory(24 * MIB));
    // It keeps more than the limit.
    let script = "x=$(head -c 100000000 /dev/zero | tr '\\0' x); exit 0";
    let status = within(&limits, "web", script).wait().unwrap();
    assert!(!status.success(), "{status}");
    let judged =
        limits.judge_trial(Err(TrialError::User("it ended".into()))).unwrap_err().to_string();
    for part in [
        "out of memory at the limit of 25.2 MB of the group web",
        "limit 25.2 MB of database and web and idle together",
    ] {
        assert!(judged.contains(part), "{part} is not in {judged}");
    }
}
