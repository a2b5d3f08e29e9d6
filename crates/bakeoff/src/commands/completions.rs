//! `bakeoff completions`: prints the script with which a shell completes commands and flags.

use clap_complete::aot::{self, generate};

use crate::Lab;
use crate::cli::{self, Cli};
use crate::exit::{CommandFailure, Exit};
use crate::output::{print_data, program_name};

pub fn run(lab: &Lab, arguments: &cli::Completions) -> Result<Exit, CommandFailure> {
    let shell = match arguments.shell {
        cli::Shell::Bash => aot::Shell::Bash,
        cli::Shell::Zsh => aot::Shell::Zsh,
        cli::Shell::Fish => aot::Shell::Fish,
    };
    let mut command = visible_commands(&Cli::command_for(lab));
    let mut script = Vec::new();
    generate(shell, &mut command, program_name(), &mut script);
    print_data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

fn visible_commands(command: &clap::Command) -> clap::Command {
    let visible = command.get_subcommands().filter(|it| !it.is_hide_set()).cloned();
    clap::Command::new(program_name().leak() as &str)
        .version(env!("BAKEOFF_VERSION"))
        .disable_help_subcommand(true)
        .args(command.get_arguments().cloned())
        .subcommands(visible)
}
