//! `bakeoff man`: manual pages, made of what `--help` says.

use std::io;

use clap_mangen::Man;

use crate::Lab;
use crate::cli::{self, Cli};
use crate::exit::{CommandFailure, Exit};
use crate::output::{print, write};

/// Prints the page of the program, or writes one for each command.
pub fn run(lab: &Lab, arguments: &cli::Man) -> Result<Exit, CommandFailure> {
    let mut command = Cli::command_for(lab);
    // Commands know by it that they are called `bakeoff disk cut`.
    command.build();
    let Some(folder) = &arguments.output else {
        print(&text(&Man::new(command)).map_err(failure)?)?;
        return Ok(Exit::Done);
    };
    for page in pages(&command) {
        let text = text(&page).map_err(failure)?;
        write(&folder.join(page.get_filename()), &text)?;
    }
    Ok(Exit::Done)
}

/// The page of a command, and those of the commands below it that `--help` shows.
fn pages(command: &clap::Command) -> Vec<Man> {
    let shown = |it: &&clap::Command| !it.is_hide_set() && it.get_name() != "help";
    let below = command.get_subcommands().filter(shown).flat_map(pages);
    std::iter::once(Man::new(command.clone())).chain(below).collect()
}

/// A page in the language of roff.
fn text(page: &Man) -> io::Result<String> {
    let mut bytes = Vec::new();
    page.render(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn failure(error: io::Error) -> CommandFailure {
    CommandFailure::new(Exit::Failed, format!("a manual page can't be made: {error}"))
}
