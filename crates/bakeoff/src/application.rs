//! Applications of the user's own: found by what the command line names, and registered like a
//! built-in workload.

use std::fmt::Display;
use std::path::Path;

use bakeoff_application::{Application, ApplicationFiles, ScriptArgument};
use bakeoff_engines::{Engine as _, EngineHome, find_level};
use bakeoff_experiment::Preset;
use bakeoff_lab::Registry;
use bakeoff_workloads::Workload;

use crate::cli;
use crate::copied_rows;
use crate::exit::{CommandFailure, Exit};

/// Engines that a run has where the user names none, and that a check tries: those of them that are
/// installed.
pub const ENGINES: [&str; 3] = ["sqlite", "mariadb:innodb", "postgres"];

/// The disk of power cuts where the user names none.
const CUT_DISK: &str = "ssd-sata";

/// Registers the application that a run is about, if there is one.
pub fn register_application(
    registry: Registry,
    arguments: &cli::RunArguments,
) -> Result<Registry, CommandFailure> {
    let named = match (&arguments.resume, &arguments.experiment) {
        (Some(dir), _) => {
            return register_recorded(registry, &dir.join("experiment.toml"), arguments);
        }
        (None, Some(named)) => named,
        (None, None) => return Ok(registry),
    };
    if Path::new(named).extension().is_some_and(|ending| ending == "toml") {
        return register_experiment(registry, named, arguments);
    }
    let Some(files) = read_files(named, &arguments.scripts)? else { return Ok(registry) };
    check_name(&registry, &files.name)?;
    check_program(&files, NamedBy::CommandLine, arguments.trust_experiment)?;
    let files = copied_rows::copy_rows(files, arguments)?;
    let application = compile_copied(files.clone(), arguments)?;
    check_server(&registry, application)?;
    let preset = to_preset(named, &files, application, arguments);
    Ok(registry.with_workloads([application]).with_preset(preset))
}

/// Registers the application of a folder, for who only asks about it.
pub fn register_folder(registry: Registry, named: &str) -> Result<Registry, CommandFailure> {
    match read_files(named, &[])? {
        Some(files) => {
            check_name(&registry, &files.name)?;
            Ok(registry.with_workloads([compile(files)?]))
        }
        None => Ok(registry),
    }
}

/// Reads what is named on the command line: a folder, or scripts. `None` if it is something else.
pub fn read_files(
    named: &str,
    more: &[String],
) -> Result<Option<ApplicationFiles>, CommandFailure> {
    let scripts: Result<Vec<ScriptArgument>, String> = std::iter::once(named)
        .chain(more.iter().map(String::as_str))
        .filter_map(ScriptArgument::from_argument)
        .collect();
    let scripts = scripts.map_err(refuse)?;
    if scripts.len() == 1 + more.len() {
        return ApplicationFiles::read_scripts(&scripts).map(Some).map_err(refuse);
    }
    if !more.is_empty() {
        return Err(refuse(format!("`{named}` is no script: scripts alone stand side by side")));
    }
    match is_folder(named) {
        true => ApplicationFiles::read_folder(Path::new(named), named).map(Some).map_err(refuse),
        false => Ok(None),
    }
}

/// A preset has its name even where a folder has the same.
fn is_folder(named: &str) -> bool {
    let path = Path::new(named);
    let means_folder = named.starts_with(['.', '/']) && path.extension().is_none();
    let is_one = || ["schema.sql", "workload.toml"].iter().any(|name| path.join(name).exists());
    means_folder || path.is_dir() && (named.contains('/') || is_one())
}

/// A run's record, or an experiment that somebody made of one, has the files in it.
fn register_recorded(
    registry: Registry,
    file: &Path,
    arguments: &cli::RunArguments,
) -> Result<Registry, CommandFailure> {
    // Who reads the experiment says why it can't be read.
    let Ok(text) = std::fs::read_to_string(file) else { return Ok(registry) };
    let wrong = |error| refuse(format!("{}: {error}", file.display()));
    let Some(files) = ApplicationFiles::from_experiment(&text).map_err(wrong)? else {
        return Ok(registry);
    };
    check_name(&registry, &files.name)?;
    check_program(&files, NamedBy::File, arguments.trust_experiment)?;
    if let Some(folder) = &files.program {
        folder.check_unchanged().map_err(refuse)?;
    }
    Ok(registry.with_workloads([compile(files)?]))
}

/// An experiment of the user's own may name a folder: `workload = "./shop"`.
fn register_experiment(
    registry: Registry,
    named: &str,
    arguments: &cli::RunArguments,
) -> Result<Registry, CommandFailure> {
    let file = Path::new(named);
    let Ok(text) = std::fs::read_to_string(file) else { return Ok(registry) };
    let Some(folder) = ApplicationFiles::find_folder(&text) else {
        return register_recorded(registry, file, arguments);
    };
    let path = file.parent().unwrap_or(Path::new("")).join(&folder);
    let files = ApplicationFiles::read_folder(&path, &folder).map_err(refuse)?;
    check_name(&registry, &files.name)?;
    check_program(&files, NamedBy::File, arguments.trust_experiment)?;
    let files = copied_rows::copy_rows(files, arguments)?;
    let toml = files.fill_experiment(&text, &folder);
    let preset = Preset { name: named.to_owned().leak(), toml: toml.leak() };
    Ok(registry.with_workloads([compile_copied(files, arguments)?]).with_preset(preset))
}

/// A dry run leaves no rows behind: who has the file open reads on.
fn compile_copied(
    files: ApplicationFiles,
    arguments: &cli::RunArguments,
) -> Result<&'static dyn Workload, CommandFailure> {
    let copied = files.copied.as_ref().filter(|rows| rows.is_new).map(|rows| rows.path.clone());
    let compiled = compile(files);
    if let Some(path) = copied.filter(|_| arguments.dry_run || compiled.is_err()) {
        let _ = std::fs::remove_file(path);
    }
    compiled
}

/// Whether the command line names an application, which takes rows from a database or its dump.
pub fn copies_rows(arguments: &cli::RunArguments) -> bool {
    let Some(named) = arguments.experiment.as_deref().filter(|_| arguments.resume.is_none()) else {
        return false;
    };
    match Path::new(named).extension().is_some_and(|ending| ending == "toml") {
        true => {
            let text = std::fs::read_to_string(named).unwrap_or_default();
            ApplicationFiles::find_folder(&text).is_some()
        }
        false => ScriptArgument::from_argument(named).is_some() || is_folder(named),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    CommandLine,
    /// An experiment's file or a run folder, which somebody else may have written.
    File,
}

/// An application's own program does whatever it likes. It may only if nobody else can have written
/// it, or if the user says so.
pub fn check_program(
    files: &ApplicationFiles,
    named_by: NamedBy,
    trusts: bool,
) -> Result<(), CommandFailure> {
    let Some(folder) = files.program.as_ref().filter(|_| !trusts) else { return Ok(()) };
    let why = match named_by {
        NamedBy::File => "a file names it, and not the command line".to_owned(),
        NamedBy::CommandLine => match folder.find_other_writer() {
            None => return Ok(()),
            Some(why) => why,
        },
    };
    Err(refuse(format!(
        "{}: this application runs a program of its folder, which may do whatever you may do: {why}\nif you trust \
         whoever wrote it as you trust a program that you run: add --trust-experiment to the command",
        folder.path.display()
    )))
}

/// A command runs one application, which lives as long as the command.
fn compile(files: ApplicationFiles) -> Result<&'static dyn Workload, CommandFailure> {
    Ok(Box::leak(Box::new(Application::new(files).map_err(refuse)?)))
}

fn check_name(registry: &Registry, name: &str) -> Result<(), CommandFailure> {
    match registry.vocabulary().find_workload(name) {
        Some(_) => Err(refuse(format!(
            "a built-in workload has the name `{name}`, too: rename the folder or the file"
        ))),
        None => Ok(()),
    }
}

fn check_server(registry: &Registry, application: &dyn Workload) -> Result<(), CommandFailure> {
    let name = application.server().map(|server| server.about().name);
    match name.filter(|name| registry.engine(name).is_some()) {
        Some(name) => Err(refuse(format!(
            "an engine has the name `{name}`, too: give the server another one, `name = \"my-{name}\"` in [server]"
        ))),
        None => Ok(()),
    }
}

/// The experiment that a run of the application is, with its files in it.
fn to_preset(
    named: &str,
    files: &ApplicationFiles,
    application: &dyn Workload,
    arguments: &cli::RunArguments,
) -> Preset {
    let is_here = |name: &&str| {
        let engine = find_level(name);
        engine.is_some_and(|it| it.home() == EngineHome::Process || it.available().is_ok())
    };
    let engines: Vec<&str> = match application.server() {
        Some(server) => vec![server.about().name],
        None => ENGINES.into_iter().filter(is_here).collect(),
    };
    // Only a virtual disk can lose its power by itself.
    let cuts = arguments.keys.cuts.is_some();
    let toml = files.to_experiment(&engines, cuts.then_some(CUT_DISK));
    Preset { name: named.to_owned().leak(), toml: toml.leak() }
}

pub fn refuse(error: impl Display) -> CommandFailure {
    CommandFailure::new(Exit::Usage, error)
}
