//! Each issue is a tree of its own, from its creation on.

use bakeoff_engines::{Database, Result, Schema};

use crate::sender::read_values;
use crate::{DeclaredStatements, on_table};

const SUMS: [&str; 4] = ["id", "root_id", "lft", "rgt"];

pub fn declare_sums(schema: &Schema, statements: &mut DeclaredStatements) -> [usize; SUMS.len()] {
    SUMS.map(|name| {
        statements.add(
            &format!("sum of issues’ {name}"),
            on_table(schema, "issues").read_by_key(0).sum(name),
        )
    })
}

pub fn find_broken(database: &dyn Database, of: [usize; SUMS.len()]) -> Result<Vec<String>> {
    let [ids, roots, left, right] = read_values(database, of)?;
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
