//! Merged runs of several machines.

use bakeoff_analysis::{DiskView, Document, MachineView, MachinesView, RatioOverMachines};
use bakeoff_results::{Levels, Machine, RunMember};
use serde_json::json;

use super::{Sample, read, single};

fn machine(name: &str, shards: &[u32]) -> MachineView {
    read(json!({
        "name": name, "shards": shards, "shared": false, "started_s": 1.7e9, "ended_s": 1.7e9 + 7200.0,
        "machine": Machine {
            processor: "Xeon 8488C".into(), kernel: "6.12.9".into(), ..Machine::default()
        },
        "disks": [disk("vda1", "ext4", 5)], "harness_s": 4.5e-8, "load": 0.25,
        "neighbour_alone_per_second": null, "blocks": 5, "trials": 10, "canaries": 5, "canaries_off": 1,
    }))
}

pub fn disk(device: &str, file_system: &str, blocks: u32) -> DiskView {
    DiskView { device: device.to_owned(), file_system: file_system.to_owned(), blocks }
}

/// The ratio of lmdb to sqlite on machines, with an interval of 10 % to either side.
pub fn ratio(clients: &str, on: &[f64]) -> RatioOverMachines {
    let on = on.iter().zip(0..).map(|(ratio, machine)| {
        json!({ "machine": machine, "ratio": ratio, "low": ratio / 1.1, "high": ratio * 1.1, "blocks": 5 })
    });
    read(json!({
        "operation": "create_issue", "levels": { "clients": clients, "neighbours": "0" },
        "baseline": "sqlite", "level": "lmdb", "on": on.collect::<Vec<_>>(), "disagree": false,
        "agreement": {
            "q": 90.0, "expected_q": 2.0, "p_adjusted": 0.001, "i_squared": 0.75, "ratio": 0.62,
            "low": 0.21, "high": 1.83,
        },
    }))
}

/// A run of one comparison, of so many machines' own ratios of lmdb to sqlite.
pub fn alone(on: &[f64], disagree: bool) -> Document {
    apart(single().document(), on, disagree)
}

/// The same of a run of one comparison that is there.
pub fn apart(mut document: Document, on: &[f64], disagree: bool) -> Document {
    let machines = ["a", "b", "c"].map(|name| machine(name, &[1])).into();
    let ratio = RatioOverMachines { levels: Levels::new(), disagree, ..ratio("1", on) };
    document.machines = Some(MachinesView { machines, ratios: vec![ratio] });
    document
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

/// A part of a run: the seventh of eight, with all blocks of the document.
pub fn part(document: &Document) -> RunMember {
    let blocks: Vec<(u32, u32)> = document.trials.iter().map(|trial| (trial.block, 2)).collect();
    read(json!({
        "shard": 7, "host": { "name": "node-a", "boot": "" }, "machine": Machine::default(),
        "harness_s": 4.5e-8, "load": null, "neighbour_alone_per_second": null, "started_s": 0.0,
        "ended_s": null, "ahead_s": null, "canaries": 0, "blocks": blocks, "cuts": [],
    }))
}
