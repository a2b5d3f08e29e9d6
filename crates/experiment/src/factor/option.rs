//! Options of engines and disks, as factors.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::Factor;

/// Each option ever requested, once: a factor is copied everywhere, so it borrows its option for as
/// long as the process runs.
static KNOWN: Mutex<BTreeSet<&OptionFactor>> = Mutex::new(BTreeSet::new());

/// Several engines or disks may declare one name, each with levels of its own.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OptionFactor {
    pub name: String,
    pub summary: String,
    pub syntax: String,
    /// Without the option, an engine is taken to have this level.
    pub default: String,
    pub declared_by: Vec<Declarer>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declarer {
    /// `engine` or `disk`.
    pub of: Factor,
    pub name: String,
}

impl OptionFactor {
    pub fn declaring_factors(&self) -> Vec<Factor> {
        let factors: BTreeSet<Factor> = self.declared_by.iter().map(|by| by.of).collect();
        factors.into_iter().collect()
    }

    pub fn declarers(&self) -> Vec<&str> {
        self.declared_by.iter().map(|by| &*by.name).collect()
    }

    pub(crate) fn intern(self) -> Factor {
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
