//! `bakeoff check`: reads an application, prepares its statements on each engine, and runs each
//! operation once.

mod answers;

use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use bakeoff_application::Application;
use bakeoff_engines::{Durability, Engine, OpenTerms};
use bakeoff_lab::targets::tables::{DatabaseTerms, fill_database, try_program};
use bakeoff_workloads::{DeclaredLevels, TextSource, Workload, WorkloadParameters};

use self::answers::{StatementAnswer, answer_operations, describe_answers, find_difference};
use crate::Lab;
use crate::application::{ENGINES, NamedBy, check_program, read_files, refuse};
use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::output::{by_own_name, print, quote};

/// More rows would take longer to load than anybody waits for a check.
const MOST_ROWS: u64 = 300_000;

pub fn run(lab: &Lab, arguments: &cli::Check) -> Result<Exit, CommandFailure> {
    let named = &arguments.application;
    let files = read_files(&in_folder(named), &arguments.scripts)?;
    let files =
        files.ok_or_else(|| refuse(format!("`{named}` is neither a folder nor a script")))?;
    check_program(&files, NamedBy::CommandLine, arguments.trust_experiment)?;
    let application = Application::new(files).map_err(refuse)?;
    print(&describe_rows(&application))?;
    print(&describe_operations(&application))?;
    let engines = match application.server() {
        Some(server) => vec![server as &dyn Engine],
        None => find_engines(lab, &arguments.engine)?,
    };
    let (mut is_sound, mut answered) = (true, None::<(&str, Vec<StatementAnswer>)>);
    for (engine, outcome) in try_engines(&application, &engines) {
        let told = match outcome {
            EngineOutcome::Missing(why) => format!("- {engine}: not tried: {why}\n"),
            EngineOutcome::Refused(why) => {
                is_sound = false;
                format!("✗ {engine}: {}\n", why.replace('\n', "\n  "))
            }
            EngineOutcome::Answered(answers) => {
                let (first, same) = answered.get_or_insert_with(|| (engine, answers.clone()));
                match find_difference(same, &answers) {
                    None => {
                        let taken = match application.program() {
                            Some(_) => "the program",
                            None => "takes every statement, and",
                        };
                        format!("✓ {engine}: {taken} ran each operation once\n")
                    }
                    Some(how) => {
                        is_sound = false;
                        format!("✗ {engine} answers otherwise than {first}: {how}\n")
                    }
                }
            }
        };
        print(&told)?;
    }
    if let Some((engine, answers)) = answered.filter(|(_, answers)| !answers.is_empty()) {
        let answers = describe_answers(&application, &answers);
        print(&format!("\nOne answer of each statement, by {engine}:\n{answers}"))?;
    }
    match is_sound {
        true => {
            let all: Vec<String> =
                std::iter::once(named).chain(&arguments.scripts).map(|it| quote(it)).collect();
            print(&by_own_name(&format!("\nnext: bakeoff run {}\n", all.join(" "))))?;
            Ok(Exit::Done)
        }
        false => Err(refuse(format!("`{named}` does not run on every engine: see above"))),
    }
}

/// Those that are named; if none is, the usual ones.
fn find_engines(lab: &Lab, named: &[String]) -> Result<Vec<&'static dyn Engine>, CommandFailure> {
    if named.is_empty() {
        return Ok(ENGINES.iter().filter_map(|name| lab.registry.engine(name)).collect());
    }
    let unknown =
        |name: &str| refuse(format!("there is no engine `{name}`: see `bakeoff list engines`"));
    named.iter().map(|name| lab.registry.engine(name).ok_or_else(|| unknown(name))).collect()
}

/// What keeps an application from running alike on each engine that is installed.
pub fn find_obstacle(lab: &Lab, application: &Application) -> Option<String> {
    let mut answered = None;
    let engines = ENGINES.iter().filter_map(|name| lab.registry.engine(name));
    engines.into_iter().find_map(|engine| match try_engine(application, engine) {
        EngineOutcome::Missing(_) => None,
        EngineOutcome::Refused(why) => Some(why),
        EngineOutcome::Answered(answers) => {
            find_difference(answered.get_or_insert_with(|| answers.clone()), &answers)
        }
    })
}

/// A folder's name without a slash would be a preset's.
fn in_folder(named: &str) -> String {
    if named.contains('/') || named.ends_with(".sql") { named.into() } else { format!("./{named}") }
}

fn describe_rows(application: &Application) -> String {
    let mut text = format!("{}: {}\n\nRows:\n", application.name(), application.summary());
    for scale in application.scales() {
        let megabytes = scale.bytes as f64 / 1e6;
        let _ = writeln!(text, "  {}: {}, {megabytes:.1} MB", scale.name, scale.summary);
    }
    let made_up = application.list_made_up_columns();
    if !made_up.is_empty() {
        let _ = writeln!(text, "  made up by their types: {}", made_up.join(", "));
    }
    text
}

fn describe_operations(application: &Application) -> String {
    let operations = application.explain_operations();
    let width = operations.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = "\nOperations:\n".to_owned();
    for (operation, why) in operations {
        let runs = match (application.program(), why) {
            (Some(program), _) => program.client.join(" "),
            (None, None) => "every engine".to_owned(),
            (None, Some(why)) => format!("engines with SQL ({why})"),
        };
        let _ = writeln!(text, "  {operation:width$}  {runs}");
    }
    text + "\n"
}

enum EngineOutcome {
    Missing(String),
    Refused(String),
    Answered(Vec<StatementAnswer>),
}

/// Servers take seconds to start, so that the engines are tried side by side; one by one if a program
/// starts processes, too, so that none is taken for another's.
fn try_engines(
    application: &Application,
    engines: &[&'static dyn Engine],
) -> Vec<(&'static str, EngineOutcome)> {
    if application.program().is_some() {
        let tried = engines.iter().map(|it| (it.about().name, try_engine(application, *it)));
        return tried.collect();
    }
    std::thread::scope(|scope| {
        let tried: Vec<_> = engines
            .iter()
            .map(|engine| {
                (engine.about().name, scope.spawn(move || try_engine(application, *engine)))
            })
            .collect();
        let ended = tried.into_iter().map(|(name, thread)| {
            let died = |_| EngineOutcome::Refused("the check has failed".into());
            (name, thread.join().unwrap_or_else(died))
        });
        ended.collect()
    })
}

fn try_engine(application: &Application, engine: &dyn Engine) -> EngineOutcome {
    if let Err(why) = engine.available() {
        return EngineOutcome::Missing(why.lines().next().unwrap_or_default().to_owned());
    }
    match answer_on(application, engine) {
        Ok(answers) => EngineOutcome::Answered(answers),
        Err(why) => EngineOutcome::Refused(why),
    }
}

/// Loads the smallest scale, and runs each operation once. Every mix is tried, so that no statement
/// is left out.
fn answer_on(
    application: &Application,
    engine: &dyn Engine,
) -> Result<Vec<StatementAnswer>, String> {
    let folder = make_folder().map_err(|error| error.to_string())?;
    let scale = &application.scales()[0].name;
    let text = Arc::new(TextSource::generate_short());
    let prepared = application.prepare_whole(&WorkloadParameters::new(scale, 1, text));
    let place = folder.path().join("data");
    let level = match engine.check_level(Durability::Relaxed) {
        Ok(()) => Durability::Relaxed,
        Err(_) => engine.loads_at().unwrap_or(Durability::Strict),
    };
    let terms = OpenTerms::new(level);
    let opened = engine.open(&place, &terms, prepared.schema(), prepared.statements());
    let database = opened.map_err(|error| error.to_string())?;
    let rows = application.estimate_entries(scale);
    let fills_itself = application.server().is_some()
        || application.program().is_some_and(|program| program.fill.is_some());
    if rows <= MOST_ROWS && !fills_itself {
        let filled = fill_database(&*prepared, &*database, &mut |_, _| {});
        filled.map_err(|error| error.to_string())?;
    }
    if application.program().is_none() {
        return answer_operations(application, &*prepared, &*database);
    }
    let opened = DatabaseTerms {
        engine,
        terms,
        database: &*database,
        scale: application.program().map_or(1, |program| program.find_scale(scale)),
        levels: &DeclaredLevels::default(),
    };
    let tried = try_program(application, &*prepared, &opened);
    tried.map(|()| Vec::new()).map_err(|error| error.to_string())
}

/// A server that runs as another user must be able to enter.
fn make_folder() -> std::io::Result<tempfile::TempDir> {
    let open = Permissions::from_mode(0o711);
    tempfile::Builder::new().prefix("bakeoff-check-").permissions(open).tempdir()
}
