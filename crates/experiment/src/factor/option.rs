//! What engines and disks may be given beside their names, as factors.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::Factor;

/// Every one that there is, each once.
static KNOWN: Mutex<BTreeSet<&OptionFactor>> = Mutex::new(BTreeSet::new());

/// An option of engines, or a parameter of disks, that an experiment may vary. Several may declare
/// one of its name, each with levels of its own.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OptionFactor {
    /// Its name.
    pub name: String,
    /// One line on what it is.
    pub summary: String,
    /// How its levels are written.
    pub syntax: String,
    /// The level that means *without the option*: an engine that lacks the option has it.
    pub default: String,
    /// Who declares it.
    pub declared_by: Vec<Declarer>,
}

/// Who declares an option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declarer {
    /// The factor of which it is a level: `engine` or `disk`.
    pub of: Factor,
    /// Its name.
    pub name: String,
}

impl OptionFactor {
    /// The factors whose levels declare it.
    pub fn declaring_factors(&self) -> Vec<Factor> {
        let factors: BTreeSet<Factor> = self.declared_by.iter().map(|by| by.of).collect();
        factors.into_iter().collect()
    }

    /// The names of those who declare it.
    pub fn declarers(&self) -> Vec<&str> {
        self.declared_by.iter().map(|by| &*by.name).collect()
    }

    /// The factor that it is. Equal ones are one, which stays as long as the process runs.
    pub(crate) fn factor(self) -> Factor {
        // Nothing can panic while the set is locked but by running out of memory.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = known.get(&self) {
            return Factor::Option(same);
        }
        let new: &'static Self = Box::leak(Box::new(self));
        known.insert(new);
        Factor::Option(new)
    }
}
