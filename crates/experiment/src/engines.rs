//! Reads the levels of engines: names, options, and URLs of external databases.

use std::fmt;

use bakeoff_engines::{
    DEFAULT, Declared, Durability, Engine, EngineLevel, SettingStanding, find_with, urls,
};

use crate::Factor;
use crate::factor::{Declarer, OptionFactor};
use crate::message::{ExperimentProblem, one_of};
use crate::options::HasOptions;

#[derive(Clone)]
pub struct Engines(Vec<&'static dyn Engine>);

/// A name that people use for several engines and for their own servers.
struct ServerKind {
    names: &'static [&'static str],
    /// The engines' name, or the part before the colon in their names.
    engines: &'static str,
    url: &'static str,
    password: &'static str,
}

const SERVERS: [ServerKind; 2] = [
    ServerKind {
        names: &["mysql", "mariadb", "innodb"],
        engines: "mariadb",
        url: "mysql://USER@HOST/DATABASE",
        password: "MYSQL_PWD",
    },
    ServerKind {
        names: &["postgresql", "pg"],
        engines: "postgres",
        url: "postgres://USER@HOST/DATABASE",
        password: "PGPASSWORD",
    },
];

impl Engines {
    pub fn new(engines: impl IntoIterator<Item = &'static dyn Engine>) -> Self {
        Self(engines.into_iter().collect())
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|engine| engine.about().name).collect()
    }

    /// `None` for an external server. The level has no alias.
    fn find(&self, level: &str) -> Option<&'static dyn Engine> {
        let name = engine_name(level);
        self.0.iter().copied().find(|engine| engine.about().name == name)
    }

    pub(crate) fn stores(&self, level: &str) -> bool {
        self.find(level).is_none_or(|engine| engine.about().stores)
    }

    pub(crate) fn canonical_level(&self, text: &str) -> Result<String, ExperimentProblem> {
        if is_url(text) {
            let name =
                urls::find_name(text).map_err(|message| ExperimentProblem::in_lines(&message))?;
            return Ok(name.to_owned());
        }
        let name = one_of("engine", engine_name(text), &self.names())
            .map_err(|problem| self.explain_server_kind(engine_name(text), problem))?;
        if name == text {
            return Ok(name);
        }
        let level = self.read_level(text, &[])?;
        for setting in level.server_settings() {
            // Whether the setting is trusted depends on its writer; that is checked later.
            self.check_setting(&name, setting, true)?;
        }
        Ok(level.to_name())
    }

    /// Adds the engines of this kind, and how to name one's own server.
    fn explain_server_kind(&self, name: &str, problem: ExperimentProblem) -> ExperimentProblem {
        let is_named = |kind: &&ServerKind| kind.names.contains(&&*name.to_lowercase());
        let Some(kind) = SERVERS.iter().find(is_named) else { return problem };
        let is_its = |name: &&str| name.split(':').next() == Some(kind.engines);
        let own: Vec<&str> = self.names().into_iter().filter(is_its).collect();
        let problem = match own.is_empty() {
            true => problem,
            false => problem
                .with_help(format!("a server that bakeoff starts: --engine {}", own.join(", or "))),
        };
        let ServerKind { url, password, .. } = kind;
        problem.with_help(format!(
            "a server that you run: --engine {url}, with its password in {password}"
        ))
    }

    /// The engines that the part of a factor's name before the point means, and the option or setting
    /// after it: `mariadb.sync_binlog` is one of all `mariadb:…`.
    fn split_setting<'n>(&self, factor: &'n str) -> Option<(Vec<&'static dyn Engine>, &'n str)> {
        let (of, setting) = factor.split_once('.')?;
        let engines: Vec<_> = self.0.iter().copied().filter(|it| is_of_kind(*it, of)).collect();
        (!engines.is_empty() && !setting.is_empty()).then_some((engines, setting))
    }

    pub(crate) fn is_setting(&self, factor: &str) -> bool {
        self.split_setting(factor).is_some()
    }

    /// Whether the name is that of an engine, or the part before the colon.
    pub(crate) fn has_kind(&self, name: &str) -> bool {
        self.0.iter().any(|engine| is_of_kind(*engine, name))
    }

    pub(crate) fn find_setting_factor(&self, name: &str) -> Option<Factor> {
        let (engines, setting) = self.split_setting(name)?;
        let (of, _) = name.split_once('.')?;
        let by = |engine: &&'static dyn Engine| Declarer {
            of: Factor::ENGINE,
            name: engine.about().name.to_owned(),
        };
        let option = OptionFactor {
            name: name.to_owned(),
            summary: format!("`{setting}` of {of}"),
            syntax: format!("a value that {of} takes, or {DEFAULT}"),
            default: DEFAULT.to_owned(),
            declared_by: engines.iter().map(by).collect(),
        };
        Some(option.intern())
    }

    /// The level with these settings, as their factors are named.
    pub(crate) fn name_with(
        &self,
        level: &str,
        options: &[(&str, &str)],
    ) -> Result<String, ExperimentProblem> {
        if options.is_empty() {
            return Ok(level.to_owned());
        }
        let read = self.read_level(level, options)?;
        let name = read.engine.about().name;
        for setting in read.server_settings() {
            // As in a level: its writer's trust is checked elsewhere.
            self.check_setting(name, setting, true)?;
        }
        Ok(read.to_name())
    }

    /// The level of durability at which the level of an engine is run; `None` if it is asked itself,
    /// or keeps none.
    pub(crate) fn find_kept_level(
        &self,
        level: &str,
        asked: &str,
        settings: &[(String, String)],
    ) -> Option<&'static str> {
        if is_url(level) {
            return None;
        }
        let engine = find_with(&self.0, level, &[]).ok()?;
        let kept = engine.find_kept_level(Durability::from_name(asked)?, settings);
        kept.ok().map(Durability::name)
    }

    fn read_level(
        &self,
        level: &str,
        options: &[(&str, &str)],
    ) -> Result<EngineLevel, ExperimentProblem> {
        let own = |(name, value): &(&'_ str, &'_ str)| {
            (
                self.split_setting(name).map_or((*name).to_owned(), |(_, it)| it.to_owned()),
                (*value).to_owned(),
            )
        };
        let options: Vec<(String, String)> = options.iter().map(own).collect();
        let options: Vec<_> = options.iter().map(|(name, value)| (&**name, &**value)).collect();
        let options = &*options;
        // The engine itself reports errors of its options together.
        let engine = find_with(&self.0, level, options);
        let level = engine.and_then(|engine| EngineLevel::from_text(&self.0, engine.about().name));
        level.map_err(|message| ExperimentProblem::in_lines(&message))
    }

    /// What the level does that asks for trust in its writer, as a sentence; `None` if any file may
    /// have it. `options` are those that factors add. The level has no alias.
    pub fn asks_for_trust(&self, level: &str, options: &[(&str, &str)]) -> Option<String> {
        if is_url(level) {
            return Some(format!("the file makes bakeoff connect to `{level}`"));
        }
        let name = engine_name(level);
        if name == level && options.is_empty() {
            return None;
        }
        let read = self.read_level(level, options).ok()?;
        if let Some((option, why)) = read.trusted_options().next() {
            return Some(format!("the option `{option}` of `{name}` {why}"));
        }
        read.server_settings().find_map(|(setting, value)| {
            match read.engine.standing(setting, value) {
                SettingStanding::Trusted(why) => {
                    Some(format!("the setting `{setting}` of `{name}` {why}"))
                }
                SettingStanding::Free | SettingStanding::Reserved => None,
            }
        })
    }

    pub(crate) fn options(&self) -> impl Iterator<Item = &'static Declared> {
        self.0.iter().flat_map(|engine| engine.options()).map(|option| option.factor)
    }

    pub(crate) fn check_takes_settings(&self, name: &str) -> Result<(), ExperimentProblem> {
        let takers = self.0.iter().filter(|engine| engine.takes_settings());
        let takers: Vec<&str> = takers.map(|engine| engine.about().name).collect();
        if takers.contains(&name) {
            return Ok(());
        }
        let valid = format!("engines that take settings: {}", takers.join(", "));
        if name.contains("://") {
            let title = "the settings of a server that somebody else runs are its owner's";
            return Err(ExperimentProblem::new(title)
                .with_help("set them on the server")
                .with_help(valid));
        }
        one_of("engine", name, &self.names())?;
        let title = format!(
            "`{name}` takes no settings: it is built in, and its levels of `durability` and \
             `memory` set it up"
        );
        Err(ExperimentProblem::new(title).with_help("leave the table out").with_help(valid))
    }

    pub(crate) fn check_setting(
        &self,
        engine: &str,
        (name, value): (&str, &str),
        trusts: bool,
    ) -> Result<(), ExperimentProblem> {
        let standing = self.find(engine).map(|engine| engine.standing(name, value));
        match standing.unwrap_or(SettingStanding::Reserved) {
            SettingStanding::Trusted(why) if !trusts => {
                let title = format!("the setting `{name}` of `{engine}` {why}");
                Err(ExperimentProblem::new(title).with_help("leave it out").with_help(TRUST))
            }
            SettingStanding::Reserved => {
                let title = format!("bakeoff sets `{name}` of `{engine}` itself");
                Err(ExperimentProblem::new(title).with_help("leave it out"))
            }
            SettingStanding::Free | SettingStanding::Trusted(_) => Ok(()),
        }
    }
}

impl HasOptions for Engines {
    fn declared_options(&self) -> Vec<OptionFactor> {
        let of_engine = |engine: &&'static dyn Engine| {
            let by = Declarer { of: Factor::ENGINE, name: engine.about().name.to_owned() };
            let options = engine.options().into_iter().map(|option| option.factor);
            options.map(move |option| OptionFactor {
                declared_by: vec![by.clone()],
                name: option.name.to_owned(),
                summary: option.summary.to_owned(),
                syntax: option.syntax.to_owned(),
                default: option.default.to_owned(),
            })
        };
        self.0.iter().flat_map(of_engine).collect()
    }

    fn value(&self, option: &str, text: &str) -> Option<Result<String, ExperimentProblem>> {
        if let Some((engines, _)) = self.split_setting(option) {
            let read = |engine: &dyn Engine| self.name_with(engine.about().name, &[(option, text)]);
            let mut read = engines.into_iter().map(|engine| read(engine).map(|_| text.to_owned()));
            let first = read.next()?;
            return Some(first.or_else(|wrong| read.find_map(Result::ok).ok_or(wrong)));
        }
        let declared = self.options().filter(|declared| declared.name == option);
        let mut read = declared.map(|declared| (declared.canonical)(text));
        let first = read.next()?;
        let any = first.or_else(|wrong| read.find_map(Result::ok).ok_or(wrong));
        Some(any.map_err(|message| ExperimentProblem::in_lines(&message)))
    }

    fn has(&self, level: &str, option: &str) -> bool {
        if let Some((engines, _)) = self.split_setting(option) {
            let name = engine_name(level);
            return engines.iter().any(|engine| engine.about().name == name);
        }
        let options = self.find(level).map(|engine| engine.options()).unwrap_or_default();
        options.iter().any(|it| it.factor.name == option)
    }

    fn gives(&self, level: &str, option: &str) -> bool {
        // In a canonical level only an option is written so.
        let own = self.split_setting(option).map_or(option, |(_, setting)| setting);
        self.has(level, option) && level.contains(&format!("/{own}="))
    }

    fn takes(&self, level: &str, option: &str, value: &str) -> Result<(), ExperimentProblem> {
        self.read_level(level, &[(option, value)]).map(drop)
    }
}

fn is_of_kind(engine: &dyn Engine, kind: &str) -> bool {
    let name = engine.about().name;
    name == kind || name.split_once(':').is_some_and(|(before, _)| before == kind)
}

/// A URL is its own name. The level has no alias.
pub(crate) fn engine_name(level: &str) -> &str {
    match level.split_once('/') {
        Some((name, _)) if !is_url(level) => name,
        _ => level,
    }
}

/// Whether a level is the URL of a database, or looks like one: `:/` comes before any other slash.
fn is_url(level: &str) -> bool {
    level.split_once('/').is_some_and(|(scheme, _)| scheme.ends_with(':'))
}

pub(crate) const TRUST: &str = "or, if you trust whoever wrote this file as you trust a program that you run: add \
     --trust-experiment to the command";

impl fmt::Debug for Engines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Engines").field(&self.names()).finish()
    }
}
