//! What is found after a power cut: databases that broke a promise, each in one way, and a sound one.

use std::cell::RefCell;
use std::rc::Rc;

use bakeoff_engines::{Access, Action, Database, Loader, Result, Rows, Session, Value, find_level};
use bakeoff_workloads::{AuditFindings, Claims, OperationTally, read_claim_clock};

use crate::stage::{Stage, example, to_files};

const CLIENTS: usize = 3;

/// A shop whose customers buy, with claims, and what may be done behind its back.
struct Shop {
    stage: Stage,
    claims: Vec<Vec<u8>>,
}

/// The added statements.
const DELETE_LINE: usize = 0;
const DELETE_CLAIM: usize = 1;
const INSERT_CLAIM: usize = 2;
const INSERT_LINE: usize = 3;
const DELETE_ORDER: usize = 4;

const ORDERS: usize = 4;
const LINES: usize = 5;
const CLAIMED: usize = 6;

struct KeptBytes(Rc<RefCell<Vec<u8>>>);

impl Claims for KeptBytes {
    fn store_claim(&mut self, record: &[u8]) {
        self.0.borrow_mut().extend_from_slice(record);
    }
}

impl Shop {
    /// Each client buys so often; the commits of a client for which `keeps` is false are
    /// acknowledged, and have no effect.
    fn new(times: usize, keeps: &dyn Fn(usize) -> bool) -> Self {
        let added = vec![
            Action::Delete { table: LINES },
            Action::Delete { table: CLAIMED },
            Action::Insert { table: CLAIMED },
            Action::Insert { table: LINES },
            Action::Delete { table: ORDERS },
        ];
        let stage = Stage::on(find_level("sqlite").unwrap(), example(), added);
        let mut shop = Self { stage, claims: vec![Vec::new(); CLIENTS] };
        (0..CLIENTS).for_each(|client| shop.claims[client] = shop.buy(client, times, keeps));
        shop
    }

    /// The claims of one client.
    fn buy(&self, client: usize, times: usize, keeps: &dyn Fn(usize) -> bool) -> Vec<u8> {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let buy = self.stage.find_operation("buy");
        let audited = self.stage.prepared.as_audited().unwrap();
        let mut buyer = audited.make_claimant(client, Box::new(KeptBytes(Rc::clone(&kept))));
        let inner = self.stage.database.session().unwrap();
        let mut session = ForgetfulSession { inner, commits: 0, keeps };
        for _ in 0..times {
            let tally = &mut OperationTally::default();
            buyer.run_operation(buy, &mut session, tally).unwrap();
            assert_eq!((tally.transactions, tally.retries), (1, 0));
        }
        drop((buyer, session));
        kept.take()
    }

    fn audit(&self) -> AuditFindings {
        self.audit_at(&*self.stage.database, u64::MAX)
    }

    fn audit_at(&self, database: &dyn Database, off_at_ns: u64) -> AuditFindings {
        let audited = self.stage.prepared.as_audited().unwrap();
        audited.audit_database(database, &self.claims, off_at_ns).unwrap()
    }

    fn count_acknowledged(&self, off_at_ns: u64) -> u64 {
        self.stage.prepared.as_audited().unwrap().count_acknowledged(&self.claims, off_at_ns)
    }

    /// Changes one row behind the engine's back.
    #[track_caller]
    fn tamper(&self, added: usize, values: &[Value<'_>]) {
        assert_eq!(self.stage.run_added(added, values), 1, "there was nothing to tamper with");
    }
}

/// A session that forgets some commits.
struct ForgetfulSession<'d> {
    inner: Box<dyn Session + 'd>,
    commits: usize,
    keeps: &'d dyn Fn(usize) -> bool,
}

impl Session for ForgetfulSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.inner.begin(access)
    }

    fn run(&mut self, statement: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        self.inner.run(statement, values, rows)
    }

    fn commit(&mut self) -> Result<()> {
        self.commits += 1;
        match (self.keeps)(self.commits) {
            true => self.inner.commit(),
            false => self.inner.rollback(),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        self.inner.rollback()
    }
}

/// Lost, phantom, torn, hole, and entries of a broken index.
fn count(findings: &AuditFindings) -> [u64; 5] {
    let AuditFindings { lost, phantom, torn, hole, index_broken, .. } = findings;
    [*lost, *phantom, *torn, *hole, *index_broken]
}

/// The keys that `buy` gets: orders and lines are numbered from their loaded rows on.
const FIRST_ORDER: i64 = 3001;
const FIRST_LINE: i64 = 6001;

#[test]
fn a_sound_database_has_no_finding() {
    let shop = Shop::new(12, &|_| true);
    assert_eq!(shop.audit(), AuditFindings::default());
    assert_eq!(shop.count_acknowledged(u64::MAX), 36);
}

/// What a script rolls back is no transaction: its rows are missed by nobody.
#[test]
fn a_transaction_that_its_script_rolls_back_leaves_no_claim() {
    const GIVES_UP: &str = "\\set k random(1000, 1000000000)\nBEGIN;\n\
                            INSERT INTO log (id, a) VALUES (:k, 1);\n\
                            \\if random(1, 3) = 1\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\n\
                            INSERT INTO log (id, a) VALUES (-:k, 2);";
    let schema = "CREATE TABLE log (id BIGINT PRIMARY KEY, a BIGINT);";
    let files = to_files("lab", &[("schema.sql", schema), ("op.sql", GIVES_UP)]);
    let stage = Stage::on(find_level("sqlite").unwrap(), files, Vec::new());
    let audited = stage.prepared.as_audited().unwrap();
    let kept = Rc::new(RefCell::new(Vec::new()));
    let mut client = audited.make_claimant(0, Box::new(KeptBytes(Rc::clone(&kept))));
    let mut session = stage.database.session().unwrap();
    let mut tally = OperationTally::default();
    (0..40).for_each(|_| client.run_operation(0, &mut *session, &mut tally).unwrap());
    drop((client, session));
    let (claims, given_up) = ([kept.take()], tally.paths.rolled_back);
    assert!((1..40).contains(&given_up), "{tally:?}");
    assert_eq!(tally.transactions, 80 - given_up);
    assert_eq!(audited.count_acknowledged(&claims, u64::MAX), 80 - given_up);
    let found = audited.audit_database(&*stage.database, &claims, u64::MAX).unwrap();
    assert_eq!(found, AuditFindings::default());
}

#[test]
fn an_acknowledged_transaction_that_is_gone_is_lost() {
    let last_gone = Shop::new(12, &|commit| commit < 11).audit();
    assert_eq!(count(&last_gone), [6, 0, 0, 0, 0], "{last_gone:?}");
    assert!(last_gone.examples[0].contains("transaction 11 was acknowledged and is lost"));
    assert!(last_gone.oldest_lost_at_ns.is_some());
    let one_gone = Shop::new(12, &|commit| commit != 5).audit();
    assert_eq!(count(&one_gone), [3, 0, 0, 3, 0], "{one_gone:?}");
}

#[test]
fn what_is_there_in_part_is_torn() {
    for (added, key, word) in
        [(DELETE_LINE, FIRST_LINE, "order_lines"), (DELETE_ORDER, FIRST_ORDER, "orders")]
    {
        let shop = Shop::new(6, &|_| true);
        shop.tamper(added, &[key.into()]);
        let found = shop.audit();
        assert!(found.torn > 0 && found.lost == 0 && found.phantom == 0, "{found:?}");
        assert!(found.examples[0].contains(word), "{found:?}");
    }
    // The row that says that the transaction was there.
    let shop = Shop::new(6, &|_| true);
    shop.tamper(DELETE_CLAIM, &[1.into(), 6.into()]);
    let found = shop.audit();
    assert!(found.torn > 1 && found.lost == 1 && found.hole == 0, "{found:?}");
    assert!(found.examples.iter().any(|it| it.contains("is there without its transaction 6")));
}

#[test]
fn what_nobody_sent_is_a_phantom() {
    let shop = Shop::new(6, &|_| true);
    shop.tamper(INSERT_CLAIM, &[1.into(), 99.into()]);
    let found = shop.audit();
    assert_eq!(count(&found), [0, 1, 0, 0, 0], "{found:?}");
    let stranger = Shop::new(6, &|_| true);
    stranger.tamper(INSERT_CLAIM, &[77.into(), 1.into()]);
    assert_eq!(stranger.audit().phantom, 1);
}

#[test]
fn an_invariant_that_fails_counts_as_torn() {
    let shop = Shop::new(1, &|_| true);
    let line: [Value<'_>; 4] = [Value::Null, 999_999.into(), 1.into(), 1.into()];
    shop.tamper(INSERT_LINE, &line);
    let found = shop.audit();
    assert_eq!(count(&found), [0, 0, 1, 0, 0], "{found:?}");
    assert_eq!(found.examples, ["shop/invariants.sql:2:1: answers (1)"]);
}

#[test]
fn what_came_after_the_end_of_the_power_is_no_claim() {
    let mut shop = Shop::new(6, &|_| true);
    let off = read_claim_clock();
    // A process that begins after it numbers its transactions anew, and none of them is kept.
    for client in 0..CLIENTS {
        let more = shop.buy(client + CLIENTS, 3, &|_| false);
        shop.claims[client].extend(more);
    }
    assert_eq!(count(&shop.audit_at(&*shop.stage.database, off)), [0; 5]);
    assert_eq!((shop.count_acknowledged(off), shop.count_acknowledged(0)), (18, 0));
    // As if it had gone before: what is there was never sent.
    assert_eq!(shop.audit_at(&*shop.stage.database, 0).phantom, 18);
}

/// A database that leaves the first row out of one answer.
struct HidingDatabase<'d> {
    inner: &'d dyn Database,
    statement: usize,
}

struct HidingSession<'d> {
    inner: Box<dyn Session + 'd>,
    statement: usize,
}

impl Database for HidingDatabase<'_> {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(HidingSession { inner: self.inner.session()?, statement: self.statement }))
    }

    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>> {
        self.inner.load(table)
    }

    fn warm(&self) -> Result<()> {
        self.inner.warm()
    }

    fn drain(&self) -> Result<()> {
        self.inner.drain()
    }

    fn check(&self) -> Result<Vec<String>> {
        self.inner.check()
    }
}

impl Session for HidingSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.inner.begin(access)
    }

    fn run(&mut self, statement: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let count = self.inner.run(statement, values, rows)?;
        if statement != self.statement {
            return Ok(count);
        }
        let all = std::mem::take(rows);
        rows.reset(all.width());
        (1..all.len()).flat_map(|row| all.row(row)).for_each(|cell| rows.push(cell));
        Ok(count - 1)
    }

    fn commit(&mut self) -> Result<()> {
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.inner.rollback()
    }
}

#[test]
fn an_index_without_its_row_is_broken() {
    let shop = Shop::new(2, &|_| true);
    let statements = shop.stage.prepared.statements();
    let name = "audit: all of orders_by_customer";
    let statement = statements.iter().position(|it| it.name == name).unwrap();
    let hiding = HidingDatabase { inner: &*shop.stage.database, statement };
    let found = shop.audit_at(&hiding, u64::MAX);
    assert_eq!(count(&found), [0, 0, 0, 0, 1], "{found:?}");
    assert!(found.examples[0].contains("orders_by_customer"), "{found:?}");
}
