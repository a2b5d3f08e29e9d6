//! What a trial's process and its web server's say to each other.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use bakeoff_engines::{Debt, DebtTurn, DebtUnit, Owed, Payment};
use bakeoff_results::Measures;
use serde::{Deserialize, Serialize};

/// What the web server's process is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// To fill the engine's caches.
    Warm,
    /// To have the engine do what it has put off.
    Drain,
    /// What is wrong with the data.
    Check,
    /// What the engine counts of itself.
    Counters,
    /// What the engine owes.
    Debt,
    /// What workers did since this was last asked.
    Tally,
    /// To close the engine and to end.
    Stop,
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WebProcessReply {
    /// It takes requests.
    Opened(OpenedWebServer),
    /// It is done.
    Done,
    /// What is wrong with the data, where anybody can look.
    Checked(Option<Vec<String>>),
    /// What the engine counts of itself.
    Counters(Measures),
    /// What the engine owes, where that is known.
    Owes(Option<WireDebt>),
    /// Commits, the bytes that they wrote, and those of the rows that workers were returned.
    Tally { commits: u64, bytes: u64, returned: u64 },
}

/// What is known of a web server once its engine is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedWebServer {
    /// The process of a private database server.
    pub database: Option<u32>,
    /// The processes of nginx and of php-fpm.
    pub php: Option<[u32; 2]>,
    writes_back: Vec<String>,
    cache_misses: Vec<String>,
}

impl OpenedWebServer {
    /// With a database server's process, and the names of counters.
    pub fn new(database: Option<u32>, writes_back: &[&str], cache_misses: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (writes_back, cache_misses) = (owned(writes_back), owned(cache_misses));
        Self { database, php: None, writes_back, cache_misses }
    }

    /// The same with the processes of nginx and of php-fpm.
    pub fn with_php(self, nginx: u32, php: u32) -> Self {
        Self { php: Some([nginx, php]), ..self }
    }

    /// The names of the counters that grow when the engine writes back.
    pub fn writes_back(&self) -> &'static [&'static str] {
        known_all(&self.writes_back)
    }

    /// The names of the counters that grow when the engine's cache lacks something.
    pub fn cache_misses(&self) -> &'static [&'static str] {
        known_all(&self.cache_misses)
    }
}

/// A debt on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireDebt {
    /// Name, unit, amount and limit.
    owed: Vec<(String, String, u64, Option<u64>)>,
    /// Name, how far, and what makes a whole turn.
    turns: Vec<(String, u64, u64)>,
    /// Name and count.
    payments: Vec<(String, u64)>,
}

impl From<Debt> for WireDebt {
    fn from(debt: Debt) -> Self {
        let owed = |it: Owed| (it.name.into(), it.unit.name().into(), it.amount, it.limit);
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
    /// The debt; what is in a unit that nobody knows is left out.
    pub fn into_debt(self) -> Debt {
        let owed = self.owed.into_iter().filter_map(|(name, unit, amount, limit)| {
            let unit = DebtUnit::ALL.into_iter().find(|it| it.name() == unit)?;
            Some(Owed { name: known(&name), unit, amount, limit })
        });
        let turns = self.turns.into_iter();
        let payments = self.payments.into_iter();
        Debt {
            owed: owed.collect(),
            turns: turns
                .map(|(name, done, whole)| DebtTurn { name: known(&name), done, whole })
                .collect(),
            payments: payments.map(|(name, count)| Payment { name: known(&name), count }).collect(),
        }
    }
}

/// The names that are known, each kept once until the process ends: an engine has a few.
static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
/// The lists of names that are known.
static LISTS: Mutex<BTreeSet<&'static [&'static str]>> = Mutex::new(BTreeSet::new());

/// A name that lives as long as the process, as those that engines have.
fn known(name: &str) -> &'static str {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = known.get(name).copied() {
        return name;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    known.insert(name);
    name
}

/// Likewise a list of names.
fn known_all(names: &[String]) -> &'static [&'static str] {
    let names: Vec<&'static str> = names.iter().map(|name| known(name)).collect();
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(list) = lists.get(&names[..]).copied() {
        return list;
    }
    let list: &'static [&'static str] = Box::leak(names.into_boxed_slice());
    lists.insert(list);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_arrives() {
        let debt = Debt {
            owed: vec![Owed { name: "log", unit: DebtUnit::Pages, amount: 7, limit: Some(9) }],
            turns: vec![DebtTurn { name: "log written", done: 1, whole: 2 }],
            payments: vec![Payment { name: "checkpoint", count: 3 }],
        };
        let opened = OpenedWebServer::new(Some(7), &["pages written"], &[]);
        let answers =
            [WebProcessReply::Owes(Some(debt.clone().into())), WebProcessReply::Opened(opened)];
        let sent = serde_json::to_string(&answers).unwrap();
        let arrived: Vec<WebProcessReply> = serde_json::from_str(&sent).unwrap();
        let [WebProcessReply::Owes(Some(owes)), WebProcessReply::Opened(opened)] = &arrived[..]
        else {
            panic!("{arrived:?}")
        };
        assert_eq!(owes.clone().into_debt(), debt);
        assert_eq!((opened.writes_back(), opened.database), (&["pages written"][..], Some(7)));
        assert!(opened.cache_misses().is_empty());
        // Asked again and again, it keeps one of each.
        assert!(std::ptr::eq(opened.writes_back(), opened.writes_back()));
    }
}
