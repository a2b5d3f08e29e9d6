use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, TableRead};
use bakeoff_engines::{Action, Schema};

use crate::declare::asks;
use crate::{DeclaredStatements, on_table};

asks! {
    Ask(schema: &Schema):
    ProgressOf, "progress of a client" =>
        on_table(schema, "progress").read_one().columns(&["sequence"]).for_update();
    SetProgress, "set progress" => on_table(schema, "progress").update(&["sequence"]);
    NewEntry, "new entry" => on_table(schema, "entries").insert();
    ForgetEntry, "forget entry" => on_table(schema, "entries").delete();
    AddToAccount, "add to account" => on_table(schema, "accounts").update(&[]).plus("balance");
    PutNote, "put note" => on_table(schema, "notes").upsert();
    EditNote, "edit note" => on_table(schema, "notes").update(&["sequence", "title", "content"]);
    RemoveNote, "remove note" => on_table(schema, "notes").delete();
    Sum, "sum of accounts" => on_table(schema, "accounts").read_by_key(0).sum("balance");
}

pub struct Scan {
    pub all: usize,
    pub one: usize,
    pub indexes: Vec<IndexScan>,
}

pub struct IndexScan {
    /// Columns that the index returns without reading rows: its own and the key's.
    pub held: Vec<usize>,
    pub entries: usize,
    pub rows: usize,
}

impl Scan {
    pub fn declare(statements: &mut DeclaredStatements, number: usize, table: &Table) -> Self {
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let whole = |path| Action::Read(TableRead::by_prefix(number, path, 0, &columns));
        let one = Action::Read(TableRead::by_key(number, table.key.len(), &columns));
        let all = statements.add("all by key", whole(AccessPath::Key));
        let one = statements.add("one by key", one);
        let indexes = table.indexes.iter().enumerate().map(|(index, about)| {
            let key = table.key.iter().filter(|column| !about.columns.contains(column));
            let held: Vec<usize> = about.columns.iter().chain(key).copied().collect();
            let path = AccessPath::Index(index);
            let own = Action::Read(TableRead::by_prefix(number, path, 0, &held));
            let entries = statements.add("all of an index", own);
            IndexScan { held, entries, rows: statements.add("all by index", whole(path)) }
        });
        Self { all, one, indexes: indexes.collect() }
    }
}

pub fn declare_schema() -> Schema {
    let progress = Table::new("progress")
        .key_column("client", Type::Int)
        .column("sequence", Type::Int)
        .index(&["sequence"]);
    // The last transactions of each client.
    let entries = Table::new("entries")
        .key_column("client", Type::Int)
        .key_column("sequence", Type::Int)
        .column("token", Type::Int)
        .column("giver", Type::Int)
        .column("taker", Type::Int)
        .column("amount", Type::Int)
        .unique(&["token"])
        .index(&["taker"]);
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
