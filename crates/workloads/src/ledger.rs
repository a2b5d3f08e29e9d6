//! The workload `ledger`: made to be checked after a power cut.
//!
//! Each client numbers its transactions 1, 2, 3 … Transaction *s* of client *c* is the same in
//! every run of a seed (`transaction.rs`). So the last number of each client says what every row
//! must be, and any other row was lost, torn or never sent.

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
pub use claims::read_claim_clock;
pub use client::{CommitObserver, LedgerClient};

use crate::{
    AuditFindings, Audited, Claims, Name, PreparedWorkload, RowsError, Scales, Take, TextSource,
    Workload, WorkloadClient, WorkloadParameters, WorkloadScale, to_names,
};
use claims::{ClientHistory, LedgerClaimWriter};
use tables::{Ask, Scan};

/// The most clients: each has a row of its own.
pub const CLIENTS: usize = 1024;

const BALANCE: i64 = 1_000_000;

/// The workload.
pub struct Ledger;

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

    fn estimate_entries(&self, scale: &str) -> u64 {
        2 * (CLIENTS as u64 + SCALES.find_data(scale) as u64)
    }

    fn operations(&self) -> Vec<Name> {
        to_names(["transact", "sum"])
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

/// The ledger at a scale.
pub struct PreparedLedger {
    accounts: i64,
    seed: u64,
    text: Arc<TextSource>,
    schema: Schema,
    statements: Vec<Statement>,
    scans: Vec<Scan>,
}

impl PreparedLedger {
    /// As [`Workload::prepare`].
    pub fn new(scale: &str, seed: u64, text: Arc<TextSource>) -> Self {
        let schema = tables::declare_schema();
        let mut statements = Ask::declare(&schema);
        let tables = schema.tables.iter().enumerate();
        let scans = tables.map(|(number, table)| Scan::declare(&mut statements, number, table));
        let (accounts, scans) = (SCALES.find_data(scale), scans.collect());
        Self { accounts, seed, text, schema, statements: statements.into_vec(), scans }
    }

    /// A client that tells `observer` what it sends and what is acknowledged.
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

    /// Without the seed: an audit computes again what a client did, from the ledger's own seed.
    fn make_client(&self, number: usize, _: usize, _: u64) -> Box<dyn WorkloadClient + '_> {
        Box::new(self.observed_client(number, Box::new(())))
    }

    /// Transfers leave the sum of the accounts as it is.
    fn find_violations(&self, database: &dyn Database) -> Result<Vec<String>> {
        let mut rows = Rows::new();
        database.session()?.run(tables::Ask::Sum as usize, &[], &mut rows)?;
        let (sum, all) = (rows.get_int(0, 0).unwrap_or_default(), self.accounts * BALANCE);
        let wrong = || format!("the accounts hold {sum} together instead of {all}");
        Ok((sum != all).then(wrong).into_iter().collect())
    }

    fn as_audited(&self) -> Option<&dyn Audited> {
        Some(self)
    }
}

impl Audited for PreparedLedger {
    fn make_claimant<'a>(
        &'a self,
        number: usize,
        claims: Box<dyn Claims + 'a>,
    ) -> Box<dyn WorkloadClient + 'a> {
        Box::new(self.observed_client(number, Box::new(LedgerClaimWriter(claims))))
    }

    fn count_acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64 {
        claims
            .iter()
            .map(|records| ClientHistory::read_records(records, off_at_ns).count_acknowledged())
            .sum()
    }

    fn audit_database(
        &self,
        database: &dyn Database,
        claims: &[Vec<u8>],
        off_at_ns: u64,
    ) -> Result<AuditFindings> {
        let accounts: Vec<ClientHistory> =
            claims.iter().map(|records| ClientHistory::read_records(records, off_at_ns)).collect();
        let claims: Vec<ClientClaim> = accounts.iter().map(ClientHistory::to_claim).collect();
        let (mut findings, first_lost) = self.compare_claims(database, &claims)?;
        let times = first_lost
            .iter()
            .filter_map(|(client, first)| accounts.get(*client)?.acknowledged_at(*first));
        findings.oldest_lost_at_ns = times.min();
        Ok(findings)
    }
}
