//! What stands between a workload's clients and the database where the workload is a web application.

use bakeoff_engines::{Engine, Home};
use bakeoff_experiment::{Cell, Cpus, Declared, Factor, Memory, State};
use bakeoff_results::AppliedSetting;
use bakeoff_results::measure::DATABASE_GROUP;
use serde::{Deserialize, Serialize};

use super::super::{GroupLimit, GroupSetup};
use crate::place::limits::Shared;
use crate::refusal::Refusal;

/// The group of a web server's processes, where the database has processes of its own.
pub const WEB_GROUP: &str = "web";
/// The limit that the web server and the database share.
const STACK: &str = "stack";
/// How many workers a web server has, each with one request at a time.
pub const WORKERS: usize = 16;

/// What serves the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Server {
    /// Nothing: each client calls the engine itself.
    #[default]
    None,
    /// A web server of bakeoff's own.
    BuiltIn,
}

/// Those that can be named, by their levels.
const ALL: [(&str, Server); 2] = [("none", Server::None), ("built-in", Server::BuiltIn)];

/// Which of them.
pub static SERVER: Declared = Declared {
    name: "server",
    summary: "what serves the pages: nothing, so that each client calls the engine itself, or bakeoff's \
              own web server, a process that visitors ask over HTTP",
    syntax: "none or built-in",
    default: "none",
    canonical: |text| match ALL.iter().any(|(name, _)| *name == text) {
        true => Ok(text.into()),
        false => Err(format!(
            "`{text}` is nothing that serves pages\nvalid: {}",
            ALL.map(|it| it.0).join(", ")
        )),
    },
};

impl Server {
    /// The one that a cell names; none where its workload has no pages.
    pub fn of(cell: &Cell) -> Self {
        let level = cell.level(Factor::Declared(&SERVER)).unwrap_or_default();
        ALL.iter().find(|(name, _)| *name == level).map_or(Self::None, |(_, server)| *server)
    }

    /// Refuses what it can't serve.
    ///
    /// # Errors
    /// The levels that don't go together.
    pub fn check(self, engine: &dyn Engine, cell: &Cell) -> Result<(), Refusal> {
        if self == Self::None {
            return Ok(());
        }
        let refused =
            |factor, why: &str| Err(Refusal::of(cell, &[Factor::Declared(&SERVER), factor], why));
        if engine.home() == Home::External {
            return refused(
                Factor::ENGINE,
                "a web server is staged with its database: name an engine that bakeoff starts itself",
            );
        }
        if cell.state() == State::Steady {
            return refused(
                Factor::STATE,
                "a database behind a web server can't be preconditioned: name the state `warm` or `cold`",
            );
        }
        Ok(())
    }

    /// The groups of processes of a stack whose database has this one, and the limits that they share: the
    /// processors are those of the whole stack, the memory is the database's. An embedded engine works in
    /// the web server's process.
    pub fn groups(
        self,
        engine: &dyn Engine,
        database: GroupSetup,
    ) -> (Vec<GroupSetup>, Vec<Shared<GroupLimit>>) {
        match (self, engine.home()) {
            (Self::None, _) => (vec![database], Vec::new()),
            (Self::BuiltIn, Home::Process) => {
                // For its socket.
                (vec![GroupSetup { has_server: true, ..database }], Vec::new())
            }
            (Self::BuiltIn, Home::Server | Home::External) => {
                let GroupLimit { memory, cpus } = database.limit;
                let limit = GroupLimit { memory, cpus: Cpus::Unlimited };
                let database = GroupSetup { limit, ..database };
                let web = GroupSetup {
                    name: WEB_GROUP,
                    has_server: true,
                    files: None,
                    limit: GroupLimit::NONE,
                };
                let limit = GroupLimit { memory: Memory::Unlimited, cpus };
                let groups = vec![DATABASE_GROUP, WEB_GROUP];
                (vec![database, web], vec![Shared { name: STACK, groups, limit }])
            }
        }
    }

    /// How many sessions so many clients come to.
    pub fn sessions(self, clients: usize) -> usize {
        match self {
            Self::None => clients,
            Self::BuiltIn => WORKERS,
        }
    }

    /// How it is set up.
    pub fn settings(self) -> Option<AppliedSetting> {
        (self != Self::None).then(|| AppliedSetting {
            name: "web server's workers".into(),
            value: WORKERS.to_string(),
            reason: Some("each answers one request at a time, as those of php-fpm do".into()),
        })
    }
}

/// The group that a web server is in.
pub fn group(engine: &dyn Engine) -> &'static str {
    match engine.home() {
        Home::Process => DATABASE_GROUP,
        Home::Server | Home::External => WEB_GROUP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_of_processors_is_the_stacks_and_memory_is_the_databases() {
        let limit = GroupLimit { memory: Memory::Bytes(1 << 30), cpus: Cpus::Milli(1000) };
        let database =
            GroupSetup { name: DATABASE_GROUP, has_server: true, files: Some(""), limit };
        let engine = |name| bakeoff_engines::find(name).expect("an engine");
        let groups = |server: Server, name| server.groups(engine(name), database);
        assert_eq!(groups(Server::None, "postgres"), (vec![database], Vec::new()));
        // One process: one group with both limits.
        assert_eq!(groups(Server::BuiltIn, "sqlite"), (vec![database], Vec::new()));
        let (each, shared) = groups(Server::BuiltIn, "postgres");
        let limits: Vec<_> = each.iter().map(|group| (group.name, group.limit)).collect();
        let of_memory = GroupLimit { cpus: Cpus::Unlimited, ..limit };
        assert_eq!(limits, [(DATABASE_GROUP, of_memory), (WEB_GROUP, GroupLimit::NONE)]);
        let [Shared { groups, limit, .. }] = &shared[..] else { panic!("{shared:?}") };
        assert_eq!(groups, &[DATABASE_GROUP, WEB_GROUP]);
        let of_processors = GroupLimit { memory: Memory::Unlimited, cpus: Cpus::Milli(1000) };
        assert_eq!(*limit, of_processors);
    }
}
