//! What the tests share.

use std::path::Path;

use bakeoff_devices::models::Models;
use bakeoff_engines::options::EngineOptions;
use bakeoff_engines::{
    Database, Durability, Engine, EngineDescription, EngineHome, EngineOption, OpenTerms, Promise,
    Schema, SettingStanding, Statement,
};
use bakeoff_experiment::{
    CutBy, Declared, Disks, Engines, Error, Experiment, Factor, FlagOverrides, PlannerNames,
    Vocabulary, WorkloadNames, presets,
};
use bakeoff_load::ArrivalProcess;
use bakeoff_workloads::Collection;
use clap::Parser;

/// The shortest file that is right.
pub const GOOD: &str = "workload = \"redmine\"\nengine = \"sqlite\"\n";

/// The shortest file of a workload without an engine.
pub const FILES: &str = "workload = \"files\"\n";

/// What the workload `files` declares.
pub const DEPTH: Factor = Factor::Declared(&Declared {
    name: "depth",
    summary: "how many requests are in flight",
    syntax: "1 to 1024",
    default: "1",
    canonical: &depth,
});

fn depth(text: &str) -> Result<String, String> {
    match text.parse() {
        Ok(depth @ 1..=1024) => Ok(format!("{depth}")),
        _ => Err(format!("`{text}` is not a depth\nvalid: 1 to 1024")),
    }
}

/// The factors of the workload `files`.
pub const OF_FILES: [Factor; 6] =
    [Factor::DISK, Factor::NEIGHBOURS, Factor::CLIENTS, Factor::RATE, Factor::SCALE, DEPTH];

/// An engine that is only named.
#[derive(Clone)]
pub struct NamedEngine {
    pub name: &'static str,
    pub options: Vec<EngineOption>,
    pub home: EngineHome,
    pub stores: bool,
}

impl NamedEngine {
    /// One that is built in, with options.
    pub fn new(name: &'static str, options: Vec<EngineOption>) -> Self {
        Self { name, options, home: EngineHome::Process, stores: true }
    }

    pub fn registered(self) -> &'static dyn Engine {
        Box::leak(Box::new(self))
    }
}

impl Engine for NamedEngine {
    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.name,
            summary: "it is only named",
            promises: Durability::ALL.map(|it| Promise::new(it, "nothing", "nothing is run")),
            home: self.home,
            stores: self.stores,
            rolls_back: true,
            packages: &[],
        }
    }

    fn version(&self) -> String {
        String::new()
    }

    fn options(&self) -> Vec<EngineOption> {
        self.options.clone()
    }

    fn with(&self, name: &'static str, _: &EngineOptions) -> Result<Box<dyn Engine>, String> {
        Ok(Box::new(Self { name, ..self.clone() }))
    }

    /// What runs a command asks for trust, and a port is the lab's own.
    fn standing(&self, name: &str, _: &str) -> SettingStanding {
        assert_eq!(self.home, EngineHome::Server, "no other takes settings");
        match name {
            "run_command" => {
                let postgres = bakeoff_engines::find_level("postgres").expect("it is built in");
                postgres.standing("archive_command", "touch")
            }
            "port" => SettingStanding::Reserved,
            _ => SettingStanding::Free,
        }
    }

    fn open(
        &self,
        _: &Path,
        _: &OpenTerms,
        _: &Schema,
        _: &[Statement],
    ) -> bakeoff_engines::Result<Box<dyn Database>> {
        panic!("nothing of it is run")
    }
}

/// A factor that takes any text.
pub const fn plain(name: &'static str, default: &'static str) -> Declared {
    let canonical: &'static bakeoff_engines::LevelForm = &|text| Ok(text.to_owned());
    Declared { name, summary: "", syntax: "", default, canonical }
}

static PATH_FACTOR: Declared = plain("path", "default");

/// An option that asks for trust.
pub static PATH: EngineOption =
    EngineOption { factor: &PATH_FACTOR, trust: Some("has bakeoff run the programs in a folder") };

/// Names like those that the command knows.
pub fn vocabulary() -> Vocabulary {
    vocabulary_with(&["sqlite", "lmdb", "fjall", "mariadb:innodb", "null"])
}

/// The same with these engines.
pub fn vocabulary_with(engines: &[&'static str]) -> Vocabulary {
    let strings = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let engine = |name: &'static str| {
        let is_server = ["mariadb:innodb", "tarantool:memtx"].contains(&name);
        let home = if is_server { EngineHome::Server } else { EngineHome::Process };
        let options = if is_server { vec![PATH] } else { Vec::new() };
        NamedEngine { home, stores: name != "null", ..NamedEngine::new(name, options) }.registered()
    };
    let workload = |name: &str, scales: &[&str]| WorkloadNames {
        name: name.to_owned(),
        scales: strings(scales),
        operations: strings(&["create_issue", "process_issues"]),
        factors: Factor::OWN.into(),
        reads_back: name == "ledger",
        takes_rows: Vec::new(),
        cut_by: Ok(CutBy::under_engines("ledger")),
    };
    let files = WorkloadNames {
        factors: OF_FILES.into(),
        cut_by: Err("its files can't be audited\nname a workload over tables".to_owned()),
        ..workload("files", &["small", "large", "giant"])
    };
    Vocabulary {
        engines: Engines::new(engines.iter().copied().map(engine)),
        workloads: vec![
            workload("redmine", &["small", "large", "giant"]),
            workload("reads", &["tiny"]),
            workload("ledger", &["small", "large"]),
            files,
        ],
        disks: Disks::new(Models::standard()),
        collections: Vec::new(),
        arrivals: ARRIVALS.iter().collect(),
        planners: [
            ("fixed", false, false),
            ("longer", false, false),
            ("decides", true, false),
            ("seeks", false, true),
        ]
        .map(|(name, repeats, seeks)| PlannerNames { name, repeats, seeks })
        .into(),
        presets: presets().to_vec(),
        trusts: false,
    }
}

static ARRIVALS: [ArrivalProcess; 3] = [
    ArrivalProcess { summary: "in even gaps", ..ArrivalProcess::EVEN },
    ArrivalProcess { summary: "in random gaps", ..ArrivalProcess::POISSON },
    ArrivalProcess { name: "pairs", summary: "in pairs", ..ArrivalProcess::EVEN },
];

static INSTALLED: Collection =
    Collection { name: "words", path: env!("CARGO_MANIFEST_PATH"), package: "words" };
static MISSING: Collection = Collection { path: "/no/such/words", ..INSTALLED };

/// The same names, where `redmine` takes rows, and there is a collection `words` of text.
pub fn taking_rows(installed: bool) -> Vocabulary {
    let mut vocabulary = vocabulary();
    vocabulary.workloads[0].takes_rows = vec![10, 100, 1000];
    vocabulary.collections = vec![if installed { &INSTALLED } else { &MISSING }];
    vocabulary
}

/// The same names, for a file that is trusted.
pub fn trusting() -> Vocabulary {
    Vocabulary { trusts: true, ..vocabulary() }
}

/// A command that has the flags of keys alone.
#[derive(Parser)]
pub struct Flags {
    #[command(flatten)]
    changes: FlagOverrides,
}

/// What a command line says. Its flags are `--NAME=VALUE`, those of factors, too.
pub fn flags(line: &str) -> FlagOverrides {
    let given = format!(" {line}");
    let given = given.split(" --").skip(1).map(|flag| flag.split_once('=').unwrap_or((flag, "")));
    let (mut factors, mut named, mut keys) = (Vec::new(), Vec::new(), vec!["it".to_owned()]);
    for (name, value) in given {
        match Factor::OWN.into_iter().find(|own| own.name() == name) {
            Some(own) => factors.push((own, value.to_owned())),
            None if name == "factor" => named.push(value.to_owned()),
            None if value.is_empty() => keys.push(format!("--{name}")),
            None => keys.push(format!("--{name}={value}")),
        }
    }
    let Flags { changes } = Flags::try_parse_from(keys).unwrap_or_else(|wrong| panic!("{wrong}"));
    FlagOverrides { factors, named, ..changes }
}

/// Loads a file `my.toml` of that text under these flags.
pub fn load(toml: &str, line: &str, vocabulary: &Vocabulary) -> Result<Experiment, Error> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    load_in(folder.path(), toml, line, vocabulary)
}

/// The same in that folder.
pub fn load_in(
    folder: &Path,
    toml: &str,
    line: &str,
    vocabulary: &Vocabulary,
) -> Result<Experiment, Error> {
    let path = folder.join("my.toml");
    std::fs::write(&path, toml).expect("a file");
    Experiment::load(path.to_str().expect("UTF-8"), &flags(line), vocabulary)
}

/// An experiment that is right. What is run is what the run folder keeps: it is read as it is written.
#[track_caller]
pub fn good_with(toml: &str, line: &str, vocabulary: &Vocabulary) -> Experiment {
    let experiment = load(toml, line, vocabulary);
    let experiment = experiment.unwrap_or_else(|error| panic!("{toml}\n{line}\n{error}"));
    let trusting = Vocabulary { trusts: true, ..vocabulary.clone() };
    let again = load(&experiment.to_toml(), "", &trusting).map_err(|error| error.to_string());
    assert_eq!(again.as_ref(), Ok(&experiment));
    experiment
}

#[track_caller]
pub fn good(toml: &str, line: &str) -> Experiment {
    good_with(toml, line, &vocabulary())
}

/// The levels of a factor that are run.
#[track_caller]
pub fn levels(toml: &str, line: &str, factor: Factor) -> Vec<String> {
    good(toml, line).run_levels(factor)
}

/// The message for a file and flags that are wrong, without the folder's name.
#[track_caller]
pub fn wrong_with(toml: &str, line: &str, vocabulary: &Vocabulary) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = load_in(folder.path(), toml, line, vocabulary);
    let error = error.expect_err(&format!("{toml}\n{line}")).to_string();
    error.replace(&format!("{}/", folder.path().display()), "")
}

#[track_caller]
pub fn wrong(toml: &str, line: &str) -> String {
    wrong_with(toml, line, &vocabulary())
}

/// A message has these parts. One is a line with what is underlined in it, `--disk «host»`; the others are
/// text.
#[track_caller]
pub fn assert_has(message: &str, parts: &[&str]) {
    for part in parts {
        let Some((start, piece, end)) = underlined(part) else {
            assert!(message.contains(part), "{part:?} is not in:\n{message}");
            continue;
        };
        let carets = format!("{}{}", " ".repeat(start.len()), "^".repeat(piece.len()));
        let shown = format!(" | {start}{piece}{end}\n  | {carets}");
        assert!(message.contains(&shown), "{shown}\nis not in:\n{message}");
    }
}

fn underlined(part: &str) -> Option<(&str, &str, &str)> {
    let (start, rest) = part.split_once('«')?;
    let (piece, end) = rest.split_once('»')?;
    Some((start, piece, end))
}

/// The rows of a table in a file: what stands behind `==` before them, inputs, and what is told.
pub fn rows(table: &str) -> Vec<(String, Vec<String>, Vec<&str>)> {
    let unfold = |text: &str| text.split('⏎').map(str::trim).collect::<Vec<_>>().join("\n");
    let (mut head, mut rows) = (String::new(), Vec::new());
    for row in table.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        if let Some(text) = row.strip_prefix("== ") {
            head = unfold(text) + "\n";
            continue;
        }
        let (inputs, parts) = row.split_once(" => ").unwrap_or_else(|| panic!("no row: {row}"));
        let inputs = inputs.split(" :: ").map(unfold).collect();
        rows.push((head.clone(), inputs, parts.split(" // ").collect()));
    }
    rows
}

/// Holds what is told of the files and flags of a table, each once; of one line, where it stands.
pub fn check_messages(table: &str, vocabulary: &Vocabulary) {
    for (head, inputs, parts) in rows(table) {
        let of = |flags: bool| inputs.iter().find(|input| input.starts_with("--") == flags);
        let (more, line) = (of(false).map_or("", |it| it), of(true).map_or("", |it| it));
        let message = wrong_with(&format!("{head}{more}\n"), line, vocabulary);
        assert_has(&message, &parts);
        assert_eq!(message.matches("error: ").count(), 1, "{inputs:?}\n{message}");
        if !parts.iter().any(|part| part.contains("my.toml")) {
            let title = message.lines().next().unwrap_or_default();
            assert!(title.contains(parts[0]), "{} is not the title of:\n{message}", parts[0]);
            let place = format!("--> my.toml:{}:", head.lines().count() + 1);
            let alone = line.is_empty() && !more.contains('\n');
            assert!(!alone || message.contains(&place), "{place} is not in:\n{message}");
        }
    }
}
