//! Random databases, loads, statements and transactions, each answer compared with the model's.

use std::fmt::Write;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, Action, ReadScope, TableRead};
use bakeoff_engines::{
    Access, Database, Engine, EngineHome, Error, OpenTerms, Rows, Schema, Session, Statement, Value,
};
use proptest::collection::vec;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::conformance::genes::Genes;
use crate::conformance::model::{Answer, Cell, Duplicate, Model, Row, cells};
use crate::conformance::{given, random, statements, terms};

/// How many random databases an engine is tried on, unless PROPTEST_CASES says otherwise; fewer if
/// each opening starts a server.
const CASES: u32 = 32;
const CASES_OF_SERVER: u32 = 6;

/// The numbers from which a case is made, in separate lists so that each can be left out.
#[derive(Clone, Debug)]
struct Case {
    tables: Vec<Vec<u32>>,
    statements: Vec<Vec<u32>>,
    rows: Vec<Vec<u32>>,
    steps: Vec<Vec<u32>>,
}

fn case() -> impl Strategy<Value = Case> {
    let genes = |length| vec(0..10_000_u32, length);
    let parts = (
        vec(genes(24), 1..=3),
        vec(genes(20), 6..24),
        vec(genes(10), 0..20),
        vec(genes(14), 20..300),
    );
    parts.prop_map(|(tables, statements, rows, steps)| Case { tables, statements, rows, steps })
}

/// Random statements get the same answers as from a simple model in memory.
pub fn answers_like_the_model(engine: &dyn Engine) {
    try_cases(engine, Config::default().max_shrink_iters);
}

/// Tries random cases; simplifies a failing one in at most this many steps, and panics with it.
pub fn try_cases(engine: &dyn Engine, max_shrink_iters: u32) {
    let default = Config::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or_else(
        || match engine.about().home {
            EngineHome::Server => CASES_OF_SERVER,
            EngineHome::Process | EngineHome::External => CASES,
        },
        |_| default.cases,
    );
    let config = Config { cases, max_shrink_iters, failure_persistence: None, ..default };
    let outcome = TestRunner::new(config).run(&case(), |case| {
        let mut trial = Trial::new(engine, &case);
        trial.run(&case).map_err(|what| {
            let name = engine.about().name;
            let (schema, trace) = (&trial.schema, &trial.trace);
            TestCaseError::fail(format!("{name}: {what}\n{schema:#?}\n{trace}"))
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// The error says what is wrong with the engine.
type Checked = Result<(), String>;

/// One database, from its creation over its last reopening to its end.
struct Trial<'a> {
    engine: &'a dyn Engine,
    terms: OpenTerms,
    schema: Schema,
    statements: Vec<Statement>,
    /// The number of the first scan among the statements.
    scans: usize,
    /// The committed rows, and those that the open transaction sees.
    committed: Model,
    seen: Model,
    open: Option<Access>,
    rows: Rows,
    trace: String,
}

impl<'a> Trial<'a> {
    fn new(engine: &'a dyn Engine, case: &Case) -> Self {
        let schema = random::schema(&case.tables);
        let statements = random::statements(&schema, &case.statements);
        let model = Model::new(&schema);
        let given = given(engine);
        // Usually the weakest, which is the quickest.
        let durability = *given.get((case.steps.len() % 6).saturating_sub(3)).unwrap_or(&given[0]);
        Self {
            engine,
            terms: OpenTerms::new(durability),
            scans: statements.len() - random::scans(&schema).len(),
            schema,
            statements,
            committed: model.clone(),
            seen: model,
            open: None,
            rows: Rows::new(),
            trace: String::new(),
        }
    }

    fn run(&mut self, case: &Case) -> Checked {
        let folder = crate::conformance::folder::of(self.engine);
        let open = |this: &Self| {
            this.engine.open(folder.path(), &this.terms, &this.schema, &this.statements)
        };
        self.load(&*open(self).map_err(words)?, &case.rows)?;
        let mut steps = case.steps.iter();
        loop {
            let database = open(self).map_err(words)?;
            let reopens = self.live(&*database, &mut steps)?;
            self.trace.push_str(if reopens { "reopen\n" } else { "end\n" });
            let faults = database.check().map_err(words)?;
            if !faults.is_empty() {
                return Err(format!("the engine's own check says {faults:?}"));
            }
            if !reopens {
                database.drain().map_err(words)?;
                drop(database);
                let database = open(self).map_err(words)?;
                let mut session = database.session().map_err(words)?;
                return self.scan(&mut *session);
            }
        }
    }

    /// Loads random rows into each table, in the order of their keys.
    fn load(&mut self, database: &dyn Database, genes: &[Vec<u32>]) -> Checked {
        for table in 0..self.schema.tables.len() {
            for genes in genes {
                let row = random::row(&self.schema.tables[table], &mut Genes::new(genes));
                // A row that clashes is left out of the load.
                let _ = self.committed.run(&Action::Insert { table }, &row);
            }
            let mut loader = database.load(table).map_err(words)?;
            for row in self.committed.rows(table) {
                writeln!(self.trace, "load {row:?}").map_err(words)?;
                loader.row(&values(row)).map_err(words)?;
            }
            loader.finish().map_err(words)?;
        }
        self.seen = self.committed.clone();
        let mut session = database.session().map_err(words)?;
        self.scan(&mut *session)
    }

    /// Runs steps until the database is to be closed and opened again (true), or they end.
    fn live<'b>(
        &mut self,
        database: &dyn Database,
        steps: &mut impl Iterator<Item = &'b Vec<u32>>,
    ) -> Result<bool, String> {
        let mut session = database.session().map_err(words)?;
        let mut witness = database.session().map_err(words)?;
        for step in steps {
            let mut genes = Genes::new(step);
            match (self.open, genes.below(100)) {
                (None, 0) => return Ok(true),
                (None, 1..=20) => self.begin(&mut *session, Access::Write)?,
                (None, 21..=25) => self.begin(&mut *session, Access::Read)?,
                (Some(_), 0..=9) => self.commit(&mut *session)?,
                (Some(_), 10..=14) => self.rollback(&mut *session)?,
                _ => self.statement(&mut *session, &mut genes)?,
            }
            if genes.once_in(8) {
                self.scan_committed(&mut *witness)?;
            }
        }
        // Uncommitted work is lost with the session.
        self.seen = self.committed.clone();
        self.open = None;
        drop(session);
        self.scan(&mut *witness)?;
        Ok(false)
    }

    fn begin(&mut self, session: &mut dyn Session, access: Access) -> Checked {
        writeln!(self.trace, "begin {access:?}").map_err(words)?;
        self.open = Some(access);
        session.begin(access).map_err(words)
    }

    fn commit(&mut self, session: &mut dyn Session) -> Checked {
        self.trace.push_str("commit\n");
        self.scan(session)?;
        session.commit().map_err(words)?;
        self.open = None;
        self.committed = self.seen.clone();
        self.scan(session)
    }

    fn rollback(&mut self, session: &mut dyn Session) -> Checked {
        self.trace.push_str("rollback\n");
        session.rollback().map_err(words)?;
        self.open = None;
        self.seen = self.committed.clone();
        self.scan(session)
    }

    /// Runs a random statement, and rolls back after an error, as the contract asks.
    fn statement(&mut self, session: &mut dyn Session, genes: &mut Genes<'_>) -> Checked {
        let number = genes.below(self.statements.len());
        let action = self.statements[number].action.clone();
        let parameters = random::parameters(&self.schema, &action, genes);
        if !self.makes_sense(&action, &parameters) {
            return Ok(());
        }
        writeln!(self.trace, "{action:?}\n    with {parameters:?}").map_err(words)?;
        let answer = session.run(number, &values(&parameters), &mut self.rows);
        let writes = !matches!(action, Action::Read(_));
        if writes && self.open == Some(Access::Read) {
            if !matches!(answer, Err(Error::Usage(_))) {
                return Err(format!("a reading transaction wrote: {answer:?}"));
            }
            return self.rollback(session);
        }
        let wanted = self.expect(&action, parameters, answer.is_ok())?;
        self.compare(&action, &answer, &wanted)?;
        match (wanted, self.open) {
            (Err(Duplicate), Some(_)) => self.rollback(session),
            (Ok(_), None) => {
                self.committed = self.seen.clone();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Excludes cases that the contract does not define: locking reads outside of a writing
    /// transaction, and giving a generated key that the engine has not given yet. Also excludes the
    /// one known fault of an engine.
    fn makes_sense(&self, action: &Action, parameters: &[Cell]) -> bool {
        match action {
            Action::Read(read) => {
                let allowed = !read.for_update || self.open == Some(Access::Write);
                allowed && !self.may_be_answered_twice(read)
            }
            Action::Upsert { table } if self.schema.tables[*table].generated => {
                let key = &parameters[self.schema.tables[*table].key[0]];
                *key <= Cell::Int(self.seen.highest(*table))
            }
            _ => true,
        }
    }

    /// MyRocks (MariaDB 10.11.19) answers a row twice that is read by an equal cell of an index in
    /// the transaction that has moved it down in that index; docs/engines/mariadb-rocksdb.md has
    /// the statements that show it. Everything else in such a transaction is compared with the
    /// model.
    fn may_be_answered_twice(&self, read: &TableRead) -> bool {
        // The planner may take two bounds for one value, and any index for a filter.
        let by_equals = match (read.path, read.scope) {
            (AccessPath::Key, _) => false,
            (AccessPath::Index(_), ReadScope::Range { equal, from, to }) => {
                equal > 0 || from.is_some() && to.is_some()
            }
            (AccessPath::Index(_), ReadScope::Among(_) | ReadScope::Ranges(_)) => true,
        };
        let written = || self.seen.rows(read.table).ne(self.committed.rows(read.table));
        let myrocks = self.engine.about().name.starts_with("mariadb:rocksdb");
        myrocks && self.open.is_some() && (by_equals || !read.filters.is_empty()) && written()
    }

    /// The model's answer. A generated key is the engine's choice, as long as it grows.
    fn expect(
        &mut self,
        action: &Action,
        mut parameters: Vec<Cell>,
        answered: bool,
    ) -> Result<Result<Answer, Duplicate>, String> {
        if let (Action::Insert { table }, true) = (action, answered)
            && self.schema.tables[*table].generated
        {
            let (given, highest) = (self.rows.get_int(0, 0), self.seen.highest(*table));
            if given.is_none_or(|given| given <= highest) {
                return Err(format!("generated key {given:?} does not grow beyond {highest}"));
            }
            parameters[self.schema.tables[*table].key[0]] = Cell::Int(given.unwrap_or_default());
        }
        Ok(self.seen.run(action, &parameters))
    }

    fn compare(
        &self,
        action: &Action,
        answer: &bakeoff_engines::Result<u64>,
        wanted: &Result<Answer, Duplicate>,
    ) -> Checked {
        let matches = match (answer, wanted) {
            (Ok(count), Ok(wanted)) => {
                let rows = ordered(action, cells(&self.rows));
                *count == wanted.count && rows == ordered(action, wanted.rows.clone())
            }
            (Err(Error::Duplicate(_)), Err(Duplicate)) => true,
            _ => false,
        };
        let rows = cells(&self.rows);
        let what = || format!("{action:?} answered {answer:?} {rows:?}; the model: {wanted:?}");
        if matches { Ok(()) } else { Err(what()) }
    }

    /// Reads everything along every path, as the session should see it.
    fn scan(&mut self, session: &mut dyn Session) -> Checked {
        for number in self.scans..self.statements.len() {
            let action = self.statements[number].action.clone();
            let answer = session.run(number, &[], &mut self.rows);
            let wanted = self.seen.run(&action, &[]);
            self.compare(&action, &answer, &wanted)?;
        }
        Ok(())
    }

    /// Reads everything as a session outside the transaction should see it.
    fn scan_committed(&mut self, witness: &mut dyn Session) -> Checked {
        let seen = std::mem::replace(&mut self.seen, self.committed.clone());
        let verdict = self.scan(witness).map_err(|what| format!("a witness: {what}"));
        self.seen = seen;
        verdict
    }
}

/// Sorts rows whose order is free.
fn ordered(action: &Action, mut rows: Vec<Row>) -> Vec<Row> {
    use bakeoff_engines::statement::{ReadOrder, Yield};
    if let Action::Read(TableRead { order: ReadOrder::Any, yields: Yield::Columns(_), .. }) = action
    {
        rows.sort();
    }
    rows
}

fn values(cells: &[Cell]) -> Vec<Value<'_>> {
    cells.iter().map(Cell::value).collect()
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Calls out of order are errors, and leave the session in order after a rollback.
pub fn refuses_misuse(engine: &dyn Engine) {
    let table = Table::new("things").key_column("id", Type::Int).column("size", Type::Int);
    let schema = Schema { tables: vec![table] };
    let actions = [
        Action::Insert { table: 0 },
        Action::Read(TableRead::by_prefix(0, AccessPath::Key, 0, &[0, 1])),
    ];
    let statements = statements(actions);
    let folder = crate::conformance::folder::of(engine);
    let database = engine.open(folder.path(), &terms(engine), &schema, &statements).expect("open");
    let mut session = database.session().expect("a session");
    let mut rows = Rows::new();
    let usage = |result: bakeoff_engines::Result<u64>| {
        assert!(matches!(result, Err(Error::Usage(_))), "{result:?}");
    };
    usage(session.commit().map(|()| 0));
    session.rollback().expect("a rollback outside a transaction does nothing");
    usage(session.run(statements.len(), &[], &mut rows));
    session.begin(Access::Write).expect("begin");
    session.run(0, &[1.into(), 1.into()], &mut rows).expect("insert");
    usage(session.begin(Access::Write).map(|()| 0));
    session.rollback().expect("rollback");
    assert_eq!(session.run(1, &[], &mut rows).expect("read"), 0, "the row was rolled back");
    session.begin(Access::Write).expect("begin");
    session.run(0, &[1.into(), 1.into()], &mut rows).expect("insert");
    session.run(0, &[1.into(), 2.into()], &mut rows).expect_err("the key is taken");
    usage(session.run(0, &[2.into(), 2.into()], &mut rows));
    usage(session.commit().map(|()| 0));
    assert_eq!(session.run(1, &[], &mut rows).expect("read"), 0, "nothing was committed");
    session.begin(Access::Read).expect("the transaction has ended");
    session.commit().expect("commit");
}
