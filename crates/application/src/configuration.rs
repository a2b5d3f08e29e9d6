//! `workload.toml`: rows, mixes, scales and factors, each with its place.

mod program;
mod server;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use self::program::ProgramTable;
pub use self::server::ServerTable;
use crate::workload::BUILT_IN_FACTORS;
use crate::{Mistakes, SourcePlace};

/// A text of the file with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedText {
    pub text: String,
    pub place: SourcePlace,
}

/// Operations and their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    pub name: String,
    pub weights: Vec<(PlacedText, u32)>,
}

/// A variable whose levels are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableFactor {
    pub name: PlacedText,
    /// At least one; the first is the default.
    pub levels: Vec<String>,
}

/// The file's contents. Names of tables, columns and operations are not looked up yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    pub summary: Option<String>,
    /// Tables and how many rows they have.
    pub rows: Vec<(String, PlacedText)>,
    /// Tables, columns and how a value is made; the place is the expression's.
    pub columns: Vec<(PlacedText, PlacedText, PlacedText)>,
    pub mixes: Vec<Mix>,
    /// Operations, and how many seconds a user thinks after each.
    pub think: Vec<(PlacedText, PlacedText)>,
    /// Names of scales and `:scale`; at least one.
    pub scales: Vec<(String, i64)>,
    pub factors: Vec<VariableFactor>,
    /// Its clients, if they are not its scripts.
    pub program: Option<ProgramTable>,
    /// The server that its program works on, if it brings one.
    pub server: Option<ServerTable>,
}

const KEYS: &str = "summary, [rows], [columns.TABLE], [mix.NAME], [think], [scales], [factors], [program], [server]";

impl Configuration {
    /// Reads the file. Every mistake is added.
    pub fn read(text: &str, place: &SourcePlace, mistakes: &mut Mistakes) -> Self {
        let mut reader = ConfigurationReader { text, place, mistakes, found: Self::default() };
        match DeTable::parse(text) {
            Ok(table) => reader.read_all(table.get_ref()),
            Err(error) => {
                let at = reader.place_at(error.span().map_or(0, |span| span.start));
                reader.mistakes.add(at, error.message());
            }
        }
        reader.found.with_default_scale()
    }

    /// What an application without the file has.
    pub fn new() -> Self {
        Self::default().with_default_scale()
    }

    fn with_default_scale(mut self) -> Self {
        if self.scales.is_empty() {
            self.scales.push(("small".into(), 1));
        }
        self
    }
}

struct ConfigurationReader<'a> {
    text: &'a str,
    place: &'a SourcePlace,
    mistakes: &'a mut Mistakes,
    found: Configuration,
}

type Entry<'t> = (&'t Spanned<std::borrow::Cow<'t, str>>, &'t Spanned<DeValue<'t>>);

/// In the order of the file.
fn list_entries<'t>(table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
    let mut entries: Vec<Entry<'t>> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

impl ConfigurationReader<'_> {
    fn place_at(&self, byte: usize) -> SourcePlace {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        self.place.advance(self.text, byte)
    }

    fn refuse(&mut self, byte: usize, what: impl Into<String>) {
        let place = self.place_at(byte);
        self.mistakes.add(place, what);
    }

    fn read_all(&mut self, table: &DeTable<'_>) {
        for (key, value) in list_entries(table) {
            let name = key.get_ref().as_ref();
            match name {
                "summary" => self.found.summary = self.read_text(value).map(|it| it.text),
                "rows" => self.read_rows(value),
                "columns" => self.read_columns(value),
                "mix" => self.read_mixes(value),
                "think" => self.read_think(value),
                "scales" => self.read_scales(value),
                "factors" => self.read_factors(value),
                "program" => self.read_program(key.span().start, value),
                "server" => self.read_server(key.span().start, value),
                _ => self.refuse(
                    key.span().start,
                    format!("`{name}` is no key of a workload; it has {KEYS}"),
                ),
            }
        }
    }

    fn tables_in<'t>(&mut self, value: &'t Spanned<DeValue<'t>>, what: &str) -> Vec<Entry<'t>> {
        match value.get_ref() {
            DeValue::Table(table) => list_entries(table),
            _ => {
                self.refuse(value.span().start, format!("is no table: write {what}"));
                Vec::new()
            }
        }
    }

    fn placed(&self, key: &Spanned<std::borrow::Cow<'_, str>>) -> PlacedText {
        PlacedText { text: key.get_ref().to_string(), place: self.place_at(key.span().start) }
    }

    /// A text, or a number as it is written.
    fn read_text(&mut self, value: &Spanned<DeValue<'_>>) -> Option<PlacedText> {
        let start = value.span().start;
        let (text, quote) = match value.get_ref() {
            DeValue::String(text) => (text.to_string(), 1),
            DeValue::Integer(int) => (int.as_str().to_owned(), 0),
            DeValue::Float(float) => (float.as_str().to_owned(), 0),
            _ => {
                self.refuse(start, "is neither a text nor a number");
                return None;
            }
        };
        Some(PlacedText { text, place: self.place_at(start + quote) })
    }

    fn read_whole_number(&mut self, value: &Spanned<DeValue<'_>>) -> Option<i64> {
        let number = match value.get_ref() {
            DeValue::Integer(int) => i64::from_str_radix(int.as_str(), int.radix()).ok(),
            _ => None,
        };
        let number = number.filter(|number| *number > 0);
        if number.is_none() {
            self.refuse(value.span().start, "is no whole number above 0");
        }
        number
    }

    fn read_rows(&mut self, value: &Spanned<DeValue<'_>>) {
        for (key, value) in self.tables_in(value, "[rows] and `orders = 1000` below it") {
            if let Some(count) = self.read_text(value) {
                self.found.rows.push((key.get_ref().to_lowercase(), count));
            }
        }
    }

    fn read_columns(&mut self, value: &Spanned<DeValue<'_>>) {
        for (table, columns) in self.tables_in(value, "[columns.TABLE]") {
            let table = self.placed(table);
            for (column, value) in self.tables_in(columns, "[columns.TABLE]") {
                let column = self.placed(column);
                if let Some(expression) = self.read_text(value) {
                    self.found.columns.push((table.clone(), column, expression));
                }
            }
        }
    }

    fn read_mixes(&mut self, value: &Spanned<DeValue<'_>>) {
        for (name, weights) in self.tables_in(value, "[mix.NAME] and `buy = 1` below it") {
            let mut mix = Mix { name: name.get_ref().to_string(), weights: Vec::new() };
            if let Err(why) = check_level_name(&mix.name) {
                self.refuse(name.span().start, why);
            }
            for (operation, weight) in self.tables_in(weights, "[mix.NAME] and `buy = 1` below it")
            {
                let operation = self.placed(operation);
                if let Some(weight) = self.read_whole_number(weight) {
                    mix.weights.push((operation, u32::try_from(weight).unwrap_or(u32::MAX)));
                }
            }
            if mix.weights.is_empty() {
                self.refuse(name.span().start, "has no operation: write one, such as `buy = 1`");
            }
            self.found.mixes.push(mix);
        }
    }

    fn read_think(&mut self, value: &Spanned<DeValue<'_>>) {
        for (operation, value) in self.tables_in(value, "[think] and `browse = 2` below it") {
            let operation = self.placed(operation);
            if let Some(seconds) = self.read_text(value) {
                self.found.think.push((operation, seconds));
            }
        }
    }

    fn read_scales(&mut self, value: &Spanned<DeValue<'_>>) {
        for (name, value) in self.tables_in(value, "[scales] and `small = 1` below it") {
            if let Err(why) = check_level_name(name.get_ref()) {
                self.refuse(name.span().start, why);
            }
            if let Some(scale) = self.read_whole_number(value) {
                self.found.scales.push((name.get_ref().to_string(), scale));
            }
        }
    }

    fn read_factors(&mut self, value: &Spanned<DeValue<'_>>) {
        for (name, value) in self.tables_in(value, "[factors] and `hot = [0.5, 0.9]` below it") {
            let name = self.placed(name);
            let DeValue::Array(items) = value.get_ref() else {
                self.refuse(value.span().start, "is no list of levels: write `[0.5, 0.9]`");
                continue;
            };
            let levels: Vec<String> =
                items.iter().filter_map(|item| self.read_text(item)).map(|it| it.text).collect();
            let wrong = levels.iter().find_map(|level| check_level_name(level).err());
            if BUILT_IN_FACTORS.contains(&&*name.text) {
                let what = format!(
                    "every application may have a factor `{}`: take another name",
                    name.text
                );
                self.mistakes.add(name.place, what);
                continue;
            }
            match (wrong, levels.is_empty()) {
                (Some(why), _) => self.refuse(value.span().start, why),
                (None, true) => self.refuse(value.span().start, "has no level"),
                (None, false) => self.found.factors.push(VariableFactor { name, levels }),
            }
        }
    }
}

/// Levels stand in lists on the command line.
fn check_level_name(name: &str) -> Result<(), String> {
    let good = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    match !name.is_empty() && name.chars().all(good) {
        true => Ok(()),
        false => {
            Err(format!("`{name}` has other characters than letters, digits, `.`, `-` and `_`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Configuration, String) {
        let mut mistakes = Mistakes::default();
        let place = SourcePlace::from_file("shop/workload.toml");
        let found = Configuration::read(text, &place, &mut mistakes);
        (found, mistakes.to_string())
    }

    #[test]
    fn a_file_is_read_with_its_places() {
        let (found, mistakes) = read(
            "summary = \"a shop\"\n[rows]\nCustomers = 1_000\norders = \"10 * :customers\"\n\
             [columns.orders]\nplaced = \"date('2020-01-01') + :row\"\n[mix.shop]\nbrowse = 9\nbuy = 1\n\
             [scales]\nsmall = 1\nlarge = 100\n[factors]\nhot = [0.5, 0.99]\n",
        );
        assert_eq!(mistakes, "");
        assert_eq!(found.summary.as_deref(), Some("a shop"));
        let rows: Vec<(&str, &str)> =
            found.rows.iter().map(|(table, count)| (&**table, &*count.text)).collect();
        assert_eq!(rows, [("customers", "1000"), ("orders", "10 * :customers")]);
        let (table, column, expression) = &found.columns[0];
        assert_eq!((&*table.text, &*column.text), ("orders", "placed"));
        assert_eq!(expression.place.to_string(), "shop/workload.toml:6:11");
        let weights: Vec<(&str, u32)> =
            found.mixes[0].weights.iter().map(|(name, weight)| (&*name.text, *weight)).collect();
        assert_eq!((&*found.mixes[0].name, weights), ("shop", vec![("browse", 9), ("buy", 1)]));
        assert_eq!(found.scales, [("small".into(), 1), ("large".into(), 100)]);
        assert_eq!(found.factors[0].levels, ["0.5", "0.99"]);
        assert_eq!(Configuration::new().scales, [("small".into(), 1)]);
    }

    #[test]
    fn mistakes_are_told_at_their_lines() {
        for (text, said) in [
            ("rows = 1", ":1:8: is no table: write [rows]"),
            ("\nrow = 1", ":2:1: `row` is no key of a workload; it has summary, [rows]"),
            ("[mix.shop]\nbuy = 0", ":2:7: is no whole number above 0"),
            ("[mix.shop]\nbuy = \"x\"", ":2:7: is no whole number above 0"),
            ("[mix.shop]", ":1:6: has no operation"),
            ("[mix.\"a,b\"]\nbuy = 1", "`a,b` has other characters"),
            ("[scales]\nsmall = -1", ":2:9: is no whole number above 0"),
            ("[factors]\nhot = 1", ":2:7: is no list of levels"),
            ("[factors]\nhot = []", ":2:7: has no level"),
            ("[factors]\nprepared = [1]", ":2:1: every application may have a factor `prepared`"),
            ("[rows]\na = true", ":2:5: is neither a text nor a number"),
            ("é = ", "shop/workload.toml:1:1: "),
        ] {
            let (_, mistakes) = read(text);
            assert!(mistakes.contains(said), "{text}: {mistakes}");
        }
    }
}
