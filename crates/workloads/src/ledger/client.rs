//! A client of the ledger.

use bakeoff_engines::{Access, Error, Result, Rows, Session, Value};

use super::tables::Ask;
use super::transaction::{LedgerTransaction, NoteChange, token};
use super::{BALANCE, PreparedLedger};
use crate::{OperationTally, TransactionEnd, WorkloadClient, transaction};

const TRANSACT: usize = 0;
const SUM: usize = 1;
/// One operation in so many checks the sum.
const SUM_EVERY: u64 = 16;

/// Is told what a client does, and logs it outside of the disk that may lose its power.
pub trait CommitObserver {
    /// The transaction of that number is about to be committed: from now on it may be found.
    fn sent(&mut self, sequence: i64);
    /// Its commit was acknowledged: from now on it has to be found.
    fn acknowledged(&mut self, sequence: i64);
}

/// Nobody is told.
impl CommitObserver for () {
    fn sent(&mut self, _: i64) {}
    fn acknowledged(&mut self, _: i64) {}
}

/// A client: works through its transactions, and checks what it reads as it goes.
pub struct LedgerClient<'a> {
    ledger: &'a PreparedLedger,
    number: i64,
    observer: Box<dyn CommitObserver + 'a>,
    /// Its last acknowledged transaction; unknown before the first, and after one that is in doubt.
    last: Option<i64>,
    operations: u64,
    rows: Rows,
}

impl<'a> LedgerClient<'a> {
    pub(super) fn new(
        ledger: &'a PreparedLedger,
        number: i64,
        observer: Box<dyn CommitObserver + 'a>,
    ) -> Self {
        Self { ledger, number, observer, last: None, operations: 0, rows: Rows::new() }
    }

    fn transact(&mut self, session: &mut dyn Session, tally: &mut OperationTally) -> Result<()> {
        let (ledger, number, last) = (self.ledger, self.number, self.last.take());
        let (observer, rows) = (&mut self.observer, &mut self.rows);
        let done = transaction(session, tally, |session| {
            session.run(Ask::ProgressOf as usize, &[number.into()], rows)?;
            let progress = rows.int(0, 0).ok_or_else(|| misread(number, "its progress is gone"))?;
            if last.is_some_and(|last| last != progress) {
                let text = format!("its progress is {progress} after transaction {last:?}");
                return Err(misread(number, &text));
            }
            ledger.apply(number, progress + 1, session, rows)?;
            observer.sent(progress + 1);
            Ok(TransactionEnd::Commit(progress + 1))
        })?;
        self.observer.acknowledged(done);
        self.last = Some(done);
        Ok(())
    }

    /// In one snapshot, nothing is ever missing from the accounts.
    fn sum(&mut self, session: &mut dyn Session) -> Result<()> {
        session.begin(Access::Read)?;
        let read = session.run(Ask::Sum as usize, &[], &mut self.rows);
        let ended = session.rollback();
        read?;
        ended?;
        let (sum, all) = (self.rows.int(0, 0), self.ledger.accounts * BALANCE);
        if sum != Some(all) {
            let text = format!("the accounts hold {sum:?} together instead of {all}");
            return Err(misread(self.number, &text));
        }
        Ok(())
    }
}

fn misread(client: i64, text: &str) -> Error {
    Error::engine(format!("client {client} misread: {text}"))
}

impl PreparedLedger {
    /// Runs the statements of transaction `sequence`; the caller begins and commits it.
    fn apply(
        &self,
        client: i64,
        sequence: i64,
        session: &mut dyn Session,
        rows: &mut Rows,
    ) -> Result<()> {
        let LedgerTransaction { giver, taker, amount, slot, note, forgets } =
            self.transaction(client, sequence);
        let [c, s, slot] = [client, sequence, slot].map(Value::Int);
        let mut run = |ask: Ask, parameters: &[Value<'_>]| {
            session.run(ask as usize, parameters, rows).map(drop)
        };
        let entry = [client, sequence, token(client, sequence), giver, taker, amount];
        run(Ask::NewEntry, &entry.map(Value::Int))?;
        // In the order of the accounts, so that clients seldom wait for each other in a circle.
        let mut moves = [(giver, -amount), (taker, amount)];
        moves.sort_unstable();
        for (account, amount) in moves {
            run(Ask::AddToAccount, &[amount.into(), account.into()])?;
        }
        match note {
            NoteChange::Put { title, content } => {
                run(Ask::PutNote, &[c, slot, s, title.into(), content.into()])?;
            }
            NoteChange::Edit { title, content } => {
                run(Ask::EditNote, &[s, title.into(), content.into(), c, slot])?;
            }
            NoteChange::Remove => run(Ask::RemoveNote, &[c, slot])?,
        }
        if let Some(old) = forgets {
            run(Ask::ForgetEntry, &[c, old.into()])?;
        }
        run(Ask::SetProgress, &[s, c])
    }
}

impl WorkloadClient for LedgerClient<'_> {
    fn choose(&mut self) -> usize {
        self.operations += 1;
        if self.operations.is_multiple_of(SUM_EVERY) { SUM } else { TRANSACT }
    }

    fn perform(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        match operation {
            TRANSACT => self.transact(session, tally),
            SUM => self.sum(session),
            _ => Err(Error::Usage(format!("ledger has no operation {operation}"))),
        }
    }
}
