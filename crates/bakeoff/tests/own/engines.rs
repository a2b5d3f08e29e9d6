//! SQLite, but each with a fault.

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bakeoff::engines::{
    Access, Database, Engine, EngineDescription, Loader, OpenTerms, Result, Rows, Schema, Session,
    Statement, Value,
};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// A client's call panics.
    Panics,
    /// A client's call never returns.
    Hangs,
    /// A read of a row finds nothing now and then.
    LosesRows,
    /// A thread runs on when the database was closed.
    LeavesAThread,
    /// What it answers has a character more than what was stored.
    Otherwise,
    /// Its own check finds something.
    FailsItsCheck,
    /// A row is never loaded.
    LosesARow,
    /// Each read takes 2 ms longer, and 20 where the program is in a folder `after`: more than a busy machine adds.
    ReadsLate,
}

/// SQLite with a fault, by a name of its own.
pub struct Bad(&'static str, Fault);

/// Every bad engine.
pub static ALL: [Bad; 8] = [
    Bad("panics", Fault::Panics),
    Bad("hangs", Fault::Hangs),
    Bad("loses-rows", Fault::LosesRows),
    Bad("leaks", Fault::LeavesAThread),
    Bad("otherwise", Fault::Otherwise),
    Bad("fails-its-check", Fault::FailsItsCheck),
    Bad("loses-a-row", Fault::LosesARow),
    Bad("mine", Fault::ReadsLate),
];

/// Calls that behave before the fault shows: more than an image is asked for before its first trial, and few, so that
/// a slow machine gets to the fault.
const GOOD: u64 = 600;

impl Engine for Bad {
    fn about(&self) -> EngineDescription {
        EngineDescription { name: self.0, ..sqlite().about() }
    }

    fn version(&self) -> String {
        sqlite().version()
    }

    fn open(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        let inner = sqlite().open(directory, terms, schema, statements)?;
        if self.1 == Fault::LeavesAThread {
            let thread = std::thread::Builder::new().name("left-behind".into());
            thread.spawn(|| std::thread::sleep(Duration::from_secs(3600)))?;
        }
        Ok(Box::new(BadDatabase { inner, fault: self.1, calls: AtomicU64::new(0) }))
    }
}

fn sqlite() -> &'static dyn Engine {
    bakeoff::engines::find_level("sqlite").expect("it is built in")
}

struct BadDatabase {
    inner: Box<dyn Database>,
    fault: Fault,
    calls: AtomicU64,
}

impl Database for BadDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(BadSession { inner: self.inner.session()?, database: self }))
    }

    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>> {
        let inner = self.inner.load(table)?;
        Ok(match self.fault {
            Fault::LosesARow => Box::new(Careless { inner, rows: 0 }),
            _ => inner,
        })
    }

    fn drain(&self) -> Result<()> {
        self.inner.drain()
    }

    fn warm(&self) -> Result<()> {
        self.inner.warm()
    }

    fn check(&self) -> Result<Vec<String>> {
        match self.fault {
            Fault::FailsItsCheck => Ok(vec!["page 7 is torn".to_owned()]),
            _ => self.inner.check(),
        }
    }
}

/// Leaves the second row out.
struct Careless<'d> {
    inner: Box<dyn Loader + 'd>,
    rows: u64,
}

impl Loader for Careless<'_> {
    fn row(&mut self, row: &[Value<'_>]) -> Result<()> {
        self.rows += 1;
        if self.rows == 2 { Ok(()) } else { self.inner.row(row) }
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.inner.finish()
    }
}

struct BadSession<'d> {
    inner: Box<dyn Session + 'd>,
    database: &'d BadDatabase,
}

impl Session for BadSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.inner.begin(access)
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let calls = self.database.calls.fetch_add(1, Ordering::Relaxed);
        match self.database.fault {
            Fault::Panics if calls == GOOD => panic!("this engine panics"),
            Fault::Hangs if calls == GOOD => loop {
                std::thread::sleep(Duration::from_secs(3600));
            },
            Fault::LosesRows if calls > GOOD && calls.is_multiple_of(10) => {
                rows.reset(0);
                Ok(0)
            }
            Fault::Otherwise => {
                let count = self.inner.run(statement, parameters, rows)?;
                let first = (!rows.is_empty()).then(|| rows.get(0, 0));
                if let Some(Value::Text(text)) = first {
                    let other = format!("{text}!");
                    rows.reset(1);
                    rows.push(other.as_str().into());
                }
                Ok(count)
            }
            Fault::ReadsLate => {
                std::thread::sleep(Duration::from_millis(if is_after() { 20 } else { 2 }));
                self.inner.run(statement, parameters, rows)
            }
            _ => self.inner.run(statement, parameters, rows),
        }
    }

    fn commit(&mut self) -> Result<()> {
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.inner.rollback()
    }
}

/// Whether this is the build with a regression.
fn is_after() -> bool {
    static IS_AFTER: LazyLock<bool> = LazyLock::new(|| {
        std::env::current_exe().is_ok_and(|path| path.iter().any(|folder| folder == "after"))
    });
    *IS_AFTER
}
