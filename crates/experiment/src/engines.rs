//! What may be said of engines: their names, their options, levels that give them some, and the URLs
//! of databases that somebody else runs.

use std::fmt;
use std::sync::Arc;

use bakeoff_factor::Declared;

use crate::Factor;
use crate::factor::Declarer;
use crate::message::{ExperimentProblem, one_of};
use crate::options::{Declaration, Holders};

/// The engines that an experiment may name. What they are is known to others.
#[derive(Clone)]
pub struct Engines {
    engines: Vec<EngineNames>,
    url: fn(&str) -> Result<String, String>,
    variant: LevelReader,
    standing: Judge,
    kinds: Vec<ServerKind>,
}

/// A kind of servers that people name where a level needs more than that.
#[derive(Clone, Copy, Debug)]
pub struct ServerKind {
    /// The names that people have for it.
    pub names: &'static [&'static str],
    /// What the names of its engines are, or begin with before a colon.
    pub engines: &'static str,
    /// How a level for one that somebody else runs is written.
    pub url: &'static str,
    /// The variable of the environment that such a server's password may stand in.
    pub password: &'static str,
}

/// Reads a level, `NAME/option=value`, and adds the options (name and value) that the level doesn't give.
/// Its error says in the first line what is wrong, and in the others how to mend it.
pub type LevelReader = Arc<dyn Fn(&str, &[(&str, &str)]) -> Result<Variant, String> + Send + Sync>;

/// A level that gives an engine options, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The level in its canonical form.
    pub level: String,
    /// Its options that are settings, with their values.
    pub settings: Vec<(String, String)>,
    /// Its other options that ask for trust in whoever wrote them, each with a clause that says what it
    /// does.
    pub trusts: Vec<(String, String)>,
}

/// Says who may have a setting: of an engine, by its name, with a value.
pub type Judge = Arc<dyn Fn(&str, &str, &str) -> SettingPermission + Send + Sync>;

/// Who may have a setting of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingPermission {
    /// Every experiment.
    Free,
    /// An experiment that is trusted like a program; what the setting does, a clause about it.
    Trusted(String),
    /// None: the lab sets it itself.
    Reserved,
}

/// What an experiment may say of one engine.
#[derive(Clone, Debug)]
pub struct EngineNames {
    /// Its name.
    pub name: String,
    /// The options that it declares.
    pub options: Vec<&'static Declared>,
    /// Whether an experiment may have settings for it.
    pub takes_settings: bool,
    /// Whether it stores what it is given. An engine that stores nothing can lose nothing by a power cut,
    /// and can't serve clients that read again what they wrote.
    pub stores: bool,
}

impl Engines {
    /// These engines, in the order in which they are listed to a user. `url` brings a database's URL
    /// into its canonical form, which has no password; it says what is wrong in a line, without the
    /// password, and how to mend it in the lines after that.
    /// `variant` reads a level with options of an engine that there is, and `standing` says who may
    /// have which setting of an engine that takes settings.
    pub fn new(
        engines: Vec<EngineNames>,
        url: fn(&str) -> Result<String, String>,
        variant: LevelReader,
        standing: Judge,
    ) -> Self {
        Self { engines, url, variant, standing, kinds: Vec::new() }
    }

    /// The same with what kinds of servers people may name.
    #[must_use]
    pub fn with_kinds(self, kinds: impl IntoIterator<Item = ServerKind>) -> Self {
        Self { kinds: kinds.into_iter().collect(), ..self }
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.engines.iter().map(|engine| &*engine.name).collect()
    }

    /// Whether the engine of a level without alias stores what it is given, as a server that
    /// somebody else runs does.
    pub(crate) fn stores(&self, level: &str) -> bool {
        let name = engine(level);
        self.engines.iter().all(|engine| engine.name != name || engine.stores)
    }

    /// The canonical form of a level.
    pub(crate) fn canonical(&self, text: &str) -> Result<String, ExperimentProblem> {
        if is_url(text) {
            return (self.url)(text).map_err(|message| ExperimentProblem::in_lines(&message));
        }
        let name = one_of("engine", engine(text), &self.names())
            .map_err(|problem| self.of_kind(engine(text), problem))?;
        if name == text {
            return Ok(name);
        }
        let variant = self.read(text, &[])?;
        for (setting, value) in &variant.settings {
            // Whether it is trusted depends on who has written it, which is seen to later.
            self.allows(&name, (setting, value), true)?;
        }
        Ok(variant.level)
    }

    /// Adds what to do about the name of a kind of servers, which stands for no engine by itself: the
    /// engines that there are of it, and how a server that somebody else runs is named.
    fn of_kind(&self, name: &str, problem: ExperimentProblem) -> ExperimentProblem {
        let named = |kind: &&ServerKind| kind.names.contains(&&*name.to_lowercase());
        let Some(kind) = self.kinds.iter().find(named) else { return problem };
        let is_its = |name: &&&str| name.split(':').next() == Some(kind.engines);
        let names = self.names();
        let own: Vec<&str> = names.iter().filter(is_its).copied().collect();
        let problem = match own.is_empty() {
            true => problem,
            false => problem
                .help(format!("a server that bakeoff starts: --engine {}", own.join(", or "))),
        };
        let ServerKind { url, password, .. } = kind;
        problem
            .help(format!("a server that you run: --engine {url}, with its password in {password}"))
    }

    fn read(&self, level: &str, options: &[(&str, &str)]) -> Result<Variant, ExperimentProblem> {
        (self.variant)(level, options).map_err(|message| ExperimentProblem::in_lines(&message))
    }

    /// What a level does that asks for trust in whoever wrote it, as a sentence; `None` where any file
    /// may have it. The level has no alias; `options` are those that factors give it.
    pub fn asks_for_trust(&self, level: &str, options: &[(&str, &str)]) -> Option<String> {
        if is_url(level) {
            return Some(format!("the file makes bakeoff connect to `{level}`"));
        }
        if engine(level) == level && options.is_empty() {
            return None;
        }
        let Variant { settings, trusts, .. } = self.read(level, options).ok()?;
        if let Some((option, why)) = trusts.first() {
            return Some(format!("the option `{option}` of `{}` {why}", engine(level)));
        }
        let asks = |(name, value): &(String, String)| match self.judge(level, name, value) {
            SettingPermission::Trusted(why) => Some(asking(engine(level), name, &why)),
            SettingPermission::Free | SettingPermission::Reserved => None,
        };
        settings.iter().find_map(asks)
    }

    /// Every option that an engine declares.
    pub(crate) fn options(&self) -> impl Iterator<Item = &'static Declared> {
        self.engines.iter().flat_map(|engine| engine.options.iter().copied())
    }

    /// Who may have a setting of a level's engine.
    fn judge(&self, level: &str, name: &str, value: &str) -> SettingPermission {
        (self.standing)(engine(level), name, value)
    }

    /// Checks that the engine of that name is there and takes settings.
    pub(crate) fn takes_settings(&self, name: &str) -> Result<(), ExperimentProblem> {
        if self.engines.iter().any(|engine| engine.name == name && engine.takes_settings) {
            return Ok(());
        }
        let takers = self.engines.iter().filter(|engine| engine.takes_settings);
        let takers: Vec<&str> = takers.map(|engine| &*engine.name).collect();
        let valid = format!("engines that take settings: {}", takers.join(", "));
        if name.contains("://") {
            let title = "the settings of a server that somebody else runs are its owner's";
            return Err(ExperimentProblem::new(title).help("set them on the server").help(valid));
        }
        one_of("engine", name, &self.names())?;
        let title = format!(
            "`{name}` takes no settings: it is built in, and its levels of `durability` and \
             `memory` set it up"
        );
        Err(ExperimentProblem::new(title).help("leave the table out").help(valid))
    }

    /// Checks that an experiment may have a setting of the engine of that name.
    pub(crate) fn allows(
        &self,
        engine: &str,
        (name, value): (&str, &str),
        trusts: bool,
    ) -> Result<(), ExperimentProblem> {
        match self.judge(engine, name, value) {
            SettingPermission::Trusted(why) if !trusts => {
                Err(ExperimentProblem::new(asking(engine, name, &why))
                    .help("leave it out")
                    .help(TRUST))
            }
            SettingPermission::Reserved => {
                let title = format!("bakeoff sets `{name}` of `{engine}` itself");
                Err(ExperimentProblem::new(title).help("leave it out"))
            }
            SettingPermission::Free | SettingPermission::Trusted(_) => Ok(()),
        }
    }
}

impl Holders for Engines {
    fn declarations(&self) -> Vec<Declaration> {
        let of_engine = |engine: &EngineNames| {
            let by = Declarer { of: Factor::ENGINE, name: engine.name.clone() };
            let declaration = |option: &&'static Declared| Declaration {
                by: by.clone(),
                name: option.name.to_owned(),
                summary: option.summary.to_owned(),
                syntax: option.syntax.to_owned(),
                default: option.default.to_owned(),
            };
            engine.options.iter().map(declaration).collect::<Vec<_>>()
        };
        self.engines.iter().flat_map(of_engine).collect()
    }

    fn value(&self, option: &str, text: &str) -> Option<Result<String, ExperimentProblem>> {
        let declared = self.options().filter(|declared| declared.name == option);
        let mut read = declared.map(|declared| (declared.canonical)(text));
        let first = read.next()?;
        let any = first.or_else(|wrong| read.find_map(Result::ok).ok_or(wrong));
        Some(any.map_err(|message| ExperimentProblem::in_lines(&message)))
    }

    fn has(&self, level: &str, option: &str) -> bool {
        let found = self.engines.iter().find(|known| known.name == engine(level));
        found.is_some_and(|engine| engine.options.iter().any(|it| it.name == option))
    }

    fn gives(&self, level: &str, option: &str) -> bool {
        // In a canonical level nothing else is written so.
        self.has(level, option) && level.contains(&format!("/{option}="))
    }

    fn takes(&self, level: &str, option: &str, value: &str) -> Result<(), ExperimentProblem> {
        self.read(level, &[(option, value)]).map(drop)
    }
}

/// The engine's name in a level without alias. A URL is its own.
pub(crate) fn engine(level: &str) -> &str {
    match level.split_once('/') {
        Some((name, _)) if !is_url(level) => name,
        _ => level,
    }
}

/// Whether a level is the URL of a database, or looks like one: `:/` comes before any other slash.
fn is_url(level: &str) -> bool {
    level.split_once('/').is_some_and(|(scheme, _)| scheme.ends_with(':'))
}

/// What is said of a setting that asks for trust.
fn asking(engine: &str, name: &str, why: &str) -> String {
    format!("the setting `{name}` of `{engine}` {why}")
}

/// What lets an experiment do what a stranger's may not.
pub(crate) const TRUST: &str = "or, if you trust whoever wrote this file as you trust a program that you run: add \
     --trust-experiment to the command";

impl fmt::Debug for Engines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Engines").field(&self.engines).finish()
    }
}
