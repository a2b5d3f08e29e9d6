//! What the command works with, and its `main`.

use std::process::ExitCode;

use bakeoff_devices::device::model::DeviceModel;
use bakeoff_engines::Engine;
use bakeoff_experiment::{Preset, without_passwords};
use bakeoff_lab::Registry;
use bakeoff_lab::planner::PlannerKind;
use bakeoff_lab::targets::Target;
use bakeoff_load::ArrivalProcess;
use bakeoff_report::{Exporter, Reports, Section};
use bakeoff_workloads::Workload;

use crate::cli::{Cli, Command};
use crate::exit::{CommandFailure, Exit};
use crate::find_limit::FIND_LIMIT;
use crate::until_decided::UNTIL_DECIDED;
use crate::{commands, log, output};

/// Everything that is registered. A program of one's own is `main` of a lab to which it has added
/// its things:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     bakeoff::Lab::standard().main()
/// }
/// ```
///
/// That program starts itself for each trial and each virtual disk, so all of them know what it has
/// added.
pub struct Lab {
    /// What an experiment may name.
    pub(crate) registry: Registry,
    /// What reports are made of, and the formats that they are written in.
    pub(crate) reports: Reports,
    /// Sections and formats whose names are taken.
    taken: Vec<String>,
}

impl Lab {
    /// Everything that is built in.
    pub fn standard() -> Self {
        let registry = Registry::standard().with_planner(&UNTIL_DECIDED).with_planner(&FIND_LIMIT);
        let reports = Reports::standard();
        Self { registry, reports, taken: Vec::new() }
    }

    /// Adds an engine.
    #[must_use]
    pub fn engine(self, engine: &'static dyn Engine) -> Self {
        Self { registry: self.registry.with_engines([engine]), ..self }
    }

    /// Adds a workload over tables.
    #[must_use]
    pub fn workload(self, workload: &'static dyn Workload) -> Self {
        Self { registry: self.registry.with_workloads([workload]), ..self }
    }

    /// Adds a target, with the workloads that it runs.
    #[must_use]
    pub fn target(self, target: impl Target + 'static) -> Self {
        Self { registry: self.registry.with_target(target), ..self }
    }

    /// Adds an arrival process, for rates: how the starts of an open loop follow each other.
    #[must_use]
    pub fn arrivals(self, arrivals: &'static ArrivalProcess) -> Self {
        Self { registry: self.registry.with_arrivals(arrivals), ..self }
    }

    /// Adds a planner: what decides which block is run next.
    #[must_use]
    pub fn planner(self, planner: &'static PlannerKind) -> Self {
        Self { registry: self.registry.with_planner(planner), ..self }
    }

    /// Adds a model of devices, for disks.
    #[must_use]
    pub fn model(self, model: DeviceModel) -> Self {
        Self { registry: self.registry.with_model(model), ..self }
    }

    /// Adds an experiment that is known by its name.
    #[must_use]
    pub fn preset(self, preset: Preset) -> Self {
        Self { registry: self.registry.with_preset(preset), ..self }
    }

    /// Adds a section of reports.
    #[must_use]
    pub fn section(mut self, section: impl Section + 'static) -> Self {
        let taken = self.reports.section(Box::new(section)).err();
        self.taken.extend(taken.map(|error| error.to_string()));
        self
    }

    /// Adds a format of reports.
    #[must_use]
    pub fn exporter(mut self, exporter: impl Exporter + 'static) -> Self {
        let taken = self.reports.exporter(Box::new(exporter)).err();
        self.taken.extend(taken.map(|error| error.to_string()));
        self
    }

    /// Does what the command line says: the whole of a program's `main`. Things that were registered
    /// and can't stand beside each other are told, and nothing is done.
    pub fn main(self) -> ExitCode {
        let mut problems = self.registry.problems();
        problems.extend_from_slice(&self.taken);
        if !problems.is_empty() {
            let lines = problems.iter().map(|problem| format!("\n  {problem}"));
            let message = format!(
                "this program registers things that can't be together:{}",
                lines.collect::<String>()
            );
            output::say(&message);
            return Exit::Failed.into();
        }
        let cli = Cli::parse_for(&self).unwrap_or_else(|error| refuse(&error));
        match self.permitted(&cli).run(&cli) {
            Ok(exit) => exit.into(),
            Err(failure) => {
                output::say(&failure);
                failure.exit.into()
            }
        }
    }

    /// The same with what the command line allows, and no experiment can.
    fn permitted(self, cli: &Cli) -> Self {
        match &cli.command {
            Command::Run(arguments) if arguments.i_run_this_server => {
                Self { registry: self.registry.with_pages_elsewhere(), ..self }
            }
            _ => self,
        }
    }

    fn run(&self, cli: &Cli) -> Result<Exit, CommandFailure> {
        // A disk's daemon has nobody who would read what it says.
        if !matches!(cli.command, Command::DiskDaemon) {
            log::start(cli.log)?;
        }
        match &cli.command {
            Command::Run(arguments) => commands::run::run(self, arguments),
            Command::Report(arguments) => commands::report::run(self, arguments),
            Command::Compare(arguments) => commands::compare::run(arguments),
            Command::Cluster(what) => commands::cluster::run(self, what),
            Command::Merge(arguments) => commands::merge::run(self, arguments),
            Command::List(arguments) => commands::list::run(self, arguments),
            Command::Doctor(arguments) => commands::doctor::run(self, arguments),
            Command::Layouts(arguments) => commands::layouts::run(arguments),
            Command::Completions(arguments) => commands::completions::run(self, arguments),
            Command::Man(arguments) => commands::man::run(self, arguments),
            Command::Disk(what) => commands::disk::run(self, what),
            Command::Trial => commands::trial::run(self),
            Command::DiskDaemon => commands::disk_daemon::run(self),
        }
    }
}

/// Says what is wrong with a command line. What is quoted of it may be a URL in the wrong place.
fn refuse(error: &clap::Error) -> ! {
    let said = error.to_string();
    let shown = without_passwords(&said);
    if shown == said {
        error.exit();
    }
    eprint!("{shown}");
    std::process::exit(error.exit_code())
}
