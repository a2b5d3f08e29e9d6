//! The ledger's tables and statements.

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{Path, Read, Set, Yield};
use bakeoff_engines::{Action, Schema, Statement};

/// A row a client: the number of its last transaction.
pub const PROGRESS: usize = 0;
/// A row a transaction, of each client's last ones.
pub const ENTRIES: usize = 1;
/// What the clients move amounts between.
pub const ACCOUNTS: usize = 2;
/// Rows that are written, edited and removed again.
pub const NOTES: usize = 3;

/// Statements, by their numbers.
pub const PROGRESS_OF: usize = 0;
pub const SET_PROGRESS: usize = 1;
pub const NEW_ENTRY: usize = 2;
pub const FORGET_ENTRY: usize = 3;
pub const ADD_TO_ACCOUNT: usize = 4;
pub const PUT_NOTE: usize = 5;
pub const EDIT_NOTE: usize = 6;
pub const REMOVE_NOTE: usize = 7;
pub const SUM: usize = 8;
/// From here on for each table in turn: all rows by key, one row by key, and for each index what it
/// holds itself and all rows by it.
pub const AUDIT: usize = 9;

pub fn schema() -> Schema {
    let progress = Table::new("progress")
        .key_column("client", Type::Int)
        .column("sequence", Type::Int)
        .index(&["sequence"]);
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
    let notes = Table::new("notes")
        .key_column("client", Type::Int)
        .key_column("slot", Type::Int)
        .column("sequence", Type::Int)
        .column("title", Type::STRING)
        .column("content", Type::MediumText)
        .index(&["title"]);
    Schema { tables: vec![progress, entries, accounts, notes] }
}

/// The columns that an index holds itself, and so can tell of without the rows: its own, and the
/// key's.
pub fn held(table: &Table, index: usize) -> Vec<usize> {
    let own = &table.indexes[index].columns;
    let key = table.key.iter().filter(|column| !own.contains(column));
    own.iter().chain(key).copied().collect()
}

pub fn statements(schema: &Schema) -> Vec<Statement> {
    let progress = Read { for_update: true, ..Read::by_key(PROGRESS, 1, &[1]) };
    let sum = Read { yields: Yield::Sum(1), ..Read::range(ACCOUNTS, Path::Key, 0, &[]) };
    let update = |table, set| Action::Update { table, set, only_if: Vec::new() };
    let edit = vec![Set::To(2), Set::To(3), Set::To(4)];
    let mut all = vec![
        ("progress of a client", Action::Read(progress)),
        ("set progress", update(PROGRESS, vec![Set::To(1)])),
        ("new entry", Action::Insert { table: ENTRIES }),
        ("forget entry", Action::Delete { table: ENTRIES }),
        ("add to account", update(ACCOUNTS, vec![Set::Add(1)])),
        ("put note", Action::Upsert { table: NOTES }),
        ("edit note", update(NOTES, edit)),
        ("remove note", Action::Delete { table: NOTES }),
        ("sum of accounts", Action::Read(sum)),
    ];
    for (number, table) in schema.tables.iter().enumerate() {
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let whole = |path| Action::Read(Read::range(number, path, 0, &columns));
        all.push(("all by key", whole(Path::Key)));
        all.push(("one by key", Action::Read(Read::by_key(number, table.key.len(), &columns))));
        for index in 0..table.indexes.len() {
            let own = Read::range(number, Path::Index(index), 0, &held(table, index));
            all.push(("all of an index", Action::Read(own)));
            all.push(("all by index", whole(Path::Index(index))));
        }
    }
    all.into_iter().map(|(name, action)| Statement { name: name.into(), action }).collect()
}
