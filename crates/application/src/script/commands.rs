//! Backslash commands: pgbench's under its names and rules, and ours.

use crate::{Mistakes, SourcePlace};

/// A part of a command's line, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandText<'t> {
    pub text: &'t str,
    pub place: SourcePlace,
}

/// A command with its parts; names and expressions are not read yet.
#[derive(Clone, Debug, PartialEq)]
pub enum MetaCommand<'t> {
    Set { name: CommandText<'t>, expression: CommandText<'t> },
    Gset { prefix: &'t str, optional: bool },
    Lset { list: CommandText<'t>, column: Option<CommandText<'t>> },
    If(CommandText<'t>),
    Elif(CommandText<'t>),
    Else,
    Endif,
    Sleep { duration: CommandText<'t>, unit_us: f64 },
    Repeat(CommandText<'t>),
    Each { list: CommandText<'t>, item: CommandText<'t> },
    End,
    Again,
    Assert(CommandText<'t>),
    Pick { name: CommandText<'t>, table: CommandText<'t>, distribution: Option<CommandText<'t>> },
    OnDuplicate(CommandText<'t>),
}

const NAMES: [&str; 16] = [
    "set",
    "gset",
    "lset",
    "if",
    "elif",
    "else",
    "endif",
    "sleep",
    "repeat",
    "each",
    "end",
    "again",
    "assert",
    "pick",
    "on_duplicate",
    "aset",
];

/// pgbench's commands that bakeoff does not run, and why.
const REFUSED: [(&str, &str); 7] = [
    ("shell", "a script starts no program"),
    ("setshell", "a script starts no program"),
    ("startpipeline", "statements are sent one by one: leave it out"),
    ("syncpipeline", "statements are sent one by one: leave it out"),
    ("endpipeline", "statements are sent one by one: leave it out"),
    ("aset", "statements are sent one by one: use \\gset after each"),
    (";", "statements are sent one by one: write `;`"),
];

impl<'t> CommandText<'t> {
    /// The next word, and what follows it.
    fn split_word(&self) -> (Self, Self) {
        let start = self.text.len() - self.text.trim_start().len();
        let rest = &self.text[start..];
        let end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
        (self.part(start, end), self.part(end, self.text.len()))
    }

    fn part(&self, start: usize, end: usize) -> Self {
        let text = &self.text[start..end];
        Self { text, place: self.place.advance(self.text, start) }
    }

    fn trim(&self) -> Self {
        let start = self.text.len() - self.text.trim_start().len();
        self.part(start, start + self.text.trim().len())
    }

    /// All words.
    fn words(&self) -> Vec<Self> {
        let (mut words, mut rest) = (Vec::new(), self.clone());
        loop {
            let (word, after) = rest.split_word();
            if word.text.is_empty() {
                return words;
            }
            words.push(word);
            rest = after;
        }
    }
}

/// Reads what follows the backslash, up to the end of the line.
pub fn parse_command<'t>(
    line: &CommandText<'t>,
    mistakes: &mut Mistakes,
) -> Option<MetaCommand<'t>> {
    let (name, rest) = line.split_word();
    let place = line.place.clone();
    let name = name.text;
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        mistakes.add(place, format!("\\{name} can't be run: {why}"));
        return None;
    }
    let rest = rest.trim();
    let parsed = match name {
        "set" => parse_set(&rest),
        "gset" => parse_gset(&rest),
        "lset" => parse_lset(&rest),
        "if" => parse_one(&rest, "\\if :n > 0").map(MetaCommand::If),
        "elif" => parse_one(&rest, "\\elif :n > 0").map(MetaCommand::Elif),
        "else" => parse_none(&rest, MetaCommand::Else),
        "endif" => parse_none(&rest, MetaCommand::Endif),
        "sleep" => parse_sleep(&rest),
        "repeat" => parse_one(&rest, "\\repeat :n").map(MetaCommand::Repeat),
        "each" => parse_each(&rest),
        "end" => parse_none(&rest, MetaCommand::End),
        "again" => parse_none(&rest, MetaCommand::Again),
        "assert" => parse_one(&rest, "\\assert :total > 0").map(MetaCommand::Assert),
        "pick" => parse_pick(&rest),
        "on_duplicate" => parse_one(&rest, "\\on_duplicate skip").map(MetaCommand::OnDuplicate),
        _ => Err(explain_unknown(name)),
    };
    parsed.map_err(|what| mistakes.add(place, what)).ok()
}

fn explain_unknown(name: &str) -> String {
    let nearest = NAMES.iter().filter(|known| strsim::damerau_levenshtein(known, name) <= 2);
    let nearest = nearest.min_by_key(|known| strsim::damerau_levenshtein(known, name));
    let meant = nearest.map(|known| format!("; did you mean \\{known}?")).unwrap_or_default();
    format!("there is no command \\{name}{meant}")
}

type CommandParse<T> = Result<T, String>;

fn parse_none<'t>(
    rest: &CommandText<'_>,
    command: MetaCommand<'t>,
) -> CommandParse<MetaCommand<'t>> {
    match rest.text {
        "" => Ok(command),
        more => Err(format!("nothing may follow the command: leave out `{more}`")),
    }
}

fn parse_one<'t>(rest: &CommandText<'t>, example: &str) -> CommandParse<CommandText<'t>> {
    match rest.text {
        "" => Err(format!("something is missing: write it as `{example}`")),
        _ => Ok(rest.clone()),
    }
}

fn parse_set<'t>(rest: &CommandText<'t>) -> CommandParse<MetaCommand<'t>> {
    let (name, expression) = rest.split_word();
    let expression = expression.trim();
    if expression.text.is_empty() {
        return Err("something is missing: write it as `\\set n random(1, 10)`".into());
    }
    Ok(MetaCommand::Set { name, expression })
}

fn parse_gset<'t>(rest: &CommandText<'t>) -> CommandParse<MetaCommand<'t>> {
    let words: Vec<&str> = rest.words().iter().map(|word| word.text).collect();
    match words[..] {
        [] => Ok(MetaCommand::Gset { prefix: "", optional: false }),
        ["optional"] => Ok(MetaCommand::Gset { prefix: "", optional: true }),
        [prefix] => Ok(MetaCommand::Gset { prefix, optional: false }),
        [prefix, "optional"] => Ok(MetaCommand::Gset { prefix, optional: true }),
        _ => Err("\\gset takes a prefix and `optional`: write it as `\\gset o_ optional`".into()),
    }
}

fn parse_lset<'t>(rest: &CommandText<'t>) -> CommandParse<MetaCommand<'t>> {
    match &rest.words()[..] {
        [list] => Ok(MetaCommand::Lset { list: list.clone(), column: None }),
        [list, column] => {
            Ok(MetaCommand::Lset { list: list.clone(), column: Some(column.clone()) })
        }
        _ => Err("\\lset takes a list and a column: write it as `\\lset ids id`".into()),
    }
}

fn parse_each<'t>(rest: &CommandText<'t>) -> CommandParse<MetaCommand<'t>> {
    match &rest.words()[..] {
        [list, item] => Ok(MetaCommand::Each { list: list.clone(), item: item.clone() }),
        _ => Err("\\each takes a list and a variable: write it as `\\each ids id`".into()),
    }
}

fn parse_sleep<'t>(rest: &CommandText<'t>) -> CommandParse<MetaCommand<'t>> {
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];
    let words = rest.words();
    let unit = words.last().and_then(|last| units.iter().find(|(name, _)| *name == last.text));
    let end = match (unit, words.last()) {
        (Some((name, _)), _) => rest.text.len() - name.len(),
        (None, _) => rest.text.len(),
    };
    let duration = rest.part(0, end).trim();
    if duration.text.is_empty() {
        return Err("something is missing: write it as `\\sleep 10 ms`".into());
    }
    // pgbench's unit is the second.
    Ok(MetaCommand::Sleep { duration, unit_us: unit.map_or(1e6, |(_, us)| *us) })
}

fn parse_pick<'t>(rest: &CommandText<'t>) -> CommandParse<MetaCommand<'t>> {
    let usage = "write it as `\\pick c FROM customers` or `\\pick c FROM customers zipf:0.8`";
    let words = rest.words();
    let from = words.get(1).is_some_and(|word| word.text.eq_ignore_ascii_case("from"));
    match &words[..] {
        [name, _, table] if from => {
            Ok(MetaCommand::Pick { name: name.clone(), table: table.clone(), distribution: None })
        }
        [name, _, table, distribution] if from => Ok(MetaCommand::Pick {
            name: name.clone(),
            table: table.clone(),
            distribution: Some(distribution.clone()),
        }),
        _ => Err(format!("\\pick takes a name and a table: {usage}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, String> {
        let mut mistakes = Mistakes::default();
        let line = CommandText { text, place: SourcePlace::from_file("buy.sql") };
        let command = parse_command(&line, &mut mistakes);
        command.map(|it| format!("{it:?}")).ok_or_else(|| mistakes.to_string())
    }

    #[test]
    fn commands_are_read_with_the_places_of_their_parts() {
        let text = "set n  random(1, 5) ";
        let line = CommandText { text, place: SourcePlace::from_file("buy.sql") };
        let mut mistakes = Mistakes::default();
        let Some(MetaCommand::Set { name, expression }) = parse_command(&line, &mut mistakes)
        else {
            panic!("{mistakes}")
        };
        assert_eq!((name.text, expression.text), ("n", "random(1, 5)"));
        assert_eq!(expression.place.to_string(), "buy.sql:1:8");
    }

    #[test]
    fn units_and_options_are_told_from_names() {
        assert!(parse("sleep 10 ms").unwrap().contains("unit_us: 1000.0"));
        assert!(parse("sleep :n").unwrap().contains("unit_us: 1000000.0"));
        assert!(parse("gset").unwrap().contains("prefix: \"\", optional: false"));
        assert!(parse("gset o_ optional").unwrap().contains("prefix: \"o_\", optional: true"));
        assert!(parse("pick c from customers zipf:0.8").unwrap().contains("zipf:0.8"));
    }

    #[test]
    fn a_wrong_command_is_told_with_what_to_write() {
        for (text, said) in [
            ("sett n 1", "there is no command \\sett; did you mean \\set?"),
            ("frobnicate", "there is no command \\frobnicate"),
            ("set n", "\\set n random(1, 10)"),
            ("if", "\\if :n > 0"),
            ("endif now", "leave out `now`"),
            ("shell rm -rf /", "a script starts no program"),
            ("aset", "use \\gset after each"),
            ("pick c customers", "\\pick c FROM customers"),
            ("sleep ms", "\\sleep 10 ms"),
            ("each ids", "\\each ids id"),
            ("gset a b", "\\gset o_ optional"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.contains(said), "{text}: {told}");
        }
    }
}
