//! A client of `oltp`: one of sysbench's tests, again and again.

use bakeoff_engines::{Access, Error, Result, Rows as Answer, Session, Value};

use super::{OltpTable, OltpTest, POINTS, RANGES};
use crate::digits::{self, OF_C, OF_PAD};
use crate::keys::Picker;
use crate::sent::{Sender, send};
use crate::{OperationTally, WorkloadClient, WorkloadRandom};

/// Reads of single rows in a transaction (`--point-selects`).
const POINT_SELECTS: usize = 10;
/// Rows of a range (`--range-size`).
const RANGE_SIZE: i64 = 100;
/// How far the end of a range of `select_random_ranges` is from its beginning (`--delta`).
const DELTA: i64 = 5;

/// One client.
pub(super) struct OltpClient<'a> {
    table: &'a OltpTable,
    test: OltpTest,
    together: Option<Access>,
    ids: Picker,
    /// Of `select_random_points` and `select_random_ranges`.
    segment: Picker,
    random: WorkloadRandom,
    answer: Answer,
    c: String,
    pad: String,
}

impl<'a> OltpClient<'a> {
    pub(super) fn new(
        table: &'a OltpTable,
        test: OltpTest,
        segment: Picker,
        random: WorkloadRandom,
    ) -> Self {
        Self {
            table,
            test,
            together: if table.in_transactions { test.access() } else { None },
            ids: table.ids(),
            segment,
            random,
            answer: Answer::new(),
            c: String::new(),
            pad: String::new(),
        }
    }

    fn id(&mut self) -> i64 {
        self.ids.pick(&mut self.random)
    }

    /// The statements of a test, in sysbench's order.
    fn statements(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        match self.test {
            OltpTest::PointSelect => self.point_selects(sender, 1),
            OltpTest::ReadOnly => self.reads(sender),
            OltpTest::ReadWrite => {
                self.reads(sender)?;
                self.writes(sender)
            }
            OltpTest::WriteOnly => self.writes(sender),
            OltpTest::UpdateIndex => self.index_update(sender),
            OltpTest::UpdateNonIndex => self.non_index_update(sender),
            OltpTest::Insert => {
                let k = self.id();
                self.insert(sender, Value::Null, k)
            }
            OltpTest::Delete => {
                let id = self.id();
                self.delete(sender, id)
            }
            OltpTest::RandomPoints => {
                let keys: [Value<'_>; POINTS] =
                    std::array::from_fn(|_| self.segment.pick(&mut self.random).into());
                let points = self.table.numbers.random_points;
                sender.read(points, &keys, &mut self.answer).map(drop)
            }
            OltpTest::RandomRanges => {
                let mut bounds = [Value::Null; 2 * RANGES];
                for range in bounds.chunks_exact_mut(2) {
                    let from = self.segment.pick(&mut self.random);
                    range.copy_from_slice(&[from.into(), (from + DELTA).into()]);
                }
                let ranges = self.table.numbers.random_ranges;
                sender.read(ranges, &bounds, &mut self.answer).map(drop)
            }
        }
    }

    fn reads(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        let numbers = self.table.numbers;
        self.point_selects(sender, POINT_SELECTS)?;
        for range in [
            numbers.simple_ranges,
            numbers.sum_ranges,
            numbers.order_ranges,
            numbers.distinct_ranges,
        ] {
            let id = self.id();
            let (from, to) = (id.into(), (id + RANGE_SIZE - 1).into());
            sender.read(range, &[from, to], &mut self.answer)?;
        }
        Ok(())
    }

    fn point_selects(&mut self, sender: &mut Sender<'_>, count: usize) -> Result<()> {
        let point = self.table.numbers.point_selects;
        (0..count).try_for_each(|_| {
            let id = self.id();
            let found = sender.read(point, &[id.into()], &mut self.answer)?;
            // In the other tests somebody may just be between a delete and an insert.
            if found == 0 && matches!(self.test, OltpTest::PointSelect | OltpTest::ReadOnly) {
                return Err(Error::engine(format!("row {id} is missing")));
            }
            Ok(())
        })
    }

    fn writes(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        self.index_update(sender)?;
        self.non_index_update(sender)?;
        let (id, k) = (self.id(), self.id());
        self.delete(sender, id)?;
        self.insert(sender, id.into(), k)
    }

    fn index_update(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        let id = self.id();
        let update = self.table.numbers.index_updates;
        sender.write(update, &[1.into(), id.into()], &mut self.answer).map(drop)
    }

    fn non_index_update(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        digits::write(&mut self.random, OF_C, &mut self.c);
        let id = self.id();
        let (update, values) =
            (self.table.numbers.non_index_updates, [(&*self.c).into(), id.into()]);
        sender.write(update, &values, &mut self.answer).map(drop)
    }

    fn delete(&mut self, sender: &mut Sender<'_>, id: i64) -> Result<()> {
        sender.write(self.table.numbers.deletes, &[id.into()], &mut self.answer).map(drop)
    }

    /// Null asks for the next number. Where another client has inserted the same row meanwhile, a
    /// transaction is run again; a statement of its own need not be.
    fn insert(&mut self, sender: &mut Sender<'_>, id: Value<'_>, k: i64) -> Result<()> {
        digits::write(&mut self.random, OF_C, &mut self.c);
        digits::write(&mut self.random, OF_PAD, &mut self.pad);
        let values = [id, k.into(), (&*self.c).into(), (&*self.pad).into()];
        match sender.write(self.table.numbers.inserts, &values, &mut self.answer) {
            Err(Error::Duplicate(why)) if self.together.is_some() => Err(Error::Conflict(why)),
            Err(Error::Duplicate(_)) if id != Value::Null => Ok(()),
            other => other.map(drop),
        }
    }
}

impl WorkloadClient for OltpClient<'_> {
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
