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

pub use published::{COUNTED, Published, tally};

use crate::section::Section;

/// The built-in sections in the order of a page; the first is the first screen.
pub fn all() -> Vec<Box<dyn Section>> {
    vec![
        Box::new(overview::Overview),
        Box::new(Published),
        Box::new(limits::Limits),
        Box::new(sweeps::Lines),
        Box::new(sweeps::Times),
        Box::new(applications::Applications),
        Box::new(buys::Buys),
        Box::new(matrix::Matrix),
        Box::new(over_time::Over),
        Box::new(slowest::Slowest),
        Box::new(durability::Durability),
        Box::new(every::Every),
        Box::new(operations::Operations),
        Box::new(machines::Machines),
        Box::new(conditions::Conditions),
        Box::new(offered::Offered),
        Box::new(work::Work),
        Box::new(costs::Costs),
        Box::new(states::States),
        Box::new(debts::Debts),
        Box::new(priced::Priced),
        Box::new(processor::Processor),
        Box::new(space::Space),
        Box::new(settings::Settings),
        Box::new(neighbours::Neighbours),
        Box::new(trials::Trials),
        Box::new(mislead::Mislead),
        Box::new(method::Method),
        Box::new(repeat::Repeat),
    ]
}
