//! What means different things on the databases, and what to write instead.

use std::ops::Range;

use bakeoff_engines::schema::Type;

use super::table_uses::{TableUses, TokenFault};
use super::token_list::TokenList;
use super::tokens::TokenKind;

/// What every refusal ends with.
pub(super) const OR_VARIANTS: &str =
    "or write the statement once for each below `-- sqlite, postgres:` and `-- mysql:`";

/// All that differs, each at its token.
pub(super) fn find_differences(list: &TokenList<'_>, uses: &TableUses<'_>) -> Vec<TokenFault> {
    let mut faults: Vec<TokenFault> = check_lead(list).into_iter().collect();
    for at in 0..list.len() {
        let what = match list.kind(at) {
            Some(TokenKind::Word) => check_word(list, at).or_else(|| check_average(list, uses, at)),
            Some(TokenKind::Operator) => check_operator(list, uses, at),
            _ => None,
        };
        faults.extend(what.map(|what| (at, format!("{what}, {OR_VARIANTS}"))));
    }
    faults.extend(find_assigned_reads(list, uses));
    faults
}

fn check_lead(list: &TokenList<'_>) -> Option<TokenFault> {
    let what = if list.is_word(0, "REPLACE") {
        "REPLACE isn't in PostgreSQL: write INSERT … ON CONFLICT (key) DO UPDATE SET …"
    } else if list.is_word(0, "INSERT") && list.is_word(1, "IGNORE") {
        "INSERT IGNORE hides other errors, too: write INSERT … ON CONFLICT DO NOTHING"
    } else if list.is_word(0, "INSERT") && list.is_word(1, "OR") {
        "INSERT OR … is SQLite's alone: write INSERT … ON CONFLICT …"
    } else {
        return None;
    };
    Some((0, format!("{what}, {OR_VARIANTS}")))
}

fn check_word(list: &TokenList<'_>, at: usize) -> Option<String> {
    let word = list.token(at).to_uppercase();
    let calls = list.is_sign(at + 1, "(");
    let what = match word.as_str() {
        "RAND" | "RANDOM" if calls => format!(
            "{word}() can't be repeated: draw the number with `\\set x random(1, 100)`, and write \
             `:x`"
        ),
        "LOWER" | "UPPER" | "LCASE" | "UCASE" | "INITCAP" if calls => format!(
            "{word}() does nothing on MySQL, where texts are bytes: keep a column in that case"
        ),
        "GROUP_CONCAT" | "STRING_AGG" | "ARRAY_AGG" | "JSON_ARRAYAGG" if calls => {
            format!("{word}() isn't on all databases: read the rows")
        }
        "JSON_EXTRACT" | "JSON_VALUE" | "JSONB_PATH_QUERY" if calls => {
            format!("{word}() isn't on all databases: keep the value in a column")
        }
        "ON" if at > 0 && list.is_word(at - 1, "DISTINCT") => {
            "DISTINCT ON is PostgreSQL's alone: use GROUP BY".into()
        }
        "ILIKE" => {
            "ILIKE is PostgreSQL's alone: use LIKE, which tells upper from lower case".into()
        }
        "REGEXP" | "RLIKE" | "SIMILAR" => format!("{word} isn't on all databases: use LIKE"),
        "CURRENT_DATE" | "CURRENT_TIME" | "LOCALTIME" | "CURDATE" | "CURTIME" => format!(
            "{word} is the machine's own: draw the day with `\\set today date(:now)`, and write \
             `:today`"
        ),
        "INTERVAL" => {
            "dates are computed differently: compute the bound with \\set, and pass it as a \
             parameter"
                .into()
        }
        "FETCH" if list.is_any_word(at + 1, &["FIRST", "NEXT"]) => {
            "write LIMIT n for FETCH FIRST".into()
        }
        "DIV" if at > 0 && is_operand(list, at - 1) && is_operand(list, at + 1) => {
            "DIV is MySQL's alone: compute it with \\set".into()
        }
        _ => return None,
    };
    Some(what)
}

fn check_average(list: &TokenList<'_>, uses: &TableUses<'_>, at: usize) -> Option<String> {
    let close = list.partner(at + 1).filter(|_| list.is_word(at, "AVG"))?;
    let exact = are_exact(list, uses, at + 2..close);
    exact.then(|| {
        "AVG of integers or decimals has other decimals on MySQL: write SUM(a) * 1e0 / COUNT(a)"
            .into()
    })
}

fn is_operand(list: &TokenList<'_>, at: usize) -> bool {
    list.name(at).is_some()
        || matches!(list.kind(at), Some(TokenKind::Number | TokenKind::Parameter))
        || list.is_sign(at, "(")
        || list.is_sign(at, ")")
}

fn check_operator(list: &TokenList<'_>, uses: &TableUses<'_>, at: usize) -> Option<String> {
    let sign = list.token(at);
    let text = |at: usize| list.kind(at) == Some(TokenKind::Text);
    match sign {
        "/" if at > 0 => {
            let left = find_exact_before(list, uses, at);
            let right = find_exact_behind(list, uses, at + 1);
            (left && right).then(|| {
                "`/` of integers or decimals differs: 5 / 3 is 1 on SQLite and PostgreSQL, and \
                 1.6667 on MySQL; write `a * 1e0 / b`"
                    .into()
            })
        }
        "+" | "-" | "*" if at > 0 && (text(at - 1) || text(at + 1)) => Some(format!(
            "`{sign}` of a text differs: join texts with ||, and write numbers without quotes"
        )),
        "->" | "->>" | "#>" | "#>>" | "@>" | "<@" => {
            Some(format!("`{sign}` isn't on all databases: keep the value in a column"))
        }
        "~" | "~*" | "!~" | "!~*" if at > 0 && is_operand(list, at - 1) => {
            Some(format!("`{sign}` is PostgreSQL's alone: use LIKE"))
        }
        "^" => {
            Some("`^` is a power on PostgreSQL, and bits on MySQL: compute it with \\set".into())
        }
        "&&" => Some("`&&` isn't on all databases: write AND".into()),
        "==" => Some("`==` is SQLite's alone: write =".into()),
        "<=>" => Some("`<=>` is MySQL's alone: write a = b OR (a IS NULL AND b IS NULL)".into()),
        _ => None,
    }
}

/// Whether the operand before a token may be an integer or a decimal. SQLite keeps 2.00 as 2, and
/// MySQL cuts decimals.
fn find_exact_before(list: &TokenList<'_>, uses: &TableUses<'_>, at: usize) -> bool {
    let last = at - 1;
    match list.partner(last) {
        // A function of integers, as COUNT(*) and SUM(stock).
        Some(open) if list.is_sign(last, ")") => is_exact_call(list, uses, open, last),
        // `a * 1e0 / b` is a double.
        _ => is_exact(list, uses, last) && !is_real_product(list, uses, last),
    }
}

/// Whether a factor to the left is a double.
fn is_real_product(list: &TokenList<'_>, uses: &TableUses<'_>, last: usize) -> bool {
    let mut at = last;
    loop {
        while at > 1 && list.is_sign(at - 1, ".") {
            at -= 2;
        }
        if at < 2 || !list.is_sign(at - 1, "*") {
            return false;
        }
        at -= 2;
        if !is_exact(list, uses, at) {
            return list.kind(at) == Some(TokenKind::Number) || list.name(at).is_some();
        }
    }
}

fn find_exact_behind(list: &TokenList<'_>, uses: &TableUses<'_>, at: usize) -> bool {
    let mut at = at;
    while list.is_sign(at, "-") {
        at += 1;
    }
    if list.name(at).is_some() && list.is_sign(at + 1, "(") {
        return list.partner(at + 1).is_some_and(|close| is_exact_call(list, uses, at + 1, close));
    }
    if list.is_sign(at + 1, ".") {
        at += 2;
    }
    is_exact(list, uses, at)
}

fn is_exact_call(list: &TokenList<'_>, uses: &TableUses<'_>, open: usize, close: usize) -> bool {
    let Some(function) = open.checked_sub(1) else { return false };
    if list.is_word(function, "COUNT") {
        return true;
    }
    let inner = open + 1..close;
    let integers = are_exact(list, uses, inner.clone());
    let grouped = list.is_any_word(function, &["SUM", "MIN", "MAX", "ABS", "COALESCE"]);
    let bare = list.name(function).is_none();
    integers && !inner.is_empty() && (grouped || bare)
}

/// Whether an expression has exact columns and numbers alone.
fn are_exact(list: &TokenList<'_>, uses: &TableUses<'_>, inner: Range<usize>) -> bool {
    let qualifies = |at: usize| list.is_sign(at, ".") || list.is_sign(at + 1, ".");
    let mut tokens = inner;
    tokens.all(|at| {
        is_exact(list, uses, at) || qualifies(at) || ["+", "-", "*"].contains(&list.token(at))
    })
}

fn is_exact(list: &TokenList<'_>, uses: &TableUses<'_>, at: usize) -> bool {
    match list.kind(at) {
        Some(TokenKind::Parameter) => true,
        Some(TokenKind::Number) => !list.token(at).contains(['e', 'E']),
        _ => matches!(uses.find_kind(list, at), Some(Type::Int | Type::Decimal { .. })),
    }
}

/// Columns that are read behind their own assignment: MySQL takes the new value, others the old.
fn find_assigned_reads(list: &TokenList<'_>, uses: &TableUses<'_>) -> Vec<TokenFault> {
    let mut faults = Vec::new();
    let starts = (0..list.len()).filter(|at| list.is_word(*at, "SET"));
    for start in starts {
        let depth = list.depth(start);
        let ends = ["WHERE", "FROM", "RETURNING", "ORDER", "LIMIT"];
        let end = (start..list.len()).find(|at| {
            list.depth(*at) < depth || list.depth(*at) == depth && list.is_any_word(*at, &ends)
        });
        let mut assigned = Vec::new();
        for (from, to) in list.split_commas(start + 1, end.unwrap_or(list.len())) {
            let reads = (from + 2..to).filter(|at| !is_excluded(list, *at));
            for at in reads {
                if let Some(found) =
                    uses.find_column(list, at).filter(|found| assigned.contains(found))
                {
                    let name = &uses.column(found).name;
                    let what = format!(
                        "{name} is set before it is read: MySQL takes its new value, others the \
                         old one; set it last, {OR_VARIANTS}"
                    );
                    faults.push((at, what));
                }
            }
            assigned.extend(uses.find_column(list, from));
        }
    }
    faults
}

/// The proposed row of an upsert.
fn is_excluded(list: &TokenList<'_>, at: usize) -> bool {
    at > 1
        && (list.is_sign(at - 1, ".") && list.is_word(at - 2, "excluded")
            || list.is_sign(at - 1, "(") && list.is_word(at - 2, "VALUES"))
}
