use std::collections::{BTreeMap, BTreeSet};

use bakeoff_engines::{Access, Database, Error, RealValue, Result, Rows, Session, Value};

use super::tables::IndexScan;
use super::transaction::{KEPT, NoteChange, make_token};
use super::{BALANCE, PreparedLedger};
use crate::AuditFindings;

/// Findings that are described in words; all are counted.
const TOLD: usize = 10;

type FirstLost = Vec<(usize, i64)>;

/// The transactions that one client sent, and those that were acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientClaim {
    /// The last transaction that may be there.
    pub sent: i64,
    /// The last transaction that must be there.
    pub acknowledged: i64,
}

type LedgerKey = (i64, i64);

struct FoundLedger {
    progress: BTreeMap<i64, i64>,
    /// Token, giver, taker, amount.
    entries: BTreeMap<LedgerKey, [i64; 4]>,
    accounts: BTreeMap<i64, i64>,
    /// Sequence, title, content.
    notes: BTreeMap<LedgerKey, (i64, String, String)>,
}

type Notes<'a> = BTreeMap<i64, (i64, &'a str, &'a str)>;

impl AuditFindings {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }

    fn add_example(&mut self, text: impl FnOnce() -> String) {
        if self.examples.len() < TOLD {
            self.examples.push(text());
        }
    }

    fn count_lost(&mut self, client: i64, first: i64, last: i64) {
        self.lost += (last - first + 1) as u64;
        self.add_example(|| {
            format!("client {client}: {first} to {last} were acknowledged and are lost")
        });
    }

    fn count_phantom(&mut self, text: impl FnOnce() -> String) {
        self.phantom += 1;
        self.add_example(text);
    }

    fn count_torn(&mut self, text: impl FnOnce() -> String) {
        self.torn += 1;
        self.add_example(text);
    }

    fn count_hole(&mut self, text: impl FnOnce() -> String) {
        self.hole += 1;
        self.add_example(text);
    }
}

impl PreparedLedger {
    /// Compares the whole database with the claims, client by client. Nobody else uses it
    /// meanwhile.
    pub fn compare_claims(
        &self,
        database: &dyn Database,
        claims: &[ClientClaim],
    ) -> Result<(AuditFindings, FirstLost)> {
        let (mut findings, mut first_lost) = (AuditFindings::default(), FirstLost::new());
        let mut session = database.session()?;
        let found = self.read_ledger(&mut *session, &mut findings)?;
        let mut balances = vec![BALANCE; self.accounts as usize];
        for client in 0..super::CLIENTS as i64 {
            let claim = claims.get(client as usize).copied().unwrap_or_default();
            let Some(&progress) = found.progress.get(&client) else {
                findings.count_torn(|| format!("client {client}: its progress is gone"));
                continue;
            };
            if progress < claim.acknowledged {
                findings.count_lost(client, progress + 1, claim.acknowledged);
                first_lost.push((client as usize, progress + 1));
            } else if progress > claim.sent {
                let sent = claim.sent;
                findings
                    .count_phantom(|| format!("client {client}: at {progress}, sent up to {sent}"));
            }
            let gone = self.audit_entries(client, progress, claim, &found, &mut findings);
            let notes = self.replay_client(client, progress, &mut balances);
            self.audit_notes((client, progress, claim), &notes, &gone, &found, &mut findings);
        }
        self.audit_accounts(&balances, &found, &mut findings);
        Ok((findings, first_lost))
    }

    fn replay_client(&self, client: i64, progress: i64, balances: &mut [i64]) -> Notes<'_> {
        let mut notes = Notes::new();
        for sequence in 1..=progress {
            let transaction = self.make_transaction(client, sequence);
            balances[transaction.giver as usize] -= transaction.amount;
            balances[transaction.taker as usize] += transaction.amount;
            match transaction.note {
                NoteChange::Put { title, content } => {
                    notes.insert(transaction.slot, (sequence, title, content));
                }
                NoteChange::Edit { title, content } => {
                    notes
                        .entry(transaction.slot)
                        .and_modify(|note| *note = (sequence, title, content));
                }
                NoteChange::Remove => drop(notes.remove(&transaction.slot)),
            }
        }
        notes
    }

    fn audit_entries(
        &self,
        client: i64,
        progress: i64,
        claim: ClientClaim,
        found: &FoundLedger,
        findings: &mut AuditFindings,
    ) -> BTreeSet<i64> {
        let expected = (progress - KEPT + 1).max(1)..=progress;
        for (&(_, sequence), entry) in found.entries.range((client, i64::MIN)..=(client, i64::MAX))
        {
            let transaction = self.make_transaction(client, sequence);
            let right = [
                make_token(client, sequence),
                transaction.giver,
                transaction.taker,
                transaction.amount,
            ];
            if sequence < 1 || sequence > claim.sent.max(progress) || *entry != right {
                findings.count_phantom(|| {
                    format!("client {client}: entry {sequence} was never sent so")
                });
            } else if sequence > progress {
                findings.count_torn(|| {
                    format!("client {client}: entry {sequence}, progress {progress}")
                });
            } else if sequence < *expected.start() {
                findings.count_torn(|| format!("client {client}: entry {sequence} was forgotten"));
            }
        }
        let gone = |sequence: &i64| !found.entries.contains_key(&(client, *sequence));
        expected.filter(gone).collect()
    }

    fn audit_notes(
        &self,
        (client, progress, claim): (i64, i64, ClientClaim),
        expected: &Notes<'_>,
        gone: &BTreeSet<i64>,
        found: &FoundLedger,
        findings: &mut AuditFindings,
    ) {
        let there: BTreeMap<i64, &(i64, String, String)> = found
            .notes
            .range((client, i64::MIN)..=(client, i64::MAX))
            .map(|((_, slot), note)| (*slot, note))
            .collect();
        let mut shown = BTreeSet::new();
        for (slot, (sequence, title, content)) in &there {
            let expects = expected.get(slot).map(|(sequence, ..)| *sequence);
            if !self.would_write(client, *slot, *sequence, title, content)
                || *sequence > claim.sent.max(progress)
            {
                findings
                    .count_phantom(|| format!("client {client}: note {slot} was never sent so"));
            } else if expects == Some(*sequence) {
                shown.insert(*sequence);
            } else if expects.is_none_or(|expects| !gone.contains(&expects)) {
                findings.count_torn(|| format!("client {client}: note {slot} is of {sequence}"));
            }
        }
        for (slot, (sequence, ..)) in expected {
            if !there.contains_key(slot) && !gone.contains(sequence) {
                findings
                    .count_torn(|| format!("client {client}: note {slot} of {sequence} is gone"));
            }
        }
        for sequence in gone {
            match shown.contains(sequence) {
                true => {
                    findings.count_torn(|| format!("client {client}: entry {sequence} is gone"))
                }
                false => findings.count_hole(|| {
                    format!("client {client}: {sequence} is gone, its progress is {progress}")
                }),
            }
        }
    }

    fn would_write(
        &self,
        client: i64,
        slot: i64,
        sequence: i64,
        title: &str,
        content: &str,
    ) -> bool {
        let transaction = self.make_transaction(client, sequence);
        let note = match transaction.note {
            NoteChange::Put { title, content } | NoteChange::Edit { title, content } => {
                (title, content)
            }
            NoteChange::Remove => return false,
        };
        sequence >= 1 && transaction.slot == slot && note == (title, content)
    }

    fn audit_accounts(&self, expected: &[i64], found: &FoundLedger, findings: &mut AuditFindings) {
        let sum: i64 = found.accounts.values().sum();
        let all = self.accounts * BALANCE;
        if sum != all {
            findings.count_torn(|| format!("the accounts hold {sum} together instead of {all}"));
        } else if findings.hole == 0 {
            // With a hole, missing transfers are no second finding.
            for (number, balance) in expected.iter().enumerate() {
                let there = found.accounts.get(&(number as i64));
                if there != Some(balance) {
                    let text = || format!("account {number} holds {there:?} instead of {balance}");
                    findings.count_torn(text);
                }
            }
        }
    }

    fn read_ledger(
        &self,
        session: &mut dyn Session,
        findings: &mut AuditFindings,
    ) -> Result<FoundLedger> {
        session.begin(Access::Read)?;
        let mut tables = Vec::new();
        for (table, scan) in self.schema.tables.iter().zip(&self.scans) {
            let mut all = Rows::new();
            session.run(scan.all, &[], &mut all)?;
            self.check_lookups(session, scan.one, table.key.len(), &all, findings)?;
            for (index, scan) in table.indexes.iter().zip(&scan.indexes) {
                let wrong = check_index(session, scan, &all)?;
                if wrong > 0 {
                    findings.index_broken += wrong as u64;
                    findings.add_example(|| format!("index {}: {wrong} rows differ", index.name));
                }
            }
            tables.push(all);
        }
        session.rollback()?;
        collect_found(&tables)
    }

    fn check_lookups(
        &self,
        session: &mut dyn Session,
        statement: usize,
        key: usize,
        all: &Rows,
        findings: &mut AuditFindings,
    ) -> Result<()> {
        let mut one = Rows::new();
        for row in 0..all.len() {
            // The ledger's keys are its tables' first columns.
            let values: Vec<Value<'_>> = all.row(row).take(key).collect();
            session.run(statement, &values, &mut one)?;
            if one.len() != 1 || !one.row(0).eq(all.row(row)) {
                findings.index_broken += 1;
                findings.add_example(|| format!("the row {values:?} is not found by its key"));
            }
        }
        Ok(())
    }
}

/// Rows that the index lacks, has too many of, or holds differently. It is first asked only for its
/// own columns: an entry without a row has no row to read.
fn check_index(session: &mut dyn Session, scan: &IndexScan, all: &Rows) -> Result<usize> {
    let every: Vec<usize> = (0..all.width()).collect();
    for (statement, columns) in [(scan.entries, &scan.held), (scan.rows, &every)] {
        let expected: BTreeSet<_> =
            (0..all.len()).map(|row| own_cells(all, row, columns)).collect();
        let mut rows = Rows::new();
        session.run(statement, &[], &mut rows)?;
        let by_index: BTreeSet<_> = (0..rows.len()).map(|row| own_row(&rows, row)).collect();
        let twice = rows.len() - by_index.len();
        let wrong = expected.symmetric_difference(&by_index).count() + twice;
        if wrong > 0 {
            return Ok(wrong);
        }
    }
    Ok(0)
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owned {
    Null,
    Int(i64),
    Real(RealValue),
    Text(String),
    Bytes(Vec<u8>),
}

fn own_row(rows: &Rows, row: usize) -> Vec<Owned> {
    rows.row(row).map(Owned::from_value).collect()
}

fn own_cells(rows: &Rows, row: usize, columns: &[usize]) -> Vec<Owned> {
    columns.iter().map(|column| Owned::from_value(rows.get(row, *column))).collect()
}

impl Owned {
    fn from_value(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(int) => Self::Int(int),
            Value::Real(real) => Self::Real(real),
            Value::Text(text) => Self::Text(text.to_owned()),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_owned()),
        }
    }
}

fn collect_found(tables: &[Rows]) -> Result<FoundLedger> {
    let [progress, entries, accounts, notes] = tables else {
        unreachable!("there are four tables")
    };
    let int = |rows: &Rows, row, column| {
        rows.get_int(row, column)
            .ok_or_else(|| Error::from_engine("an integer is not one any more"))
    };
    let text = |row, column| match notes.get(row, column) {
        Value::Text(text) => Ok(text.to_owned()),
        _ => Err(Error::from_engine("a text is not one any more")),
    };
    let pairs = |rows: &Rows| -> Result<BTreeMap<i64, i64>> {
        (0..rows.len()).map(|row| Ok((int(rows, row, 0)?, int(rows, row, 1)?))).collect()
    };
    let key =
        |rows: &Rows, row| -> Result<LedgerKey> { Ok((int(rows, row, 0)?, int(rows, row, 1)?)) };
    let entry = |row| -> Result<_> {
        let [token, giver, taker, amount] = [2, 3, 4, 5].map(|column| int(entries, row, column));
        Ok((key(entries, row)?, [token?, giver?, taker?, amount?]))
    };
    let note = |row| Ok((key(notes, row)?, (int(notes, row, 2)?, text(row, 3)?, text(row, 4)?)));
    Ok(FoundLedger {
        progress: pairs(progress)?,
        entries: (0..entries.len()).map(entry).collect::<Result<_>>()?,
        accounts: pairs(accounts)?,
        notes: (0..notes.len()).map(note).collect::<Result<_>>()?,
    })
}
