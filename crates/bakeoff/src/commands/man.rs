//! `bakeoff man`: writes manual pages from the text of `--help`.

use std::io;

use clap_mangen::Man;

use crate::Lab;
use crate::cli::{self, Cli};
use crate::exit::{CommandFailure, Exit};
use crate::output::{print_data, write};

pub fn run(lab: &Lab, arguments: &cli::Man) -> Result<Exit, CommandFailure> {
    let mut command = Cli::command_for(lab);
    // Tells commands their full names, such as `bakeoff disk cut`.
    command.build();
    let Some(folder) = &arguments.output else {
        print_data(&render_page(&Man::new(command)).map_err(write_failure)?)?;
        return Ok(Exit::Done);
    };
    for page in collect_pages(&command) {
        let text = render_page(&page).map_err(write_failure)?;
        write(&folder.join(page.get_filename()), &text)?;
    }
    Ok(Exit::Done)
}

fn collect_pages(command: &clap::Command) -> Vec<Man> {
    let shown = |it: &&clap::Command| !it.is_hide_set() && it.get_name() != "help";
    let below = command.get_subcommands().filter(shown).flat_map(collect_pages);
    std::iter::once(Man::new(command.clone())).chain(below).collect()
}

fn render_page(page: &Man) -> io::Result<String> {
    let mut bytes = Vec::new();
    page.render(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write_failure(error: io::Error) -> CommandFailure {
    CommandFailure::new(Exit::Failed, format!("a manual page can't be made: {error}"))
}
