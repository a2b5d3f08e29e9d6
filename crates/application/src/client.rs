//! A client that runs compiled operations. Nothing is parsed, looked up or allocated in its loop.

mod invariants;

use std::time::Duration;

use bakeoff_engines::{Access, Error, Result, Rows, Session, Value};
use bakeoff_workloads::{
    MOST_TRIES, OperationPaths, OperationTally, WorkloadClient, WorkloadRandom, seed_stream,
    wait_before_retry,
};

use crate::claims::TransactionClaims;
use crate::expression::calendar::write_timestamp;
use crate::expression::{Evaluation, Expression, OpaqueBytes, Operand, read_datum};
use crate::generators::ValueBuffers;
use crate::prepared::PreparedApplication;
use crate::script::automatic::{
    CLIENT_ID, CLIENTS, DEFAULT_SEED, FIRST_GIVEN, NOW, RANDOM_SEED, ROW_COUNT, SCALE,
};
use crate::script::steps::{
    AnswerUse, DuplicateRule, Operation, ParameterValue, PickStep, RunStep, Step,
};
use crate::{Datum, Slot, Slots, SourcePlace};

/// Operations between two looks at the invariants where the power is cut.
const CHECKED_EVERY: u64 = 32;
/// Attempts of an operation that begins itself again.
const MOST_ATTEMPTS: u64 = 100;
/// Parameters that need no memory of their own.
const FEW: usize = 16;

/// `:now` begins on 2026-01-01, in microseconds since 1970.
const EPOCH_US: i64 = 1_767_225_600_000_000;
/// The stream of a client's choices of operations.
const CHOICES: u64 = 0x6368_6f69_6365;

/// A list of values, such as a column of an answer.
#[derive(Debug, Default)]
struct ValueList {
    items: Slots,
    length: usize,
}

impl ValueList {
    fn get(&self, index: usize) -> Datum<'_> {
        match self.length {
            0 => Datum::Null,
            length => self.items.get(index.min(length - 1)),
        }
    }

    fn fill(&mut self, rows: &Rows, column: usize) {
        self.length = rows.len();
        self.items.grow(self.length);
        (0..self.length).for_each(|row| self.items.set(row, rows.get(row, column).into()));
    }

    fn copy_from(&mut self, other: &Self) {
        self.length = other.length;
        self.items.grow(self.length);
        (0..self.length).for_each(|item| self.items.set(item, other.items.get(item)));
    }
}

/// What an operation changes while it runs.
#[derive(Debug)]
struct OperationState {
    slots: Slots,
    lists: Vec<ValueList>,
    random: WorkloadRandom,
    /// Those of this attempt: each at most once.
    paths: OperationPaths,
}

pub struct ApplicationClient<'a> {
    application: &'a PreparedApplication,
    /// The first variable that scripts set; those before stay as they are, but for [`ROW_COUNT`] and
    /// [`NOW`].
    first_own: Slot,
    seed: u64,
    client: u64,
    clients: u64,
    /// Operations begun.
    number: u64,
    choices: WorkloadRandom,
    state: OperationState,
    /// The variables and lists at the beginning of the transaction.
    saved: Slots,
    saved_lists: Vec<ValueList>,
    rows: Rows,
    scratch: String,
    picked: ValueBuffers,
    /// Only where the power is cut.
    claimant: Option<TransactionClaims<'a>>,
}

/// How a run of the steps ended.
enum StepsEnd {
    Done,
    Again,
}

/// A transaction that may begin again.
struct RunningTransaction {
    begin: usize,
    writes: bool,
    random: WorkloadRandom,
    paths: OperationPaths,
    rows: u64,
    bytes: u64,
}

impl<'a> ApplicationClient<'a> {
    pub fn new(
        application: &'a PreparedApplication,
        client: usize,
        clients: usize,
        seed: u64,
    ) -> Self {
        let invariants = application.invariants.as_deref();
        let operations = || application.operations.iter().chain(invariants);
        let count = operations().map(|it| it.slots).max().unwrap_or(0);
        let lists = operations().map(|it| it.lists).max().unwrap_or(0);
        let mut slots = Slots::new(count);
        slots.set(CLIENT_ID, Datum::Int(client as i64));
        slots.set(CLIENTS, Datum::Int(clients as i64));
        slots.set(SCALE, Datum::Int(application.scale));
        slots.set(RANDOM_SEED, Datum::Int(seed.cast_signed()));
        slots.set(DEFAULT_SEED, Datum::Int(seed.cast_signed()));
        for (slot, value) in (FIRST_GIVEN..).zip(&application.given) {
            slots.set(slot, value.as_datum());
        }
        Self {
            application,
            first_own: FIRST_GIVEN + application.given.len(),
            seed,
            client: client as u64,
            clients: clients as u64,
            number: 0,
            choices: seed_stream(seed ^ CHOICES, client as u64),
            state: OperationState {
                slots,
                lists: (0..lists).map(|_| ValueList::default()).collect(),
                random: seed_stream(seed, client as u64),
                paths: OperationPaths::default(),
            },
            saved: Slots::new(count),
            saved_lists: (0..lists).map(|_| ValueList::default()).collect(),
            rows: Rows::new(),
            scratch: String::new(),
            picked: ValueBuffers::default(),
            claimant: None,
        }
    }

    /// A client that also writes down what was acknowledged.
    pub fn with_claims(self, claims: TransactionClaims<'a>) -> Self {
        Self { claimant: Some(claims), ..self }
    }

    /// Draws depend on the seed, the client, the operation's number and the attempt, and on nothing
    /// that happened before.
    fn begin_attempt(&mut self, operation: &Operation, attempt: u64) {
        let stream = (self.client << 44) + (self.number << 7) + attempt;
        self.state.random = seed_stream(self.seed, stream);
        self.state.paths = OperationPaths::default();
        self.state.slots.clear(self.first_own..operation.slots);
        self.state.slots.set(ROW_COUNT, Datum::Int(0));
        self.state.lists.iter_mut().for_each(|list| list.length = 0);
        if operation.reads_now {
            let moment = self.number * self.clients + self.client;
            let now = self.state.slots.begin_text(NOW);
            write_timestamp(EPOCH_US + moment.cast_signed(), now);
        }
    }

    fn run_steps(
        &mut self,
        operation: &Operation,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<StepsEnd> {
        let mut open: Option<RunningTransaction> = None;
        let (mut at, mut tries) = (0, 0);
        let (mut rule, mut begun_rule) = (DuplicateRule::Fail, DuplicateRule::Fail);
        while let Some(placed) = operation.steps.get(at) {
            let next = match &placed.step {
                Step::Again => return Ok(StepsEnd::Again),
                Step::OnDuplicate(new) => {
                    rule = *new;
                    Ok(at + 1)
                }
                step => {
                    if matches!(step, Step::Begin(_)) {
                        begun_rule = rule;
                    }
                    self.run_step((at, step), operation, session, &mut open, tally)
                }
            };
            match next {
                Ok(next) => at = next,
                Err(Error::Conflict(_)) if tries < MOST_TRIES => {
                    tries += 1;
                    tally.retries += 1;
                    session.rollback()?;
                    if let Some(open) = open.take() {
                        (at, rule) = (open.begin, begun_rule);
                        let Self { state, saved, saved_lists, first_own, .. } = self;
                        state.slots.copy_from(saved, ROW_COUNT..ROW_COUNT + 1);
                        state.slots.copy_from(saved, *first_own..operation.slots);
                        copy_lists(&mut state.lists, saved_lists);
                        (state.random, state.paths) = (open.random, open.paths);
                    }
                    wait_before_retry(tries);
                }
                Err(Error::Duplicate(_)) if rule == DuplicateRule::Skip => {
                    session.rollback()?;
                    self.state.paths.skipped = 1;
                    return Ok(StepsEnd::Done);
                }
                Err(Error::Duplicate(_)) if rule == DuplicateRule::Again => {
                    return Ok(StepsEnd::Again);
                }
                Err(error) => return Err(name_place(&placed.place, error)),
            }
        }
        Ok(StepsEnd::Done)
    }

    /// Returns the number of the next step.
    fn run_step(
        &mut self,
        (at, step): (usize, &Step),
        operation: &Operation,
        session: &mut dyn Session,
        open: &mut Option<RunningTransaction>,
        tally: &mut OperationTally,
    ) -> Result<usize> {
        match step {
            Step::Set { slot, expression } => self.set_variable(*slot, expression)?,
            Step::Run(run) => self.run_statement(run, session, open.as_mut(), tally)?,
            Step::Begin(access) => {
                session.begin(*access)?;
                *open = Some(self.save_beginning(at, *access, operation));
            }
            Step::Commit => self.commit_transaction(session, open, tally)?,
            Step::Rollback => {
                session.rollback()?;
                *open = None;
                self.state.paths.rolled_back = 1;
            }
            Step::Sleep { duration, unit_us } => {
                let seconds = self.evaluate_number(duration)?.max(0.0) * unit_us / 1e6;
                let time = Duration::try_from_secs_f64(seconds);
                std::thread::sleep(time.map_err(Error::from_engine)?);
            }
            Step::Pick(pick) => self.pick_row(pick)?,
            Step::Count { slot, turns } => {
                let turns = self.evaluate_number(turns)? as i64;
                self.state.slots.set(*slot, Datum::Int(turns));
            }
            Step::JumpUnless { .. }
            | Step::Jump(_)
            | Step::TakeTurn { .. }
            | Step::TakeItem { .. } => return Ok(self.find_jump(step)?.unwrap_or(at + 1)),
            Step::Assert(condition) => {
                if !self.evaluate_truth(condition)? {
                    return Err(Error::from_engine("\\assert fails: the answer is wrong"));
                }
            }
            Step::Again | Step::OnDuplicate(_) => {}
        }
        Ok(at + 1)
    }

    #[inline]
    fn set_variable(&mut self, slot: Slot, expression: &Expression) -> Result<()> {
        let Self { application, seed, state, scratch, .. } = self;
        match evaluate(application, *seed, state, expression, scratch)? {
            Operand::Text(span) if span.is_whole(scratch) => {
                state.slots.swap_text(slot, scratch);
            }
            Operand::Bytes(OpaqueBytes::Drawn(drawn)) => {
                drawn.write_to(state.slots.begin_bytes(slot));
            }
            Operand::Bytes(OpaqueBytes::Variable(from)) => state.slots.copy_bytes(from, slot),
            value => state.slots.set(slot, read_datum(value, scratch)),
        }
        Ok(())
    }

    /// Where a step jumps to, if it does.
    fn find_jump(&mut self, step: &Step) -> Result<Option<usize>> {
        Ok(match step {
            Step::JumpUnless { condition, to } => {
                if self.evaluate_truth(condition)? {
                    None
                } else {
                    Some(*to)
                }
            }
            Step::Jump(to) => Some(*to),
            Step::TakeTurn { slot, to } => match self.state.slots.get(*slot) {
                Datum::Int(left) if left > 0 => {
                    self.state.slots.set(*slot, Datum::Int(left - 1));
                    None
                }
                _ => Some(*to),
            },
            Step::TakeItem { list, position, item, to } => {
                let OperationState { slots, lists, .. } = &mut self.state;
                match slots.get(*position) {
                    Datum::Int(taken) if (taken as usize) < lists[*list].length => {
                        slots.set(*item, lists[*list].get(taken as usize));
                        slots.set(*position, Datum::Int(taken + 1));
                        None
                    }
                    _ => Some(*to),
                }
            }
            _ => None,
        })
    }

    /// Keeps what a transaction that is run again begins with.
    fn save_beginning(
        &mut self,
        begin: usize,
        access: Access,
        operation: &Operation,
    ) -> RunningTransaction {
        let Self { state, saved, saved_lists, first_own, .. } = &mut *self;
        saved.copy_from(&state.slots, ROW_COUNT..ROW_COUNT + 1);
        saved.copy_from(&state.slots, *first_own..operation.slots);
        copy_lists(saved_lists, &state.lists);
        let (writes, random, paths) = (access == Access::Write, state.random.clone(), state.paths);
        self.begin_claim();
        RunningTransaction { begin, writes, random, paths, rows: 0, bytes: 0 }
    }

    fn commit_transaction(
        &mut self,
        session: &mut dyn Session,
        open: &mut Option<RunningTransaction>,
        tally: &mut OperationTally,
    ) -> Result<()> {
        self.commit_claimed(session, open.as_ref().is_some_and(|open| open.writes))?;
        if let Some(open) = open.take() {
            tally.rows += open.rows;
            tally.bytes += open.bytes;
            tally.transactions += u64::from(open.writes);
        }
        Ok(())
    }

    fn run_statement(
        &mut self,
        run: &RunStep,
        session: &mut dyn Session,
        open: Option<&mut RunningTransaction>,
        tally: &mut OperationTally,
    ) -> Result<()> {
        let alone = open.is_none() && run.writes && self.claimant.is_some();
        if alone {
            session.begin(Access::Write)?;
            self.begin_claim();
        }
        let rows = self.send_statement(run, session)?;
        if alone {
            self.commit_claimed(session, true)?;
        }
        match open {
            Some(open) => {
                open.rows += rows;
                open.bytes += self.rows.bytes();
            }
            None => {
                tally.rows += rows;
                tally.bytes += self.rows.bytes();
                tally.transactions += u64::from(run.writes);
            }
        }
        self.state.slots.set(ROW_COUNT, Datum::Int(rows.cast_signed()));
        self.use_answer(&run.answer)
    }

    fn send_statement(&mut self, run: &RunStep, session: &mut dyn Session) -> Result<u64> {
        let state = &self.state;
        let number = self.application.numbers[run.statement];
        let rows = match &run.parameters[..] {
            [one] => session.run(number, &[read_parameter(state, one)], &mut self.rows)?,
            few if few.len() <= FEW => {
                let mut values = [Value::Null; FEW];
                for (place, parameter) in values.iter_mut().zip(few) {
                    *place = read_parameter(state, parameter);
                }
                session.run(number, &values[..few.len()], &mut self.rows)?
            }
            many => {
                let values: Vec<Value<'_>> =
                    many.iter().map(|it| read_parameter(state, it)).collect();
                session.run(number, &values, &mut self.rows)?
            }
        };
        if let (Some(claimant), Some(table)) = (&mut self.claimant, run.inserts)
            && let Some(key) = self.rows.get_int(0, 0)
        {
            claimant.note_key(table, key);
        }
        Ok(rows)
    }

    /// Where the power is cut, the first client looks now and then whether the invariants hold before.
    fn claim_violations(&mut self, session: &mut dyn Session) -> Result<()> {
        let is_due = self.client == 0 && self.number % CHECKED_EVERY == 1;
        if self.claimant.is_none() || !is_due || self.find_violations(session)?.is_empty() {
            return Ok(());
        }
        self.claimant.iter_mut().for_each(TransactionClaims::note_violation);
        Ok(())
    }

    fn begin_claim(&mut self) {
        if let Some(claimant) = &mut self.claimant {
            claimant.begin_transaction();
        }
    }

    /// Commits; where the power is cut, with a row that tells which transaction it was.
    fn commit_claimed(&mut self, session: &mut dyn Session, writes: bool) -> Result<()> {
        let Some(claimant) = self.claimant.as_mut().filter(|_| writes) else {
            return session.commit();
        };
        let row = [self.client.cast_signed().into(), claimant.next_sequence().into()];
        session.run(self.application.audit_statements().insert, &row, &mut Rows::new())?;
        claimant.note_sent();
        session.commit()?;
        claimant.note_acknowledged();
        Ok(())
    }

    fn use_answer(&mut self, answer: &AnswerUse) -> Result<()> {
        let (state, rows) = (&mut self.state, &self.rows);
        match answer {
            AnswerUse::Ignore => {}
            AnswerUse::List { column, list } => {
                check_width(rows, *column)?;
                state.lists[*list].fill(rows, *column);
            }
            AnswerUse::Row { slots, optional } => match rows.len() {
                0 if *optional => {
                    state.paths.unmatched = 1;
                    slots.iter().for_each(|(_, slot)| state.slots.set(*slot, Datum::Null));
                }
                1 => {
                    for (column, slot) in slots {
                        check_width(rows, *column)?;
                        state.slots.set(*slot, rows.get(0, *column).into());
                    }
                }
                0 => {
                    return Err(Error::from_engine(
                        "\\gset wants one row and gets none: write `\\gset optional` if that may be",
                    ));
                }
                many => {
                    return Err(Error::from_engine(format!(
                        "\\gset wants one row and gets {many}: add LIMIT 1, or take a list by `\\lset`"
                    )));
                }
            },
        }
        Ok(())
    }

    fn pick_row(&mut self, pick: &PickStep) -> Result<()> {
        let row = self.evaluate_number(&pick.row)? as i64;
        for (column, slot) in &pick.columns {
            let rows = &self.application.rows;
            let value = rows.write_value(pick.table, *column, row, &mut self.picked);
            self.state
                .slots
                .set(*slot, value.map_err(|error| Error::from_engine(error.to_string()))?);
        }
        Ok(())
    }

    fn evaluate(&mut self, expression: &Expression) -> Result<Datum<'_>> {
        let Self { application, seed, state, scratch, .. } = self;
        let value = evaluate(application, *seed, state, expression, scratch)?;
        Ok(read_datum(value, scratch))
    }

    /// Null is not true.
    fn evaluate_truth(&mut self, condition: &Expression) -> Result<bool> {
        Ok(match self.evaluate(condition)? {
            Datum::Bool(truth) => truth,
            Datum::Int(int) => int != 0,
            Datum::Real(real) => real != 0.0,
            Datum::Null | Datum::Text(_) | Datum::Bytes(_) => false,
        })
    }

    fn evaluate_number(&mut self, expression: &Expression) -> Result<f64> {
        match self.evaluate(expression)? {
            Datum::Int(int) => Ok(int as f64),
            Datum::Real(real) => Ok(real),
            Datum::Bytes(_) => Err(Error::Usage("bytes are no number".into())),
            other => Err(Error::Usage(format!("`{other}` is no number"))),
        }
    }
}

#[inline]
fn evaluate(
    application: &PreparedApplication,
    seed: u64,
    state: &mut OperationState,
    expression: &Expression,
    scratch: &mut String,
) -> Result<Operand> {
    let mut evaluation = Evaluation {
        slots: &state.slots,
        random: &mut state.random,
        default_seed: seed.cast_signed(),
        text: &application.text,
        rows: &application.rows,
    };
    let value = expression.evaluate_operand(&mut evaluation, scratch);
    value.map_err(|error| Error::from_engine(error.to_string()))
}

fn read_parameter<'s>(state: &'s OperationState, parameter: &'s ParameterValue) -> Value<'s> {
    match parameter {
        ParameterValue::Slot(slot) => state.slots.get(*slot).into(),
        ParameterValue::Negated(slot) => match state.slots.get(*slot) {
            Datum::Int(int) => Value::Int(int.saturating_neg()),
            Datum::Real(real) => Value::from(-real),
            other => other.into(),
        },
        ParameterValue::Item { list, index } => state.lists[*list].get(*index).into(),
        ParameterValue::Null => Value::Null,
        ParameterValue::Int(int) => Value::Int(*int),
        ParameterValue::Real(real) => Value::from(*real),
        ParameterValue::Text(text) => Value::Text(text),
    }
}

fn copy_lists(lists: &mut [ValueList], from: &[ValueList]) {
    lists.iter_mut().zip(from).for_each(|(list, from)| list.copy_from(from));
}

fn check_width(rows: &Rows, column: usize) -> Result<()> {
    match rows.is_empty() || column < rows.width() {
        true => Ok(()),
        false => Err(Error::Usage(format!("the answer has {} columns", rows.width()))),
    }
}

/// Names the place in an error that no retry mends.
pub fn name_place(place: &SourcePlace, error: Error) -> Error {
    let told = |what: &dyn std::fmt::Display| format!("{place}: {what}");
    match error {
        Error::Usage(what) => Error::Usage(told(&what)),
        Error::Conflict(what) => Error::Conflict(told(&what)),
        Error::Duplicate(what) => Error::Duplicate(told(&what)),
        Error::InDoubt(what) => Error::InDoubt(told(&what)),
        Error::Engine(what) => Error::from_engine(told(&what)),
    }
}

impl WorkloadClient for ApplicationClient<'_> {
    fn choose_operation(&mut self) -> usize {
        self.application.mix.choose_operation(&mut self.choices)
    }

    /// Drawn apart from the operations, whose draws it must not change.
    fn think_time(&mut self, operation: usize) -> Duration {
        let Some(think) = &self.application.operations[operation].think else {
            return Duration::ZERO;
        };
        std::mem::swap(&mut self.state.random, &mut self.choices);
        let seconds = self.evaluate_number(think).unwrap_or(0.0);
        std::mem::swap(&mut self.state.random, &mut self.choices);
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
    }

    fn run_operation(
        &mut self,
        operation: usize,
        session: &mut dyn Session,
        tally: &mut OperationTally,
    ) -> Result<()> {
        let operation = &self.application.operations[operation];
        self.number += 1;
        self.claim_violations(session)?;
        for attempt in 0..MOST_ATTEMPTS {
            self.begin_attempt(operation, attempt);
            let ended = self.run_steps(operation, session, tally);
            match ended {
                Ok(StepsEnd::Done) => {
                    tally.paths += self.state.paths;
                    return Ok(());
                }
                Ok(StepsEnd::Again) => session.rollback()?,
                Err(error) => {
                    let _ = session.rollback();
                    return Err(error);
                }
            }
            tally.paths.begun_again += 1;
        }
        Err(Error::Usage(format!(
            "{}: the operation began again {MOST_ATTEMPTS} times, by \\again or \\on_duplicate again, and did not end",
            operation.name
        )))
    }
}
