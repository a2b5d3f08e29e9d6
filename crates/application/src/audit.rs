//! What a power cut left of an application's own rows.
//!
//! In cut runs each writing transaction also inserts a row (client, number). That row is the one
//! fact that holds for any SQL: it came with its transaction, or the transaction was torn.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_engines::schema::{Schema, Table, Type};
use bakeoff_engines::statement::{AccessPath, TableRead};
use bakeoff_engines::{Action, Database, Result, Rows, Session, Statement};
use bakeoff_workloads::AuditFindings;

use crate::claims::{InsertedKey, SentTransaction};

/// The name of the table; no table of the user's may have it.
pub const TABLE: &str = "bakeoff_audit";

/// Findings that are told in words; all are counted.
const TOLD: usize = 10;

/// The statements of an audit, by number.
#[derive(Clone, Debug)]
pub struct AuditStatements {
    /// Adds (client, number).
    pub insert: usize,
    /// Reads all (client, number).
    all: usize,
    /// For each table: its rows by one integer key, if it has one.
    by_key: Vec<Option<usize>>,
    /// Tables, their reads in the order of the key and by an index, and the index.
    scans: Vec<(usize, usize, usize, String)>,
}

/// Adds the table to a schema that has the user's tables.
pub fn add_table(schema: &mut Schema) {
    let table = Table::new(TABLE).key_column("client", Type::Int).key_column("number", Type::Int);
    schema.tables.push(table);
}

impl AuditStatements {
    /// Declares them for a schema whose last table is the audit's.
    pub fn declare(schema: &Schema, statements: &mut Vec<Statement>) -> Self {
        let mut add = |name: String, action: Action| {
            statements.push(Statement { name, action });
            statements.len() - 1
        };
        let (audit, users) = schema.tables.split_last().expect("it has the audit's table");
        let read = |table, path, equal, key: &[usize]| {
            Action::Read(TableRead::by_prefix(table, path, equal, key))
        };
        let insert = add("audit: insert".into(), Action::Insert { table: users.len() });
        let all = add("audit: all".into(), read(users.len(), AccessPath::Key, 0, &audit.key));
        let (mut by_key, mut scans) = (Vec::new(), Vec::new());
        for (number, table) in users.iter().enumerate() {
            let has_int_key =
                matches!(table.key[..], [key] if table.columns[key].kind == Type::Int);
            by_key.push(has_int_key.then(|| {
                let name = format!("audit: {} by key", table.name);
                add(name, read(number, AccessPath::Key, 1, &table.key))
            }));
            for (index, about) in table.indexes.iter().enumerate() {
                let by = |path| read(number, path, 0, &table.key);
                let rows = add(format!("audit: all of {}", table.name), by(AccessPath::Key));
                let name = format!("audit: all of {}", about.name);
                let entries = add(name, by(AccessPath::Index(index)));
                scans.push((number, rows, entries, about.name.clone()));
            }
        }
        Self { insert, all, by_key, scans }
    }
}

/// Holds a database against the claims of its clients, by client.
pub struct DatabaseAudit<'a> {
    pub statements: &'a AuditStatements,
    pub schema: &'a Schema,
    /// Tables whose rows stay once they are inserted.
    pub kept_tables: &'a BTreeSet<usize>,
    pub claims: &'a [BTreeMap<i64, SentTransaction>],
}

impl DatabaseAudit<'_> {
    /// Nobody else uses the database meanwhile.
    pub fn audit_database(&self, database: &dyn Database) -> Result<AuditFindings> {
        let mut findings = AuditFindings::default();
        let mut session = database.session()?;
        let present = self.read_present(&mut *session)?;
        let none = BTreeSet::new();
        for (client, sent) in self.claims.iter().enumerate() {
            let there = present.get(&(client as i64)).unwrap_or(&none);
            self.audit_client(client, sent, there, &mut findings);
            for (number, transaction) in sent {
                let is_there = there.contains(number);
                for key in &transaction.keys {
                    self.audit_key(client, *number, is_there, *key, &mut *session, &mut findings)?;
                }
            }
        }
        let clients = self.claims.len() as i64;
        for (client, there) in present.iter().filter(|(client, _)| !(0..clients).contains(*client))
        {
            findings.phantom += there.len() as u64;
            tell(&mut findings, || format!("client {client}: there was no such client"));
        }
        self.scan_indexes(&mut *session, &mut findings)?;
        Ok(findings)
    }

    fn read_present(&self, session: &mut dyn Session) -> Result<BTreeMap<i64, BTreeSet<i64>>> {
        let mut rows = Rows::new();
        session.run(self.statements.all, &[], &mut rows)?;
        let mut present = BTreeMap::<i64, BTreeSet<i64>>::new();
        for row in 0..rows.len() {
            if let (Some(client), Some(number)) = (rows.get_int(row, 0), rows.get_int(row, 1)) {
                present.entry(client).or_default().insert(number);
            }
        }
        Ok(present)
    }

    fn audit_client(
        &self,
        client: usize,
        sent: &BTreeMap<i64, SentTransaction>,
        there: &BTreeSet<i64>,
        findings: &mut AuditFindings,
    ) {
        for number in there.iter().filter(|number| !sent.contains_key(number)) {
            findings.phantom += 1;
            tell(findings, || format!("client {client}: transaction {number} was never sent"));
        }
        let last = there.last().copied().unwrap_or(0);
        for (number, transaction) in sent.iter().filter(|(number, _)| !there.contains(number)) {
            if let Some(at) = transaction.acknowledged_ns {
                findings.lost += 1;
                let oldest = findings.oldest_lost_at_ns.map_or(at, |oldest| oldest.min(at));
                findings.oldest_lost_at_ns = Some(oldest);
                tell(findings, || {
                    format!("client {client}: transaction {number} was acknowledged and is lost")
                });
            }
            if *number < last {
                findings.hole += 1;
                tell(findings, || {
                    format!("client {client}: transaction {number} is missing, and {last} is there")
                });
            }
        }
    }

    /// A transaction is there with all of its rows, or with none.
    fn audit_key(
        &self,
        client: usize,
        number: i64,
        is_there: bool,
        (table, key): InsertedKey,
        session: &mut dyn Session,
        findings: &mut AuditFindings,
    ) -> Result<()> {
        let Some(read) =
            self.statements.by_key[table].filter(|_| self.kept_tables.contains(&table))
        else {
            return Ok(());
        };
        let has_row = session.run(read, &[key.into()], &mut Rows::new())? > 0;
        // A number that a lost transaction took may be given again.
        let torn = is_there && !has_row;
        let half = has_row && !is_there && !self.was_given_again(table, key, client, number);
        if torn || half {
            findings.torn += 1;
            let name = &self.schema.tables[table].name;
            tell(findings, || match torn {
                true => format!(
                    "client {client}: transaction {number} is there without its row {key} of {name}"
                ),
                false => format!(
                    "client {client}: row {key} of {name} is there without its transaction {number}"
                ),
            });
        }
        Ok(())
    }

    fn was_given_again(&self, table: usize, key: i64, client: usize, number: i64) -> bool {
        let all = self.claims.iter().enumerate().flat_map(|(by, sent)| {
            sent.iter().map(move |(other, transaction)| (by, *other, transaction))
        });
        all.filter(|(by, other, _)| (*by, *other) != (client, number))
            .any(|(.., transaction)| transaction.keys.contains(&(table, key)))
    }

    fn scan_indexes(&self, session: &mut dyn Session, findings: &mut AuditFindings) -> Result<()> {
        for (table, rows, entries, index) in &self.statements.scans {
            let by_key = read_keys(session, *rows)?;
            let by_index = read_keys(session, *entries)?;
            let differ = by_key.symmetric_difference(&by_index).count() as u64;
            if differ > 0 {
                findings.index_broken += differ;
                let name = &self.schema.tables[*table].name;
                tell(findings, || format!("{differ} rows of {name} differ in its index {index}"));
            }
        }
        Ok(())
    }
}

fn read_keys(session: &mut dyn Session, statement: usize) -> Result<BTreeSet<String>> {
    let mut rows = Rows::new();
    session.run(statement, &[], &mut rows)?;
    let key = |row: usize| format!("{:?}", rows.row(row).collect::<Vec<_>>());
    Ok((0..rows.len()).map(key).collect())
}

fn tell(findings: &mut AuditFindings, text: impl FnOnce() -> String) {
    if findings.examples.len() < TOLD {
        findings.examples.push(text());
    }
}
