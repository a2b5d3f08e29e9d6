use bakeoff_engines::{Access, Error, Result, Rows, Session, Value};

use super::tables::Ask;
use super::transaction::{LedgerTransaction, NoteChange, make_token};
use super::{BALANCE, PreparedLedger};
use crate::{OperationTally, TransactionEnd, WorkloadClient, run_transaction};

const TRANSACT: usize = 0;
const SUM: usize = 1;
/// One operation in this many checks the sum.
const SUM_EVERY: u64 = 16;

/// Observes a client's commits, and logs them outside of the disk that may lose its power.
pub trait CommitObserver {
    /// Transaction `sequence` is about to be committed: it may be found from now on.
    fn note_sent(&mut self, sequence: i64);
    /// Its commit was acknowledged: it must be found from now on.
    fn note_acknowledged(&mut self, sequence: i64);
}

/// Observes nothing.
impl CommitObserver for () {
    fn note_sent(&mut self, _: i64) {}
    fn note_acknowledged(&mut self, _: i64) {}
}

/// Works through its transactions, and checks what it reads.
pub struct LedgerClient<'a> {
    ledger: &'a PreparedLedger,
    number: i64,
    observer: Box<dyn CommitObserver + 'a>,
    /// `None` before the first transaction, and after one in doubt.
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

    fn run_transaction(
        &mut self,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        let (ledger, number, last) = (self.ledger, self.number, self.last.take());
        let (observer, rows) = (&mut self.observer, &mut self.rows);
        let done = run_transaction(session, tally, |session| {
            session.run(Ask::ProgressOf as usize, &[number.into()], rows)?;
            let progress =
                rows.get_int(0, 0).ok_or_else(|| misread_error(number, "its progress is gone"))?;
            if last.is_some_and(|last| last != progress) {
                let text = format!("its progress is {progress} after transaction {last:?}");
                return Err(misread_error(number, &text));
            }
            ledger.apply_transaction(number, progress + 1, session, rows)?;
            observer.note_sent(progress + 1);
            Ok(TransactionEnd::Commit(progress + 1))
        })?;
        self.observer.note_acknowledged(done);
        self.last = Some(done);
        Ok(())
    }

    /// One snapshot always holds the whole sum.
    fn check_sum(&mut self, session: &mut dyn Session) -> Result<()> {
        session.begin(Access::Read)?;
        let read = session.run(Ask::Sum as usize, &[], &mut self.rows);
        let ended = session.rollback();
        read?;
        ended?;
        let (sum, all) = (self.rows.get_int(0, 0), self.ledger.accounts * BALANCE);
        if sum != Some(all) {
            let text = format!("the accounts hold {sum:?} together instead of {all}");
            return Err(misread_error(self.number, &text));
        }
        Ok(())
    }
}

fn misread_error(client: i64, text: &str) -> Error {
    Error::from_engine(format!("client {client} misread: {text}"))
}

impl PreparedLedger {
    fn apply_transaction(
        &self,
        client: i64,
        sequence: i64,
        session: &mut dyn Session,
        rows: &mut Rows,
    ) -> Result<()> {
        let LedgerTransaction { giver, taker, amount, slot, note, forgets } =
            self.make_transaction(client, sequence);
        let [c, s, slot] = [client, sequence, slot].map(Value::Int);
        let mut run = |ask: Ask, parameters: &[Value<'_>]| {
            session.run(ask as usize, parameters, rows).map(drop)
        };
        let entry = [client, sequence, make_token(client, sequence), giver, taker, amount];
        run(Ask::NewEntry, &entry.map(Value::Int))?;
        // In the order of the accounts, so that clients seldom deadlock.
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
    fn choose_operation(&mut self) -> usize {
        self.operations += 1;
        if self.operations.is_multiple_of(SUM_EVERY) { SUM } else { TRANSACT }
    }

    fn run_operation(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        match operation {
            TRANSACT => self.run_transaction(session, tally),
            SUM => self.check_sum(session),
            _ => Err(Error::Usage(format!("ledger has no operation {operation}"))),
        }
    }
}
