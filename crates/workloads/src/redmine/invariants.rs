//! What issues are whatever clients did: each is a tree of its own, as the transaction that creates it
//! leaves it, and no later one changes that.

use bakeoff_engines::statement::{Path, Read, Yield};
use bakeoff_engines::{Access, Action, Database, Result, Rows, Schema, Session, Statement};

/// The columns that are added up, in this order.
const SUMS: [&str; 4] = ["id", "root_id", "lft", "rgt"];

/// Declares what adds the columns up, after all other statements; the number of the first.
pub fn declare(schema: &Schema, statements: &mut Vec<Statement>) -> usize {
    let first = statements.len();
    let known = |name: &str| schema.tables.iter().position(|table| table.name == name);
    let issues = known("issues").expect("a table of issues");
    statements.extend(SUMS.map(|name| {
        let column = schema.tables[issues].column_number(name);
        let sum = Read { yields: Yield::Sum(column), ..Read::range(issues, Path::Key, 0, &[]) };
        Statement { name: format!("sum of issues’ {name}"), action: Action::Read(sum) }
    }));
    first
}

/// What is not as it must be.
pub fn broken(database: &dyn Database, first: usize) -> Result<Vec<String>> {
    let mut session = database.session()?;
    session.begin(Access::Read)?;
    let sums = sums(&mut *session, first);
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

fn sums(session: &mut dyn Session, first: usize) -> Result<[i64; 4]> {
    let (mut sums, mut rows) = ([0; 4], Rows::new());
    for (at, sum) in sums.iter_mut().enumerate() {
        session.run(first + at, &[], &mut rows)?;
        *sum = rows.int(0, 0).unwrap_or_default();
    }
    Ok(sums)
}
