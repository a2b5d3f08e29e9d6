//! A process that reads twice its limit.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use bakeoff_lab::place::group::{LimitedGroup, ResourceLimit};
use bakeoff_lab::place::{TargetPlace, page_cache};
use bakeoff_testkit::{in_time, wait_until};
use rustix::pipe::{SpliceFlags, splice};

use super::{LATELY, ROUNDING, Stage, can, over, read, read_in};

const LIMIT: u64 = 64 << 20;

/// Two files of so many bytes each.
fn fill(folder: &Path, each: u64) {
    fs::create_dir(folder.join("below")).unwrap();
    for name in ["one", "below/two"] {
        fs::write(folder.join(name), vec![1; each as usize]).unwrap();
    }
}

#[test]
fn what_is_read_without_a_limit_is_cached_as_a_whole() {
    if !can(true) {
        return;
    }
    // As large as a limit might be; a group with that limit leaves no more in the page cache than this.
    let each = 48 << 20;
    let held = each + LATELY + ROUNDING;
    for (model, copies) in [("host", 1), ("null", 2)] {
        // The machine may take pages back at any time.
        in_time("the page cache", |_| {
            let stage = Stage::new(model, false, |folder| fill(folder, each));
            read(&stage.seen, None);
            let resident = stage.resident();
            println!("{model}: {} MiB", resident >> 20);
            (resident > copies * held).then_some(())
        });
    }
}

fn a_limit_holds_on(model: &str) {
    if !can(model != "host") {
        return;
    }
    // Twice the limit together.
    let stage = Stage::new(model, true, |folder| fill(folder, LIMIT));
    let group = LimitedGroup::create(ResourceLimit::memory(LIMIT)).unwrap();
    for _ in 0..2 {
        in_time("a full group", |_| {
            read(&stage.seen, Some(&group));
            let is_used = stage.is_held_and_used(&group);
            (is_used && group.cached().unwrap() > LIMIT / 2).then_some(())
        });
    }
}

#[test]
fn what_is_read_for_a_group_is_charged_to_it_alone() {
    if !can(false) {
        return;
    }
    let limits = [("database", LIMIT), ("web", LIMIT / 4)];
    let stage = Stage::new("host", true, |folder| {
        for (name, limit) in limits {
            fs::create_dir(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("file"), vec![1; 2 * limit as usize]).unwrap();
        }
    });
    let groups = limits
        .map(|(name, limit)| (name, LimitedGroup::create(ResourceLimit::memory(limit)).unwrap()));
    let named = |(name, group): &(&str, LimitedGroup)| {
        ((*name).to_owned(), over(&stage.seen.join(name), group))
    };
    let place = TargetPlace {
        groups: groups.iter().map(named).collect(),
        ..TargetPlace::folder(&stage.seen)
    };
    in_time("full groups", |_| {
        for (reader, files) in place.readers() {
            assert_eq!(files, stage.seen.join(reader.unwrap()));
            read_in(&place, reader);
        }
        let are_used = groups.iter().zip(limits).map(|((name, group), (_, limit))| {
            let (usage, cached) = (group.usage().unwrap(), group.cached().unwrap());
            let figures = format!("{name}: limit {limit}, in use {usage}, cached {cached}");
            println!("{figures}");
            assert!(usage <= limit, "{figures}");
            assert_eq!(group.out_of_memory_kills().unwrap(), 0, "{figures}");
            cached > limit / 2
        });
        // Each of them is judged.
        let are_used: Vec<bool> = are_used.collect();
        are_used.iter().all(|is_used| *is_used).then_some(())
    });
}

#[test]
fn a_limit_holds_on_the_host_s_disk() {
    a_limit_holds_on("host");
}

#[test]
fn a_limit_holds_on_a_disk_that_takes_no_time() {
    a_limit_holds_on("null");
}

#[test]
fn a_limit_holds_on_a_hard_disk() {
    a_limit_holds_on("hdd-7200");
}

#[test]
fn what_is_written_through_a_disk_leaves_the_page_cache_too() {
    if !can(true) {
        return;
    }
    let stage = Stage::new("null", true, |_| {});
    // The machine's own disk has to write it first: so little that a busy one has, too.
    fill(&stage.seen, 4 << 20);
    wait_until("the end of what was cached", || {
        page_cache::resident(&stage.backing).unwrap() <= ROUNDING
    });
}

#[test]
fn what_could_not_leave_the_page_cache_at_once_leaves_it_later_though_nobody_reads_or_writes() {
    if !can(true) {
        return;
    }
    let stage = Stage::new("null", true, |_| {});
    let size = 64 << 10;
    fs::write(stage.seen.join("file"), vec![1; size]).unwrap();
    // Pages in a pipe stay, as those stay that a slow disk has not written.
    let (held, pipe) = rustix::pipe::pipe().unwrap();
    let file = fs::File::open(stage.backing.join("file")).unwrap();
    let spliced = splice(&file, Some(&mut 0), &pipe, None, size, SpliceFlags::empty()).unwrap();
    thread::sleep(Duration::from_secs(2));
    let resident = page_cache::resident(&stage.backing).unwrap();
    assert!(resident >= spliced as u64 && spliced > 0, "{resident} bytes of {spliced}");
    drop((held, pipe));
    wait_until("the end of what was cached", || page_cache::resident(&stage.backing).unwrap() == 0);
}

#[test]
fn a_group_goes_with_its_processes() {
    if !can(false) {
        return;
    }
    let group = LimitedGroup::create(ResourceLimit::memory(LIMIT)).unwrap();
    let [list] = &group.processes()[..] else { panic!("one limit") };
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    fs::write(list, child.id().to_string()).unwrap();
    assert_eq!(fs::read_to_string(list).unwrap().trim(), child.id().to_string());
    drop(group);
    assert!(!list.exists());
    assert!(!child.wait().unwrap().success(), "it was killed");
}
