//! Databases on servers that somebody else runs: what is to be known of them before a run.

use bakeoff_analysis::Warning;
use bakeoff_engines::urls::{self, Password};
use bakeoff_engines::{Engine, urls::TransportSecurity};
use bakeoff_experiment::{Experiment, Factor, Vocabulary, base};
use bakeoff_lab::Registry;
use bakeoff_results::{ConnectionSecurity as Recorded, EngineFact, Run, RunFolder};

use crate::exit::{CommandFailure, Exit};
use crate::output::quote;

/// How an engine is spoken to, as it is recorded.
pub fn transport(engine: &dyn Engine) -> Option<Recorded> {
    engine.transport().map(|transport| match transport {
        TransportSecurity::Local => Recorded::Local,
        TransportSecurity::Plain => Recorded::Plain,
        TransportSecurity::Unverified => Recorded::Unverified,
        TransportSecurity::Authority => Recorded::Authority,
        TransportSecurity::Verified => Recorded::Verified,
    })
}

/// Whether the password of the database of that name was in its URL, of which nothing is kept.
pub fn password_in_url(name: &str) -> bool {
    urls::password(name) == Some(Password::Url)
}

/// What others may read or change on its way to an experiment's servers.
pub fn unprotected(registry: &Registry, experiment: &Experiment) -> Vec<Warning> {
    let levels = experiment.levels(Factor::ENGINE);
    let once = levels.iter().filter(|level| base(level) == level.as_str());
    let engines =
        once.filter_map(|level| Some((level.as_str(), transport(registry.engine(level)?)?)));
    bakeoff_analysis::unprotected(engines)
}

/// Refuses to go on with a run without a password that it began with.
pub fn check_passwords(folder: &RunFolder, engines: &[EngineFact]) -> Result<(), CommandFailure> {
    let missing = |fact: &&EngineFact| {
        fact.password_in_url && urls::password(&fact.name) == Some(Password::Missing)
    };
    let names: Vec<&str> = engines.iter().filter(missing).map(|fact| &*fact.name).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(CommandFailure::new(
        Exit::Usage,
        format!(
            "the run in {} began with a password in the URL of {}, and bakeoff keeps no password; \
             give it again: in MYSQL_PWD or PGPASSWORD, in ~/.pgpass, or by --engine with the \
             levels as they were",
            folder.dir().display(),
            names.join(" and ")
        ),
    ))
}

/// What `--resume` of a run needs besides, where it has engines that it does not name by itself: servers
/// that somebody else runs, which hold its tables, and levels that ask for trust in who wrote them.
pub fn again(run: &Run, vocabulary: &Vocabulary) -> String {
    let levels = run.factors.iter().find(|(factor, _)| factor == Factor::ENGINE.name());
    let levels = levels.map(|(_, levels)| &levels[..]).unwrap_or_default();
    let named = quote(&levels.join(","));
    if levels.iter().any(|level| level.contains("://")) {
        return format!(" --reuse --engine {named} (and the password as before)");
    }
    let asks = |options: &[(&str, &str)]| {
        let asks = |level| vocabulary.engines.asks_for_trust(base(level), options).is_some();
        levels.iter().map(|level| &**level).any(asks)
    };
    let mut needs = if asks(&[]) { format!(" --engine {named}") } else { String::new() };
    let options = vocabulary.options(None);
    for (name, levels) in &run.factors {
        let is_option = options.iter().any(|option| option.name() == name);
        if is_option && levels.iter().any(|level| asks(&[(name, base(level))])) {
            let given = format!("{name}={}", levels.join(","));
            needs += &format!(" --factor {}", quote(&given));
        }
    }
    needs
}
