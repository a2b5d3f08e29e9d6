use std::cell::Cell;
use std::rc::Rc;

use bakeoff_engines::{Access, Database, Durability, OpenTerms, Value};

use super::audit::ClientClaim;
use super::*;
use crate::OperationTally;

/// Remembers what a client did.
struct Memory(Rc<Cell<ClientClaim>>);

impl CommitObserver for Memory {
    fn note_sent(&mut self, sequence: i64) {
        self.0.set(ClientClaim { sent: sequence, ..self.0.get() });
    }

    fn note_acknowledged(&mut self, sequence: i64) {
        self.0.set(ClientClaim { acknowledged: sequence, ..self.0.get() });
    }
}

/// A ledger on SQLite, and what its one client claims after some operations.
struct Desk {
    ledger: PreparedLedger,
    _folder: tempfile::TempDir,
    database: Box<dyn Database>,
    claim: ClientClaim,
}

/// A loaded ledger.
fn open(engine: &str, folder: &std::path::Path, ledger: &PreparedLedger) -> Box<dyn Database> {
    let engine = bakeoff_engines::find_level(engine).unwrap();
    let terms = OpenTerms::new(Durability::None);
    let database = engine.open(folder, &terms, ledger.schema(), ledger.statements()).unwrap();
    for table in 0..ledger.schema().tables.len() {
        let mut loader = database.load(table).unwrap();
        ledger.rows(table, &mut |row| loader.row(row)).unwrap();
        loader.finish().unwrap();
    }
    database
}

fn desk(operations: usize) -> Desk {
    let ledger = PreparedLedger::new("small", 7, Arc::new(TextSource::generate(7)));
    let folder = tempfile::tempdir().unwrap();
    let database = open("sqlite", folder.path(), &ledger);
    let claim = Rc::new(Cell::new(ClientClaim::default()));
    let mut session = database.session().unwrap();
    let mut client = ledger.observed_client(0, Box::new(Memory(Rc::clone(&claim))));
    for _ in 0..operations {
        let operation = client.choose_operation();
        client.run_operation(operation, &mut *session, &mut OperationTally::default()).unwrap();
    }
    drop((client, session));
    Desk { ledger, _folder: folder, database, claim: claim.get() }
}

impl Desk {
    fn audit(&self) -> AuditFindings {
        self.ledger.compare_claims(&*self.database, &[self.claim]).unwrap().0
    }

    /// Changes a row behind the ledger's back.
    fn tamper(&self, ask: Ask, parameters: &[Value<'_>]) {
        let mut session = self.database.session().unwrap();
        session.begin(Access::Write).unwrap();
        let rows = &mut bakeoff_engines::Rows::new();
        let changed = session.run(ask as usize, parameters, rows).unwrap();
        assert_eq!(changed, 1, "there was nothing to tamper with");
        session.commit().unwrap();
    }
}

#[test]
fn what_is_lost_or_was_never_sent_is_found() {
    let mut desk = desk(150);
    let last = desk.claim.acknowledged;
    desk.claim = ClientClaim { sent: last + 3, acknowledged: last + 2 };
    let (findings, first_lost) =
        desk.ledger.compare_claims(&*desk.database, &[desk.claim]).unwrap();
    assert_eq!((findings.lost, first_lost), (2, vec![(0, last + 1)]));
    assert_eq!(findings.torn + findings.hole + findings.phantom, 0, "{findings:?}");
    desk.claim = ClientClaim { sent: last - 1, acknowledged: last - 1 };
    assert!(desk.audit().phantom > 0);
}

#[test]
fn what_was_changed_is_torn_a_hole_or_a_phantom() {
    let half_moved = desk(150);
    half_moved.tamper(Ask::AddToAccount, &[1.into(), 3.into()]);
    assert!(half_moved.audit().torn > 0);
    // The progress is one behind the rest.
    let behind = desk(150);
    behind.tamper(Ask::SetProgress, &[(behind.claim.sent - 1).into(), 0.into()]);
    let findings = behind.audit();
    assert!(findings.torn > 0 && findings.lost == 1, "{findings:?}");
    // A transaction whose note was overwritten later leaves no other trace.
    let gap = desk(300);
    gap.tamper(Ask::ForgetEntry, &[0.into(), (gap.claim.acknowledged - 90).into()]);
    let findings = gap.audit();
    assert_eq!((findings.hole, findings.lost), (1, 0), "{findings:?}");
    let other = desk(150);
    other.tamper(Ask::ForgetEntry, &[0, other.claim.sent].map(Value::Int));
    other.tamper(Ask::NewEntry, &[0, other.claim.sent, 5, 6, 7, 8].map(Value::Int));
    assert!(other.audit().phantom > 0);
}

#[test]
fn clients_that_work_at_once_leave_whole_books() {
    for name in ["sqlite", "lmdb", "fjall"] {
        let ledger = &PreparedLedger::new("small", 7, Arc::new(TextSource::generate(7)));
        let folder = tempfile::tempdir().unwrap();
        let database = open(name, folder.path(), ledger);
        let database = &*database;
        std::thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || {
                    let mut session = database.session().unwrap();
                    let mut client = ledger.make_client(number, 4, 1);
                    for _ in 0..200 {
                        let operation = client.choose_operation();
                        client
                            .run_operation(operation, &mut *session, &mut OperationTally::default())
                            .unwrap();
                    }
                });
            }
        });
        let done = 200 - 200 / 16;
        let claims = [ClientClaim { sent: done, acknowledged: done }; 4];
        assert_eq!(
            ledger.compare_claims(database, &claims).unwrap().0,
            AuditFindings::default(),
            "{name}"
        );
    }
}
