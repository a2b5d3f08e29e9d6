//! The path that a read takes: a key or an index that its conditions and its order go along.

use bakeoff_engines::schema::Table;
use bakeoff_engines::statement::{AccessPath, Filter, RangeBound, ReadOrder, ReadScope};

use super::FitResult;
use super::condition::{ColumnCondition, ColumnTest};
use crate::sql::parameters::ParameterSource;

/// A column of ORDER BY.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OrderColumn {
    pub column: usize,
    pub descending: bool,
}

/// What is asked of a path.
pub(super) struct PathWish<'c> {
    pub conditions: &'c [ColumnCondition],
    pub orders: &'c [OrderColumn],
    pub has_limit: bool,
}

/// A path and what is read along it.
pub(super) struct PathPlan {
    pub path: AccessPath,
    pub scope: ReadScope,
    pub filters: Vec<Filter>,
    pub order: ReadOrder,
    pub parameters: Vec<ParameterSource>,
    score: usize,
}

/// The best path of a table; the key before indexes that are as good.
pub(super) fn plan_path(table: &Table, wish: &PathWish<'_>) -> FitResult<PathPlan> {
    let indexes = table.indexes.iter().enumerate();
    let indexes = indexes.map(|(number, index)| (AccessPath::Index(number), &index.columns));
    let paths: Vec<_> = [(AccessPath::Key, &table.key)].into_iter().chain(indexes).collect();
    let mut best: Option<PathPlan> = None;
    for (path, columns) in &paths {
        if let Some(plan) = wish.plan_along(table, *path, columns)
            && best.as_ref().is_none_or(|best| plan.score > best.score)
        {
            best = Some(plan);
        }
    }
    let first = |column: usize| paths.iter().any(|(_, columns)| columns.first() == Some(&column));
    let listed = wish.conditions.iter().find(|condition| {
        matches!(condition.test, ColumnTest::Among(_)) && first(condition.column)
    });
    match (best, listed) {
        // All rows would be read.
        (Some(plan), Some(listed)) if plan.score == 0 => {
            Err(format!("`{}` with ORDER BY or LIMIT", listed.text))
        }
        (Some(plan), _) => Ok(plan),
        (None, _) => Err(wish.explain_no_path()),
    }
}

impl PathWish<'_> {
    fn explain_no_path(&self) -> String {
        let is_range = |condition: &&ColumnCondition| {
            matches!(
                condition.test,
                ColumnTest::From(..) | ColumnTest::To(..) | ColumnTest::Ranges(_)
            )
        };
        match self.conditions.iter().find(is_range) {
            Some(range) => {
                format!("`{}` is no equality, and no key or index has that column next", range.text)
            }
            None => "ORDER BY is not the order of a key or an index".into(),
        }
    }

    fn find_equal(&self, column: usize) -> Option<usize> {
        let equal = |condition: &ColumnCondition| {
            condition.column == column && matches!(condition.test, ColumnTest::Equal(_))
        };
        self.conditions.iter().position(equal)
    }

    fn plan_along(&self, table: &Table, path: AccessPath, columns: &[usize]) -> Option<PathPlan> {
        // A column with bounds is not fixed, too.
        let bounded = self.conditions.iter().find(|condition| is_bound(condition));
        let bounded = bounded.map(|condition| condition.column);
        let fixed = columns.iter().take_while(|column| Some(**column) != bounded);
        let mut used: Vec<usize> = fixed.map_while(|column| self.find_equal(*column)).collect();
        let mut equal = used.len();
        let (scope, order) = match self.find_list(columns, equal) {
            Some((number, scope)) => {
                (used, equal) = (vec![number], 0);
                (scope, ReadOrder::Any)
            }
            None => {
                let (from, to) = self.find_bounds(columns.get(equal).copied(), &mut used)?;
                let scope = ReadScope::Range { equal, from, to };
                (scope, self.find_order(table, columns, equal)?)
            }
        };
        let whole = path == AccessPath::Key && equal == table.key.len();
        let listed = usize::from(used.len() > equal) + if whole { 1_000 } else { 0 };
        let mut plan = PathPlan {
            path,
            scope,
            order,
            filters: Vec::new(),
            parameters: Vec::new(),
            score: 2 * equal + listed,
        };
        used.iter().for_each(|number| plan.add_parameters(&self.conditions[*number].test));
        for (number, condition) in self.conditions.iter().enumerate() {
            if !used.contains(&number) {
                plan.add_filter(condition)?;
            }
        }
        Some(plan)
    }

    /// A list of values or of ranges of the first column.
    fn find_list(&self, columns: &[usize], equal: usize) -> Option<(usize, ReadScope)> {
        if self.has_limit || !self.orders.is_empty() || self.conditions.iter().any(is_bound) {
            return None;
        }
        let first = self
            .conditions
            .iter()
            .enumerate()
            .filter(|(_, it)| columns.first() == Some(&it.column));
        let mut lists = first.filter_map(|(number, condition)| match &condition.test {
            ColumnTest::Ranges(ranges) => Some((number, ReadScope::Ranges(ranges.len()))),
            ColumnTest::Among(values) if equal == 0 => {
                Some((number, ReadScope::Among(values.len())))
            }
            _ => None,
        });
        let ranges = lists.clone().find(|(_, scope)| matches!(scope, ReadScope::Ranges(_)));
        ranges.or_else(|| lists.next())
    }

    /// The bounds, all of which the next column has to have.
    fn find_bounds(
        &self,
        next: Option<usize>,
        used: &mut Vec<usize>,
    ) -> Option<(Option<RangeBound>, Option<RangeBound>)> {
        let (mut from, mut to) = (None, None);
        for (number, condition) in self.conditions.iter().enumerate() {
            let (side, bound) = match &condition.test {
                ColumnTest::From(bound, _) => (&mut from, *bound),
                ColumnTest::To(bound, _) => (&mut to, *bound),
                _ => continue,
            };
            if Some(condition.column) != next || side.is_some() {
                return None;
            }
            *side = Some((number, bound));
        }
        used.extend(from.iter().chain(&to).map(|(number, _)| *number));
        Some((from.map(|(_, bound)| bound), to.map(|(_, bound)| bound)))
    }

    /// The order of the path that gives the wanted one; columns that equal a value don't count.
    fn find_order(&self, table: &Table, columns: &[usize], equal: usize) -> Option<ReadOrder> {
        let fixed = |column: usize| self.find_equal(column).is_some();
        let mut wanted: Vec<OrderColumn> = Vec::new();
        for order in self.orders {
            let known = wanted.iter().any(|known| known.column == order.column);
            if !fixed(order.column) && !known {
                wanted.push(*order);
            }
        }
        let Some(first) = wanted.first().copied() else { return Some(ReadOrder::Any) };
        let rest = table.key.iter().filter(|column| !columns.contains(column));
        let natural = columns[equal..].iter().chain(rest).filter(|column| !fixed(**column));
        let along = wanted.iter().zip(natural).all(|(wanted, column)| {
            wanted.column == *column && wanted.descending == first.descending
        });
        along.then_some(if first.descending { ReadOrder::Descending } else { ReadOrder::Ascending })
    }
}

fn is_bound(condition: &ColumnCondition) -> bool {
    matches!(condition.test, ColumnTest::From(..) | ColumnTest::To(..))
}

impl PathPlan {
    fn add_parameters(&mut self, test: &ColumnTest) {
        match test {
            ColumnTest::Equal(value) | ColumnTest::From(_, value) | ColumnTest::To(_, value) => {
                self.parameters.push(value.clone());
            }
            ColumnTest::Among(values) => self.parameters.extend_from_slice(values),
            ColumnTest::Ranges(ranges) => {
                self.parameters
                    .extend(ranges.iter().flat_map(|(from, to)| [from.clone(), to.clone()]));
            }
        }
    }

    /// Nothing if a filter can't have this condition.
    fn add_filter(&mut self, condition: &ColumnCondition) -> Option<()> {
        let any_of = match &condition.test {
            ColumnTest::Equal(_) => 1,
            ColumnTest::Among(values) => values.len(),
            ColumnTest::From(..) | ColumnTest::To(..) | ColumnTest::Ranges(_) => return None,
        };
        self.filters.push(Filter { column: condition.column, any_of });
        self.add_parameters(&condition.test);
        Some(())
    }
}
