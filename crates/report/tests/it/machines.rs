//! What each machine of a merged run found.

use bakeoff_analysis::{Document, Warning, WarningKind};
use bakeoff_results::{HostIdentity, Merged, PlanShard, RunMember};

use crate::reading::{parse_csv, read_json, text, words};
use crate::sample::machines::{alone, disk, merged, part, ratio};
use crate::sample::{Sample, changed};
use crate::sections::{BOTH, states};
use crate::snapshots::Piece;

const TITLE: &str = "What each machine found";

/// A part of a plan, by one machine.
pub fn shard() -> PlanShard {
    PlanShard {
        plan: "17".into(),
        program_sha256: None,
        index: 2,
        count: 8,
        trials: 80,
        host: HostIdentity { name: "node-a".into(), boot: String::new() },
        blocks: vec![(3, 2)],
        cuts: Vec::new(),
    }
}

/// Where one more machine may lie reaches up to here.
fn up_to(high: f64) -> Document {
    changed(merged(), |it| {
        for ratio in &mut it.machines.as_mut().expect("machines").ratios {
            let agreement = ratio.agreement.as_mut().expect("three machines");
            (agreement.low, agreement.high) = (Some(0.5), Some(high));
        }
    })
}

pub fn pieces() -> Vec<Piece> {
    let differ = changed(merged(), |it| {
        let machines = &mut it.machines.as_mut().expect("machines").machines;
        machines[2].disks = vec![disk("vda1", "ext4", 3), disk("0:45", "tmpfs", 2)];
        (machines[2].ended_s, machines[1].neighbour_alone_per_second) = (None, Some(7336.0));
    });
    let one = changed(merged(), |it| {
        let view = it.machines.as_mut().expect("machines");
        view.machines.truncate(1);
        view.machines[0].shared = true;
        view.ratios.clear();
    });
    let part = changed(Sample::default().document(), |it| it.run.run.shard = Some(shard()));
    let two = changed(merged(), |it| {
        let ratios = &mut it.machines.as_mut().expect("machines").ratios;
        ratios.iter_mut().for_each(|ratio| ratio.agreement = None);
    });
    let all = [
        ("disks that differ", "md", differ),
        ("one machine, shared", "md", one),
        ("no agreement is known", "md", two),
        ("an interval beyond the scale", "term", up_to(40.0)),
        ("an interval within the scale", "term", up_to(1.2)),
    ];
    let mut pieces = states(TITLE, &BOTH, &merged(), &all);
    pieces.push(Piece::section("a shard", TITLE, "md", &part));
    pieces
}

#[test]
fn machines_that_disagree_lower_the_confidence() {
    for (on, disagree, expected) in [
        ([0.5, 0.2, 1.25], true, ("low", "machines disagree")),
        ([0.5, 0.2, 1.25], false, ("fair", "machines far apart")),
        ([0.5, 0.45, 0.55], false, ("high", "5 trials of each")),
    ] {
        let confidence = &read_json(&alone(&on, disagree))["answer"]["confidence"];
        let (level, reason) = expected;
        assert_eq!(
            (&confidence["level"], &confidence["reasons"][0]),
            (&level.into(), &reason.into())
        );
    }
}

/// The dates of a machine are its own clock's; those of the run go from the first of all to the last.
#[test]
fn a_merged_run_is_dated_from_its_first_start_to_its_last_end() {
    let parts = [(0.0, Some(3600.0)), (1800.0, Some(86_400.0)), (7200.0, None)];
    let document = changed(merged(), |it| {
        let members = parts.map(|(from, to)| RunMember {
            started_s: 1.7e9 + from,
            ended_s: to.map(|to| 1.7e9 + to),
            ..part(it)
        });
        let (plan, members) = ("17".into(), members.into());
        it.run.run.merged = Some(Merged { plan, program_sha256: None, count: 8, members });
        (it.run.run.started_s, it.run.ended_s) = (1.7e9, None);
    });
    let shown = words(&document, "md");
    assert!(shown.contains("date: 2023-11-14 22:13 UTC to 2023-11-15 22:13 UTC"), "{shown}");
    // One that took no minute has one date, as any other run.
    let short = changed(document, |it| {
        let members = &mut it.run.run.merged.as_mut().expect("it was merged").members;
        members.truncate(1);
        members[0].ended_s = Some(1.7e9 + 1.0);
    });
    assert!(!words(&short, "md").contains("UTC to "));
}

#[test]
fn trials_say_which_machine_ran_them() {
    let document = changed(merged(), |it| {
        let (plan, members) = ("17".into(), vec![part(it)]);
        it.run.run.merged = Some(Merged { plan, program_sha256: None, count: 8, members });
        it.warnings.push(Warning::new(WarningKind::DisksDiffer, "2 of 15 trials: so"));
    });
    let rows = parse_csv(&text(&document, "csv"));
    let ends = |row: &Vec<String>| row[row.len() - 2..].to_vec();
    assert_eq!(ends(&rows[0]), ["machine.name", "machine.shard"]);
    assert!(rows.len() > 1 && rows[1..].iter().all(|row| ends(row) == ["node-a", "7"]));
    assert!(text(&document, "html").contains("node-a, 7"));
    assert!(!text(&Sample::default().document(), "csv").contains("machine.name"));
    let machines = "machine: 3 machines, the first: Imaginary Processor 9000 @ 3.00GHz, 2 processors, 8.35 GB \
                    memory, ext4; not all trials on one such disk";
    assert!(words(&document, "md").contains(machines));
}

/// A hundred ratios have no room: those that matter are shown, and the others named.
#[test]
fn there_is_an_end_to_the_ratios_that_are_shown() {
    let of = |ratios| {
        let document =
            changed(merged(), |it| it.machines.as_mut().expect("machines").ratios = ratios);
        text(&document, "md")
    };
    let mut hundred = vec![ratio("1", &[0.51, 0.52, 0.53]); 100];
    hundred[99].disagree = true;
    let shown = of(hundred);
    assert!(shown.contains("70 more ratios in the JSON"), "{shown}");
    assert!(shown.contains("disagree, I² 75 %"), "{shown}");
    // One alone is shown, whatever its length.
    assert!(of(vec![ratio("1", &[0.5; 200]); 2]).contains("1 more ratio in the JSON"));
}
