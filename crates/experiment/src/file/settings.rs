//! The tables `[settings."engine"]`: a server's settings that replace bakeoff's.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::{ExperimentReader, SETTINGS, in_order};
use crate::entries::{TomlValue, to_decimal, wrong_type};
use crate::message::ExperimentProblem;
use crate::{ServerSettings, Vocabulary};

impl ExperimentReader<'_> {
    pub(super) fn read_settings(
        &mut self,
        value: &TomlValue<'_>,
    ) -> BTreeMap<String, ServerSettings> {
        let mut all = BTreeMap::new();
        let DeValue::Table(engines) = value.get_ref() else {
            let problem = wrong_type(SETTINGS, "a table of tables", value);
            self.problems.push(problem.at_place(&self.place_of_span(Some(value.span()))));
            return all;
        };
        for (key, value) in in_order(engines) {
            let engine = key.get_ref().as_ref();
            if let Err(problem) = self.vocabulary.engines.check_takes_settings(engine) {
                self.problems.push(problem.at_place(&self.place_of_span(Some(key.span()))));
            } else {
                all.insert(engine.to_owned(), self.of_engine(engine, value));
            }
        }
        all
    }

    fn of_engine(&mut self, engine: &str, value: &TomlValue<'_>) -> ServerSettings {
        let mut settings = ServerSettings::new();
        let DeValue::Table(table) = value.get_ref() else {
            let problem = wrong_type(engine, "a table", value);
            self.problems.push(problem.at_place(&self.place_of_span(Some(value.span()))));
            return settings;
        };
        for (key, value) in in_order(table) {
            let named = canonical_setting(key.get_ref()).map_err(|problem| (problem, key.span()));
            let setting = named.and_then(|name| match value_text(&name, value) {
                Ok(text) => Ok((name, text)),
                Err(problem) => Err((problem, value.span())),
            });
            let setting = setting.and_then(|(name, text)| {
                let Vocabulary { engines, trusts, .. } = self.vocabulary;
                let allowed = engines.check_setting(engine, (&name, &text), *trusts);
                allowed.map(|()| (name, text)).map_err(|problem| (problem, key.span()))
            });
            let (problem, span) = match setting {
                Ok((name, text)) if !settings.contains_key(&name) => {
                    settings.insert(name, text);
                    continue;
                }
                Ok((name, _)) => {
                    let title = format!("`{name}` is twice among the settings of `{engine}`");
                    (ExperimentProblem::new(title).with_help("leave one out"), key.span())
                }
                Err(wrong) => wrong,
            };
            self.problems.push(problem.at_place(&self.place_of_span(Some(span))));
        }
        settings
    }
}

/// The one spelling: `Max-Connections` is `max_connections`.
fn canonical_setting(text: &str) -> Result<String, ExperimentProblem> {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(letters) {
        return Ok(text.replace('-', "_").to_ascii_lowercase());
    }
    Err(ExperimentProblem::new(format!("`{text}` can't be a setting's name"))
        .with_help("write it as the server's documentation does, without dashes before it"))
}

fn value_text(name: &str, value: &TomlValue<'_>) -> Result<String, ExperimentProblem> {
    match value.get_ref() {
        DeValue::String(text) if text.contains(char::is_control) => {
            Err(ExperimentProblem::new(format!("the value of `{name}` has to be one line of text")))
        }
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(integer) => Ok(to_decimal(integer)),
        DeValue::Float(float) => Ok(float.as_str().to_owned()),
        DeValue::Boolean(true) => Ok("ON".to_owned()),
        DeValue::Boolean(false) => Ok("OFF".to_owned()),
        _ => Err(wrong_type(name, "a string, a number, true or false", value)),
    }
}
