//! The web server between a web application's clients and its database.

use bakeoff_engines::{Engine, EngineHome};
use bakeoff_experiment::{Cell, Cpus, Declared, EngineState, Factor, MemoryLimit};
use bakeoff_results::AppliedSetting;
use bakeoff_results::measure::DATABASE_GROUP;
use serde::{Deserialize, Serialize};

use super::super::{GroupLimit, GroupSetup, MostClients, page};
use crate::place::limits::SharedLimit;
use crate::refusal::Refusal;

/// These two groups exist only if the database runs in other processes.
pub const WEB_GROUP: &str = "web";
pub const PHP_GROUP: &str = "php";
const STACK: &str = "stack";
/// The number of workers; each makes one page at a time.
pub const WORKERS: usize = 16;
const WAITING: MostClients =
    MostClients { number: 4_000, why: "php-fpm's socket holds few more in its backlog" };
/// bakeoff's own SQLite sets it for its sessions, PHP's does not.
const NOT_PHPS: &str = "SQLITE_DBCONFIG_ENABLE_QPSG";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageServer {
    #[default]
    None,
    BuiltIn,
    Php,
}

const ALL: [(&str, PageServer); 3] =
    [("none", PageServer::None), ("built-in", PageServer::BuiltIn), ("php", PageServer::Php)];

pub static SERVER: Declared = Declared {
    name: "server",
    summary: "what serves the pages: nothing, so that each client calls the engine itself; bakeoff's own web \
              server, a process that visitors ask over HTTP; or nginx with php-fpm",
    syntax: "none, built-in or php",
    default: "none",
    canonical: &|text| match ALL.iter().any(|(name, _)| *name == text) {
        true => Ok(text.into()),
        false => {
            let valid = ALL.map(|(name, _)| name).join(", ");
            Err(format!("`{text}` is nothing that serves pages\nvalid: {valid}"))
        }
    },
};

pub static GZIP: Declared = Declared {
    name: "gzip",
    summary: "whether nginx compresses the pages, at level 5",
    syntax: "off or on",
    default: "off",
    canonical: &|text| match text {
        "off" | "on" => Ok(text.into()),
        _ => Err(format!("`{text}` is neither on nor off\nvalid: off, on")),
    },
};

pub fn wants_gzip(cell: &Cell) -> bool {
    cell.level(Factor::Declared(&GZIP)) == Some("on")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhpDatabase {
    Sqlite,
    MySql,
    Postgres,
    Tarantool,
}

impl PhpDatabase {
    pub fn from_engine(engine: &dyn Engine) -> Option<Self> {
        let about = engine.about();
        let known = [
            ("sqlite", Self::Sqlite),
            ("mariadb", Self::MySql),
            ("postgres", Self::Postgres),
            ("tarantool:memtx", Self::Tarantool),
        ];
        // A vote that fails halfway must leave nothing.
        let found = known.into_iter().find(|(begins, _)| about.name.starts_with(begins));
        found.filter(|_| about.rolls_back).map(|(_, with)| with)
    }

    /// The PHP module, and Debian's package of it.
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
    pub fn from_cell(cell: &Cell) -> Self {
        let level = cell.level(Factor::Declared(&SERVER)).unwrap_or_default();
        ALL.iter().find(|(name, _)| *name == level).map_or(Self::None, |(_, server)| *server)
    }

    pub fn check(self, engine: &dyn Engine, cell: &Cell) -> Result<(), Refusal> {
        let refused = |factor, why: &str| {
            Err(Refusal::from_cell(cell, &[Factor::Declared(&SERVER), factor], why))
        };
        if self != Self::Php && wants_gzip(cell) {
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
        if self == Self::Php && PhpDatabase::from_engine(engine).is_none() {
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

    /// The whole stack shares the processors; the memory is the database's alone. An embedded
    /// engine runs in the processes that make the pages.
    pub fn make_groups(
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

    pub fn socket_group(self, engine: &dyn Engine) -> &'static str {
        match (self, engine.home()) {
            (Self::BuiltIn, EngineHome::Process) => DATABASE_GROUP,
            _ => WEB_GROUP,
        }
    }

    pub fn page_group(self, engine: &dyn Engine) -> &'static str {
        match (self, engine.home()) {
            (_, EngineHome::Process) => DATABASE_GROUP,
            (Self::Php, _) => PHP_GROUP,
            _ => WEB_GROUP,
        }
    }

    pub fn sessions(self, clients: usize) -> usize {
        match self {
            Self::None => clients,
            Self::BuiltIn | Self::Php => WORKERS,
        }
    }

    pub fn most_clients(self) -> Option<MostClients> {
        match self {
            Self::None => None,
            Self::BuiltIn => Some(page::CONNECTIONS),
            Self::Php => Some(WAITING),
        }
    }

    pub fn php(self, engine: &dyn Engine) -> Option<PhpDatabase> {
        PhpDatabase::from_engine(engine).filter(|_| self == Self::Php)
    }

    /// PHP has a SQLite of its own, with other settings.
    pub fn keeps(self, setting: &str) -> bool {
        self != Self::Php || setting != NOT_PHPS
    }

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
                let is_brought = PhpDatabase::from_engine(engine) == Some(PhpDatabase::Tarantool);
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
        let engine = |name| bakeoff_engines::find_level(name).expect("an engine");
        let groups = |server: PageServer, name| server.make_groups(engine(name), database);
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
            let engine = bakeoff_engines::find_level(name).expect("an engine");
            let (groups, shared) = PageServer::Php.make_groups(engine, database);
            let names: Vec<_> = groups.iter().map(|group| group.name).collect();
            assert_eq!((&names[..], &shared[0].groups[..]), (wanted, wanted));
            assert!(wanted.contains(&PageServer::Php.page_group(engine)), "{name}");
            let socket = PageServer::Php.socket_group(engine);
            let has_folder = groups.iter().find(|group| group.name == socket).unwrap().has_server;
            assert!(has_folder, "{name}: its socket has a folder");
        }
        for name in ["tarantool:vinyl", "mariadb:aria", "lmdb"] {
            assert_eq!(
                PhpDatabase::from_engine(bakeoff_engines::find_level(name).unwrap()),
                None,
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_not_so_in_php_is_no_setting_and_what_is_brought_along_is_one() {
        assert!(!PageServer::Php.keeps(NOT_PHPS) && PageServer::Php.keeps("journal_mode"));
        assert!(PageServer::BuiltIn.keeps(NOT_PHPS) && PageServer::None.keeps(NOT_PHPS));
        // By the name that the engine has for it.
        let sqlite = bakeoff_engines::find_level("sqlite").unwrap();
        let terms = bakeoff_engines::OpenTerms::new(bakeoff_engines::Durability::Strict);
        assert!(sqlite.settings(&terms).iter().any(|setting| setting.name == NOT_PHPS));
        let brings = |server: PageServer, name| {
            let settings = server.settings(bakeoff_engines::find_level(name).unwrap());
            settings.iter().any(|setting| setting.name == "Tarantool's client")
        };
        assert!(brings(PageServer::Php, "tarantool:memtx"));
        assert!(
            !brings(PageServer::Php, "postgres") && !brings(PageServer::BuiltIn, "tarantool:memtx")
        );
    }
}
