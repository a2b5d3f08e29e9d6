//! The workload `ledger`: made to be checked after a power cut.
//!
//! Each client numbers its transactions 1, 2, 3 … Transaction *s* of client *c* does the same
//! on every run of a seed (`transaction.rs`): it adds an entry, moves an amount between two
//! accounts that all clients share, writes, edits or removes a note, forgets an entry of long
//! ago, and sets the client's progress to *s*. So the last number of each client says what every
//! row of every table must be, and whatever else is found was lost, torn or never sent.

mod audit;
mod claims;
mod client;
mod tables;
#[cfg(test)]
mod tests;
mod transaction;

use std::sync::{Arc, LazyLock};

use bakeoff_engines::{Database, Result, Rows, Schema, Statement};

pub use audit::ClientClaim;
pub use client::{CommitObserver, LedgerClient};

use crate::{
    AuditFindings, Audited, Claims, Name, PreparedWorkload, RowsError, Scales, Take, TextSource,
    Workload, WorkloadClient, WorkloadParameters, WorkloadScale, names,
};
use claims::{ClientHistory, LedgerClaimWriter};
use tables::{Ask, Scan};

/// How many clients there can be: each has a row of its own.
pub const CLIENTS: usize = 1024;

/// What the accounts hold together is their number times this.
const BALANCE: i64 = 1_000_000;

/// The workload.
pub struct Ledger;

/// The scales, and how many accounts they have. Rows that are loaded have two integers each.
static SCALES: LazyLock<Scales<i64, 2>> = LazyLock::new(|| {
    let bytes = |accounts: i64| 16 * (CLIENTS as u64 + accounts as u64);
    Scales::new([
        (WorkloadScale::new("small", "64 accounts, no entry yet", bytes(64)), 64),
        (WorkloadScale::new("large", "100,000 accounts, no entry yet", bytes(100_000)), 100_000),
    ])
});

impl Workload for Ledger {
    fn name(&self) -> &str {
        "ledger"
    }

    fn summary(&self) -> &str {
        "numbered transactions over several tables, made to be checked after a power cut"
    }

    fn scales(&self) -> &[WorkloadScale] {
        SCALES.all()
    }

    fn entries(&self, scale: &str) -> u64 {
        2 * (CLIENTS as u64 + SCALES.find_data(scale) as u64)
    }

    fn operations(&self) -> Vec<Name> {
        names(["transact", "sum"])
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn is_audited(&self) -> bool {
        true
    }

    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let WorkloadParameters { scale, seed, text, .. } = parameters;
        Box::new(PreparedLedger::new(scale, *seed, Arc::clone(text)))
    }
}

/// The ledger at a scale, ready to be loaded, worked on and audited.
pub struct PreparedLedger {
    accounts: i64,
    seed: u64,
    text: Arc<TextSource>,
    schema: Schema,
    statements: Vec<Statement>,
    /// How an audit reads each table.
    scans: Vec<Scan>,
}

impl PreparedLedger {
    /// As [`Workload::prepare`] does it.
    ///
    /// # Panics
    /// When there is no such scale.
    pub fn new(scale: &str, seed: u64, text: Arc<TextSource>) -> Self {
        let schema = tables::schema();
        let mut statements = Ask::declare(&schema);
        let tables = schema.tables.iter().enumerate();
        let scans = tables.map(|(number, table)| Scan::declare(&mut statements, number, table));
        let (accounts, scans) = (SCALES.find_data(scale), scans.collect());
        Self { accounts, seed, text, schema, statements: statements.into_vec(), scans }
    }

    /// Client `number`, which tells `observer` what it sends and what is acknowledged.
    ///
    /// # Panics
    /// When `number` is not below [`CLIENTS`].
    pub fn observed_client<'a>(
        &'a self,
        number: usize,
        observer: Box<dyn CommitObserver + 'a>,
    ) -> LedgerClient<'a> {
        assert!(number < CLIENTS, "client {number} of {CLIENTS}");
        LedgerClient::new(self, number as i64, observer)
    }
}

impl PreparedWorkload for PreparedLedger {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn rows(&self, table: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        match &*self.schema.tables[table].name {
            "progress" => {
                (0..CLIENTS as i64).try_for_each(|client| row(&[client.into(), 0.into()]))
            }
            "accounts" => {
                (0..self.accounts).try_for_each(|number| row(&[number.into(), BALANCE.into()]))
            }
            _ => Ok(()),
        }?;
        Ok(())
    }

    /// An audit works out again what a client did: that follows from the ledger's own seed.
    fn client(&self, number: usize, _: usize, _: u64) -> Box<dyn WorkloadClient + '_> {
        Box::new(self.observed_client(number, Box::new(())))
    }

    /// What is moved between accounts is in one of them.
    fn invariants(&self, database: &dyn Database) -> Result<Vec<String>> {
        let mut rows = Rows::new();
        database.session()?.run(tables::Ask::Sum as usize, &[], &mut rows)?;
        let (sum, all) = (rows.int(0, 0).unwrap_or_default(), self.accounts * BALANCE);
        let wrong = || format!("the accounts hold {sum} together instead of {all}");
        Ok((sum != all).then(wrong).into_iter().collect())
    }

    fn audited(&self) -> Option<&dyn Audited> {
        Some(self)
    }
}

impl Audited for PreparedLedger {
    fn claimant<'a>(
        &'a self,
        number: usize,
        claims: Box<dyn Claims + 'a>,
    ) -> Box<dyn WorkloadClient + 'a> {
        Box::new(self.observed_client(number, Box::new(LedgerClaimWriter(claims))))
    }

    fn acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64 {
        claims.iter().map(|records| ClientHistory::read(records, off_at_ns).count()).sum()
    }

    fn audit(
        &self,
        database: &dyn Database,
        claims: &[Vec<u8>],
        off_at_ns: u64,
    ) -> Result<AuditFindings> {
        let accounts: Vec<ClientHistory> =
            claims.iter().map(|records| ClientHistory::read(records, off_at_ns)).collect();
        let claims: Vec<ClientClaim> = accounts.iter().map(ClientHistory::claim).collect();
        let (mut findings, first_lost) = self.compare(database, &claims)?;
        let times =
            first_lost.iter().filter_map(|(client, first)| accounts.get(*client)?.when(*first));
        findings.oldest_lost_at_ns = times.min();
        Ok(findings)
    }
}
