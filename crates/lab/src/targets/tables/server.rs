//! What stands between a workload's clients and the database where the workload is a web application.

use bakeoff_engines::{Engine, EngineHome};
use bakeoff_experiment::{Cell, Cpus, Declared, EngineState, Factor, MemoryLimit};
use bakeoff_results::AppliedSetting;
use bakeoff_results::measure::DATABASE_GROUP;
use serde::{Deserialize, Serialize};

use super::super::{GroupLimit, GroupSetup, MostClients, page};
use crate::place::limits::SharedLimit;
use crate::refusal::Refusal;

/// The group of a web server's processes, where the database is in others.
pub const WEB_GROUP: &str = "web";
/// The group of PHP's processes, where the database is in others.
pub const PHP_GROUP: &str = "php";
/// The limit that all of them share.
const STACK: &str = "stack";
/// How many workers make pages, each one at a time.
pub const WORKERS: usize = 16;
/// The most clients of nginx and php-fpm.
const WAITING: MostClients =
    MostClients { number: 4_000, why: "php-fpm's socket holds few more in its backlog" };
/// What bakeoff's own SQLite has set for its sessions, and PHP's does not.
const NOT_PHPS: &str = "SQLITE_DBCONFIG_ENABLE_QPSG";

/// What serves the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageServer {
    /// Nothing: each client calls the engine itself.
    #[default]
    None,
    /// A web server of bakeoff's own.
    BuiltIn,
    /// nginx with php-fpm.
    Php,
}

/// Those that can be named, by their levels.
const ALL: [(&str, PageServer); 3] =
    [("none", PageServer::None), ("built-in", PageServer::BuiltIn), ("php", PageServer::Php)];

/// Which of them.
pub static SERVER: Declared = Declared {
    name: "server",
    summary: "what serves the pages: nothing, so that each client calls the engine itself; bakeoff's own web \
              server, a process that visitors ask over HTTP; or nginx with php-fpm",
    syntax: "none, built-in or php",
    default: "none",
    canonical: |text| match ALL.iter().any(|(name, _)| *name == text) {
        true => Ok(text.into()),
        false => {
            let valid = ALL.map(|(name, _)| name).join(", ");
            Err(format!("`{text}` is nothing that serves pages\nvalid: {valid}"))
        }
    },
};

/// Whether answers are compressed.
pub static GZIP: Declared = Declared {
    name: "gzip",
    summary: "whether nginx compresses the pages, at level 5",
    syntax: "off or on",
    default: "off",
    canonical: |text| match text {
        "off" | "on" => Ok(text.into()),
        _ => Err(format!("`{text}` is neither on nor off\nvalid: off, on")),
    },
};

/// Whether a cell wants its answers compressed.
pub fn compresses(cell: &Cell) -> bool {
    cell.level(Factor::Declared(&GZIP)) == Some("on")
}

/// A database that PHP reaches, by how it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithPhp {
    /// In PHP's own processes.
    Sqlite,
    /// MariaDB.
    MySql,
    /// PostgreSQL.
    Postgres,
    /// Tarantool with memtx, by a client that is brought along.
    Tarantool,
}

impl WithPhp {
    /// How PHP reaches an engine; `None` where it does not.
    pub fn from_engine(engine: &dyn Engine) -> Option<Self> {
        let about = engine.about();
        let known = [
            ("sqlite", Self::Sqlite),
            ("mariadb", Self::MySql),
            ("postgres", Self::Postgres),
            ("tarantool:memtx", Self::Tarantool),
        ];
        // A vote that fails halfway has to leave nothing.
        let found = known.into_iter().find(|(begins, _)| about.name.starts_with(begins));
        found.filter(|_| about.rolls_back).map(|(_, with)| with)
    }

    /// The module of PHP that does it, and Debian's package, where it takes one.
    pub fn module(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Sqlite => Some(("pdo_sqlite", "php-sqlite3")),
            Self::MySql => Some(("pdo_mysql", "php-mysql")),
            Self::Postgres => Some(("pdo_pgsql", "php-pgsql")),
            Self::Tarantool => None,
        }
    }
}

impl PageServer {
    /// The one that a cell names; none where its workload has no pages.
    pub fn from_cell(cell: &Cell) -> Self {
        let level = cell.level(Factor::Declared(&SERVER)).unwrap_or_default();
        ALL.iter().find(|(name, _)| *name == level).map_or(Self::None, |(_, server)| *server)
    }

    /// Refuses what it can't serve.
    ///
    /// # Errors
    /// The levels that don't go together.
    pub fn check(self, engine: &dyn Engine, cell: &Cell) -> Result<(), Refusal> {
        let refused = |factor, why: &str| {
            Err(Refusal::from_cell(cell, &[Factor::Declared(&SERVER), factor], why))
        };
        if self != Self::Php && compresses(cell) {
            return refused(
                Factor::Declared(&GZIP),
                "only nginx compresses pages: name the server `php`",
            );
        }
        if self == Self::None {
            return Ok(());
        }
        if engine.home() == EngineHome::External {
            return refused(
                Factor::ENGINE,
                "a web server is staged with its database: name an engine that bakeoff starts itself",
            );
        }
        if self == Self::Php && WithPhp::from_engine(engine).is_none() {
            return refused(
                Factor::ENGINE,
                "PHP reaches SQLite, MariaDB (but for Aria, which has no transactions) and PostgreSQL by \
                 PDO, and tarantool:memtx by a client that is brought along; other engines are not reached",
            );
        }
        if cell.state() == EngineState::Steady {
            return refused(
                Factor::STATE,
                "a database behind a web server can't be preconditioned: name the state `warm` or `cold`",
            );
        }
        Ok(())
    }

    /// The groups of processes of a stack whose database has this one, and the limits that they share: the
    /// processors are those of the whole stack, the memory is the database's. An embedded engine works in
    /// the processes that make the pages.
    pub fn groups(
        self,
        engine: &dyn Engine,
        database: GroupSetup,
    ) -> (Vec<GroupSetup>, Vec<SharedLimit<GroupLimit>>) {
        let is_embedded = engine.home() == EngineHome::Process;
        let others: &[&'static str] = match (self, is_embedded) {
            (Self::None, _) => return (vec![database], Vec::new()),
            // One process, which has a socket.
            (Self::BuiltIn, true) => {
                return (vec![GroupSetup { has_server: true, ..database }], Vec::new());
            }
            (Self::BuiltIn, false) | (Self::Php, true) => &[WEB_GROUP],
            (Self::Php, false) => &[PHP_GROUP, WEB_GROUP],
        };
        let GroupLimit { memory, cpus } = database.limit;
        let limit = GroupLimit { memory, cpus: Cpus::Unlimited };
        let other = |name: &'static str| GroupSetup {
            name,
            has_server: name == WEB_GROUP,
            files: None,
            limit: GroupLimit::NONE,
        };
        let mut groups = vec![GroupSetup { limit, ..database }];
        groups.extend(others.iter().copied().map(other));
        let limit = GroupLimit { memory: MemoryLimit::Unlimited, cpus };
        let names = groups.iter().map(|group| group.name).collect();
        (groups, vec![SharedLimit { name: STACK, groups: names, limit }])
    }

    /// The group that has the folder of its socket.
    pub fn socket_group(self, engine: &dyn Engine) -> &'static str {
        match (self, engine.home()) {
            (Self::BuiltIn, EngineHome::Process) => DATABASE_GROUP,
            _ => WEB_GROUP,
        }
    }

    /// The group that the processes are in which make the pages.
    pub fn page_group(self, engine: &dyn Engine) -> &'static str {
        match (self, engine.home()) {
            (_, EngineHome::Process) => DATABASE_GROUP,
            (Self::Php, _) => PHP_GROUP,
            _ => WEB_GROUP,
        }
    }

    /// How many sessions so many clients come to.
    pub fn sessions(self, clients: usize) -> usize {
        match self {
            Self::None => clients,
            Self::BuiltIn | Self::Php => WORKERS,
        }
    }

    /// The most clients that it takes; `None` where clients call the engine themselves.
    pub fn most_clients(self) -> Option<MostClients> {
        match self {
            Self::None => None,
            Self::BuiltIn => Some(page::CONNECTIONS),
            Self::Php => Some(WAITING),
        }
    }

    /// Whether a setting of the engine's is one of those who make the pages: PHP has a SQLite of its own.
    pub fn keeps(self, setting: &str) -> bool {
        self != Self::Php || setting != NOT_PHPS
    }

    /// How it is set up before an engine.
    pub fn settings(self, engine: &dyn Engine) -> Vec<AppliedSetting> {
        let setting = |name: &str, value: String, reason: &str| AppliedSetting {
            name: name.into(),
            value,
            reason: Some(reason.into()),
        };
        let workers = WORKERS.to_string();
        match self {
            Self::None => Vec::new(),
            Self::BuiltIn => vec![setting(
                "web server's workers",
                workers,
                "each answers one request at a time, as those of php-fpm do",
            )],
            Self::Php => {
                let brought = setting(
                    "Tarantool's client",
                    "PHP, brought along".into(),
                    "Debian has no module of PHP; one in C would take less",
                );
                let is_brought = WithPhp::from_engine(engine) == Some(WithPhp::Tarantool);
                let mut settings = vec![
                    setting("pm.max_children", workers, "php-fpm with pm = static"),
                    setting("worker_processes", "1".into(), "nginx; it hands every request to PHP"),
                ];
                settings.extend(is_brought.then_some(brought));
                settings
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_of_processors_is_the_stacks_and_memory_is_the_databases() {
        let limit = GroupLimit { memory: MemoryLimit::Bytes(1 << 30), cpus: Cpus::Milli(1000) };
        let database =
            GroupSetup { name: DATABASE_GROUP, has_server: true, files: Some(""), limit };
        let engine = |name| bakeoff_engines::find(name).expect("an engine");
        let groups = |server: PageServer, name| server.groups(engine(name), database);
        assert_eq!(groups(PageServer::None, "postgres"), (vec![database], Vec::new()));
        // One process: one group with both limits.
        assert_eq!(groups(PageServer::BuiltIn, "sqlite"), (vec![database], Vec::new()));
        let (each, shared) = groups(PageServer::BuiltIn, "postgres");
        let limits: Vec<_> = each.iter().map(|group| (group.name, group.limit)).collect();
        let of_memory = GroupLimit { cpus: Cpus::Unlimited, ..limit };
        assert_eq!(limits, [(DATABASE_GROUP, of_memory), (WEB_GROUP, GroupLimit::NONE)]);
        let [SharedLimit { groups, limit, .. }] = &shared[..] else { panic!("{shared:?}") };
        assert_eq!(groups, &[DATABASE_GROUP, WEB_GROUP]);
        let of_processors = GroupLimit { memory: MemoryLimit::Unlimited, cpus: Cpus::Milli(1000) };
        assert_eq!(*limit, of_processors);
    }

    #[test]
    fn php_is_apart_from_a_database_server_and_holds_an_embedded_engine() {
        let limit = GroupLimit { memory: MemoryLimit::Unlimited, cpus: Cpus::Milli(1000) };
        let database =
            GroupSetup { name: DATABASE_GROUP, has_server: false, files: Some(""), limit };
        for (name, wanted) in [
            ("mariadb:innodb", &[DATABASE_GROUP, PHP_GROUP, WEB_GROUP][..]),
            ("tarantool:memtx", &[DATABASE_GROUP, PHP_GROUP, WEB_GROUP][..]),
            ("sqlite", &[DATABASE_GROUP, WEB_GROUP][..]),
        ] {
            let engine = bakeoff_engines::find(name).expect("an engine");
            let (groups, shared) = PageServer::Php.groups(engine, database);
            let names: Vec<_> = groups.iter().map(|group| group.name).collect();
            assert_eq!((&names[..], &shared[0].groups[..]), (wanted, wanted));
            assert!(wanted.contains(&PageServer::Php.page_group(engine)), "{name}");
            let socket = PageServer::Php.socket_group(engine);
            let has_folder = groups.iter().find(|group| group.name == socket).unwrap().has_server;
            assert!(has_folder, "{name}: its socket has a folder");
        }
        for name in ["tarantool:vinyl", "mariadb:aria", "lmdb"] {
            assert_eq!(WithPhp::from_engine(bakeoff_engines::find(name).unwrap()), None, "{name}");
        }
    }

    #[test]
    fn what_is_not_so_in_php_is_no_setting_and_what_is_brought_along_is_one() {
        assert!(!PageServer::Php.keeps(NOT_PHPS) && PageServer::Php.keeps("journal_mode"));
        assert!(PageServer::BuiltIn.keeps(NOT_PHPS) && PageServer::None.keeps(NOT_PHPS));
        // By the name that the engine has for it.
        let sqlite = bakeoff_engines::find("sqlite").unwrap();
        let terms = bakeoff_engines::OpenTerms::new(bakeoff_engines::Durability::Strict);
        assert!(sqlite.settings(&terms).iter().any(|setting| setting.name == NOT_PHPS));
        let brings = |server: PageServer, name| {
            let settings = server.settings(bakeoff_engines::find(name).unwrap());
            settings.iter().any(|setting| setting.name == "Tarantool's client")
        };
        assert!(brings(PageServer::Php, "tarantool:memtx"));
        assert!(
            !brings(PageServer::Php, "postgres") && !brings(PageServer::BuiltIn, "tarantool:memtx")
        );
    }
}
