//! What clients draw: the same whatever conflicts an engine has.

use bakeoff_engines::{Access, Error, Result, Rows, Session, Value};
use bakeoff_workloads::OperationTally;

use crate::prepare_at;

/// Notes the statements of the last attempt, and ends every `conflicts`-th call in a conflict.
struct NotingSession {
    conflicts: u32,
    calls: u32,
    attempt: Vec<String>,
}

impl Session for NotingSession {
    fn begin(&mut self, _: Access) -> Result<()> {
        self.attempt.clear();
        Ok(())
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], _: &mut Rows) -> Result<u64> {
        self.calls += 1;
        if self.conflicts > 0 && self.calls.is_multiple_of(self.conflicts) {
            return Err(Error::Conflict("made up".into()));
        }
        self.attempt.push(format!("{statement} {parameters:?}"));
        Ok(1)
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        Ok(())
    }
}

fn run_operations(workload: &str, levels: &[(&str, &str)], conflicts: u32) -> (Vec<String>, u64) {
    let scale = &bakeoff_workloads::find_workload(workload).unwrap().scales()[0].name;
    let prepared = prepare_at(workload, scale, levels);
    let mut client = prepared.make_client(3, 4, 7);
    let mut session = NotingSession { conflicts, calls: 0, attempt: Vec::new() };
    let (mut sent, mut tally) = (Vec::new(), OperationTally::default());
    for _ in 0..20 {
        let operation = client.choose_operation();
        client.run_operation(operation, &mut session, &mut tally).unwrap();
        sent.append(&mut session.attempt);
    }
    (sent, tally.retries)
}

#[test]
fn conflicts_change_no_operation_and_none_after_it() {
    for (workload, levels) in [
        ("oltp", &[("test", "read_write")][..]),
        ("oltp", &[("test", "write_only")]),
        ("text-oltp", &[("test", "point_select90_update10")]),
    ] {
        let (undisturbed, none) = run_operations(workload, levels, 0);
        let (retried, some) = run_operations(workload, levels, 31);
        assert!(none == 0 && some > 0, "{workload} {levels:?}: {none} and {some}");
        assert_eq!(retried, undisturbed, "{workload} {levels:?}");
    }
}
