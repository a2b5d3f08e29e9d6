//! `bakeoff new`: writes the folder of an example application.

use std::io::Write as _;

use bakeoff_application::{EXAMPLES, ExampleFolder};

use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::output::{by_own_name, print, quote};

fn find_example(name: &str) -> Result<ExampleFolder, CommandFailure> {
    let found = EXAMPLES.into_iter().find(|example| example.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = EXAMPLES.iter().map(|example| example.name).collect();
        CommandFailure::new(
            Exit::Usage,
            format!("there is no example `{name}`; valid: {}", names.join(", ")),
        )
    })
}

pub fn run(arguments: &cli::New) -> Result<Exit, CommandFailure> {
    let dir = &arguments.dir;
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("{} can't be made: {error}", dir.display());
        CommandFailure::new(Exit::Folder, message)
    };
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(failed(&"it holds something already; name a new folder"));
    }
    std::fs::create_dir_all(dir).map_err(|error| failed(&error))?;
    let ExampleFolder { summary, files, .. } = find_example(&arguments.from)?;
    for (name, text) in files {
        let file = std::fs::File::create_new(dir.join(name));
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| failed(&error))?;
    }
    let dir = quote(&dir.to_string_lossy());
    print(&by_own_name(&format!(
        "{dir} has an example: {summary}. Put your tables and statements in its place.\n\
         next: bakeoff check {dir}\n      bakeoff run {dir} --engine sqlite,postgres\n"
    )))?;
    Ok(Exit::Done)
}
