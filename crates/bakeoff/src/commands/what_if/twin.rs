//! The private server that stands for the user's, and the changes that are tried on it.

use std::fmt::Write as _;
use std::path::Path;

use bakeoff_engines::configuration::{ServerConfiguration, TwinSettings};
use bakeoff_engines::usual_change::{ProposedChange, parse_quantity};
use bakeoff_engines::{Durability, ENGINES, Engine, OpenTerms, find_with};
use bakeoff_experiment::MemoryLimit;

use super::refuse;
use crate::cli;
use crate::exit::{CommandFailure, Exit};

/// The part of the memory that a cache may have: clients and the page cache need some, too.
const MOST_CACHE: f64 = 0.8;

pub struct ServerTwin {
    engine: &'static dyn Engine,
    pub settings: Vec<(String, String)>,
    /// Names of settings that it can't have.
    pub left_out: Vec<String>,
    pub promise: Durability,
}

/// A change, and the level that has it; the error says why it can't be tried.
pub struct TwinChange {
    pub proposed: ProposedChange,
    pub variant: Result<TwinVariant, String>,
}

pub struct TwinVariant {
    pub level: String,
    /// What a power cut does with it, where that differs from now.
    pub promise: Option<&'static str>,
}

/// Bytes: what `--memory` says, else what the machine has.
pub fn find_memory(arguments: &cli::WhatIf) -> Result<u64, CommandFailure> {
    let machine = bakeoff_lab::describe_machine(Path::new("."));
    let machine = machine.map_err(|error| CommandFailure::new(Exit::Failed, error))?;
    let Some(given) = &arguments.memory else { return Ok(machine.memory_bytes) };
    match MemoryLimit::parse(given) {
        Some(MemoryLimit::Bytes(bytes)) if bytes <= machine.memory_bytes => Ok(bytes),
        Some(MemoryLimit::Bytes(_)) => Err(refuse(format!(
            "--memory {given} is more than this machine has ({} MiB)",
            machine.memory_bytes >> 20
        ))),
        _ => Err(refuse(format!("--memory takes a size, such as 4G, not `{given}`"))),
    }
}

impl ServerTwin {
    pub fn new(
        configuration: &ServerConfiguration,
        memory_bytes: u64,
    ) -> Result<Self, CommandFailure> {
        let name = configuration.rules.engine;
        let engine = find_with(ENGINES, name, &[]).map_err(refuse)?;
        engine.available().map_err(|why| {
            CommandFailure::new(Exit::Failed, format!("there is no private {name} here: {why}"))
        })?;
        let TwinSettings { settings, mut left_out } = configuration.find_twin(engine);
        let settings = keep_accepted(engine, settings, &mut left_out);
        check_cache(engine, &settings, memory_bytes)?;
        let promise = engine.find_kept_level(Durability::Strict, &settings).map_err(|why| {
            refuse(format!("nobody can say what {} promises: {why}", configuration.name))
        })?;
        Ok(Self { engine, settings, left_out, promise })
    }

    /// The level with the present settings.
    pub fn level(&self) -> &'static str {
        self.engine.about().name
    }

    pub fn version(&self) -> String {
        self.engine.version()
    }

    /// The usual changes, and those that the user asks for, which replace usual ones.
    pub fn find_changes(
        &self,
        configuration: &ServerConfiguration,
        arguments: &cli::WhatIf,
        memory_bytes: u64,
    ) -> Vec<TwinChange> {
        let usual = configuration.rules.changes.iter().filter(|_| !arguments.only);
        let mut proposed: Vec<ProposedChange> =
            usual.filter_map(|change| change.propose(configuration, memory_bytes)).collect();
        proposed.retain(|it| arguments.tries.iter().all(|(setting, _)| *setting != it.setting));
        proposed.extend(arguments.tries.iter().map(|(setting, value)| ProposedChange {
            setting: setting.clone(),
            present: configuration.find_value(setting).map(str::to_owned),
            value: value.clone(),
            why: "you asked for it".into(),
            source: String::new(),
        }));
        let change = |proposed: ProposedChange| {
            let variant = self.find_variant(&proposed);
            TwinChange { proposed, variant }
        };
        proposed.into_iter().map(change).collect()
    }

    fn find_variant(&self, change: &ProposedChange) -> Result<TwinVariant, String> {
        let is_same = |present: &String| present.eq_ignore_ascii_case(&change.value);
        if change.present.as_ref().is_some_and(is_same) {
            return Err("the server has this value".into());
        }
        let option = [(&*change.setting, &*change.value)];
        let engine = find_with(ENGINES, self.level(), &option)?;
        engine.check_ready(&self.settings, true).map_err(|all| all.join("; "))?;
        let kept = engine.find_kept_level(self.promise, &self.settings)?;
        let promise = (kept != self.promise).then(|| kept.describe_loss());
        Ok(TwinVariant { level: engine.about().name.to_owned(), promise })
    }

    /// The levels that have the first change, the first two, and so on.
    pub fn chain_levels<'c>(
        &self,
        changes: impl Iterator<Item = &'c TwinChange>,
    ) -> Result<Vec<String>, CommandFailure> {
        let mut options: Vec<(&str, &str)> = Vec::new();
        let mut levels = Vec::new();
        for TwinChange { proposed, .. } in changes {
            options.push((&proposed.setting, &proposed.value));
            let engine = find_with(ENGINES, self.level(), &options).map_err(refuse)?;
            levels.push(engine.about().name.to_owned());
        }
        Ok(levels)
    }
}

/// Another version of the server may not know them all.
fn keep_accepted(
    engine: &dyn Engine,
    settings: Vec<(String, String)>,
    left_out: &mut Vec<String>,
) -> Vec<(String, String)> {
    if engine.check_ready(&settings, true).is_ok() {
        return settings;
    }
    let is_accepted = |setting: &(String, String)| {
        engine.check_ready(std::slice::from_ref(setting), true).is_ok()
    };
    let (accepted, refused): (Vec<_>, Vec<_>) = settings.into_iter().partition(is_accepted);
    left_out.extend(refused.into_iter().map(|(name, _)| name));
    accepted
}

fn check_cache(
    engine: &dyn Engine,
    settings: &[(String, String)],
    memory_bytes: u64,
) -> Result<(), CommandFailure> {
    let Some(cache) = engine.cache(&OpenTerms::new(Durability::Strict)) else { return Ok(()) };
    let Some((name, value)) = settings.iter().find(|(name, _)| name == cache.setting) else {
        return Ok(());
    };
    // A number alone is of bytes, or of PostgreSQL's pages.
    let unit = if engine.about().name == "postgres" { 8192.0 } else { 1.0 };
    let bytes = parse_quantity(value, unit).unwrap_or(0.0);
    if bytes <= memory_bytes as f64 * MOST_CACHE {
        return Ok(());
    }
    Err(refuse(format!(
        "the server has {name} = {value}, and there are {} MiB of memory here, of which clients need some, \
         too: run this on a machine like the server's, or give a file with a smaller cache by --like",
        memory_bytes >> 20
    )))
}

/// What would be tried, and why.
pub fn describe_changes(
    twin: &ServerTwin,
    configuration: &ServerConfiguration,
    changes: &[TwinChange],
) -> String {
    let mut text = format!(
        "{} with the settings of {} {}\n",
        twin.level(),
        configuration.name,
        twin.promise.describe_loss()
    );
    for TwinChange { proposed, variant } in changes {
        let present = proposed.present.as_deref().unwrap_or("by itself");
        let _ = writeln!(text, "{} {present} → {}", proposed.setting, proposed.value);
        let why = match variant {
            Err(why) => format!("not tried: {}", why.lines().next().unwrap_or_default()),
            Ok(TwinVariant { promise: Some(promise), .. }) => {
                format!("{}; {promise}", proposed.why)
            }
            Ok(_) => proposed.why.clone(),
        };
        let source = Some(&proposed.source).filter(|it| !it.is_empty());
        let _ =
            writeln!(text, "    {why}{}", source.map_or(String::new(), |it| format!(" ({it})")));
    }
    if !twin.left_out.is_empty() {
        let _ = writeln!(text, "the twin can't have: {}", twin.left_out.join(", "));
    }
    text
}
