//! Checks of external database servers before a run: passwords, protection, flags to resume.

use bakeoff_analysis::Warning;
use bakeoff_engines::urls::{self, Password};
use bakeoff_engines::{Engine, urls::TransportSecurity};
use bakeoff_experiment::{Experiment, Factor, Vocabulary, without_alias};
use bakeoff_lab::Registry;
use bakeoff_results::{ConnectionSecurity as Recorded, EngineFact, Run, RunFolder};

use crate::exit::{CommandFailure, Exit};
use crate::output::quote;

pub fn recorded_transport(engine: &dyn Engine) -> Option<Recorded> {
    engine.transport().map(|transport| match transport {
        TransportSecurity::Local => Recorded::Local,
        TransportSecurity::Plain => Recorded::Plain,
        TransportSecurity::Unverified => Recorded::Unverified,
        TransportSecurity::Authority => Recorded::Authority,
        TransportSecurity::Verified => Recorded::Verified,
    })
}

/// Whether the password of this database was in its URL. The URL itself is not kept.
pub fn password_in_url(name: &str) -> bool {
    urls::find_password(name) == Some(Password::Url)
}

/// Finds traffic to an experiment's servers that others may read or change.
pub fn find_unprotected(registry: &Registry, experiment: &Experiment) -> Vec<Warning> {
    let levels = experiment.run_levels(Factor::ENGINE);
    let once = levels.iter().filter(|level| without_alias(level) == level.as_str());
    let engines = once
        .filter_map(|level| Some((level.as_str(), recorded_transport(registry.engine(level)?)?)));
    bakeoff_analysis::warn_of_unprotected_connections(engines)
}

/// Refuses to resume a run without a password that it had at the start.
pub fn check_passwords(folder: &RunFolder, engines: &[EngineFact]) -> Result<(), CommandFailure> {
    let missing = |fact: &&EngineFact| {
        fact.password_in_url && urls::find_password(&fact.name) == Some(Password::Missing)
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

/// Flags that `--resume` needs for external servers, and for levels that ask for trust.
pub fn resume_flags(run: &Run, vocabulary: &Vocabulary) -> String {
    let levels = run.factors.iter().find(|(factor, _)| factor == Factor::ENGINE.name());
    let levels = levels.map(|(_, levels)| &levels[..]).unwrap_or_default();
    let named = quote(&levels.join(","));
    if levels.iter().any(|level| level.contains("://")) {
        return format!(" --reuse --engine {named} (and the password as before)");
    }
    let asks = |options: &[(&str, &str)]| {
        let asks =
            |level| vocabulary.engines.asks_for_trust(without_alias(level), options).is_some();
        levels.iter().map(|level| &**level).any(asks)
    };
    let mut needs = if asks(&[]) { format!(" --engine {named}") } else { String::new() };
    let options = vocabulary.option_factors(None);
    for (name, levels) in &run.factors {
        let is_option = options.iter().any(|option| option.name() == name);
        if is_option && levels.iter().any(|level| asks(&[(name, without_alias(level))])) {
            let given = format!("{name}={}", levels.join(","));
            needs += &format!(" --factor {}", quote(&given));
        }
    }
    needs
}
