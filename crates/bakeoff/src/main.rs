//! The `bakeoff` command: wiring only. What it can do is in `commands`, a file a command.
//!
//! It must never know how load is made, how a disk works, how results are stored or how a report
//! looks: it asks the crates that do.

mod cli;
mod commands;
mod exit;
mod output;
mod progress;

use bakeoff_experiment::without_passwords;
use clap::Parser;

fn main() -> std::process::ExitCode {
    let cli = cli::Cli::try_parse().unwrap_or_else(|error| refuse(&error));
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
            eprintln!("{failure}");
            failure.exit.into()
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
