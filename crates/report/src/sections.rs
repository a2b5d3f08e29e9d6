//! The built-in sections of a report, a file each: what it says, in blocks that every format can
//! show.

mod applications;
mod buys;
mod conditions;
mod costs;
mod debts;
mod durability;
mod every;
mod limits;
mod machines;
mod matrix;
mod method;
mod mislead;
mod neighbours;
mod offered;
mod operations;
mod over_time;
mod overview;
mod priced;
mod processor;
mod published;
mod repeat;
mod settings;
mod slowest;
mod space;
mod states;
mod sweeps;
mod trials;
mod work;

pub use published::{COUNTED, PublishedSection, tally};

use crate::section::Section;

/// The built-in sections in the order of a page; the first is the first screen.
pub fn all() -> Vec<Box<dyn Section>> {
    vec![
        Box::new(overview::Overview),
        Box::new(PublishedSection),
        Box::new(limits::LimitsSection),
        Box::new(sweeps::SweepSection),
        Box::new(sweeps::SweepTimesSection),
        Box::new(applications::Applications),
        Box::new(buys::Buys),
        Box::new(matrix::Matrix),
        Box::new(over_time::Over),
        Box::new(slowest::Slowest),
        Box::new(durability::DurabilitySection),
        Box::new(every::Every),
        Box::new(operations::Operations),
        Box::new(machines::Machines),
        Box::new(conditions::Conditions),
        Box::new(offered::Offered),
        Box::new(work::WorkSection),
        Box::new(costs::CostsSection),
        Box::new(states::StatesSection),
        Box::new(debts::DebtsSection),
        Box::new(priced::Priced),
        Box::new(processor::Processor),
        Box::new(space::SpaceSection),
        Box::new(settings::SettingsSection),
        Box::new(neighbours::NeighboursSection),
        Box::new(trials::TrialsSection),
        Box::new(mislead::Mislead),
        Box::new(method::Method),
        Box::new(repeat::Repeat),
    ]
}
