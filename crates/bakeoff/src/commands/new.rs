//! `bakeoff new`: writes the folder of an example application, or of a database that is there already.

use std::io::Write as _;
use std::path::Path;

use bakeoff_application::{Application, EXAMPLES, ExampleFolder, FoundApplication};
use bakeoff_engines::reader::is_url;

use super::check::find_obstacle;
use crate::Lab;
use crate::application::refuse;
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

/// The files of a folder, and a sentence on them.
fn find_files(
    lab: &Lab,
    arguments: &cli::New,
) -> Result<(Vec<(String, String)>, String), CommandFailure> {
    let from = &arguments.from;
    let is_example = EXAMPLES.iter().any(|example| example.name == from);
    let is_path = from.contains(['/', '.']) || Path::new(from).exists();
    if is_example || !(is_url(from) || is_path) {
        let ExampleFolder { summary, files, .. } = find_example(from)?;
        let files = files.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
        let said =
            format!("has an example: {summary}. Put your tables and statements in its place.");
        return Ok((files, said));
    }
    let name = arguments.dir.to_string_lossy();
    let name = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let mut found = FoundApplication::find(from, name).map_err(refuse)?;
    keep_what_runs(lab, &mut found)?;
    let notes = match found.notes().len() {
        0 => String::new(),
        _ => " workload.toml says at its end what was left out.".to_owned(),
    };
    let operations: Vec<&str> = found.list_operations().collect();
    let said = format!("has what was found: {}.{notes}", operations.join(", "));
    Ok((found.files.texts.into_iter().collect(), said))
}

/// Takes out operations until each engine that is installed takes all, and answers alike.
fn keep_what_runs(lab: &Lab, found: &mut FoundApplication) -> Result<(), CommandFailure> {
    loop {
        let application = Application::new(found.files.clone()).map_err(refuse)?;
        let Some(why) = find_obstacle(lab, &application) else { return Ok(()) };
        let is_named = |name: &&str| names_file(&why, &format!("{name}.sql:"));
        let Some(name) = found.list_operations().find(is_named).map(str::to_owned) else {
            return Err(refuse(format!("what was found does not run: {why}")));
        };
        found.drop_operation(&name, &why).map_err(refuse)?;
    }
}

/// `read_a.sql:` is no part of `thread_a.sql:`.
fn names_file(text: &str, file: &str) -> bool {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(file).any(|(at, _)| !text[..at].ends_with(is_name))
}

pub fn run(lab: &Lab, arguments: &cli::New) -> Result<Exit, CommandFailure> {
    let dir = &arguments.dir;
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("{} can't be made: {error}", dir.display());
        CommandFailure::new(Exit::Folder, message)
    };
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(failed(&"it holds something already; name a new folder"));
    }
    let (files, said) = find_files(lab, arguments)?;
    std::fs::create_dir_all(dir).map_err(|error| failed(&error))?;
    for (name, text) in files {
        let file = std::fs::File::create_new(dir.join(name));
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| failed(&error))?;
    }
    let dir = quote(&dir.to_string_lossy());
    print(&by_own_name(&format!(
        "{dir} {said}\n\
         next: bakeoff check {dir}\n      bakeoff run {dir} --engine sqlite,postgres\n"
    )))?;
    Ok(Exit::Done)
}
