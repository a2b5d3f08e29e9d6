use bakeoff_testkit::needs;

use super::*;

const MIB: u64 = 1 << 20;

#[test]
fn the_lesser_of_two_limits_holds() {
    let one = ResourceLimit { memory_bytes: Some(5), cpu_milli: None };
    let two = ResourceLimit { memory_bytes: Some(7), cpu_milli: Some(3) };
    let both = ResourceLimit { memory_bytes: Some(5), cpu_milli: Some(3) };
    assert_eq!((one.at_most(two), two.at_most(one)), (both, both));
    assert_eq!(
        ResourceLimit::default().at_most(ResourceLimit::default()),
        ResourceLimit::default()
    );
}

/// Folders that look like control groups of version 2.
#[test]
fn version_2_divides_the_group_of_several_before_those_in_it_are_made() {
    let place = tempfile::tempdir().unwrap();
    let above =
        ControlGroup { path: place.path().into(), version: 2, controllers: vec![MEMORY, CPU] };
    let limit = ResourceLimit { memory_bytes: Some(64 * MIB), cpu_milli: Some(500) };
    let all = LimitedGroup::create_below(&[above], limit).unwrap();
    all.levels.iter().for_each(|level| level.divide().unwrap());
    let own = ResourceLimit { memory_bytes: Some(24 * MIB), cpu_milli: Some(1500) };
    let (web, database) = (all.create_within(own), all.create_within(ResourceLimit::default()));
    let (web, database) = (web.unwrap(), database.unwrap());
    let read = |group: &LimitedGroup, file: &str| {
        fs::read_to_string(group.levels[0].path.join(file)).unwrap()
    };
    assert_eq!(read(&all, CHILDREN), "+memory +cpu");
    for (group, memory) in [(&all, 64), (&web, 24), (&database, 64)] {
        assert_eq!(read(group, "memory.max"), (memory * MIB).to_string());
        assert_eq!(read(group, "cpu.max"), "50000 100000", "half a processor for all");
    }
    for group in [&web, &database] {
        let path = &group.levels[0].path;
        assert_eq!(path.parent(), Some(&*all.levels[0].path));
        assert_eq!(group.processes(), [path.join(PROCESSES)], "of itself alone");
    }
    assert_ne!(web.processes(), database.processes());
    // What the kernel says of the group of several is of all in it.
    fs::write(all.levels[0].path.join("memory.stat"), "anon 5\nfile 900\nshmem 100\n").unwrap();
    assert_eq!(all.cached().unwrap(), 800);
}

#[test]
fn what_a_run_that_is_gone_left_is_swept_with_the_groups_in_it() {
    if needs(try_memory_limit()).is_none() {
        return;
    }
    let hierarchy = Hierarchy::find_by_controllers(&[MEMORY]).unwrap().remove(0);
    // No process of this number began then.
    let name = format!("{PREFIX}{}-{}-1-several", pid_namespace(), std::process::id());
    let several = hierarchy.find_parent().unwrap().join(&name);
    let inside = several.join(&name);
    fs::create_dir(&several).unwrap();
    fs::create_dir(&inside).unwrap();
    let swept = sweep_groups();
    assert!(swept.contains(&several) && swept.contains(&inside), "{swept:?}");
    assert!(!several.exists());
}
