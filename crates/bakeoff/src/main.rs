//! The `bakeoff` command: wiring only. What it can do is in `commands`, a file a command.
//!
//! It must never know how load is made, how a disk works, how results are stored or how a report
//! looks: it asks the crates that do.

mod cli;
mod commands;
mod exit;
mod output;
mod progress;
mod stop;

use clap::Parser;

fn main() -> std::process::ExitCode {
    let cli = cli::Cli::parse();
    let answer = match cli.command {
        cli::Command::Run(arguments) => commands::run::run(&arguments),
        cli::Command::Report(arguments) => commands::report::run(&arguments),
        cli::Command::List(arguments) => commands::list::run(&arguments),
        cli::Command::Doctor(arguments) => commands::doctor::run(&arguments),
        cli::Command::Disk(what) => commands::disk::run(&what),
        cli::Command::Trial => commands::trial::run(),
        cli::Command::DiskDaemon => commands::disk_daemon::run(),
    };
    match answer {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::say(&failure);
            failure.exit.into()
        }
    }
}
