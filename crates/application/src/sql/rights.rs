//! What no operation may ask for. The databases' own rights are the first line; this is the second.

use super::table_uses::TokenFault;
use super::token_list::TokenList;
use super::tokens::TokenKind;

/// Parameters that SQLite has room for.
const MOST_PARAMETERS: usize = 32_766;

/// Words that an operation's statement may begin with.
const ALLOWED: [&str; 14] = [
    "SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "BEGIN", "START",
    "COMMIT", "END", "ROLLBACK", "TABLE",
];

/// Words that change tables or the server.
const DEFINITIONS: [&str; 22] = [
    "CREATE", "ALTER", "DROP", "TRUNCATE", "GRANT", "REVOKE", "SET", "RESET", "LOCK", "UNLOCK",
    "ANALYZE", "REINDEX", "OPTIMIZE", "CLUSTER", "COMMENT", "RENAME", "REFRESH", "FLUSH", "USE",
    "INSTALL", "KILL", "SHUTDOWN",
];

/// Functions that read or write files, run programs or change the server.
const FORBIDDEN: [&str; 22] = [
    "load_file",
    "load_extension",
    "readfile",
    "writefile",
    "edit",
    "fts3_tokenizer",
    "set_config",
    "query_to_xml",
    "table_to_xml",
    "database_to_xml",
    "schema_to_xml",
    "cursor_to_xml",
    "query_to_xml_and_xmlschema",
    "sys_exec",
    "sys_eval",
    "sys_get",
    "sys_set",
    "get_lock",
    "release_lock",
    "benchmark",
    "sleep",
    "ts_stat",
];

/// All that a statement isn't allowed, each at its token.
pub(super) fn check_rights(list: &TokenList<'_>) -> Vec<TokenFault> {
    if let Some(fault) = check_first_word(list) {
        return vec![fault];
    }
    let mut faults = Vec::new();
    for at in 0..list.len() {
        faults.extend(check_token(list, at));
    }
    let parameter = |at: &usize| list.kind(*at) == Some(TokenKind::Parameter);
    let single = (0..list.len()).filter(parameter).count();
    let listed = (0..list.len()).filter_map(|at| read_list_length(list, at)).sum::<usize>();
    let count = single.saturating_add(listed);
    if count > MOST_PARAMETERS {
        let what =
            format!("{count} parameters are too many: SQLite has room for {MOST_PARAMETERS}");
        faults.push((0, what));
    }
    faults
}

/// The length of `:name[8]`; a number too long for a machine is the longest.
pub(super) fn read_list_length(list: &TokenList<'_>, at: usize) -> Option<usize> {
    let token = list.token(at);
    let digits = token.strip_suffix(']').and_then(|token| token.split_once('['));
    let (_, digits) = digits.filter(|_| list.kind(at) == Some(TokenKind::ParameterList))?;
    Some(digits.parse().unwrap_or(MOST_PARAMETERS + 1).min(MOST_PARAMETERS + 1))
}

fn check_first_word(list: &TokenList<'_>) -> Option<TokenFault> {
    let at = (0..list.len()).find(|at| !list.is_sign(*at, "("))?;
    let word = list.token(at).to_uppercase();
    let is_word = list.kind(at) == Some(TokenKind::Word);
    if is_word && ALLOWED.contains(&word.as_str()) {
        return None;
    }
    let what = match word.as_str() {
        _ if is_word && DEFINITIONS.contains(&word.as_str()) => {
            format!("an operation can't run {word}: tables are made by schema.sql alone")
        }
        "COPY" | "LOAD" => format!(
            "an operation can't run {word}: rows come from workload.toml or from files beside it"
        ),
        "ATTACH" | "DETACH" | "PRAGMA" | "VACUUM" => {
            format!("an operation can't run {word}: the database is bakeoff's")
        }
        "SAVEPOINT" | "RELEASE" => {
            format!("bakeoff has no {word}: a transaction is committed or rolled back as a whole")
        }
        "ABORT" => "write ROLLBACK".into(),
        "CALL" | "DO" | "EXECUTE" | "EXEC" | "PREPARE" | "DEALLOCATE" | "DECLARE" => {
            format!("an operation can't run {word}: write the statements themselves")
        }
        _ => format!(
            "`{}` begins no statement of an operation: write SELECT, INSERT, UPDATE, DELETE, WITH, \
             BEGIN, COMMIT or ROLLBACK",
            list.token(at)
        ),
    };
    Some((at, what))
}

fn check_token(list: &TokenList<'_>, at: usize) -> Option<TokenFault> {
    let next_is_name = matches!(list.kind(at + 1), Some(TokenKind::Word | TokenKind::QuotedName));
    let adjacent = at + 1 < list.len() && list.end(at) == list.start(at + 1);
    let what = match list.kind(at)? {
        TokenKind::Unclosed => "this text, name or comment has no end: close it".into(),
        TokenKind::Operator if list.is_sign(at, "?") => {
            "write a parameter as `:name`, not as `?`".into()
        }
        TokenKind::Operator if list.is_sign(at, "#") => {
            "`#` begins a comment on MySQL: write `--`".into()
        }
        TokenKind::Operator if list.is_sign(at, "$") => {
            "write a parameter as `:name`, not with `$`".into()
        }
        TokenKind::Operator if matches!(list.token(at), "@" | "@@") && adjacent && next_is_name => {
            "bakeoff has no variables with `@`: write `:name`, and set it with \\set".into()
        }
        TokenKind::Operator if list.is_sign(at, "(") && list.partner(at).is_none() => {
            "this bracket is never closed".into()
        }
        TokenKind::Operator if list.is_sign(at, ")") && list.partner(at).is_none() => {
            "this bracket was never opened".into()
        }
        TokenKind::Word if list.is_word(at, "INTO") => return check_into(list, at),
        TokenKind::Word | TokenKind::QuotedName => return check_function(list, at),
        _ => return None,
    };
    Some((at, what))
}

fn check_into(list: &TokenList<'_>, at: usize) -> Option<TokenFault> {
    if list.is_any_word(at + 1, &["OUTFILE", "DUMPFILE"]) {
        return Some((
            at,
            format!("an operation can't write files: remove INTO {}", list.token(at + 1)),
        ));
    }
    let leads =
        ["INSERT", "REPLACE", "MERGE", "IGNORE", "ABORT", "FAIL", "ROLLBACK", "LOW_PRIORITY"];
    let inserts = at > 0 && list.is_any_word(at - 1, &leads);
    (!inserts)
        .then(|| (at, "SELECT … INTO has no place here: write \\gset behind the statement".into()))
}

fn check_function(list: &TokenList<'_>, at: usize) -> Option<TokenFault> {
    if !list.is_sign(at + 1, "(") {
        return None;
    }
    let name = list.name(at)?.to_lowercase();
    let prefixes = ["pg_", "lo_", "dblink", "sqlite_", "xpath"];
    let forbidden = FORBIDDEN.contains(&name.as_str())
        || prefixes.iter().any(|prefix| name.starts_with(prefix));
    forbidden.then(|| (at, format!("an operation can't call {name}: it reaches beyond the tables")))
}

/// Comments that MySQL runs. A token list has no comments, so they are looked for in the text.
pub(super) fn find_running_comment(text: &str) -> Option<usize> {
    let tokens = super::tokens::split_tokens(text);
    let comments = tokens.iter().filter(|token| token.kind == TokenKind::Comment);
    let mut running = comments.filter(|token| {
        let comment = &text[token.span.clone()];
        comment.contains("/*!") || comment.contains("/*M!")
    });
    running.next().map(|token| token.span.start)
}
