//! pgbench's own tables, for scripts of pgbench without a schema.

use crate::files::ApplicationFiles;

/// The tables as `pgbench -i` makes them. `CHAR(n)` is `VARCHAR(n)` here, and the history, which has no
/// key, gets one.
pub const SCHEMA: &str = "\
CREATE TABLE pgbench_branches (bid INTEGER PRIMARY KEY, bbalance BIGINT, filler VARCHAR(88));
CREATE TABLE pgbench_tellers (tid INTEGER PRIMARY KEY, bid INTEGER, tbalance BIGINT, filler VARCHAR(84));
CREATE TABLE pgbench_accounts (aid INTEGER PRIMARY KEY, bid INTEGER, abalance BIGINT, filler VARCHAR(84));
CREATE TABLE pgbench_history (id BIGSERIAL PRIMARY KEY, tid INTEGER, bid INTEGER, aid INTEGER, delta BIGINT, \
mtime TIMESTAMP, filler VARCHAR(22));
";

/// Rows a unit of `:scale` and columns as `pgbench -i` fills them.
pub const CONFIGURATION: &str = "\
summary = \"scripts of pgbench on its own tables\"
[rows]
pgbench_branches = \":scale\"
pgbench_tellers = \"10 * :scale\"
pgbench_accounts = \"100000 * :scale\"
[columns.pgbench_branches]
bbalance = 0
filler = \"null(1, '')\"
[columns.pgbench_tellers]
bid = \":row / 10 + 1\"
tbalance = 0
filler = \"null(1, '')\"
[columns.pgbench_accounts]
bid = \":row / 100000 + 1\"
abalance = 0
filler = \"'                                                                                    '\"
[scales]
small = 1
medium = 10
large = 100
";

/// Gives an application without a schema pgbench's, if its scripts name one of these tables.
pub fn add_schema(files: &mut ApplicationFiles) {
    let names_one = files.operations().any(|(_, text)| text.contains("pgbench_"));
    if names_one && !files.texts.contains_key(crate::files::SCHEMA) {
        files.texts.insert(crate::files::SCHEMA.into(), SCHEMA.into());
        let configuration = crate::files::CONFIGURATION.to_owned();
        files.texts.entry(configuration).or_insert_with(|| CONFIGURATION.into());
    }
}
