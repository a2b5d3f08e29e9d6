//! What each machine of a merged run found.

use bakeoff_analysis::{
    Agreement, DiskView, Document, MachineView, MachinesView, OnMachine, RatioOverMachines,
    Warning, WarningKind,
};
use bakeoff_report::verdict;
use bakeoff_results::{FigureOfMerit, HostIdentity, Levels, Machine, Merged, PlanShard, RunMember};

use crate::first_screen::words;
use crate::formats::{parse_csv, text};
use crate::sample::Sample;
use crate::sample::rate::rate;
use crate::verdict::{single, twice};

const TITLE: &str = "What each machine found";

fn machine(name: &str, shards: &[u32]) -> MachineView {
    MachineView {
        name: name.to_owned(),
        machine: Machine {
            processor: "Xeon 8488C".into(),
            kernel: "6.12.9".into(),
            ..Machine::default()
        },
        shards: shards.to_vec(),
        shared: false,
        started_s: 1.7e9,
        ended_s: Some(1.7e9 + 7200.0),
        disks: vec![disk("vda1", "ext4", 5)],
        harness_s: 4.5e-8,
        load: Some(0.25),
        neighbour_alone_per_second: None,
        blocks: 5,
        trials: 10,
        canaries: 5,
        canaries_off: 1,
    }
}

fn disk(device: &str, file_system: &str, blocks: u32) -> DiskView {
    DiskView { device: device.to_owned(), file_system: file_system.to_owned(), blocks }
}

/// The ratio of lmdb to sqlite on machines, with an interval of 10 % to either side.
fn ratio(clients: &str, on: &[f64]) -> RatioOverMachines {
    let levels = [("clients", clients), ("neighbours", "0")];
    let on = on.iter().zip(0..).map(|(ratio, machine)| OnMachine {
        machine,
        ratio: *ratio,
        low: Some(ratio / 1.1),
        high: Some(ratio * 1.1),
        blocks: 5,
    });
    RatioOverMachines {
        operation: "create_issue".into(),
        levels: levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into(),
        baseline: "sqlite".into(),
        level: "lmdb".into(),
        on: on.collect(),
        agreement: Some(Agreement {
            q: 90.0,
            expected_q: 2.0,
            p_adjusted: 0.001,
            i_squared: 0.75,
            ratio: 0.62,
            low: Some(0.21),
            high: Some(1.83),
        }),
        disagree: false,
    }
}

/// A run of one comparison, of so many machines' own ratios of lmdb to sqlite.
fn alone(on: &[f64], disagree: bool) -> Document {
    found(single(twice, 0.1).document(), on, disagree)
}

/// The same of a run of one comparison that is there.
pub fn found(mut document: Document, on: &[f64], disagree: bool) -> Document {
    let machines = ["a", "b", "c"].map(|name| machine(name, &[1])).into();
    let ratio = RatioOverMachines { levels: Levels::new(), disagree, ..ratio("1", on) };
    document.machines = Some(MachinesView { machines, ratios: vec![ratio] });
    document
}

/// How sure an answer is, and the first reason.
fn confidence(document: &Document) -> [String; 2] {
    let json: serde_json::Value = serde_json::from_str(&text(document, "json")).unwrap();
    let it = &json["answer"]["confidence"];
    [&it["level"], &it["reasons"][0]].map(|it| it.as_str().unwrap().to_owned())
}

#[test]
fn an_answer_on_which_machines_disagree_says_so_and_is_of_low_confidence() {
    // Of lmdb to sqlite; the answer tells it the other way round.
    let document = alone(&[0.5, 0.2, 1.25], true);
    let told = verdict(&document);
    let said =
        "The machines disagree: on each alone, sqlite takes 0.80 to 5.0 times as long as lmdb.";
    assert!(told.ends_with(said), "{told}");
    assert!(told.starts_with("lmdb was fastest: "), "{told}");
    assert_eq!(confidence(&document), ["low", "machines disagree"]);
}

#[test]
fn an_answer_says_that_ratios_of_machines_lie_apart_though_that_may_be_chance() {
    let document = alone(&[0.5, 0.2, 1.25], false);
    let told = verdict(&document);
    let said = "The machines’ own ratios lie far apart, which may be chance: on each alone, sqlite takes 0.80 to \
                5.0 times as long as lmdb.";
    assert!(told.ends_with(said), "{told}");
    assert_eq!(confidence(&document), ["fair", "machines far apart"]);
    // Near each other they are no matter.
    let near = alone(&[0.5, 0.45, 0.55], false);
    assert_eq!(verdict(&near), verdict(&single(twice, 0.1).document()));
    assert_eq!(confidence(&near)[0], "high");
}

#[test]
fn an_answer_by_a_rate_tells_the_machines_own_ratios_of_it() {
    let document = rate(single(twice, 0.1).document(), FigureOfMerit::Rows);
    let told = verdict(&found(document, &[0.5, 0.2, 1.25], true));
    let said = "The machines disagree: on each alone, lmdb serves 0.80 to 5.0 times as many rows a second as \
                sqlite.";
    assert!(told.ends_with(said), "{told}");
}

/// The ratios of another condition are near each other; where one machine alone has a ratio, nothing is told.
#[test]
fn an_answer_tells_of_several_comparisons_where_machines_disagree_most() {
    let told = verdict(&merged());
    let said = "The machines disagree on 1 of 8 comparisons, in create_issue with 4 clients and no neighbours: \
                on each alone, sqlite takes 0.71 to 2.0 times as long as lmdb";
    assert!(told.contains(said), "{told}");
    let mut document = merged();
    for ratio in &mut document.machines.as_mut().unwrap().ratios {
        ratio.on.truncate(1);
    }
    assert!(!verdict(&document).contains("machines disagree"));
}

/// A run of several comparisons, on one of which the machines disagree.
pub fn merged() -> Document {
    let mut document = Sample::default().document();
    let machines =
        vec![machine("node-a", &[1]), machine("node-b", &[2, 3]), machine("node-c", &[])];
    let ratios = vec![
        ratio("1", &[0.51, 0.52, 0.53]),
        RatioOverMachines { disagree: true, ..ratio("4", &[0.51, 0.52, 1.41]) },
    ];
    document.machines = Some(MachinesView { machines, ratios });
    document
}

#[test]
fn each_machine_stands_beside_the_others_in_every_format() {
    let document = merged();
    for format in ["html", "term", "md"] {
        let shown = text(&document, format);
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [
            TITLE,
            "node-a",
            "node-b",
            "2, 3",
            "1 of 5",
            "mix the machines",
            "The machines disagree on 1 of 2 ratios",
            "disagree, I² 75 %, Q 90.0",
            "Load: how many processes wanted a processor",
            "Off: of how many looks",
            "1.41",
            "1.28 to 1.55",
            "0.21 to 1.83",
            "lmdb against sqlite",
            "3 machines, the first: ",
        ] {
            assert!(flat.contains(said), "{format}: {said}\n{shown}");
        }
        // What machines disagree on comes first.
        let place = |what: &str| flat.find(what).unwrap_or_else(|| panic!("{format}: {what}"));
        let four = "4 clients, no neighbours: lmdb against sqlite";
        let one = "1 client, no neighbours: lmdb against sqlite";
        assert!(place(four) < place(one), "{shown}");
    }
    assert!(text(&document, "html").contains(">equal</text>"));
}

/// Where one more machine may lie is wider than the scale, which is made for what was found.
#[test]
fn an_interval_that_goes_on_beyond_the_scale_has_an_open_end() {
    const LEGEND: &str = "arrow: the interval goes on beyond the scale";
    let open = |document: &Document| {
        let terminal = text(document, "term");
        let mut rows = terminal.lines().filter(|line| line.contains("such machines"));
        let [html, term] = ["html", "term"].map(|it| words(document, it).contains(LEGEND));
        assert_eq!(html, term);
        (html, rows.any(|line| line.contains('→')))
    };
    let with = |high: f64| {
        let mut document = merged();
        for ratio in &mut document.machines.as_mut().unwrap().ratios {
            let agreement = ratio.agreement.as_mut().unwrap();
            (agreement.low, agreement.high) = (Some(0.5), Some(high));
        }
        document
    };
    assert_eq!(open(&with(40.0)), (true, true));
    assert_eq!(open(&with(1.2)), (false, false));
}

/// A part of a run: the seventh of eight, with all blocks of the document.
fn part(document: &Document) -> RunMember {
    RunMember {
        shard: Some(7),
        host: HostIdentity { name: "node-a".into(), boot: String::new() },
        machine: Machine::default(),
        harness_s: 4.5e-8,
        load: None,
        neighbour_alone_per_second: None,
        started_s: 0.0,
        ended_s: None,
        ahead_s: None,
        canaries: 0,
        blocks: document.trials.iter().map(|trial| (trial.block, 2)).collect(),
        cuts: Vec::new(),
    }
}

/// The dates of a machine are its own clock's; those of the run go from the first of all to the last.
#[test]
fn a_merged_run_is_dated_from_its_first_start_to_its_last_end() {
    let mut document = merged();
    let parts = [(0.0, Some(3600.0)), (1800.0, Some(86_400.0)), (7200.0, None)];
    let members = parts.map(|(from, to)| RunMember {
        started_s: 1.7e9 + from,
        ended_s: to.map(|to| 1.7e9 + to),
        ..part(&document)
    });
    let (plan, members) = ("17".into(), members.into());
    document.run.run.merged = Some(Merged { plan, program_sha256: None, count: 8, members });
    (document.run.run.started_s, document.run.ended_s) = (1.7e9, None);
    document.machines.as_mut().unwrap().machines[2].ended_s = None;
    for format in ["html", "term", "md"] {
        let shown = words(&document, format);
        for said in [
            "2023-11-14 22:13 UTC to 2023-11-15 22:13 UTC",
            "When each machine measured",
            "2023-11-15 00:13 UTC",
            "not ended",
            "No ratio depends on it",
        ] {
            assert!(shown.contains(said), "{format}: {said}\n{shown}");
        }
    }
    // One that took no minute has one date, as any other run.
    document.run.run.merged.as_mut().unwrap().members.truncate(1);
    document.run.run.merged.as_mut().unwrap().members[0].ended_s = Some(1.7e9 + 1.0);
    assert!(!words(&document, "md").contains("UTC to "));
}

/// Where all lay on one kind of disk, the first line of the page has told it.
#[test]
fn each_machine_says_its_disks_where_they_differ() {
    let mut document = merged();
    for format in ["html", "term", "md"] {
        let shown = words(&document, format);
        assert!(!shown.contains("vda1") && !shown.contains("not all trials"), "{format}: {shown}");
    }
    let disks = vec![disk("vda1", "ext4", 3), disk("0:45", "tmpfs", 2)];
    document.machines.as_mut().unwrap().machines[2].disks = disks;
    document.warnings.push(Warning::new(WarningKind::DisksDiffer, "2 of 15 trials: so"));
    for format in ["html", "term", "md"] {
        let shown = words(&document, format);
        for said in ["and on which disk", "vda1, ext4 (3", "0:45, tmpfs (2", "not all trials"] {
            assert!(shown.contains(said), "{format}: {said}\n{shown}");
        }
    }
}

#[test]
fn trials_say_which_machine_ran_them() {
    let mut document = merged();
    let (plan, members) = ("17".into(), vec![part(&document)]);
    document.run.run.merged = Some(Merged { plan, program_sha256: None, count: 8, members });
    let rows = parse_csv(&text(&document, "csv"));
    let ends = |row: &Vec<String>| row[row.len() - 2..].to_vec();
    assert_eq!(ends(&rows[0]), ["machine.name", "machine.shard"]);
    assert!(rows.len() > 1 && rows[1..].iter().all(|row| ends(row) == ["node-a", "7"]));
    assert!(text(&document, "html").contains("node-a, 7"));
}

#[test]
fn other_runs_say_nothing_of_machines() {
    let document = Sample::default().document();
    for format in ["html", "term", "md"] {
        assert!(!text(&document, format).contains(TITLE), "{format}");
    }
    assert!(!text(&document, "csv").contains("machine.name"));
}

#[test]
fn a_shard_says_that_it_is_a_part() {
    let mut document = Sample::default().document();
    document.run.run.shard = Some(PlanShard {
        plan: "17".into(),
        program_sha256: None,
        index: 2,
        count: 8,
        trials: 80,
        host: HostIdentity { name: "node-a".into(), boot: String::new() },
        blocks: vec![(3, 2)],
        cuts: Vec::new(),
    });
    for format in ["html", "term", "md"] {
        let shown = text(&document, format);
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("This is shard 2 of 8: a part of the plan"), "{format}: {shown}");
        assert!(flat.contains("bakeoff merge"), "{format}: {shown}");
        assert!(!flat.contains("machines, the first"), "{format}: {shown}");
    }
}

#[test]
fn shards_that_ran_beside_each_other_are_told() {
    let mut document = merged();
    let view = document.machines.as_mut().unwrap();
    view.machines.truncate(1);
    view.machines[0].shared = true;
    view.ratios.clear();
    let shown = text(&document, "md");
    assert!(shown.contains("One machine ran all that was merged."), "{shown}");
    assert!(shown.contains("at one time on node-a"), "{shown}");
    assert!(!shown.contains("such machines"), "{shown}");
}

/// A hundred ratios have no room: those that matter are shown, and the others named.
#[test]
fn there_is_an_end_to_the_ratios_that_are_shown() {
    let mut document = merged();
    let view = document.machines.as_mut().unwrap();
    view.ratios = vec![ratio("1", &[0.51, 0.52, 0.53]); 100];
    view.ratios[99].disagree = true;
    let shown = text(&document, "md");
    assert!(shown.contains("70 more ratios in the JSON"), "{shown}");
    assert!(shown.contains("disagree, I² 75 %"), "{shown}");
    // One alone is shown, whatever its length.
    let view = document.machines.as_mut().unwrap();
    view.ratios = vec![ratio("1", &[0.5; 200]); 2];
    assert!(text(&document, "md").contains("1 more ratio in the JSON"));
}
