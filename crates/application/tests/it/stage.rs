//! An application on a database, and sessions that remember what they were asked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bakeoff_application::{Application, ApplicationFiles, Datum, EXAMPLES};
use bakeoff_engines::{
    Access, Action, Database, DeclaredLevels, Durability, Engine, Error, OpenTerms, Result, Rows,
    Session, Statement, Value, find_level,
};
use bakeoff_testkit::{folder_for_all, needs};
use bakeoff_workloads::{
    OperationTally, PreparedWorkload, TextSource, Workload, WorkloadParameters, WorkloadRandom,
    seed_stream,
};
use rand::RngExt as _;

/// Files by their names.
pub fn to_files(name: &str, texts: &[(&str, &str)]) -> ApplicationFiles {
    let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    ApplicationFiles {
        name: name.into(),
        texts: texts.collect(),
        weights: BTreeMap::new(),
        shown: name.into(),
        copied: None,
        program: None,
    }
}

/// The example that `bakeoff new` writes.
pub fn example() -> ApplicationFiles {
    EXAMPLES[0].to_files()
}

pub fn compile(files: ApplicationFiles) -> Application {
    Application::new(files).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The engine, if it is installed.
pub fn installed(name: &str) -> Option<&'static dyn Engine> {
    let engine = find_level(name).expect("an engine");
    needs(engine.available()).map(|()| engine)
}

/// A loaded application.
pub struct Stage {
    pub prepared: Box<dyn PreparedWorkload>,
    pub database: Box<dyn Database>,
    operations: Vec<String>,
    /// Of a statement that was added to the application's own.
    pub added: usize,
    _folder: tempfile::TempDir,
}

impl Stage {
    pub fn new(files: ApplicationFiles) -> Self {
        Self::on(find_level("sqlite").unwrap(), files, Vec::new())
    }

    /// With statements that no operation runs.
    pub fn on(engine: &dyn Engine, files: ApplicationFiles, added: Vec<Action>) -> Self {
        Self::at_levels(engine, files, added, DeclaredLevels::default())
    }

    pub fn at_levels(
        engine: &dyn Engine,
        files: ApplicationFiles,
        added: Vec<Action>,
        levels: DeclaredLevels,
    ) -> Self {
        let application = compile(files);
        let scale = application.scales()[0].name.clone();
        let text = TextSource::generate_short().into();
        let preparation = application.find_preparation(&levels);
        let parameters = WorkloadParameters { levels, ..WorkloadParameters::new(&scale, 1, text) };
        let prepared = application.prepare(&parameters);
        let folder = folder_for_all();
        let schema = prepared.schema();
        let mut statements = prepared.statements().to_vec();
        let first = statements.len();
        let name = "added".to_owned();
        statements.extend(added.into_iter().map(|action| Statement { name: name.clone(), action }));
        let terms = OpenTerms { preparation, ..OpenTerms::new(Durability::None) };
        let database = engine.open(folder.path(), &terms, schema, &statements).unwrap();
        for table in 0..schema.tables.len() {
            let mut loader = database.load(table).unwrap();
            prepared.rows(table, &mut |row| loader.row(row)).unwrap();
            loader.finish().unwrap();
        }
        let operations = application.operations().iter().map(ToString::to_string).collect();
        Self { prepared, database, operations, added: first, _folder: folder }
    }

    pub fn find_operation(&self, name: &str) -> usize {
        self.operations.iter().position(|known| known == name).unwrap()
    }

    /// One client's operations, each chosen by itself: what they sent, and how they ended.
    pub fn record(&self, client: usize, clients: usize, times: usize, conflicts: bool) -> Record {
        let sent = Rc::new(RefCell::new(Record::default()));
        let inner = self.database.session().unwrap();
        let conflicts = conflicts.then(|| seed_stream(5, client as u64));
        let names = self.prepared.statements().iter().map(|it| it.name.clone()).collect();
        let mut session =
            RecordingSession { inner, names, sent: Rc::clone(&sent), begun: None, conflicts };
        let mut client = self.prepared.make_client(client, clients, 7);
        for _ in 0..times {
            let mut tally = OperationTally::default();
            let operation = client.choose_operation();
            sent.borrow_mut().operations.push(Sent { operation, ..Sent::default() });
            let ended = client.run_operation(operation, &mut session, &mut tally);
            let mut sent = sent.borrow_mut();
            let last = sent.operations.last_mut().unwrap();
            last.tally = tally;
            last.error = ended.err().map(|error| error.to_string());
        }
        drop((client, session));
        sent.take()
    }

    /// Runs one of the added statements.
    pub fn run_added(&self, number: usize, values: &[Value<'_>]) -> u64 {
        let mut session = self.database.session().unwrap();
        session.begin(Access::Write).unwrap();
        let changed = session.run(self.added + number, values, &mut Rows::new()).unwrap();
        session.commit().unwrap();
        changed
    }
}

/// What a client sent, an operation each.
#[derive(Debug, Default)]
pub struct Record {
    pub operations: Vec<Sent>,
}

/// What an operation sent.
#[derive(Debug, Default)]
pub struct Sent {
    pub operation: usize,
    /// Statements that took effect: `op.sql:3 (1, 'x')`.
    pub kept: Vec<String>,
    /// Those of each transaction that was rolled back.
    pub undone: Vec<Vec<String>>,
    pub tally: OperationTally,
    pub error: Option<String>,
}

impl Record {
    /// What took effect of each operation.
    pub fn kept(&self) -> Vec<(usize, &[String])> {
        self.operations.iter().map(|it| (it.operation, &*it.kept)).collect()
    }
}

struct RecordingSession<'d> {
    inner: Box<dyn Session + 'd>,
    names: Vec<String>,
    sent: Rc<RefCell<Record>>,
    /// Statements of the open transaction.
    begun: Option<Vec<String>>,
    /// Draws conflicts that the engine doesn't have.
    conflicts: Option<WorkloadRandom>,
}

impl RecordingSession<'_> {
    fn with_last(&self, change: impl FnOnce(&mut Sent)) {
        change(self.sent.borrow_mut().operations.last_mut().unwrap());
    }

    fn draw_conflict(&mut self) -> Result<()> {
        match self.conflicts.as_mut().is_some_and(|random| random.random_range(0..4) == 0) {
            true => Err(Error::Conflict("drawn".into())),
            false => Ok(()),
        }
    }
}

impl Session for RecordingSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.begun = Some(Vec::new());
        self.inner.begin(access)
    }

    fn run(&mut self, statement: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let values: Vec<Value<'_>> = values.to_vec();
        let shown: Vec<String> =
            values.iter().map(|value| Datum::from(*value).to_string()).collect();
        let said = format!("{} ({})", self.names[statement], shown.join(", "));
        self.draw_conflict()?;
        let answer = self.inner.run(statement, &values, rows)?;
        match &mut self.begun {
            Some(begun) => begun.push(said),
            None => self.with_last(|last| last.kept.push(said)),
        }
        Ok(answer)
    }

    fn commit(&mut self) -> Result<()> {
        self.draw_conflict()?;
        self.inner.commit()?;
        let begun = self.begun.take().unwrap();
        self.with_last(|last| last.kept.extend(begun));
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        if let Some(begun) = self.begun.take() {
            self.with_last(|last| last.undone.push(begun));
        }
        self.inner.rollback()
    }
}
