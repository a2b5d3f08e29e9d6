//! The lab's own factors: a file each, in which all that is particular to it is said, and a line in
//! [`Factor::OWN`].

mod clients;
mod cpus;
mod disk;
mod durability;
mod engine;
mod memory;
mod neighbours;
pub(crate) mod rate;
mod scale;
mod state;

pub use cpus::Cpus;
pub use memory::Memory;
pub use neighbours::Neighbours;
pub use rate::{ArrivalNames, Rate};
pub use state::State;

/// A number of plain digits.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
