//! An application at a scale and with a mix, ready to be loaded and run.

use std::collections::BTreeSet;
use std::sync::Arc;

use bakeoff_engines::{Action, Database, Error, Result, Rows, Schema, Session, Statement};
use bakeoff_workloads::{
    AuditFindings, Audited, Claims, PreparedWorkload, RowsError, Take, TextSource, WorkloadClient,
};

use crate::SourcePlace;
use crate::audit::{AuditStatements, DatabaseAudit};
use crate::claims::{TransactionClaims, read_claims, saw_violation};
use crate::client::{ApplicationClient, name_place};
use crate::generators::TableRows;
use crate::given::GivenValue;
use crate::mix::OperationMix;
use crate::script::steps::Operation;

/// Rows of a failing invariant that are told.
const TOLD: usize = 5;

/// A query that must answer 0, or nothing.
#[derive(Clone, Debug)]
pub struct Invariant {
    /// Its number among the prepared statements.
    pub statement: usize,
    pub place: SourcePlace,
}

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
    pub invariants: Vec<Invariant>,
    pub audit: AuditStatements,
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
        self.invariants.len()
    }

    fn has_operation(&self, operation: usize) -> bool {
        self.mix.has(operation)
    }

    fn rows(&self, table: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        match table + 1 < self.schema.tables.len() {
            true => self.rows.for_each_row(table, row),
            false => Ok(()),
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
        let mut session = database.session()?;
        let mut violations = Vec::new();
        for invariant in &self.invariants {
            violations.extend(self.check_invariant(invariant, &mut *session)?);
        }
        Ok(violations)
    }

    fn as_audited(&self) -> Option<&dyn Audited> {
        Some(self)
    }
}

impl PreparedApplication {
    /// Whether an invariant fails now.
    pub fn is_violated(&self, session: &mut dyn Session) -> Result<bool> {
        for invariant in &self.invariants {
            if self.check_invariant(invariant, session)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn check_invariant(
        &self,
        invariant: &Invariant,
        session: &mut dyn Session,
    ) -> Result<Option<String>> {
        let mut rows = Rows::new();
        match session.run(invariant.statement, &[], &mut rows) {
            Ok(_) => {}
            // An engine without SQL has none of them.
            Err(Error::Usage(_)) if self.needs_sql() => return Ok(None),
            Err(error) => return Err(name_place(&invariant.place, error)),
        }
        let is_zero = rows.len() == 1 && rows.width() == 1 && rows.get_int(0, 0) == Some(0);
        if rows.is_empty() || is_zero {
            return Ok(None);
        }
        let told = (0..rows.len().min(TOLD)).map(|row| {
            let cells: Vec<String> =
                rows.row(row).map(|cell| crate::Datum::from(cell).to_string()).collect();
            format!("({})", cells.join(", "))
        });
        let told: Vec<String> = told.collect();
        let more = if rows.len() > TOLD { ", …" } else { "" };
        Ok(Some(format!("{}: answers {}{more}", invariant.place, told.join(", "))))
    }

    fn needs_sql(&self) -> bool {
        let mut asked = self.invariants.iter().map(|it| &self.statements[it.statement].action);
        asked.any(|action| matches!(action, Action::Sql(_)))
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
            statements: &self.audit,
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
