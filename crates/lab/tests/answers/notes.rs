//! Workloads whose statements show what engines may choose and what not.

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, ReadOrder, Set, TableRead};
use bakeoff_engines::{Access, Action, Result, Rows, Schema, Session, Statement, Value};
use bakeoff_workloads::{
    OperationTally, PreparedWorkload, RowsError, Take, TransactionEnd, WorkloadClient, transaction,
};

fn statements<const N: usize>(all: [(&str, Action); N]) -> Vec<Statement> {
    all.map(|(name, action)| Statement { name: name.into(), action }).into()
}

/// Notes in groups, and labels on them, both numbered by the engine.
pub struct Notes {
    schema: Schema,
    statements: Vec<Statement>,
}

pub const OPERATIONS: [&str; 3] = ["add", "edit", "list"];
const NOTES: usize = 0;
const LABELS: usize = 1;
const ADD_NOTE: usize = 0;
const ADD_LABEL: usize = 1;
const EDIT: usize = 2;
const BY_GROUP: usize = 3;
const LABELS_OF: usize = 4;
const NOTE: usize = 5;
const GROUPS: i64 = 3;

impl Default for Notes {
    fn default() -> Self {
        let notes = Table::new("notes")
            .generated_key("id")
            .column("group_id", Type::Int)
            .column("words", Type::STRING)
            .index(&["group_id"]);
        let labels = Table::new("labels")
            .generated_key("id")
            .column("note_id", Type::Int)
            .column("color", Type::Int)
            .index(&["note_id"]);
        let by_group = TableRead {
            order: ReadOrder::Descending,
            limit: Some(20),
            ..TableRead::range(NOTES, AccessPath::Index(0), 1, &[0, 1, 2])
        };
        let labels_of = TableRead::range(LABELS, AccessPath::Index(0), 1, &[0, 1, 2]);
        let edit = Action::Update { table: NOTES, set: vec![Set::To(2)], only_if: Vec::new() };
        Self {
            statements: statements([
                ("new note", Action::Insert { table: NOTES }),
                ("new label", Action::Insert { table: LABELS }),
                ("edit note", edit),
                ("notes of a group", Action::Read(by_group)),
                ("labels of a note", Action::Read(labels_of)),
                ("note by id", Action::Read(TableRead::by_key(NOTES, 1, &[2]))),
                ("delete note", Action::Delete { table: NOTES }),
                ("delete label", Action::Delete { table: LABELS }),
            ]),
            schema: Schema { tables: vec![notes, labels] },
        }
    }
}

impl PreparedWorkload for Notes {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn rows(&self, table: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        for id in 1..=30_i64 {
            match table {
                NOTES => row(&[id.into(), (id % GROUPS).into(), "loaded".into()])?,
                _ => row(&[id.into(), id.into(), (id % 5).into()])?,
            }
        }
        Ok(())
    }

    fn client(&self, _: usize, _: usize, _: u64) -> Box<dyn WorkloadClient + '_> {
        Box::new(Writer { turn: 0, newest: 1, rows: Rows::new() })
    }
}

struct Writer {
    turn: i64,
    newest: i64,
    rows: Rows,
}

impl Writer {
    fn add(&mut self, session: &mut dyn Session, tally: &mut OperationTally) -> Result<()> {
        let Self { turn, newest, rows } = self;
        transaction(session, tally, |session| {
            let group = *turn / 3 % GROUPS;
            session.run(ADD_NOTE, &[Value::Null, group.into(), "new".into()], rows)?;
            let note = rows.int(0, 0).expect("a key");
            // Two labels that differ in their keys alone, so that their order is seen.
            for color in [1_i64, 1] {
                session.run(ADD_LABEL, &[Value::Null, note.into(), color.into()], rows)?;
            }
            *newest = note;
            Ok(TransactionEnd::Commit(()))
        })
    }

    /// Reads the labels of each note of a group by the keys that the group's notes have.
    fn list(&mut self, session: &mut dyn Session) -> Result<()> {
        session.begin(Access::Read)?;
        let listed = self.listed(session);
        session.rollback()?;
        listed
    }

    fn listed(&mut self, session: &mut dyn Session) -> Result<()> {
        session.run(BY_GROUP, &[(self.turn / 3 % GROUPS).into()], &mut self.rows)?;
        let notes: Vec<i64> =
            (0..self.rows.len()).filter_map(|row| self.rows.int(row, 0)).collect();
        for note in notes.iter().take(3) {
            session.run(LABELS_OF, &[(*note).into()], &mut self.rows)?;
        }
        session.run(NOTE, &[self.newest.into()], &mut self.rows).map(drop)
    }
}

impl WorkloadClient for Writer {
    fn choose(&mut self) -> usize {
        self.turn += 1;
        (self.turn % 3) as usize
    }

    fn perform(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        match operation {
            0 => self.add(session, tally),
            1 => {
                let (newest, words) = (self.newest, format!("edited {}", self.turn));
                transaction(session, tally, |session| {
                    session.run(EDIT, &[(&*words).into(), newest.into()], &mut self.rows)?;
                    Ok(TransactionEnd::Commit(()))
                })
            }
            _ => self.list(session),
        }
    }
}

/// What MyRocks is known to answer wrong: a transaction moves a row down in an index, and reads it there.
pub struct Moves {
    schema: Schema,
    statements: Vec<Statement>,
}

impl Default for Moves {
    fn default() -> Self {
        let table = Table::new("t").key_column("k", Type::Int).column("s", Type::Int).index(&["s"]);
        let read =
            TableRead { for_update: true, ..TableRead::range(0, AccessPath::Index(0), 1, &[0, 1]) };
        let set = Action::Update { table: 0, set: vec![Set::To(1)], only_if: Vec::new() };
        Self {
            schema: Schema { tables: vec![table] },
            statements: statements([
                ("move a row", set),
                ("rows of a group, to change", Action::Read(read)),
            ]),
        }
    }
}

impl PreparedWorkload for Moves {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn rows(&self, _: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        for (k, s) in [(1, 1), (2, 2), (5, 1), (7, 2), (8, 2)] {
            row(&[Value::Int(k), Value::Int(s)])?;
        }
        Ok(())
    }

    fn client(&self, _: usize, _: usize, _: u64) -> Box<dyn WorkloadClient + '_> {
        Box::new(Mover)
    }
}

struct Mover;

impl WorkloadClient for Mover {
    fn choose(&mut self) -> usize {
        0
    }

    fn perform(
        &mut self,
        _: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        transaction(session, tally, |session| {
            let mut rows = Rows::new();
            session.run(0, &[0.into(), 5.into()], &mut rows)?;
            session.run(1, &[0.into()], &mut rows)?;
            // As it was, so that the next is asked the same.
            Ok(TransactionEnd::Rollback(()))
        })
    }
}
