//! An application's own program as the client: a process a client, asked line by line.
//!
//! The database is opened, filled, checked and drained as for any other client. A program knows
//! where it is from its environment, and connects by itself.

mod audit;
mod claims;
mod client;
mod environment;
mod host;
mod log;
mod process;
mod protocol;
mod self_paced;

use std::path::PathBuf;
use std::time::Duration;

use bakeoff_engines::servers::ServerUser;
use bakeoff_engines::{Database, Debt, Engine, EngineHome};
use bakeoff_experiment::{Cell, EngineState, Factor, Rate, ThreadPlacement};
use bakeoff_load::{BlockingClient as _, ClientShare, Driver};
use bakeoff_results::Measures;
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::{
    Claims, ClientProgram, Name, PreparedWorkload, Workload, are_programs_inside,
};

use self::audit::KeyAudit;
pub use self::claims::read_acknowledged;
use self::client::{DatabaseUse, ProgramClient};
pub use self::environment::DatabaseTerms;
use self::host::ProgramHost;
use self::self_paced::SelfPacedClient;
use super::kinds::Kinds;
use super::open::OpenDatabase;
use super::ready::Ready;
use super::resolved::open_terms;
use crate::TrialError;
use crate::place::TargetPlace;
use crate::refusal::Refusal;
use crate::targets::{Audit, ConditioningStep, MostClients, Processes, RunningTarget};

/// The programs, where the database is a server.
const APPLICATION_GROUP: &str = "application";
pub const PROCESSES: MostClients =
    MostClients { number: 256, why: "each is a process of the application's own program" };

/// Refuses cells in which no program can reach the database.
pub fn check_cell(
    engine: &dyn Engine,
    workload: &dyn Workload,
    cell: &Cell,
) -> Result<(), Refusal> {
    let refused = |factor, why: &str| Err(Refusal::from_cell(cell, &[factor], why));
    let own = workload.server().map(|server| server.about().name);
    if let Some(own) = own.filter(|own| *own != engine.about().name) {
        return refused(
            Factor::ENGINE,
            &format!("the application brings its own server: name {own}"),
        );
    }
    let paces_itself = workload.program().is_some_and(|program| program.paces_itself);
    if paces_itself && cell.rate() != Rate::Closed {
        return refused(
            Factor::RATE,
            "the program chooses when operations begin: name the rate `closed`",
        );
    }
    match engine.home() {
        EngineHome::Process if !engine.prepares() => refused(
            Factor::ENGINE,
            "an application's own program can't reach it: it is a library inside bakeoff's process; take a server, \
             or sqlite",
        ),
        EngineHome::External => refused(
            Factor::ENGINE,
            "an application's own program is staged with its database: name an engine that bakeoff starts itself",
        ),
        EngineHome::Process | EngineHome::Server if cell.state() == EngineState::Steady => refused(
            Factor::STATE,
            "an application's own program can't precondition its database: name the state `warm` or `cold`",
        ),
        EngineHome::Process | EngineHome::Server if cell.placement() != ThreadPlacement::Free => {
            refused(
                Factor::PLACEMENT,
                "an application's own program runs where the kernel puts it: name the placement `free`",
            )
        }
        EngineHome::Process | EngineHome::Server => Ok(()),
    }
}

/// Starts nothing yet.
fn make_host(
    program: &ClientProgram,
    opened: &DatabaseTerms<'_>,
    log: Option<PathBuf>,
) -> Result<ProgramHost, TrialError> {
    let failed =
        |error| TrialError::place_error("an application's program can't be started", error);
    let server = opened.database.server();
    let user = server.map(ServerUser::of_server).transpose().map_err(failed)?.flatten();
    let variables = environment::list_variables(opened, user.as_ref())?;
    ProgramHost::new(program, variables, user, log).map_err(failed)
}

fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

fn host_trial(
    ready: &Ready,
    program: &ClientProgram,
    place: &TargetPlace,
    database: &dyn Database,
) -> Result<ProgramHost, TrialError> {
    let Ready { engine, resolved, .. } = ready;
    let opened = DatabaseTerms {
        engine: *engine,
        terms: open_terms(resolved, place),
        database,
        scale: program.find_scale(&resolved.scale),
        levels: &resolved.levels,
    };
    make_host(program, &opened, place.programs_log.clone())
}

/// Has the application's own program fill the tables. `alive` hears of it when the program writes
/// something.
pub fn fill_by_program(
    ready: &Ready,
    program: &ClientProgram,
    place: &TargetPlace,
    database: &dyn Database,
    alive: &mut dyn FnMut(),
) -> Result<(), TrialError> {
    let host = host_trial(ready, program, place, database)?;
    fill_schema(&host, &*ready.prepared, database, ready.resolved.seed, alive)
}

/// Where the workload has no table, the program makes them.
fn fill_schema(
    host: &ProgramHost,
    prepared: &dyn PreparedWorkload,
    database: &dyn Database,
    seed: u64,
    alive: &mut dyn FnMut(),
) -> Result<(), TrialError> {
    let lends = prepared.schema().tables.is_empty();
    if lends {
        database.lend_schema()?;
    }
    host.fill(seed, alive)?;
    if lends {
        database.return_schema()?;
    }
    Ok(())
}

/// Has an application's own program fill the tables of an open database, if it does that, and runs
/// one operation of each kind. No other process may be started meanwhile.
pub fn try_program(
    workload: &dyn Workload,
    prepared: &dyn PreparedWorkload,
    opened: &DatabaseTerms<'_>,
) -> Result<(), TrialError> {
    let (share, none) = (ClientShare { driver: 0, clients: 0..1, of: 1, seed: 1 }, "no program");
    let program = workload.program().ok_or_else(|| TrialError::process_error(none))?;
    let kinds = Kinds::from_operations(workload.operations(), |_| true);
    let kinds = kinds.ok_or_else(|| TrialError::process_error("no operation"))?;
    let host = make_host(program, opened, None)?;
    fill_schema(&host, prepared, opened.database, share.seed, &mut || {})?;
    let (process, chooser) = (host.start_client(0, &share)?, prepared.make_client(0, 1, 1));
    let timeout = Duration::from_secs(program.timeout_s);
    if program.audit.is_some() {
        drop(host.start_auditor()?);
    }
    if program.paces_itself {
        let mut client = SelfPacedClient::new(&kinds, process, timeout, None);
        return client.try_operation().map_err(TrialError::User);
    }
    let database = DatabaseUse::default();
    let mut client = ProgramClient::new(chooser, &kinds, process, timeout, &database);
    client.try_operations().map_err(TrialError::User)
}

pub struct ProgramTarget<'a> {
    // Its processes end before the database closes.
    host: ProgramHost,
    open: OpenDatabase<'a>,
    ready: &'a Ready,
    timeout: Duration,
    used: DatabaseUse,
}

impl<'a> ProgramTarget<'a> {
    pub fn open(
        ready: &'a Ready,
        program: &ClientProgram,
        place: &TargetPlace,
    ) -> Result<Self, TrialError> {
        let database = ready.open_database(place, ready.resolved.durability)?;
        let mut host = host_trial(ready, program, place, &*database)?;
        let group = place.find_group(DATABASE_GROUP);
        if let Some(group) = group.filter(|_| are_programs_inside(&ready.resolved.levels)) {
            let failed = |error| TrialError::place_error("programs can't be limited", error);
            host.join_groups(&group.cgroups).map_err(failed)?;
        }
        let timeout = Duration::from_secs(program.timeout_s);
        Ok(Self {
            host,
            open: OpenDatabase::new(ready, database),
            ready,
            timeout,
            used: DatabaseUse::default(),
        })
    }
}

impl RunningTarget for ProgramTarget<'_> {
    fn operations(&self) -> &[Name] {
        self.open.operations()
    }

    /// The two ends of its descriptor and of its output, while it is started.
    fn files_per_client(&self) -> Result<usize, TrialError> {
        Ok(4)
    }

    fn make_driver<'b>(
        &'b self,
        share: &ClientShare,
        claims: Option<Box<dyn Claims + 'b>>,
    ) -> Result<Box<dyn Driver + 'b>, TrialError> {
        let number = share.clients.start;
        let process = self.host.start_client(number, share)?;
        let Ready { prepared, kinds, .. } = self.ready;
        if self.ready.program.is_some_and(|program| program.paces_itself) {
            return Ok(Box::new(SelfPacedClient::new(kinds, process, self.timeout, claims)));
        }
        let chooser = prepared.make_client(number, share.of, share.seed);
        let client = ProgramClient::new(chooser, kinds, process, self.timeout, &self.used);
        Ok(Box::new(client.with_claims(claims)))
    }

    /// As a client of its own: after a power cut it says when the database answers again.
    fn conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Result<ConditioningStep<'_>, TrialError> {
        if self.ready.program.is_some_and(|program| program.paces_itself) {
            let why = "its program works when it likes, and can't be asked for one operation";
            return Err(TrialError::User(why.into()));
        }
        let share = ClientShare { driver: number, clients: number..number + 1, of: clients, seed };
        let process = self.host.start_client(number, &share)?;
        let Ready { prepared, kinds, .. } = self.ready;
        let chooser = prepared.make_client(number, clients, seed);
        let mut client = ProgramClient::new(chooser, kinds, process, self.timeout, &self.used);
        client.tell_to_go();
        Ok(Box::new(move || {
            let kind = (&mut client).choose_operation();
            match (&mut client).run_operation(kind).error {
                None => Ok(0),
                Some(why) => Err(TrialError::Engine(why)),
            }
        }))
    }

    fn audit(&self, claims: &[Vec<u8>], off_at_ns: u64) -> Result<Audit, TrialError> {
        if read_acknowledged(claims, off_at_ns).is_empty() {
            let why = "its programs acknowledged no key before the power went, so that nothing was promised: they say \
                       `ack KEY` before `ok`";
            return Err(TrialError::User(why.into()));
        }
        let mut faults = self.open.check()?.unwrap_or_default();
        let asked = match KeyAudit::ask_keys(&self.host, claims, off_at_ns, self.timeout) {
            // It could not live with what the cut has left.
            Err(why) if self.open.database().server().is_some_and(has_ended) => KeyAudit {
                faults: vec![format!("the server has ended: {why}")],
                ..KeyAudit::default()
            },
            asked => asked?,
        };
        faults.extend(asked.faults);
        Ok(Audit { faults, findings: asked.findings })
    }

    fn debt(&self) -> Result<Option<Debt>, TrialError> {
        self.open.debt()
    }

    fn warm(&self) -> Result<(), TrialError> {
        self.open.warm()
    }

    fn drain(&self) -> Result<(), TrialError> {
        self.open.drain()
    }

    fn check(&self) -> Result<Option<Vec<String>>, TrialError> {
        self.open.check()
    }

    fn find_unchecked(&self) -> Result<Option<String>, TrialError> {
        self.open.find_unchecked()
    }

    /// The programs are this process's children. Where the engine is a library, it is in them.
    fn groups(&self) -> Vec<(&'static str, Processes)> {
        match self.open.database().server() {
            Some(apart) => vec![
                (DATABASE_GROUP, Processes::Family(apart)),
                (APPLICATION_GROUP, Processes::Children { apart: Some(apart) }),
            ],
            None => vec![(DATABASE_GROUP, Processes::Children { apart: None })],
        }
    }

    fn counters(&self) -> Measures {
        let mut measures = self.open.counters();
        measures.extend(self.used.measures());
        measures
    }

    fn writes_back(&self) -> Vec<&str> {
        self.open.writes_back()
    }

    /// A library counts them in its own sessions, which are the programs'.
    fn cache_misses(&self) -> Vec<&str> {
        match self.open.database().server() {
            Some(_) => self.open.cache_misses(),
            None => Vec::new(),
        }
    }
}
