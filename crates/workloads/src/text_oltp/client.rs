use bakeoff_engines::{Access, Error, Result, Rows, Session, Value};

use rand::RngExt;

use super::{Articles, KEYS, STATEMENTS, TextOltpTest};
use crate::sender::{Sender, send_statements};
use crate::{OperationTally, WorkloadClient, WorkloadRandom, digits};

/// New titles; the other statements read.
const UPDATES: usize = 10;

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

    fn draw_key(&mut self) -> i64 {
        self.articles.picker.pick(&mut self.random)
    }

    fn pick_id(&mut self) -> i64 {
        self.articles.deleted + self.draw_key()
    }

    /// A deleted id, or that of the first row after these.
    fn deleted_id(&mut self) -> i64 {
        self.random.random_range(1..=self.articles.deleted + 1)
    }

    fn run_statements(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        let numbers = self.articles.numbers;
        match self.test {
            TextOltpTest::PointSelect => self.read_titles(sender, STATEMENTS),
            TextOltpTest::PointSelectUpdate => {
                self.read_titles(sender, STATEMENTS - UPDATES)?;
                (0..UPDATES).try_for_each(|_| self.new_title(sender))
            }
            TextOltpTest::RandomPoints => {
                let keys: [Value<'_>; KEYS] = std::array::from_fn(|_| self.draw_key().into());
                sender.read(numbers.points, &keys, &mut self.rows).map(drop)
            }
            TextOltpTest::RandomLimit => (0..STATEMENTS).try_for_each(|_| {
                let from = self.draw_key();
                sender.read(numbers.limit, &[from.into()], &mut self.rows).map(drop)
            }),
            TextOltpTest::DeletedRange => (0..STATEMENTS).try_for_each(|_| {
                let from = self.deleted_id();
                sender.read(numbers.from, &[from.into()], &mut self.rows).map(drop)
            }),
        }
    }

    fn read_titles(&mut self, sender: &mut Sender<'_>, count: usize) -> Result<()> {
        (0..count).try_for_each(|_| {
            let id = self.pick_id();
            let found = sender.read(self.articles.numbers.title, &[id.into()], &mut self.rows)?;
            check_found(id, found)
        })
    }

    fn new_title(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        let id = self.pick_id();
        digits::write_digits(&mut self.random, digits::OF_C, &mut self.title);
        let values = [(&*self.title).into(), id.into()];
        let changed = sender.write(self.articles.numbers.new_title, &values, &mut self.rows)?;
        check_found(id, changed)
    }
}

fn check_found(id: i64, rows: u64) -> Result<()> {
    match rows {
        0 => Err(Error::from_engine(format!("article {id} is missing"))),
        _ => Ok(()),
    }
}

impl WorkloadClient for TextOltpClient<'_> {
    fn choose_operation(&mut self) -> usize {
        0
    }

    fn run_operation(
        &mut self,
        _: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        // An attempt that is run again draws the same, so that all engines see the same.
        let begin = self.random.clone();
        send_statements(session, tally, self.together, |sender| {
            self.random = begin.clone();
            self.run_statements(sender)
        })
    }
}
