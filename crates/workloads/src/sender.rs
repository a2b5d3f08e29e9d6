//! The statements of an operation, as one transaction or each on its own.

use bakeoff_engines::{Access, Database, Result, Rows, Session, Value};
use bakeoff_engines::{Declared, DeclaredLevels};

use crate::{OperationTally, retry_conflicts};

/// Whether an operation is one transaction; the default is not.
pub static TRANSACTION: Declared = Declared {
    name: "transaction",
    summary: "whether an operation's statements are one transaction together",
    syntax: "off or on",
    default: "off",
    canonical: &|text| one_of("a way to send statements", text, &["off", "on"]),
};

/// Checks that a level is one of a few words.
pub fn one_of(what: &str, text: &str, valid: &[&str]) -> std::result::Result<String, String> {
    match valid.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is not {what}\nvalid: {}", valid.join(", "))),
    }
}

/// What the checked level of a factor stands for.
pub fn named<T: Copy>(all: &[(&str, T)], factor: &Declared, levels: &DeclaredLevels) -> T {
    let name = levels.level_of(factor);
    all.iter().find(|(known, _)| *known == name).expect("a checked level").1
}

/// Runs reads of one value each, in one transaction. A missing value counts as 0.
pub fn read_values<const N: usize>(
    database: &dyn Database,
    numbers: [usize; N],
) -> Result<[i64; N]> {
    let mut session = database.session()?;
    session.begin(Access::Read)?;
    let (mut values, mut rows) = ([0; N], Rows::new());
    let read = values.iter_mut().zip(numbers).try_for_each(|(value, number)| {
        session.run(number, &[], &mut rows)?;
        *value = rows.get_int(0, 0).unwrap_or_default();
        Ok(())
    });
    session.rollback()?;
    read.map(|()| values)
}

pub struct Sender<'a> {
    session: &'a mut dyn Session,
    tally: &'a mut OperationTally,
    together: bool,
    rows: u64,
}

impl Sender<'_> {
    /// Runs a write and returns how many rows it changed. If it is a transaction of its own, it is
    /// run again after a conflict.
    pub fn write(&mut self, number: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let count = self.read(number, values, rows)?;
        self.tally.transactions += u64::from(!self.together);
        Ok(count)
    }

    /// Runs a read and returns how many rows it read.
    pub fn read(&mut self, number: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let count = match self.together {
            true => self.session.run(number, values, rows)?,
            false => retry_conflicts(self.session, self.tally, |session| {
                session.run(number, values, rows)
            })?,
        };
        self.rows += count;
        Ok(count)
    }
}

/// Runs the statements that `body` sends, together in a transaction or each on its own. A
/// transaction is run again after a conflict, and counts if it writes.
pub fn send_statements(
    session: &mut dyn Session,
    tally: &mut OperationTally,
    together: Option<Access>,
    mut body: impl FnMut(&mut Sender<'_>) -> Result<()>,
) -> Result<()> {
    let Some(access) = together else {
        let mut sender = Sender { session, tally, together: false, rows: 0 };
        body(&mut sender)?;
        let rows = sender.rows;
        tally.rows += rows;
        return Ok(());
    };
    // Within a transaction nothing counts before its end.
    let rows = retry_conflicts(session, tally, |session| {
        session.begin(access)?;
        let mut nothing = OperationTally::default();
        let mut sender = Sender { session, tally: &mut nothing, together: true, rows: 0 };
        body(&mut sender)?;
        let rows = sender.rows;
        session.commit()?;
        Ok(rows)
    })?;
    tally.transactions += u64::from(access == Access::Write);
    tally.rows += rows;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_engines::Error;

    /// Notes what is called, and has the first calls of a statement end in a conflict.
    struct Notes {
        calls: Vec<String>,
        conflicts: u32,
    }

    impl Session for Notes {
        fn begin(&mut self, access: Access) -> Result<()> {
            self.calls.push(format!("{access:?}"));
            Ok(())
        }
        fn run(&mut self, number: usize, _: &[Value<'_>], _: &mut Rows) -> Result<u64> {
            self.calls.push(number.to_string());
            if number == 2 && self.conflicts > 0 {
                self.conflicts -= 1;
                return Err(Error::Conflict("made up".into()));
            }
            Ok(3)
        }
        fn commit(&mut self) -> Result<()> {
            self.calls.push("commit".into());
            Ok(())
        }
        fn rollback(&mut self) -> Result<()> {
            self.calls.push("rollback".into());
            Ok(())
        }
    }

    fn sent(together: Option<Access>) -> (String, OperationTally) {
        let (mut notes, mut tally) =
            (Notes { calls: Vec::new(), conflicts: 1 }, OperationTally::default());
        let answer = send_statements(&mut notes, &mut tally, together, |sender| {
            sender.read(1, &[], &mut Rows::new())?;
            sender.write(2, &[], &mut Rows::new()).map(drop)
        });
        answer.unwrap();
        (notes.calls.join(" "), tally)
    }

    #[test]
    fn a_conflict_has_the_whole_transaction_run_again_and_rows_count_once() {
        let (calls, tally) = sent(Some(Access::Write));
        assert_eq!(calls, "Write 1 2 rollback Write 1 2 commit");
        assert_eq!((tally.transactions, tally.retries, tally.rows), (1, 1, 6));
        let (calls, tally) = sent(Some(Access::Read));
        assert_eq!(calls, "Read 1 2 rollback Read 1 2 commit");
        assert_eq!((tally.transactions, tally.retries), (0, 1));
    }

    #[test]
    fn a_statement_of_its_own_is_run_again_alone() {
        let (calls, tally) = sent(None);
        assert_eq!(calls, "1 2 rollback 2");
        assert_eq!((tally.transactions, tally.retries, tally.rows), (1, 1, 6));
    }

    #[test]
    fn a_word_that_is_none_is_told_with_those_that_are() {
        assert_eq!((TRANSACTION.canonical)("on").as_deref(), Ok("on"));
        let said = (TRANSACTION.canonical)("yes").unwrap_err();
        assert_eq!(said, "`yes` is not a way to send statements\nvalid: off, on");
    }
}
