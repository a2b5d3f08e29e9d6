//! The ledger's tables and statements.

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, TableRead};
use bakeoff_engines::{Action, Schema};

use crate::declare::asks;
use crate::{DeclaredStatements, on};

asks! {
    /// A statement that clients send.
    Ask(schema: &Schema):
    ProgressOf, "progress of a client" =>
        on(schema, "progress").one().columns(&["sequence"]).for_update();
    SetProgress, "set progress" => on(schema, "progress").update(&["sequence"]);
    NewEntry, "new entry" => on(schema, "entries").insert();
    ForgetEntry, "forget entry" => on(schema, "entries").delete();
    AddToAccount, "add to account" => on(schema, "accounts").update(&[]).plus("balance");
    PutNote, "put note" => on(schema, "notes").upsert();
    EditNote, "edit note" => on(schema, "notes").update(&["sequence", "title", "content"]);
    RemoveNote, "remove note" => on(schema, "notes").delete();
    Sum, "sum of accounts" => on(schema, "accounts").key(0).sum("balance");
}

/// The statements by which an audit reads a table.
pub struct Scan {
    /// All rows by key.
    pub all: usize,
    /// One row by key.
    pub one: usize,
    pub indexes: Vec<IndexScan>,
}

/// The statements by which an audit reads an index.
pub struct IndexScan {
    /// The columns that the index holds itself, and so can tell of without the rows: its own, and the
    /// key's.
    pub held: Vec<usize>,
    /// These columns of all its entries.
    pub entries: usize,
    /// All rows by the index.
    pub rows: usize,
}

impl Scan {
    /// Declares those of the table of that number.
    pub fn declare(statements: &mut DeclaredStatements, number: usize, table: &Table) -> Self {
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let whole = |path| Action::Read(TableRead::range(number, path, 0, &columns));
        let one = Action::Read(TableRead::by_key(number, table.key.len(), &columns));
        let all = statements.add("all by key", whole(AccessPath::Key));
        let one = statements.add("one by key", one);
        let indexes = table.indexes.iter().enumerate().map(|(index, about)| {
            let key = table.key.iter().filter(|column| !about.columns.contains(column));
            let held: Vec<usize> = about.columns.iter().chain(key).copied().collect();
            let path = AccessPath::Index(index);
            let own = Action::Read(TableRead::range(number, path, 0, &held));
            let entries = statements.add("all of an index", own);
            IndexScan { held, entries, rows: statements.add("all by index", whole(path)) }
        });
        Self { all, one, indexes: indexes.collect() }
    }
}

pub fn schema() -> Schema {
    // A row a client: the number of its last transaction.
    let progress = Table::new("progress")
        .key_column("client", Type::Int)
        .column("sequence", Type::Int)
        .index(&["sequence"]);
    // A row a transaction, of each client's last ones.
    let entries = Table::new("entries")
        .key_column("client", Type::Int)
        .key_column("sequence", Type::Int)
        .column("token", Type::Int)
        .column("giver", Type::Int)
        .column("taker", Type::Int)
        .column("amount", Type::Int)
        .unique(&["token"])
        .index(&["taker"]);
    // What the clients move amounts between.
    let accounts = Table::new("accounts")
        .key_column("number", Type::Int)
        .column("balance", Type::Int)
        .index(&["balance"]);
    // Rows that are written, edited and removed again.
    let notes = Table::new("notes")
        .key_column("client", Type::Int)
        .key_column("slot", Type::Int)
        .column("sequence", Type::Int)
        .column("title", Type::STRING)
        .column("content", Type::MediumText)
        .index(&["title"]);
    Schema { tables: vec![progress, entries, accounts, notes] }
}
