//! `[program]`: the commands of an application's own program, and its operations.

use toml::Spanned;
use toml::de::DeValue;

use super::{ConfigurationReader, PlacedText, check_level_name};
use crate::SourcePlace;

/// How many seconds an operation may take where nothing else is said.
const TIMEOUT_S: u64 = 10;
/// And the start of a client.
const START_S: u64 = 10;

/// The table, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramTable {
    pub place: SourcePlace,
    /// A program and its arguments.
    pub client: Vec<String>,
    pub fill: Option<Vec<String>>,
    pub audit: Option<Vec<String>>,
    pub paces_itself: bool,
    pub timeout_s: u64,
    /// How many seconds a client may take until it is ready.
    pub start_s: u64,
    /// Names and weights; at least one.
    pub operations: Vec<(PlacedText, u32)>,
}

const KEYS: &str = "client, fill, audit, operations, pace, start, timeout";
const OPERATIONS: &str = "`operations = { buy = 1, browse = 9 }`";

impl ConfigurationReader<'_> {
    pub(super) fn read_program(&mut self, start: usize, value: &Spanned<DeValue<'_>>) {
        let mut program = ProgramTable {
            place: self.place_at(start),
            client: Vec::new(),
            fill: None,
            audit: None,
            paces_itself: false,
            timeout_s: TIMEOUT_S,
            start_s: START_S,
            operations: Vec::new(),
        };
        for (key, value) in
            self.tables_in(value, "[program] and `client = \"./client.py\"` below it")
        {
            match key.get_ref().as_ref() {
                "client" => program.client = self.read_command(value),
                "fill" => program.fill = Some(self.read_command(value)),
                "audit" => program.audit = Some(self.read_command(value)),
                "pace" => {
                    let pace = self.read_text(value).map(|it| it.text).unwrap_or_default();
                    program.paces_itself = pace == "own";
                    if !["own", "bakeoff"].contains(&&*pace) {
                        self.refuse(value.span().start, "is neither `own` nor `bakeoff`");
                    }
                }
                "timeout" => program.timeout_s = self.read_seconds(value),
                "start" => program.start_s = self.read_seconds(value),
                "operations" => program.operations = self.read_weights(value),
                name => self.refuse(
                    key.span().start,
                    format!("`{name}` is no key of a program; it has {KEYS}"),
                ),
            }
        }
        if program.client.is_empty() {
            self.refuse(
                start,
                "has no client: write what one client runs, `client = \"./client.py\"`",
            );
        }
        if program.operations.is_empty() {
            self.refuse(start, format!("has no operations: write {OPERATIONS}"));
        }
        self.found.program = Some(program);
    }

    pub(super) fn read_seconds(&mut self, value: &Spanned<DeValue<'_>>) -> u64 {
        self.read_whole_number(value).unwrap_or_default().unsigned_abs()
    }

    /// A text is a program; a list has its arguments, too.
    pub(super) fn read_command(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let words = match value.get_ref() {
            DeValue::Array(items) => {
                items.iter().filter_map(|item| self.read_text(item)).map(|it| it.text).collect()
            }
            _ => self.read_text(value).map(|it| vec![it.text]).unwrap_or_default(),
        };
        if words.first().is_none_or(String::is_empty) || words.iter().any(|it| it.contains('\0')) {
            self.refuse(value.span().start, "is no program");
        }
        words
    }

    fn read_weights(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<(PlacedText, u32)> {
        let mut weights = Vec::new();
        for (operation, weight) in self.tables_in(value, OPERATIONS) {
            if let Err(why) = check_level_name(operation.get_ref()) {
                self.refuse(operation.span().start, why);
            }
            let operation = self.placed(operation);
            if let Some(weight) = self.read_whole_number(weight) {
                weights.push((operation, u32::try_from(weight).unwrap_or(u32::MAX)));
            }
        }
        weights
    }
}
