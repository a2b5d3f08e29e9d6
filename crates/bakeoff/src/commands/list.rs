//! `bakeoff list`: what there is to choose from.

use bakeoff_experiment::{Changes, Experiment, Factor};
use comfy_table::{ContentArrangement, Table, presets};

use super::report::print;
use crate::cli::{self, Listed};
use crate::exit::{Exit, Failure};

/// Prints one list, or all of them.
pub fn run(arguments: &cli::List) -> Result<Exit, Failure> {
    let all = [Listed::Presets, Listed::Engines, Listed::Workloads, Listed::Disks, Listed::Factors];
    let wanted = match arguments.what {
        Some(what) => vec![what],
        None => all.to_vec(),
    };
    for (number, what) in wanted.iter().enumerate() {
        if number > 0 {
            print("\n")?;
        }
        print(&format!("{}\n", list(*what)))?;
    }
    Ok(Exit::Done)
}

fn list(what: Listed) -> Table {
    match what {
        Listed::Presets => presets_table(),
        Listed::Engines => engines(),
        Listed::Workloads => workloads(),
        Listed::Disks => disks(),
        Listed::Factors => factors(),
    }
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(100);
    table.set_header(header);
    table
}

fn presets_table() -> Table {
    let mut table = table(&["preset", "what it asks"]);
    let (changes, vocabulary) = (Changes::default(), bakeoff_lab::vocabulary());
    for preset in bakeoff_experiment::presets() {
        let experiment = Experiment::load(preset.name, &changes, &vocabulary);
        table.add_row([preset.name, &experiment.map_or_else(|e| e.to_string(), |e| e.title)]);
    }
    table
}

fn engines() -> Table {
    let mut table = table(&["engine", "durability", "its settings", "what they promise"]);
    for engine in bakeoff_engines::ENGINES {
        let about = engine.about();
        table.add_row([
            format!("{} {}", about.name, about.version),
            String::new(),
            about.summary.into(),
            String::new(),
        ]);
        for promise in about.promises {
            let settings = promise.settings.unwrap_or("can't be had");
            table.add_row(["", promise.durability.name(), settings, promise.source]);
        }
    }
    for (url, kind) in [("mysql://…", "MySQL or MariaDB"), ("postgres://…", "PostgreSQL")] {
        let summary = format!("a database on a {kind} server that somebody else runs");
        table.add_row([url, "", &summary, "its owner's settings, which have to give the level"]);
    }
    table
}

fn workloads() -> Table {
    let mut table = table(&["workload", "what it stands for", "operations", "scales"]);
    for workload in bakeoff_workloads::WORKLOADS {
        let scales = workload.scales().iter();
        let scales: Vec<String> =
            scales.map(|scale| format!("{}: {}", scale.name, scale.summary)).collect();
        table.add_row([
            workload.name().to_owned(),
            workload.summary().to_owned(),
            workload.operations().join("\n"),
            scales.join("\n"),
        ]);
    }
    table
}

fn disks() -> Table {
    let mut table = table(&["disk", "what it is"]);
    table.add_row(["host", "this machine's own disk, under the run folder"]);
    for disk in bakeoff_devices::spec::listed() {
        table.add_row([disk.name, disk.summary]);
    }
    table
}

fn factors() -> Table {
    let mut table = table(&["factor", "what it is", "its levels"]);
    for factor in Factor::ALL {
        table.add_row([factor.name(), factor.summary(), factor.syntax()]);
    }
    table
}
