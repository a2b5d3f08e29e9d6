//! A client of `text-oltp`: one test, again and again.

use bakeoff_engines::{Access, Error, Result, Rows, Session, Value};

use rand::RngExt;

use super::{Articles, KEYS, STATEMENTS, TextOltpTest};
use crate::sent::{Sender, send};
use crate::{OperationTally, WorkloadClient, WorkloadRandom, digits};

/// New titles of the test that writes; the rest of its statements read.
const UPDATES: usize = 10;

/// One client.
pub(super) struct TextOltpClient<'a> {
    articles: &'a Articles,
    test: TextOltpTest,
    together: Option<Access>,
    random: WorkloadRandom,
    rows: Rows,
    title: String,
}

impl<'a> TextOltpClient<'a> {
    pub(super) fn new(
        articles: &'a Articles,
        test: TextOltpTest,
        together: Option<Access>,
        random: WorkloadRandom,
    ) -> Self {
        Self { articles, test, together, random, rows: Rows::new(), title: String::new() }
    }

    /// One of the values that `k` has.
    fn key(&mut self) -> i64 {
        self.articles.picker.pick(&mut self.random)
    }

    fn id(&mut self) -> i64 {
        self.articles.deleted + self.key()
    }

    /// The id of a row that ageing has deleted, or of the first row after these.
    fn deleted_id(&mut self) -> i64 {
        self.random.random_range(1..=self.articles.deleted + 1)
    }

    fn statements(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        let numbers = self.articles.numbers;
        match self.test {
            TextOltpTest::PointSelect => self.titles(sender, STATEMENTS),
            TextOltpTest::PointSelectUpdate => {
                self.titles(sender, STATEMENTS - UPDATES)?;
                (0..UPDATES).try_for_each(|_| self.new_title(sender))
            }
            TextOltpTest::RandomPoints => {
                let keys: [Value<'_>; KEYS] = std::array::from_fn(|_| self.key().into());
                sender.read(numbers.points, &keys, &mut self.rows).map(drop)
            }
            TextOltpTest::RandomLimit => (0..STATEMENTS).try_for_each(|_| {
                let from = self.key();
                sender.read(numbers.limit, &[from.into()], &mut self.rows).map(drop)
            }),
            TextOltpTest::DeletedRange => (0..STATEMENTS).try_for_each(|_| {
                let from = self.deleted_id();
                sender.read(numbers.from, &[from.into()], &mut self.rows).map(drop)
            }),
        }
    }

    fn titles(&mut self, sender: &mut Sender<'_>, count: usize) -> Result<()> {
        (0..count).try_for_each(|_| {
            let id = self.id();
            let found = sender.read(self.articles.numbers.title, &[id.into()], &mut self.rows)?;
            there(id, found)
        })
    }

    fn new_title(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        let id = self.id();
        digits::write(&mut self.random, digits::OF_C, &mut self.title);
        let values = [(&*self.title).into(), id.into()];
        let changed = sender.write(self.articles.numbers.new_title, &values, &mut self.rows)?;
        there(id, changed)
    }
}

/// No row is ever removed.
fn there(id: i64, rows: u64) -> Result<()> {
    match rows {
        0 => Err(Error::engine(format!("article {id} is missing"))),
        _ => Ok(()),
    }
}

impl WorkloadClient for TextOltpClient<'_> {
    fn choose(&mut self) -> usize {
        0
    }

    fn perform(
        &mut self,
        _: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        send(session, tally, self.together, |sender| self.statements(sender))
    }
}
