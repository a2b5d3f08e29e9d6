//! An application at a scale and with a mix, ready to be loaded and run.

use std::collections::BTreeSet;
use std::sync::Arc;

use bakeoff_engines::{Action, Database, Result, Schema, Statement};
use bakeoff_workloads::{
    AuditFindings, Audited, Claims, PreparedWorkload, RowsError, Take, TextSource, WorkloadClient,
};

use crate::audit::{AuditStatements, DatabaseAudit};
use crate::claims::{TransactionClaims, read_claims, saw_violation};
use crate::client::ApplicationClient;
use crate::generators::TableRows;
use crate::given::GivenValue;
use crate::mix::OperationMix;
use crate::script::steps::Operation;

pub struct PreparedApplication {
    pub schema: Schema,
    pub statements: Vec<Statement>,
    /// From numbers of the application's statements to those of this mix.
    pub numbers: Vec<usize>,
    pub operations: Arc<Vec<Operation>>,
    pub mix: OperationMix,
    pub scale: i64,
    pub seed: u64,
    /// Factors, then tables' numbers of rows.
    pub given: Vec<GivenValue>,
    pub rows: TableRows,
    pub text: Arc<TextSource>,
    pub invariants: Option<Arc<Operation>>,
    /// The first of the invariants' statements, which are the last.
    pub first_optional: usize,
    /// If it writes. The last table is the audit's then.
    pub audit: Option<AuditStatements>,
    /// Tables that no operation deletes from.
    pub kept_tables: BTreeSet<usize>,
}

impl PreparedWorkload for PreparedApplication {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The invariants: they may need SQL.
    fn count_optional(&self) -> usize {
        self.statements.len() - self.first_optional
    }

    fn has_operation(&self, operation: usize) -> bool {
        self.mix.has(operation)
    }

    fn rows(&self, table: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        match self.audit.is_some() && table + 1 == self.schema.tables.len() {
            true => Ok(()),
            false => self.rows.for_each_row(table, row),
        }
    }

    fn make_client(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Box<dyn WorkloadClient + '_> {
        Box::new(ApplicationClient::new(self, number, clients, seed))
    }

    fn find_violations(&self, database: &dyn Database) -> Result<Vec<String>> {
        let mut client = ApplicationClient::new(self, 0, 1, self.seed);
        client.find_violations(&mut *database.session()?)
    }

    fn as_audited(&self) -> Option<&dyn Audited> {
        self.audit.as_ref().map(|_| self as &dyn Audited)
    }
}

impl PreparedApplication {
    /// Panics if it writes nothing: then nobody audits it.
    pub fn audit_statements(&self) -> &AuditStatements {
        self.audit.as_ref().expect("an application that writes")
    }

    /// Whether an engine may be without the invariants.
    pub fn needs_sql(&self) -> bool {
        let optional = &self.statements[self.first_optional..];
        optional.iter().any(|statement| matches!(statement.action, Action::Sql(_)))
    }
}

impl Audited for PreparedApplication {
    fn make_claimant<'a>(
        &'a self,
        number: usize,
        claims: Box<dyn Claims + 'a>,
    ) -> Box<dyn WorkloadClient + 'a> {
        let client = ApplicationClient::new(self, number, CLAIMANTS, self.seed);
        Box::new(client.with_claims(TransactionClaims::new(claims)))
    }

    fn count_acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64 {
        let all = claims.iter().flat_map(|bytes| read_claims(bytes, off_at_ns).into_values());
        all.filter(|sent| sent.acknowledged_ns.is_some()).count() as u64
    }

    fn audit_database(
        &self,
        database: &dyn Database,
        bytes: &[Vec<u8>],
        off_at_ns: u64,
    ) -> Result<AuditFindings> {
        let claims: Vec<_> = bytes.iter().map(|bytes| read_claims(bytes, off_at_ns)).collect();
        let audit = DatabaseAudit {
            statements: self.audit_statements(),
            schema: &self.schema,
            kept_tables: &self.kept_tables,
            claims: &claims,
        };
        let mut findings = audit.audit_database(database)?;
        // One that fails without a cut is not the engine's fault; the check after trials tells it.
        if bytes.iter().any(|bytes| saw_violation(bytes)) {
            return Ok(findings);
        }
        for violation in self.find_violations(database)? {
            findings.torn += 1;
            findings.examples.push(violation);
        }
        Ok(findings)
    }
}

/// What `:clients` is where the power is cut.
const CLAIMANTS: usize = 4;
