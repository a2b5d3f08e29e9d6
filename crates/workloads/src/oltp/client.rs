use bakeoff_engines::{Access, Error, Result, Rows as Answer, Session, Value};

use super::{OltpTable, OltpTest, POINTS, RANGES};
use crate::digits::{self, OF_C, OF_PAD};
use crate::keys::KeySampler;
use crate::sender::{Sender, send_statements};
use crate::{OperationTally, WorkloadClient, WorkloadRandom};

/// `--point-selects`.
const POINT_SELECTS: usize = 10;
/// `--range-size`.
const RANGE_SIZE: i64 = 100;
/// `--delta`.
const DELTA: i64 = 5;

pub(super) struct OltpClient<'a> {
    table: &'a OltpTable,
    test: OltpTest,
    together: Option<Access>,
    ids: KeySampler,
    segment: KeySampler,
    random: WorkloadRandom,
    answer: Answer,
    c: String,
    pad: String,
}

impl<'a> OltpClient<'a> {
    pub(super) fn new(
        table: &'a OltpTable,
        test: OltpTest,
        segment: KeySampler,
        random: WorkloadRandom,
    ) -> Self {
        Self {
            table,
            test,
            together: if table.in_transactions { test.choose_access() } else { None },
            ids: table.make_picker(),
            segment,
            random,
            answer: Answer::new(),
            c: String::new(),
            pad: String::new(),
        }
    }

    fn pick_id(&mut self) -> i64 {
        self.ids.pick(&mut self.random)
    }

    fn run_statements(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        match self.test {
            OltpTest::PointSelect => self.point_selects(sender, 1),
            OltpTest::ReadOnly => self.run_reads(sender),
            OltpTest::ReadWrite => {
                self.run_reads(sender)?;
                self.run_writes(sender)
            }
            OltpTest::WriteOnly => self.run_writes(sender),
            OltpTest::UpdateIndex => self.index_update(sender),
            OltpTest::UpdateNonIndex => self.non_index_update(sender),
            OltpTest::Insert => {
                let k = self.pick_id();
                self.insert_row(sender, Value::Null, k)
            }
            OltpTest::Delete => {
                let id = self.pick_id();
                self.delete_row(sender, id)
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

    fn run_reads(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        let numbers = self.table.numbers;
        self.point_selects(sender, POINT_SELECTS)?;
        for range in [
            numbers.simple_ranges,
            numbers.sum_ranges,
            numbers.order_ranges,
            numbers.distinct_ranges,
        ] {
            let id = self.pick_id();
            let (from, to) = (id.into(), (id + RANGE_SIZE - 1).into());
            sender.read(range, &[from, to], &mut self.answer)?;
        }
        Ok(())
    }

    fn point_selects(&mut self, sender: &mut Sender<'_>, count: usize) -> Result<()> {
        let point = self.table.numbers.point_selects;
        (0..count).try_for_each(|_| {
            let id = self.pick_id();
            let found = sender.read(point, &[id.into()], &mut self.answer)?;
            // In the other tests another client may be between its delete and its insert.
            if found == 0 && matches!(self.test, OltpTest::PointSelect | OltpTest::ReadOnly) {
                return Err(Error::from_engine(format!("row {id} is missing")));
            }
            Ok(())
        })
    }

    fn run_writes(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        self.index_update(sender)?;
        self.non_index_update(sender)?;
        let (id, k) = (self.pick_id(), self.pick_id());
        self.delete_row(sender, id)?;
        self.insert_row(sender, id.into(), k)
    }

    fn index_update(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        let id = self.pick_id();
        let update = self.table.numbers.index_updates;
        sender.write(update, &[1.into(), id.into()], &mut self.answer).map(drop)
    }

    fn non_index_update(&mut self, sender: &mut Sender<'_>) -> Result<()> {
        digits::write_digits(&mut self.random, OF_C, &mut self.c);
        let id = self.pick_id();
        let (update, values) =
            (self.table.numbers.non_index_updates, [(&*self.c).into(), id.into()]);
        sender.write(update, &values, &mut self.answer).map(drop)
    }

    fn delete_row(&mut self, sender: &mut Sender<'_>, id: i64) -> Result<()> {
        sender.write(self.table.numbers.deletes, &[id.into()], &mut self.answer).map(drop)
    }

    /// Null asks for the next number. If another client inserted the row, a transaction is run
    /// again, but not a statement of its own.
    fn insert_row(&mut self, sender: &mut Sender<'_>, id: Value<'_>, k: i64) -> Result<()> {
        digits::write_digits(&mut self.random, OF_C, &mut self.c);
        digits::write_digits(&mut self.random, OF_PAD, &mut self.pad);
        let values = [id, k.into(), (&*self.c).into(), (&*self.pad).into()];
        match sender.write(self.table.numbers.inserts, &values, &mut self.answer) {
            Err(Error::Duplicate(why)) if self.together.is_some() => Err(Error::Conflict(why)),
            Err(Error::Duplicate(_)) if id != Value::Null => Ok(()),
            other => other.map(drop),
        }
    }
}

impl WorkloadClient for OltpClient<'_> {
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
