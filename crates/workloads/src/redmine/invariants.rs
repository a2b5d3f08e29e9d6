//! What issues are whatever clients did: each is a tree of its own, as the transaction that creates it
//! leaves it, and no later one changes that.

use bakeoff_engines::{Access, Database, Result, Rows, Schema, Session};

use crate::{DeclaredStatements, on};

/// The columns that are added up, in this order.
const SUMS: [&str; 4] = ["id", "root_id", "lft", "rgt"];

/// Declares what adds the columns up; their numbers.
pub fn declare(schema: &Schema, statements: &mut DeclaredStatements) -> [usize; SUMS.len()] {
    SUMS.map(|name| {
        statements.add(&format!("sum of issues’ {name}"), on(schema, "issues").key(0).sum(name))
    })
}

/// What is not as it must be.
pub fn broken(database: &dyn Database, of: [usize; SUMS.len()]) -> Result<Vec<String>> {
    let mut session = database.session()?;
    session.begin(Access::Read)?;
    let sums = sums(&mut *session, of);
    session.rollback()?;
    let [ids, roots, left, right] = sums?;
    let mut broken = Vec::new();
    if ids != roots {
        broken.push(format!(
            "the ids of all issues add up to {ids}, and those of their roots to {roots}: each is its \
             own root"
        ));
    }
    if right != 2 * left {
        broken.push(format!(
            "all issues have {left} as the sum of `lft` and {right} of `rgt`: each has 1 and 2"
        ));
    }
    Ok(broken)
}

fn sums(session: &mut dyn Session, of: [usize; SUMS.len()]) -> Result<[i64; 4]> {
    let (mut sums, mut rows) = ([0; 4], Rows::new());
    for (at, sum) in sums.iter_mut().enumerate() {
        session.run(of[at], &[], &mut rows)?;
        *sum = rows.int(0, 0).unwrap_or_default();
    }
    Ok(sums)
}
