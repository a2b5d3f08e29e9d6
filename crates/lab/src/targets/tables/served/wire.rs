//! The messages between a trial's process and its web server's process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use bakeoff_engines::{Debt, DebtTurn, DebtUnit, DeferredWork, Payment};
use bakeoff_results::Measures;
use serde::{Deserialize, Serialize};

use super::super::statement_totals::StatementTotals;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WebProcessRequest {
    Warm,
    Drain,
    Check,
    FindUnchecked,
    Counters,
    Debt,
    Tally,
    Stop,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WebProcessReply {
    Opened(OpenedWebServer),
    Done,
    Checked(Option<Vec<String>>),
    Unchecked(Option<String>),
    Counters(Measures),
    Owes(Option<WireDebt>),
    Tally(StatementTotals),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedWebServer {
    pub database: Option<u32>,
    pub php: Option<[u32; 2]>,
    pub writes_back: Vec<String>,
    pub cache_misses: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireDebt {
    owed: Vec<(String, String, u64, Option<u64>)>,
    turns: Vec<(String, u64, u64)>,
    payments: Vec<(String, u64)>,
}

impl From<Debt> for WireDebt {
    fn from(debt: Debt) -> Self {
        let owed = |it: DeferredWork| (it.name.into(), it.unit.name().into(), it.amount, it.limit);
        let turn = |it: DebtTurn| (it.name.into(), it.done, it.whole);
        let payment = |it: Payment| (it.name.into(), it.count);
        Self {
            owed: debt.owed.into_iter().map(owed).collect(),
            turns: debt.turns.into_iter().map(turn).collect(),
            payments: debt.payments.into_iter().map(payment).collect(),
        }
    }
}

impl WireDebt {
    /// Drops amounts in unknown units.
    pub fn into_debt(self) -> Debt {
        let owed = self.owed.into_iter().filter_map(|(name, unit, amount, limit)| {
            let unit = DebtUnit::ALL.into_iter().find(|it| it.name() == unit)?;
            Some(DeferredWork { name: known_name(&name), unit, amount, limit })
        });
        let turns = self.turns.into_iter();
        let payments = self.payments.into_iter();
        Debt {
            owed: owed.collect(),
            turns: turns
                .map(|(name, done, whole)| DebtTurn { name: known_name(&name), done, whole })
                .collect(),
            payments: payments
                .map(|(name, count)| Payment { name: known_name(&name), count })
                .collect(),
        }
    }
}

/// Names live until the process ends; an engine has few, and each is kept once.
static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

fn known_name(name: &str) -> &'static str {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = known.get(name).copied() {
        return name;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    known.insert(name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_arrives() {
        let debt = Debt {
            owed: vec![DeferredWork {
                name: "log",
                unit: DebtUnit::Pages,
                amount: 7,
                limit: Some(9),
            }],
            turns: vec![DebtTurn { name: "log written", done: 1, whole: 2 }],
            payments: vec![Payment { name: "checkpoint", count: 3 }],
        };
        let sent = serde_json::to_string(&WireDebt::from(debt.clone())).unwrap();
        let arrived: WireDebt = serde_json::from_str(&sent).unwrap();
        assert_eq!(arrived.into_debt(), debt);
    }
}
