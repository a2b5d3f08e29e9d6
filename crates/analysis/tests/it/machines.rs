//! What the machines of a merged run found, and whether they agree.

use bakeoff_analysis::{Apart, Document, MachinesView, RatioOverMachines, WarningKind};
use bakeoff_results::measure::{FOREIGN_CPU, MACHINE_WATCHED};
use bakeoff_results::{Canary, HostIdentity, Machine, Merged, Run, RunMember, Scope, Trial};

use crate::known::{assert_has, blocks, look, plain_run, read, read_with, set, take, told};
use crate::schema::assert_fits;

/// A machine that ran four blocks from `first` on, and looked at itself once before each.
pub fn member(shard: u32, name: &str, first: u32) -> RunMember {
    RunMember {
        shard: Some(shard),
        host: HostIdentity { name: name.to_owned(), boot: format!("boot {name}") },
        machine: Machine { processor: format!("processor of {name}"), ..Machine::default() },
        harness_s: 4e-8,
        load: Some(0.5),
        neighbour_alone_per_second: None,
        started_s: 1.7e9 + f64::from(first),
        ended_s: Some(1.7e9 + f64::from(first) + 4.0),
        ahead_s: None,
        canaries: 4,
        blocks: (first..first + 4).map(|block| (block, 4)).collect(),
        cuts: Vec::new(),
    }
}

fn three() -> Vec<RunMember> {
    vec![member(1, "a", 0), member(2, "b", 4), member(3, "c", 8)]
}

/// The document of a run of 12 blocks that was merged of these; `change` is made to each trial.
fn measured(members: Vec<RunMember>, change: impl Fn(&mut Trial)) -> Document {
    let plan = "17".to_owned();
    let merged = Merged { plan, program_sha256: None, count: 3, members };
    let mut trials = blocks(12);
    trials.iter_mut().for_each(change);
    read_with(&Run { merged: Some(merged), ..plain_run(48) }, &trials, |folder| {
        for block in 0..12 {
            let off = (block == 5).then(|| "arithmetic".to_owned());
            let canary = Canary { at_s: f64::from(block), off, ..look(0.25) };
            folder.commit_canary(&canary).unwrap();
        }
    })
}

/// Takes the slow engine for the fast one and the other way round.
fn swap(trial: &mut Trial) {
    let other = match trial.levels["engine"].as_str() {
        "beta" => "gamma",
        "gamma" => "beta",
        _ => return,
    };
    trial.levels.insert("engine".to_owned(), other.to_owned());
}

fn disagreement(document: &Document) -> String {
    told(document, WarningKind::MachinesDisagree)
}

fn machines(document: &Document) -> &MachinesView {
    document.machines.as_ref().expect("it was merged")
}

#[test]
fn each_machine_has_its_own_ratios_and_like_ones_agree() {
    let document = measured(three(), |_| {});
    let view = machines(&document);
    let names: Vec<&str> = view.machines.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    for machine in &view.machines {
        assert_eq!((machine.blocks, machine.trials, machine.canaries), (4, 16, 4));
        assert_eq!(machine.canaries_off, u32::from(machine.name == "b"));
        assert!(!machine.shared);
    }
    // Two operations, two engines against the first.
    assert_eq!(view.ratios.len(), 4);
    for (ratio, whole) in view.ratios.iter().zip(&document.comparisons) {
        assert_eq!((&ratio.operation, &ratio.level), (&whole.operation, &whole.level));
        assert_eq!(ratio.on.iter().map(|on| on.blocks).collect::<Vec<_>>(), [4, 4, 4]);
        assert!(!ratio.disagree, "{ratio:?}");
        let agreement = ratio.agreement.as_ref().expect("four blocks a machine");
        assert_eq!(agreement.expected_q, 2.0);
        let (low, high) = (agreement.low.unwrap(), agreement.high.unwrap());
        assert!(low < agreement.ratio && agreement.ratio < high, "{agreement:?}");
        // As many blocks on each; of all twelve the furthest at each end is cut off.
        let logs = ratio.on.iter().map(|on| on.ratio.ln()).sum::<f64>() / 3.0;
        assert!((logs - whole.ratio.unwrap().ln()).abs() < 0.02, "{ratio:?}");
    }
    assert_eq!(disagreement(&document), "");
}

#[test]
fn a_machine_that_finds_the_opposite_is_told() {
    let document = measured(three(), |trial| {
        if (4..8).contains(&trial.block) {
            swap(trial);
        }
    });
    let view = machines(&document);
    assert!(view.ratios.iter().all(|ratio| ratio.disagree), "{view:?}");
    for ratio in &view.ratios {
        let [a, b, c] = [0, 1, 2].map(|machine: usize| ratio.on[machine].ratio);
        assert!((a / c).ln().abs() < 0.1 && (a / b).ln().abs() > 1.0, "{ratio:?}");
        let agreement = ratio.agreement.as_ref().unwrap();
        assert!(agreement.i_squared > 0.9 && agreement.p_adjusted < 0.001, "{agreement:?}");
        assert!(agreement.low.unwrap() < 1.0 && agreement.high.unwrap() > 1.0);
        let is_here = |it: &RatioOverMachines| it.operation == ratio.operation;
        let apart = view.find_spread(is_here, &ratio.baseline, &ratio.level).unwrap();
        let own = || ratio.on.iter().map(|on| on.ratio);
        let (least, most) = (own().fold(f64::INFINITY, f64::min), own().fold(0.0, f64::max));
        assert_eq!(apart, Apart { least, most, disagree: true });
        // The other way round they are turned over.
        let turned = view.find_spread(is_here, &ratio.level, &ratio.baseline).unwrap();
        assert!((turned.least * most - 1.0).abs() < 1e-9, "{turned:?}");
        assert!((turned.most * least - 1.0).abs() < 1e-9, "{turned:?}");
        assert!(turned.disagree);
    }
    // Two that are no baseline are told by their ratios to it: one machine has each for the other.
    let first = view.ratios[0].operation.as_str();
    let of: Vec<&RatioOverMachines> =
        view.ratios.iter().filter(|it| it.operation == first).collect();
    let [one, other] = of[..] else { panic!("two levels: {of:?}") };
    let apart = view.find_spread(|it| it.operation == first, &one.level, &other.level).unwrap();
    assert!(apart.disagree && apart.least < 1.0 && apart.most > 1.0, "{apart:?}");
    let unknown = view.find_spread(|it| it.operation == first, &one.level, "unknown");
    assert_eq!(unknown, None);
    assert_ne!(disagreement(&document), "");
}

#[test]
fn shards_of_one_machine_are_one_machine_and_told_where_they_ran_at_once() {
    let mut members = three();
    // At the same time as the first.
    members[1].host = members[0].host.clone();
    members[1].machine = members[0].machine.clone();
    members[1].started_s = members[0].started_s + 1.0;
    // The same name on another processor is another machine.
    members[2].host.name = "a".to_owned();
    let document = measured(members, |_| {});
    let view = machines(&document);
    assert_eq!(view.machines.len(), 2);
    assert_eq!((&view.machines[0].shards, view.machines[0].shared), (&vec![1, 2], true));
    assert_eq!((&view.machines[1].shards, view.machines[1].shared), (&vec![3], false));
    let names: Vec<&str> = view.machines.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["a (1)", "a (2)"]);
    assert_eq!(view.ratios[0].on.iter().map(|on| on.blocks).collect::<Vec<_>>(), [8, 4]);
    assert_eq!(view.ratios[0].agreement.as_ref().unwrap().low, None, "of two machines");
}

/// Nodes of a cluster may all have one name.
#[test]
fn what_ran_at_one_time_since_two_starts_was_on_two_machines() {
    let of_one_kind = || {
        let mut members = three();
        for member in &mut members {
            member.host.name = "localhost".to_owned();
            member.machine.processor = "processor".to_owned();
        }
        members
    };
    let names = |members| {
        let document = measured(members, |_| {});
        let machines = &machines(&document).machines;
        machines.iter().map(|it| (it.name.clone(), it.shards.clone())).collect::<Vec<_>>()
    };
    // One after the other, with a restart between two: one machine.
    assert_eq!(names(of_one_kind()), [("localhost".to_owned(), vec![1, 2, 3])]);
    // The third began before the second had ended.
    let mut members = of_one_kind();
    members[2].started_s -= 1.0;
    let two = [("localhost (1)".to_owned(), vec![1, 2]), ("localhost (2)".to_owned(), vec![3])];
    assert_eq!(names(members), two);
    // Nobody knows when the first ended: it may have run beside the others.
    let mut members = of_one_kind();
    members[0].ended_s = None;
    let two = [("localhost (1)".to_owned(), vec![1]), ("localhost (2)".to_owned(), vec![2, 3])];
    assert_eq!(names(members), two);
}

/// Whoever put all trials in the order of their times would have the second machine first, or last.
#[test]
fn a_clock_that_is_wrong_changes_nothing() {
    let by_clock = |ahead_s: f64| {
        let mut members = three();
        members[1].started_s += ahead_s;
        members[1].ended_s = members[1].ended_s.map(|ended_s| ended_s + ahead_s);
        measured(members, |trial| {
            if (4..8).contains(&trial.block) {
                trial.started_s += ahead_s;
            }
        })
    };
    let right = by_clock(0.0);
    assert!(!right.comparisons.is_empty());
    for ahead_s in [-3e7, 3e7] {
        let wrong = by_clock(ahead_s);
        assert_eq!(wrong.comparisons, right.comparisons);
        assert_eq!(wrong.cells, right.cells);
        assert_eq!(wrong.warnings, right.warnings);
        let (mut wrong, right) = (machines(&wrong).clone(), machines(&right));
        // What it says of the date is told, and nothing else follows from it.
        let dates = [wrong.machines[1].started_s, wrong.machines[1].ended_s.unwrap()];
        assert_eq!(dates, [1.7e9 + 4.0 + ahead_s, 1.7e9 + 8.0 + ahead_s]);
        wrong.machines[1].started_s = right.machines[1].started_s;
        wrong.machines[1].ended_s = right.machines[1].ended_s;
        assert_eq!(wrong, *right);
    }
}

/// Whoever held the clocks of two machines against each other would warn of a queue in which one waited.
#[test]
fn times_that_can_not_be_are_told_and_others_are_not() {
    let warned = |change: &dyn Fn(&mut Vec<RunMember>), of_trial: &dyn Fn(&mut Trial)| {
        let mut members = three();
        change(&mut members);
        told(&measured(members, of_trial), WarningKind::ClocksDiffer)
    };
    let nothing = |_: &mut Trial| {};
    assert_eq!(warned(&|_| {}, &nothing), "");
    // A year apart, one after the other.
    let later = |members: &mut Vec<RunMember>| {
        members[2].started_s += 3e7;
        members[2].ended_s = members[2].ended_s.map(|at| at + 3e7);
    };
    let late = |trial: &mut Trial| {
        if trial.block >= 8 {
            trial.started_s += 3e7;
        }
    };
    assert_eq!(warned(&later, &late), "");
    let ahead = |members: &mut Vec<RunMember>| members[1].ahead_s = Some(7200.0);
    let said = warned(&ahead, &nothing);
    assert!(said.contains("1 of 3 parts"), "{said}");
    assert!(said.contains("shard 2 on b has times 2 h after it was merged"), "{said}");
    assert!(said.contains("ratios are not"), "{said}");
    // It ended before it began; and a trial began before it.
    let back = |members: &mut Vec<RunMember>| members[2].ended_s = Some(members[2].started_s - 0.5);
    let said = warned(&back, &nothing);
    assert!(said.contains("shard 3 on c has times before its own start"), "{said}");
    let early = |trial: &mut Trial| {
        if trial.block == 5 {
            trial.started_s -= 3600.0;
        }
    };
    let said = warned(&|_| {}, &early);
    assert!(said.contains("shard 2 on b has times before its own start"), "{said}");
    // Who goes on may take over a block that a shard had begun.
    let went_on = |members: &mut Vec<RunMember>| members[1].shard = None;
    assert_eq!(warned(&went_on, &early), "");
}

#[test]
fn trials_on_another_disk_are_told_and_names_of_devices_are_not() {
    let lies = |member: &mut RunMember, device: &str, file_system: &str| {
        member.machine.device = device.to_owned();
        member.machine.file_system = file_system.to_owned();
    };
    let on = |disks: [(&str, &str); 3], last: Option<u32>| {
        let mut members = three();
        members[2].shard = last;
        for (member, (device, file_system)) in members.iter_mut().zip(disks) {
            lies(member, device, file_system);
        }
        told(&measured(members, |_| {}), WarningKind::DisksDiffer)
    };
    let [vda, sdb] = [("vda1", "ext4"), ("sdb", "ext4")];
    // Each node has names of its own, and the number of a mount says nothing.
    assert_eq!(on([vda, sdb, vda], Some(3)), "");
    assert_eq!(on([vda, sdb, sdb], None), "");
    assert_eq!(on([("0:45", "btrfs"), ("0:45", "btrfs"), ("0:51", "btrfs")], None), "");
    let said = on([vda, vda, ("0:45", "tmpfs")], None);
    let parts = "(what --resume ran on c: tmpfs; shard 1 on a: ext4 on vda1)";
    assert!(said.contains("16 of 48 trials stand on another disk"), "{said}");
    assert!(said.contains(parts), "{said}");
    assert!(on([vda, vda, sdb], None).contains("ext4 on sdb; shard 1"));
    // The first is the odd one.
    let said = on([("vda1", "xfs"), vda, vda], Some(3));
    assert!(said.contains("16 of 48 trials"), "{said}");
    assert!(said.contains("(shard 1 on a: xfs on vda1; shard 2 on b: ext4 on vda1)"), "{said}");
}

#[test]
fn a_machine_has_each_disk_that_its_parts_lay_on() {
    let mut members = three();
    for (member, file_system) in members.iter_mut().zip(["ext4", "ext4", "tmpfs"]) {
        member.host = HostIdentity { name: "a".to_owned(), boot: "boot a".to_owned() };
        member.machine.file_system = file_system.to_owned();
    }
    let document = measured(members, |_| {});
    let [machine] = &machines(&document).machines[..] else { panic!("one machine") };
    let disks: Vec<(&str, u32)> =
        machine.disks.iter().map(|it| (it.file_system.as_str(), it.blocks)).collect();
    assert_eq!(disks, [("ext4", 8), ("tmpfs", 4)]);
}

/// Of too few operations for a word the ratio is no evidence of a machine either.
#[test]
fn ratios_that_get_no_word_are_not_held_against_the_others() {
    let document = measured(three(), |trial| {
        if (4..8).contains(&trial.block) {
            (0..2).for_each(|operation| take(trial, operation, 0.01, 19));
        }
    });
    let ratios = &machines(&document).ratios;
    assert_eq!(ratios.len(), 4);
    for ratio in ratios {
        assert_eq!(ratio.on.iter().map(|on| on.machine).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(ratio.agreement.as_ref().unwrap().expected_q, 1.0);
    }
}

/// 12 of 40 processor seconds on two processors, and of 1280 on 64; a load of 3 likewise.
#[test]
fn what_others_use_is_a_share_of_the_processors_of_the_machine_that_ran_it() {
    let warned = |small: usize| {
        let mut members = three();
        for (place, member) in members.iter_mut().enumerate() {
            member.machine.processors = if place == small { 2 } else { 64 };
            member.load = Some(3.0);
        }
        let document = measured(members, |trial| {
            if trial.block < 4 {
                set(trial, &FOREIGN_CPU, Scope::Machine, 12.0);
                set(trial, &MACHINE_WATCHED, Scope::Machine, 20.0);
            }
        });
        [WarningKind::MachineShared, WarningKind::BusyAtStart].map(|kind| told(&document, kind))
    };
    let [shared, busy] = warned(0);
    assert_has(&shared, &["In 16 of 48 trials", "at worst 30 %"]);
    assert_has(&busy, &["1 of 3 parts of the run"]);
    // Those that others used have 64 processors.
    let [shared, busy] = warned(2);
    assert_eq!(shared, "");
    assert_has(&busy, &["a load of 3.0 on 2 processors"]);
}

/// A machine that is half way has one block, which has no interval; the others make up for it.
#[test]
fn who_went_on_has_the_looks_that_are_nobody_s() {
    let mut members = three();
    members[2] = RunMember { shard: None, canaries: 0, ended_s: None, ..members[2].clone() };
    members[2].blocks.truncate(1);
    let document = measured(members, |_| {});
    let last = &machines(&document).machines[2];
    assert_eq!(last.ended_s, None, "it goes on");
    assert_eq!((last.canaries, last.blocks, last.shards.len()), (4, 1, 0));
    let ratio = &machines(&document).ratios[0];
    assert_eq!((ratio.on[2].blocks, ratio.on[2].low), (1, None));
    assert!(ratio.agreement.is_some());
}

#[test]
fn the_schema_knows_merged_runs() {
    let mut members = three();
    members[1].ahead_s = Some(3600.5);
    assert_fits(&measured(members, |_| {}));
    assert!(read(&plain_run(4), &blocks(1)).machines.is_none());
}
