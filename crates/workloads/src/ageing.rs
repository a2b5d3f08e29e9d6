//! Ageing: before anything is measured, loaded rows are overwritten, deleted and inserted again, so
//! that an engine has what years of use leave: fragmented pages, old versions, tombstones.
//!
//! Two rows at a time exchange what they hold. So an aged table is as large as before and
//! compresses as well, and engines agree on every row.

use bakeoff_engines::Declared;
use bakeoff_engines::statement::{Set, TableRead};
use bakeoff_engines::{Action, Database, Error, Result, Rows, Session, Value};
use rand::RngExt;

use crate::{
    DeclaredStatements, OperationTally, TransactionEnd, WorkloadRandom, digits, run_transaction,
    seed_stream,
};

pub static AGE: Declared = Declared {
    name: "age",
    summary: "how many rows are overwritten, or deleted and inserted again, before measuring, as a multiple of \
              the table's",
    syntax: "0, or a multiple up to 10, as 0.5x or 1x",
    default: "0",
    canonical: &normalize_age,
};

/// Beyond it loading takes longer than any run.
const MOST: f64 = 10.0;
/// The columns beside the key: what rows exchange.
const COLUMNS: [usize; 3] = [1, 2, 3];
const PAIRS: u64 = 50;
const BATCH: usize = 100;
/// Rows inserted first and deleted at the end, for each row that exchanges what it holds.
const PER_DELETED: f64 = 10.0;
/// The random stream of ageing.
const AGED: u64 = 0x6167_6564;

fn normalize_age(text: &str) -> std::result::Result<String, String> {
    let number = text.strip_suffix('x').unwrap_or(text).parse::<f64>();
    match number {
        Ok(0.0) => Ok(AGE.default.into()),
        Ok(times) if times > 0.0 && times <= MOST => Ok(format!("{times}x")),
        _ => Err(format!("`{text}` is no age\nvalid: {}", AGE.syntax)),
    }
}

pub fn parse_times(level: &str) -> f64 {
    level.trim_end_matches('x').parse().expect("a checked level")
}

/// Rows inserted before all others, then deleted.
pub fn count_deleted(times: f64, count: i64) -> i64 {
    (times * count as f64 / PER_DELETED).ceil() as i64
}

/// Ages a table of a generated `id`, an integer and two texts in sysbench's form.
#[derive(Clone, Copy, Debug)]
pub struct Ageing {
    seed: u64,
    deleted: i64,
    count: i64,
    pairs: u64,
    read: usize,
    update: usize,
    delete: usize,
    insert: usize,
}

impl Ageing {
    /// Ages table 0; `None` at 0 times. Its rows have the ids `deleted + 1` to `deleted + count`;
    /// the ids before are free.
    pub fn declare(
        statements: &mut DeclaredStatements,
        times: f64,
        (deleted, count): (i64, i64),
        seed: u64,
    ) -> Option<Self> {
        if times == 0.0 {
            return None;
        }
        let set = COLUMNS.map(Set::To).into();
        Some(Self {
            seed,
            deleted,
            count,
            pairs: (times * count as f64 / 2.0).ceil() as u64,
            read: statements.add("row to age", Action::Read(TableRead::by_key(0, 1, &COLUMNS))),
            update: statements.add("aged row", Action::Update { table: 0, set, only_if: vec![] }),
            delete: statements.add("row that ends", Action::Delete { table: 0 }),
            insert: statements.add("row that begins", Action::Insert { table: 0 }),
        })
    }

    /// `alive` hears of each transaction.
    pub fn run(&self, database: &dyn Database, alive: &mut dyn FnMut()) -> Result<()> {
        let mut work = AgeingWork {
            numbers: *self,
            session: database.session()?,
            random: seed_stream(self.seed, AGED),
            alive,
            rows: Default::default(),
        };
        work.begin_deleted()?;
        work.exchange_all()?;
        // Last, because a compaction or vacuum that ageing starts might remove them.
        work.end_deleted()
    }
}

struct AgeingWork<'a> {
    numbers: Ageing,
    session: Box<dyn Session + 'a>,
    random: WorkloadRandom,
    alive: &'a mut dyn FnMut(),
    rows: [Rows; 3],
}

impl AgeingWork<'_> {
    fn run_transaction(
        &mut self,
        mut body: impl FnMut(&mut dyn Session, &mut [Rows; 3]) -> Result<()>,
    ) -> Result<()> {
        let rows = &mut self.rows;
        run_transaction(&mut *self.session, &mut OperationTally::default(), |session| {
            body(session, rows).map(TransactionEnd::Commit)
        })?;
        (self.alive)();
        Ok(())
    }

    fn begin_deleted(&mut self) -> Result<()> {
        let (mut c, mut pad) = (String::new(), String::new());
        let Ageing { deleted, count, insert, .. } = self.numbers;
        let ids: Vec<i64> = (1..=deleted).collect();
        for ids in ids.chunks(BATCH) {
            let before = self.random.clone();
            let mut after = before.clone();
            self.run_transaction(|session, [_, _, done]| {
                // A transaction that is run again inserts the same.
                after = before.clone();
                for id in ids {
                    let k = after.random_range(1..=count);
                    digits::write_digits(&mut after, digits::OF_C, &mut c);
                    digits::write_digits(&mut after, digits::OF_PAD, &mut pad);
                    let row = [(*id).into(), k.into(), (&*c).into(), (&*pad).into()];
                    session.run(insert, &row, done)?;
                }
                Ok(())
            })?;
            self.random = after;
        }
        Ok(())
    }

    fn end_deleted(&mut self) -> Result<()> {
        let Ageing { deleted, delete, .. } = self.numbers;
        let ids: Vec<i64> = (1..=deleted).collect();
        for ids in ids.chunks(BATCH) {
            self.run_transaction(|session, [_, _, done]| {
                ids.iter().try_for_each(|id| session.run(delete, &[(*id).into()], done).map(drop))
            })?;
        }
        Ok(())
    }

    fn exchange_all(&mut self) -> Result<()> {
        let numbers = self.numbers;
        let mut left = if numbers.count > 1 { numbers.pairs } else { 0 };
        while left > 0 {
            let pairs: Vec<RowPair> = (0..left.min(PAIRS)).map(|_| self.choose_pair()).collect();
            self.run_transaction(|session, rows| {
                pairs.iter().try_for_each(|pair| pair.exchange_rows(&numbers, session, rows))
            })?;
            left -= pairs.len() as u64;
        }
        Ok(())
    }

    fn choose_pair(&mut self) -> RowPair {
        let Ageing { deleted, count, .. } = self.numbers;
        let first = self.random.random_range(0..count);
        let second = self.random.random_range(0..count - 1);
        let second = second + i64::from(second >= first);
        let ids = [first, second].map(|row| deleted + 1 + row);
        RowPair { ids, overwrites: self.random.random_bool(0.5) }
    }
}

struct RowPair {
    ids: [i64; 2],
    overwrites: bool,
}

impl RowPair {
    fn exchange_rows(
        &self,
        numbers: &Ageing,
        session: &mut dyn Session,
        [one, other, done]: &mut [Rows; 3],
    ) -> Result<()> {
        let [first, second] = self.ids;
        for (id, row) in [(first, &mut *one), (second, &mut *other)] {
            if session.run(numbers.read, &[id.into()], row)? == 0 {
                return Err(Error::from_engine(format!("row {id} is missing")));
            }
        }
        if !self.overwrites {
            for id in self.ids {
                session.run(numbers.delete, &[id.into()], done)?;
            }
        }
        for (id, row) in [(first, &*other), (second, &*one)] {
            let [k, c, pad]: [Value<'_>; 3] = std::array::from_fn(|column| row.get(0, column));
            match self.overwrites {
                true => session.run(numbers.update, &[k, c, pad, id.into()], done)?,
                false => session.run(numbers.insert, &[id.into(), k, c, pad], done)?,
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_form() {
        for (level, form) in
            [("0", "0"), ("0x", "0"), ("-0", "0"), ("1", "1x"), ("1.0x", "1x"), ("0.50x", "0.5x")]
        {
            assert_eq!(normalize_age(level).as_deref(), Ok(form));
            assert_eq!(normalize_age(form).as_deref(), Ok(form));
        }
        assert_eq!([parse_times("0"), parse_times("0.5x"), parse_times("10x")], [0.0, 0.5, 10.0]);
        for level in ["", "x", "-1x", "10.1x", "NaN", "inf", "1xx", "old"] {
            let said = normalize_age(level).unwrap_err();
            assert!(said.starts_with(&format!("`{level}` is no age\nvalid: 0, or ")), "{said}");
        }
    }
}
