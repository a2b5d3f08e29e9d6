//! The sections of a report, one file for each.

mod applications;
mod conditions;
mod costs;
mod debts;
mod durability;
mod every_moment;
mod limits;
mod machines;
mod matrix;
mod method;
mod neighbours;
mod open_loops;
mod operations;
mod over_time;
mod overview;
mod priced;
mod processor;
pub mod published;
mod repeat;
mod settings;
mod slowest;
mod space;
mod states;
mod sweeps;
mod trials;
mod warnings;
mod what_if;
mod work;

use crate::section::PagePlace::{First, Misleading, Why};
use crate::section::Section;
use crate::section::SectionKind::{Background, OfCells, Shown};
use crate::{offered_rate, promises, warning_names};

/// In the order of a page; the first is the first screen.
pub static SECTIONS: [Section; 29] = [
    Section::new("overview", "", Shown, overview::build_blocks).at(First),
    Section::new("published", "Published figures beside ours", Shown, published::build_blocks)
        .with_link("Published figures"),
    Section::new("limits", "The highest rate that keeps the limit", Shown, limits::build_blocks)
        .with_link("Highest rate"),
    Section::new("lines", "", Shown, sweeps::build_blocks),
    Section::new("times", "", Shown, sweeps::times::build_blocks),
    Section::new(
        "applications",
        "What it is worth to an application",
        Shown,
        applications::build_blocks,
    )
    .with_link("Applications"),
    Section::new("changes", "What each change buys", Shown, what_if::build_blocks)
        .with_link("Changes"),
    Section::new("cells", "All cells", OfCells, matrix::build_blocks),
    Section::new("over-time", "Over time", Shown, over_time::build_blocks).at(Why),
    Section::new("slowest", "The slowest operations", Shown, slowest::build_blocks)
        .with_link("Slowest operations")
        .at(Why),
    Section::new(
        promises::SECTION,
        "What power cuts left of each promise",
        Shown,
        durability::build_blocks,
    )
    .with_link("Power cuts")
    .at(Why),
    Section::new(
        "every-moment",
        "What a cut at every moment leaves",
        Shown,
        every_moment::build_blocks,
    )
    .with_link("Cuts at every moment")
    .at(Why),
    Section::new("operations", "", OfCells, operations::build_blocks),
    Section::new("machines", "What each machine found", Shown, machines::build_blocks)
        .with_link("Machines")
        .at(Misleading),
    Section::new("conditions", "How long each condition went on", Shown, conditions::build_blocks)
        .with_link("Repetitions")
        .at(Misleading),
    Section::new(offered_rate::SECTION, "What was offered", OfCells, open_loops::build_blocks),
    Section::new(
        "work",
        "What the work took of cache, device and processor",
        OfCells,
        work::build_blocks,
    )
    .with_link("Cache and device")
    .at(Why),
    Section::new("costs", "What it cost", OfCells, costs::build_blocks),
    Section::new("states", "Restarts, and steady trials", OfCells, states::build_blocks)
        .with_link("Restarts")
        .at(Why),
    Section::new("debts", "What was left to write back", OfCells, debts::build_blocks)
        .with_link("Deferred work")
        .at(Why),
    Section::new("priced", "What a commit costs the disk: priced", Shown, priced::build_blocks)
        .with_link("Priced commits")
        .at(Why),
    Section::new("processor", "Processor time of a trial", OfCells, processor::build_blocks)
        .with_link("Processor time")
        .at(Why),
    Section::new("space", "Space on disk", Background, space::build_blocks),
    Section::new("settings", "What each engine was set to", Background, settings::build_blocks)
        .with_link("Settings"),
    Section::new("neighbours", "What the background I/O did", Background, neighbours::build_blocks)
        .with_link("Background I/O")
        .at(Why),
    Section::new("trials", "Every trial", Background, trials::build_blocks),
    Section::new(warning_names::SECTION, "What could mislead", Shown, warnings::build_blocks)
        .at(Misleading),
    Section::new("method", "How it was measured", Background, method::build_blocks)
        .with_link("Method"),
    Section::new("repeat", "Run it again", Background, repeat::build_blocks),
];
