//! SELECT of one table.

use bakeoff_engines::Action;
use bakeoff_engines::statement::{ReadOrder, TableRead, Yield};

use super::condition::ColumnCondition;
use super::path::{OrderColumn, PathWish, plan_path};
use super::select_list::{SelectList, SelectYield};
use super::{FitResult, FittedStatement, Fitter, FromTable};
use crate::sql::schema_file::find_column;
use crate::sql::token_list::TokenCursor;

/// A SELECT before its path is known.
struct ReadDraft<'t> {
    from: FromTable<'t>,
    list: SelectList,
    conditions: Vec<ColumnCondition>,
    orders: Vec<OrderColumn>,
    limit: Option<u32>,
    for_update: bool,
    /// It is computed from rows that a SELECT inside has found.
    is_outer: bool,
}

/// The tokens of a SELECT: its list, and whether it is DISTINCT.
struct SelectHead<'t, 'a> {
    list: TokenCursor<'t, 'a>,
    distinct: bool,
}

fn read_head<'t, 'a>(cursor: &mut TokenCursor<'t, 'a>) -> FitResult<SelectHead<'t, 'a>> {
    if !cursor.take_word("SELECT") {
        return Err(format!("{} is no read of one table", cursor.peek_upper()));
    }
    let distinct = cursor.take_word("DISTINCT");
    if distinct && cursor.sees_word("ON") {
        return Err("DISTINCT ON".into());
    }
    if !distinct {
        cursor.take_word("ALL");
    }
    let (list, depth) = (cursor.list, cursor.list.depth(cursor.at));
    let from = list.find_word(cursor.at, cursor.end, depth, "FROM").ok_or("it reads no table")?;
    let items = TokenCursor { end: from, ..*cursor };
    cursor.at = from + 1;
    Ok(SelectHead { list: items, distinct })
}

impl<'t> Fitter<'t, '_> {
    pub(super) fn fit_select(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
    ) -> FitResult<FittedStatement> {
        let mut head = read_head(cursor)?;
        let draft = match cursor.take_brackets() {
            Some(mut inner) => self.read_outer(&mut head, &mut inner, cursor)?,
            None => {
                let from = self.read_table(cursor)?;
                self.read_draft(&mut head, from, cursor)?
            }
        };
        build_read(draft)
    }

    /// What is behind the table of a SELECT.
    fn read_draft(
        &mut self,
        head: &mut SelectHead<'_, '_>,
        from: FromTable<'t>,
        cursor: &mut TokenCursor<'_, '_>,
    ) -> FitResult<ReadDraft<'t>> {
        let list = self.read_select_list(&mut head.list, &from, head.distinct)?;
        let (at, depth) = (cursor.at, cursor.list.depth(cursor.at));
        let mut conditions = Vec::new();
        if cursor.take_word("WHERE") {
            let ends = ["ORDER", "LIMIT", "FOR"];
            let end = (cursor.at..cursor.end).find(|end| {
                cursor.list.depth(*end) == depth && cursor.list.is_any_word(*end, &ends)
            });
            let mut inner = TokenCursor { end: end.unwrap_or(cursor.end), ..*cursor };
            conditions = self.read_conditions(&mut inner, &from)?;
            self.expect_end(&inner)?;
            cursor.at = inner.end;
        }
        debug_assert!(cursor.at >= at);
        let orders = self.read_orders(cursor, &from, &list)?;
        let limit = read_limit(cursor)?;
        let for_update = cursor.take_words(&["FOR", "UPDATE"]);
        self.expect_end(cursor)?;
        Ok(ReadDraft { from, list, conditions, orders, limit, for_update, is_outer: false })
    }

    /// A sum or the like around a SELECT with a limit or a lock.
    fn read_outer(
        &mut self,
        head: &mut SelectHead<'_, '_>,
        inner: &mut TokenCursor<'_, '_>,
        cursor: &mut TokenCursor<'_, '_>,
    ) -> FitResult<ReadDraft<'t>> {
        cursor.take_word("AS");
        let alias = cursor.take_name().unwrap_or_default();
        let mut inner_head = read_head(inner)?;
        let from = self.read_table(inner)?;
        let mut draft = self.read_draft(&mut inner_head, from, inner)?;
        let SelectYield::Columns(columns) = &draft.list.yields else {
            return Err("a subquery that computes".into());
        };
        let columns = columns.clone();
        let outer = FromTable { alias, ..draft.from.clone() };
        draft.list = self.read_select_list(&mut head.list, &outer, head.distinct)?;
        let known = match &draft.list.yields {
            SelectYield::Columns(list) => list.iter().all(|column| columns.contains(column)),
            SelectYield::Distinct(column) | SelectYield::Sum(column) => columns.contains(column),
            // COUNT(*) counts the key, which need not be among them.
            SelectYield::Count(column) => {
                columns.contains(column) || draft.from.table.key.contains(column)
            }
        };
        let orders = self.read_orders(cursor, &outer, &draft.list)?;
        self.expect_end(cursor)?;
        let sorts =
            matches!(&draft.list.yields, SelectYield::Columns(list) if is_sorted(list, &orders));
        let is_simple = match &draft.list.yields {
            SelectYield::Columns(_) => sorts,
            SelectYield::Distinct(column) => is_order_of(*column, &orders),
            SelectYield::Sum(_) | SelectYield::Count(_) => orders.is_empty(),
        };
        if !known || !is_simple {
            return Err("a subquery".into());
        }
        draft.is_outer = true;
        Ok(draft)
    }

    fn read_orders(
        &mut self,
        cursor: &mut TokenCursor<'_, '_>,
        from: &FromTable<'_>,
        list: &SelectList,
    ) -> FitResult<Vec<OrderColumn>> {
        let mut orders = Vec::new();
        if !cursor.take_words(&["ORDER", "BY"]) {
            return Ok(orders);
        }
        loop {
            let column = match read_order_alias(cursor, from, list) {
                Some(column) => column,
                None => self.read_column(cursor, from).map_err(|why| format!("ORDER BY: {why}"))?,
            };
            let descending = cursor.take_word("DESC");
            if !descending {
                cursor.take_word("ASC");
            }
            if cursor.take_word("NULLS") {
                let usual = if descending { "LAST" } else { "FIRST" };
                if !cursor.take_word(usual) {
                    return Err(format!("nulls that are not {}", usual.to_lowercase()));
                }
            }
            orders.push(OrderColumn { column, descending });
            if !cursor.take_sign(",") {
                return Ok(orders);
            }
        }
    }
}

/// A name that the list gives to a column, and that is no column itself.
fn read_order_alias(
    cursor: &mut TokenCursor<'_, '_>,
    from: &FromTable<'_>,
    list: &SelectList,
) -> Option<usize> {
    let SelectYield::Columns(columns) = &list.yields else { return None };
    let mut ahead = *cursor;
    let name = ahead.take_name()?;
    let number = list.names.iter().position(|known| known.as_ref() == Some(&name))?;
    if find_column(from.table, &name).is_some() || ahead.sees_sign(".") {
        return None;
    }
    *cursor = ahead;
    columns.get(number).copied()
}

fn read_limit(cursor: &mut TokenCursor<'_, '_>) -> FitResult<Option<u32>> {
    if !cursor.take_word("LIMIT") {
        return Ok(None);
    }
    let token = if cursor.is_done() { "" } else { cursor.list.token(cursor.at) };
    let limit = token.parse().map_err(|_| format!("LIMIT {token}, which is no plain number"))?;
    cursor.at += 1;
    match cursor.sees_sign(",") {
        true => Err("OFFSET".into()),
        false => Ok(Some(limit)),
    }
}

/// Whether one column is answered in its own order.
fn is_sorted(list: &[usize], orders: &[OrderColumn]) -> bool {
    matches!(list, [column] if !orders.is_empty() && is_order_of(*column, orders))
}

fn is_order_of(column: usize, orders: &[OrderColumn]) -> bool {
    orders.iter().all(|order| order.column == column && !order.descending)
}

/// The order in which rows are found. What is computed has none, but for rows inside.
fn find_row_order<'d>(draft: &'d ReadDraft<'_>) -> FitResult<&'d [OrderColumn]> {
    let orders = &draft.orders[..];
    match &draft.list.yields {
        SelectYield::Columns(_) => Ok(orders),
        _ if draft.is_outer => Ok(orders),
        _ if draft.limit.is_some() => Err("LIMIT of what is computed".into()),
        SelectYield::Distinct(column) if is_order_of(*column, orders) => Ok(&[]),
        _ if orders.is_empty() => Ok(orders),
        _ => Err("ORDER BY of what is computed".into()),
    }
}

/// The action; sorted values need no path in that order.
fn build_read(draft: ReadDraft<'_>) -> FitResult<FittedStatement> {
    let mut yields = draft.list.yields.to_yield();
    let orders = find_row_order(&draft)?;
    let wish = |orders| PathWish {
        conditions: &draft.conditions,
        orders,
        has_limit: draft.limit.is_some(),
    };
    if let (true, Yield::Columns(columns)) = (draft.is_outer, &yields) {
        yields = Yield::Sorted(columns[0]);
    }
    let mut plan = plan_path(draft.from.table, &wish(orders));
    if let (Err(_), Yield::Columns(columns), None) = (&plan, &yields, draft.limit)
        && is_sorted(columns, orders)
    {
        yields = Yield::Sorted(columns[0]);
        plan = plan_path(draft.from.table, &wish(&[]));
    }
    let plan = plan?;
    // The order of all rows shows in columns alone.
    let has_order = draft.limit.is_some() || matches!(yields, Yield::Columns(_));
    let action = Action::Read(TableRead {
        table: draft.from.number,
        path: plan.path,
        scope: plan.scope,
        filters: plan.filters,
        order: if has_order { plan.order } else { ReadOrder::Any },
        limit: draft.limit,
        yields,
        for_update: draft.for_update,
    });
    Ok(FittedStatement { action, parameters: plan.parameters, columns: draft.list.names })
}
