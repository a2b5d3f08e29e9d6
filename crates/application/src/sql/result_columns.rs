//! The names of an answer's columns, where the statement tells them.

use super::table_uses::TableUses;
use super::token_list::TokenList;
use super::tokens::TokenKind;

/// Words that end a select list.
const ENDS: [&str; 11] = [
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "INTO",
    "FOR",
];

/// A name a column, none for an expression without `AS`; none at all if the columns aren't known.
pub(super) fn read_column_names(
    list: &TokenList<'_>,
    uses: &TableUses<'_>,
) -> Option<Vec<Option<String>>> {
    let (from, to) = find_items(list)?;
    let mut names = Vec::new();
    for (from, to) in list.split_commas(from, to) {
        match list.is_sign(to - 1, "*") && (to - from == 1 || list.is_sign(to - 2, ".")) {
            true => names.extend(expand_star(list, uses, from, to)?),
            false => names.push(read_item_name(list, uses, from, to)),
        }
    }
    Some(names)
}

/// The select list, or what stands behind RETURNING; nothing of a statement without an answer.
fn find_items(list: &TokenList<'_>) -> Option<(usize, usize)> {
    let lead = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE"];
    let main = (0..list.len()).find(|at| list.depth(*at) == 0 && list.is_any_word(*at, &lead));
    let Some(main) = main else {
        let answers = list.is_any_word(0, &["VALUES", "TABLE", "WITH"]) || list.is_sign(0, "(");
        return (!answers).then_some((0, 0));
    };
    if !list.is_word(main, "SELECT") {
        let returning = list.find_word(main, list.len(), 0, "RETURNING");
        return Some(returning.map_or((0, 0), |at| (at + 1, list.len())));
    }
    let mut from = main + 1;
    from += usize::from(list.is_any_word(from, &["ALL", "DISTINCT"]));
    if list.is_word(from - 1, "DISTINCT") && list.is_word(from, "ON") {
        return None;
    }
    let to = (from..list.len()).find(|at| {
        let distinct = list.is_word(*at, "FROM") && list.is_word(*at - 1, "DISTINCT");
        list.depth(*at) == 0 && list.is_any_word(*at, &ENDS) && !distinct
    });
    let to = to.unwrap_or(list.len());
    let gap = list.split_commas(from, to).iter().any(|(from, to)| from == to);
    (from < to && !gap).then_some((from, to))
}

fn expand_star(
    list: &TokenList<'_>,
    uses: &TableUses<'_>,
    from: usize,
    to: usize,
) -> Option<Vec<Option<String>>> {
    let tables = &uses.schema.schema.tables;
    let columns =
        |table: usize| tables[table].columns.iter().map(|column| Some(column.name.clone()));
    if to - from == 3 {
        let name = list.name(from)?;
        let used =
            uses.uses.iter().find(|used| used.alias.to_lowercase() == name.to_lowercase())?;
        return Some(columns(used.table).collect());
    }
    let nested = (0..list.len()).any(|at| list.depth(at) > 0 && list.is_word(at, "SELECT"));
    let merged = (0..list.len()).any(|at| list.is_any_word(at, &["USING", "NATURAL", "WITH"]));
    if to - from != 1 || nested || merged || uses.uses.is_empty() {
        return None;
    }
    Some(uses.uses.iter().flat_map(|used| columns(used.table)).collect())
}

fn read_item_name(
    list: &TokenList<'_>,
    uses: &TableUses<'_>,
    from: usize,
    to: usize,
) -> Option<String> {
    let last = to.checked_sub(1)?;
    let plain = to - from == 1 || (to - from == 3 && list.is_sign(from + 1, "."));
    if plain {
        let column = uses.find_column(list, last);
        return column.map(|found| uses.column(found).name.clone()).or_else(|| list.name(last));
    }
    let name = list.name(last)?;
    let behind_name = last > from + 1 && list.is_word(last - 1, "AS");
    // `COUNT(*) n` has a name without AS.
    let before = last.checked_sub(1).filter(|before| *before >= from)?;
    let behind_value = list.is_sign(before, ")")
        || list.name(before).is_some()
        || matches!(
            list.kind(before),
            Some(TokenKind::Number | TokenKind::Text | TokenKind::Parameter)
        )
        || list.is_any_word(before, &["END", "NULL", "TRUE", "FALSE"]);
    (behind_name || behind_value).then_some(name)
}
