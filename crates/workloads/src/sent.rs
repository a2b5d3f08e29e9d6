//! The statements of an operation: one transaction together, or each a transaction of its own.

use bakeoff_engines::{Access, Result, Rows, Session, Value};
use bakeoff_factor::Declared;

use crate::{OperationTally, again};

/// Whether an operation's statements are a transaction together, where they are none unless the user says
/// otherwise.
pub static TRANSACTION: Declared = Declared {
    name: "transaction",
    summary: "whether an operation's statements are one transaction together",
    syntax: "off or on",
    default: "off",
    canonical: |text| one_of("a way to send statements", text, &["off", "on"]),
};

/// A level that is one of a few words.
///
/// # Errors
/// That it is none of them, and the valid ones.
pub fn one_of(what: &str, text: &str, valid: &[&str]) -> std::result::Result<String, String> {
    match valid.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is not {what}\nvalid: {}", valid.join(", "))),
    }
}

/// Sends the statements of one operation.
pub struct Sender<'a> {
    session: &'a mut dyn Session,
    tally: &'a mut OperationTally,
    /// Whether they are one transaction.
    together: bool,
    /// Rows that the statements read or changed.
    rows: u64,
}

impl Sender<'_> {
    /// Runs a statement that reads; how many rows it read.
    ///
    /// # Errors
    /// The engine's own; a conflict where the whole transaction has to be run again.
    pub fn read(&mut self, number: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        self.run(number, values, rows)
    }

    /// Runs a statement that writes; how many rows it changed. One that is a transaction of its own is
    /// run again after a conflict, and counts.
    ///
    /// # Errors
    /// As [`Sender::read`].
    pub fn write(&mut self, number: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let count = self.run(number, values, rows)?;
        self.tally.transactions += u64::from(!self.together);
        Ok(count)
    }

    fn run(&mut self, number: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let count = match self.together {
            true => self.session.run(number, values, rows)?,
            false => again(self.session, self.tally, |session| session.run(number, values, rows))?,
        };
        self.rows += count;
        Ok(count)
    }
}

/// Runs the statements that `body` sends: together in a transaction for `together`, or each on its own.
/// A transaction that ends in a conflict is run again, with what `body` then sends; it counts if it
/// writes. The rows that statements read or changed count.
///
/// # Errors
/// As of [`crate::transaction`].
pub fn send(
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
    // Within a transaction nothing is counted before it has ended.
    let rows = again(session, tally, |session| {
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
        let answer = send(&mut notes, &mut tally, together, |sender| {
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
