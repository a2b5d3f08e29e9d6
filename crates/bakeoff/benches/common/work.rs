//! What one of two tools has done, and both in turns.

use crate::pairs::{self, Limit, Pairs};

/// What one of both has done.
#[derive(Clone, Copy)]
pub struct Work {
    /// Requests, calls or transactions.
    pub count: f64,
    /// How long that took.
    pub seconds: f64,
    /// Processor seconds that it took.
    pub cpu: f64,
    /// Queries of a transaction, by the other tool's count; 1 of anything else.
    pub each: f64,
}

/// What both did at one cell of a table.
pub struct Compared<C> {
    pub cell: C,
    rates: Pairs,
    costs: Pairs,
}

/// Has both take turns at each cell, as often as there are to be pairs.
pub fn compare<C: Copy, const N: usize>(
    cells: [C; N],
    mut theirs: impl FnMut(C) -> Work,
    mut ours: impl FnMut(C) -> Work,
) -> [Compared<C>; N] {
    let mut all =
        cells.map(|cell| Compared { cell, rates: Pairs::default(), costs: Pairs::default() });
    let number = pairs::pairs();
    for pair in 0..number {
        for Compared { cell, rates, costs } in &mut all {
            let both = pairs::turns(pair, || theirs(*cell), || ours(*cell));
            let each = both[0].each;
            rates.add(both.map(|work| work.count / work.seconds));
            costs.add(both.map(|work| work.cpu / (work.count * each) * 1e6));
        }
        eprintln!("pair {} of {number}", pair + 1);
    }
    all
}

impl<C> Compared<C> {
    /// Prints rates and processor times under a name; whether both are within their limits.
    pub fn rows(&self, name: &str, [rate, cost]: [&str; 2], least: Limit, most: f64) -> bool {
        let is_fast = self.rates.row(&format!("{name}, {rate}"), least);
        self.cost_row(&format!("{name}, {cost}"), most) && is_fast
    }

    pub fn cost_row(&self, name: &str, most: f64) -> bool {
        self.costs.row(name, Limit::Most(most))
    }
}
