//! The [`Lab`]: everything that is registered, and the program's `main`.

use std::process::ExitCode;

use bakeoff_devices::device::model::DeviceModel;
use bakeoff_engines::Engine;
use bakeoff_experiment::{Preset, without_passwords};
use bakeoff_lab::targets::Target;
use bakeoff_lab::{Registry, explain_file_limit, ignore_file_limit_signal};
use bakeoff_workloads::Workload;

use crate::application::{register_application, register_folder};
use crate::cli::{Cli, Command, RunArguments};
use crate::exit::{CommandFailure, Exit};
use crate::find_limit::FIND_LIMIT;
use crate::lost_map::tell_lost_maps;
use crate::until_decided::UNTIL_DECIDED;
use crate::{commands, log, output};

/// Everything that is registered. Your own program is `main` of a lab with your additions:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     bakeoff::Lab::standard().main()
/// }
/// ```
///
/// That program starts itself for each trial and each virtual disk, so they all know its additions.
pub struct Lab {
    /// Everything that an experiment may name.
    pub(crate) registry: Registry,
}

impl Lab {
    /// Everything that is built in.
    pub fn standard() -> Self {
        Self { registry: Registry::standard().with_planners(&[&UNTIL_DECIDED, &FIND_LIMIT]) }
    }

    /// Adds an engine.
    #[must_use]
    pub fn engine(self, engine: &'static dyn Engine) -> Self {
        Self { registry: self.registry.with_engines([engine]) }
    }

    /// Adds a workload over tables.
    #[must_use]
    pub fn workload(self, workload: &'static dyn Workload) -> Self {
        Self { registry: self.registry.with_workloads([workload]) }
    }

    /// Adds a target, with the workloads that it runs.
    #[must_use]
    pub fn target(self, target: impl Target + 'static) -> Self {
        Self { registry: self.registry.with_target(target) }
    }

    /// Adds a model of devices, for disks.
    #[must_use]
    pub fn model(self, model: DeviceModel) -> Self {
        Self { registry: self.registry.with_model(model) }
    }

    /// Adds an experiment that is known by its name.
    #[must_use]
    pub fn preset(self, preset: Preset) -> Self {
        Self { registry: self.registry.with_preset(preset) }
    }

    /// Runs the command line: the whole `main` of a program. If registered things clash, it reports
    /// that and does nothing else.
    pub fn main(self) -> ExitCode {
        ignore_file_limit_signal();
        let problems = self.registry.problems();
        if !problems.is_empty() {
            let lines = problems.iter().map(|problem| format!("\n  {problem}"));
            let message = format!(
                "this program registers things that can't be together:{}",
                lines.collect::<String>()
            );
            output::say(&message);
            return Exit::Failed.into();
        }
        let cli = Cli::parse_for(&self).unwrap_or_else(|error| refuse_command_line(&error));
        let done = self.with_permissions(&cli).with_application(&cli).and_then(|lab| lab.run(&cli));
        match done {
            Ok(exit) => exit.into(),
            Err(failure) => {
                output::say(explain_file_limit(failure.to_string()));
                failure.exit.into()
            }
        }
    }

    /// Adds what the command line may allow, but no experiment.
    fn with_permissions(self, cli: &Cli) -> Self {
        match &cli.command {
            Command::Run(arguments) if arguments.i_run_this_server => {
                Self { registry: self.registry.with_pages_elsewhere() }
            }
            _ => self,
        }
    }

    /// Runs a part of another command, by its own command line.
    pub(crate) fn run_stage(&self, words: &[String]) -> Result<Exit, CommandFailure> {
        let cli = Cli::read_for(self, words)
            .map_err(|error| CommandFailure::new(Exit::Usage, error.to_string()))?;
        let lab = Self { registry: self.registry.clone() }.with_application(&cli)?;
        match &cli.command {
            Command::Run(arguments) => {
                let arguments = RunArguments { is_stage: true, ..(**arguments).clone() };
                commands::run::run(&lab, &arguments)
            }
            _ => Err(CommandFailure::new(Exit::Failed, "a stage is a run")),
        }
    }

    /// Adds the application of the user's own that the command line names.
    fn with_application(self, cli: &Cli) -> Result<Self, CommandFailure> {
        match &cli.command {
            Command::Run(arguments) => {
                Ok(Self { registry: register_application(self.registry, arguments)? })
            }
            Command::List(arguments) => match &arguments.of {
                Some(named) => Ok(Self { registry: register_folder(self.registry, named)? }),
                None => Ok(self),
            },
            _ => Ok(self),
        }
    }

    fn run(&self, cli: &Cli) -> Result<Exit, CommandFailure> {
        // The daemon of a disk has no reader for its messages.
        if !matches!(cli.command, Command::DiskDaemon) {
            log::start_logging(cli.log)?;
        }
        // A trial's parent says by which signal it ended.
        if !matches!(cli.command, Command::DiskDaemon | Command::Trial) {
            tell_lost_maps();
        }
        match &cli.command {
            Command::Run(arguments) => commands::run::run(self, arguments),
            Command::New(arguments) => commands::new::run(self, arguments),
            Command::Check(arguments) => commands::check::run(self, arguments),
            Command::WhatIf(arguments) => commands::what_if::run(self, arguments),
            Command::Report(arguments) => commands::report::run(arguments),
            Command::Compare(arguments) => commands::compare::run(arguments),
            Command::Cluster(what) => commands::cluster::run(self, what),
            Command::Merge(arguments) => commands::merge::run(arguments),
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

/// Explains an error on the command line, or prints the help. Quoted text may be a URL in the wrong place.
fn refuse_command_line(error: &clap::Error) -> ! {
    let said = error.to_string();
    let shown = without_passwords(&said);
    let shown = output::fit_locale(&shown);
    if shown == said {
        error.exit();
    }
    if error.use_stderr() {
        eprint!("{shown}");
    } else if let Err(failure) = output::print(&shown) {
        output::say(failure);
    }
    std::process::exit(error.exit_code())
}
