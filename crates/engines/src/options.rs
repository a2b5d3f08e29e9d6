//! Options in a level: `NAME/option=value/option=value`.
//!
//! An engine declares its own options. An engine with a private server also takes the server's
//! settings by name. Every level has one canonical form: each option once, canonical, sorted by
//! name.

use std::collections::BTreeMap;

use crate::Declared;

use crate::Engine;

/// A declared option. An experiment may vary it as a factor.
#[derive(Clone, Copy, Debug)]
pub struct EngineOption {
    /// The option's name (small letters, digits and `_`) and values. The default is what the engine
    /// has without the option; an engine that lacks the option is taken to have the default.
    pub factor: &'static Declared,
    /// A clause that says why the option asks for trust in the file's author; `None`: any file may
    /// have it.
    pub trust: Option<&'static str>,
}

/// Options by name, each value canonical.
pub type EngineOptions = BTreeMap<String, String>;

/// An engine with options.
#[derive(Clone)]
pub struct EngineLevel {
    /// The engine without options.
    pub engine: &'static dyn Engine,
    /// At least one option.
    pub options: EngineOptions,
}

impl EngineLevel {
    /// Parses a level of one of these engines. Nothing is started for that.
    pub fn from_text(engines: &[&'static dyn Engine], text: &str) -> Result<Self, String> {
        let (name, pieces) = split_level(text);
        let engine = engines.iter().copied().find(|engine| engine.about().name == name);
        let engine = engine.ok_or_else(|| format!("there is no engine `{name}`"))?;
        let mut options = EngineOptions::new();
        for piece in pieces {
            let (name, value) = parse_option(engine, piece)?;
            not_of_another(engine, engines, &name)?;
            if options.insert(name.clone(), value).is_some() {
                return Err(format!(
                    "`{name}` is twice among the options of `{text}`\nleave one out"
                ));
            }
        }
        Ok(Self { engine, options })
    }

    /// Adds an option that the level doesn't have yet.
    pub fn with_option(mut self, name: &str, value: &str) -> Result<Self, String> {
        if let Some((slash, _)) =
            value.match_indices('/').find(|(at, _)| begins_option(&value[at + 1..]))
        {
            let next = &value[slash..];
            return Err(format!(
                "the value of the option `{name}` has `{next}`, which begins another"
            ));
        }
        let (name, value) = parse_option(self.engine, &format!("{name}={value}"))?;
        self.options.insert(name, value);
        Ok(self)
    }

    /// The canonical level.
    pub fn to_name(&self) -> String {
        let options = self.options.iter().map(|(name, value)| format!("/{name}={value}"));
        options.fold(self.engine.about().name.to_owned(), |level, option| level + &option)
    }

    /// The options that are server settings, by the server's names.
    pub fn server_settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let declared = self.engine.options();
        let options = self.options.iter().map(|(name, value)| (&**name, &**value));
        options.filter(move |(name, _)| declared.iter().all(|option| option.factor.name != *name))
    }

    /// The declared options that ask for trust: name, and a clause that says why.
    pub fn trusted_options(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let declared = self.engine.options().into_iter();
        let given = declared.filter(|option| self.options.contains_key(option.factor.name));
        given.filter_map(|option| Some((option.factor.name, option.trust?)))
    }
}

/// The engine and the options as written. A value may hold slashes: only a name and `=` begin the
/// next option.
fn split_level(level: &str) -> (&str, Vec<&str>) {
    let Some((name, rest)) = level.split_once('/') else { return (level, Vec::new()) };
    let (mut pieces, mut start) = (Vec::new(), 0);
    for (slash, _) in rest.match_indices('/') {
        if begins_option(&rest[slash + 1..]) {
            pieces.push(&rest[start..slash]);
            start = slash + 1;
        }
    }
    pieces.push(&rest[start..]);
    (name, pieces)
}

fn begins_option(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(inner)
}

fn parse_option(engine: &dyn Engine, piece: &str) -> Result<(String, String), String> {
    let (declared, about) = (engine.options(), engine.about());
    let takes_settings = engine.takes_settings();
    if declared.is_empty() && !takes_settings {
        return Err(format!(
            "`{0}` takes no options: it is built in, and its levels of `durability` and `memory` \
             set it up\nwrite `{0}` alone",
            about.name
        ));
    }
    let Some((name, value)) = piece.split_once('=').filter(|_| begins_option(piece)) else {
        return Err(format!(
            "`{piece}` is not an option: an option is NAME=VALUE, its name in small letters\n{}",
            list_valid(&declared, takes_settings)
        ));
    };
    if value.is_empty() || value.contains(char::is_control) {
        return Err(format!(
            "the value of the option `{name}` has to be one line of text, not empty"
        ));
    }
    if let Some(apart) = [",", "@", ":/"].into_iter().find(|apart| value.contains(*apart)) {
        return Err(format!(
            "the value of the option `{name}` holds `{apart}`, which a level gives a meaning of \
             its own\nset it in a file instead, below [settings.\"{}\"]",
            about.name
        ));
    }
    if let Some(option) = declared.iter().find(|option| option.factor.name == name) {
        return Ok((name.to_owned(), (option.factor.canonical)(value)?));
    }
    let meant = find_nearest(name, &declared);
    if takes_settings && meant.is_none() {
        return Ok((name.to_owned(), value.to_owned()));
    }
    let meant = meant.map(|meant| format!("did you mean `{meant}`?\n")).unwrap_or_default();
    let valid = list_valid(&declared, takes_settings);
    Err(format!("unknown option `{name}` of `{}`\n{meant}{valid}", about.name))
}

/// Refuses an option of another engine that would be taken for a server setting.
fn not_of_another(
    engine: &dyn Engine,
    engines: &[&'static dyn Engine],
    name: &str,
) -> Result<(), String> {
    let declares = |it: &dyn Engine| it.options().iter().any(|option| option.factor.name == name);
    let others = engines.iter().filter(|it| declares(**it)).map(|it| it.about().name);
    let others: Vec<&str> = others.collect();
    if declares(engine) || others.is_empty() {
        return Ok(());
    }
    let (engine, others) = (engine.about().name, others.join(", "));
    Err(format!("`{engine}` has no option `{name}`\nit is one of {others}"))
}

fn list_valid(declared: &[EngineOption], takes_settings: bool) -> String {
    let each =
        declared.iter().map(|option| format!("{}={}", option.factor.name, option.factor.syntax));
    let settings = takes_settings.then(|| "any setting of the server by its name".to_owned());
    format!("valid: {}", each.chain(settings).collect::<Vec<_>>().join("; "))
}

/// The declared option that was most likely meant: it differs in at most a third of its letters, or
/// begins so.
fn find_nearest(name: &str, declared: &[EngineOption]) -> Option<&'static str> {
    let names = || declared.iter().map(|option| option.factor.name);
    let near = |other: &&str| strsim::osa_distance(name, other) <= other.len().max(3) / 3;
    names().find(near).or_else(|| names().find(|other| name.len() > 1 && other.starts_with(name)))
}
