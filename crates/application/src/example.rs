//! The examples that `bakeoff new` writes. Some of them are built-in workloads.

use std::collections::BTreeMap;

use crate::ApplicationFiles;
use crate::files::is_read;

/// A folder that runs as it is.
#[derive(Clone, Copy, Debug)]
pub struct ExampleFolder {
    /// What `--from` takes.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Names and texts.
    pub files: &'static [(&'static str, &'static str)],
}

impl ExampleFolder {
    /// What [`ApplicationFiles::read_folder`] reads of the folder. Messages name it as the example.
    pub fn to_files(&self) -> ApplicationFiles {
        let read = self.files.iter().filter(|(name, _)| is_read(name));
        ApplicationFiles {
            name: self.name.into(),
            texts: read.map(|(name, text)| ((*name).into(), (*text).into())).collect(),
            weights: BTreeMap::new(),
            shown: self.name.into(),
            copied: None,
            program: None,
        }
    }

    /// A command of ruby with the text of its script and of what that requires: a program that is
    /// built in needs no folder, which the server's user would have to read.
    pub(crate) fn inline_command(&self, command: &[String]) -> Vec<String> {
        let text =
            |name: &str| self.files.iter().find(|(file, _)| *file == name).map(|(_, it)| *it);
        let [ruby, script] = command else { return command.to_vec() };
        let Some(script) = text(script) else { return command.to_vec() };
        let lines = script.lines().map(|line| {
            let required = line.strip_prefix("require_relative \"");
            let required =
                required.and_then(|rest| text(&format!("{}.rb", rest.trim_end_matches('"'))));
            required.unwrap_or(line)
        });
        vec![ruby.clone(), "-e".into(), lines.collect::<Vec<_>>().join("\n")]
    }
}

impl ApplicationFiles {
    /// The example that brings these files' program: its text is bakeoff's own, whoever named it.
    pub(crate) fn find_example(&self) -> Option<&'static ExampleFolder> {
        let example = EXAMPLES.iter().find(|example| example.name == self.name)?;
        (self.program.is_none() && example.to_files().texts == self.texts).then_some(example)
    }
}

macro_rules! files {
    ($folder:literal: $($name:literal)+) => {
        &[$(($name, include_str!(concat!("../examples/", $folder, "/", $name)))),+]
    };
}

/// All examples; the first is written where none is named.
pub const EXAMPLES: [ExampleFolder; 4] = [
    ExampleFolder {
        name: "shop",
        summary: "a small shop: six tables, four operations",
        files: files!("shop": "README.md" "schema.sql" "browse.sql" "buy.sql" "history.sql"
            "report.sql" "invariants.sql" "workload.toml"),
    },
    ExampleFolder {
        name: "point",
        summary: "one read by key: the workload point",
        files: files!("point": "schema.sql" "read.sql" "invariants.sql" "workload.toml"),
    },
    ExampleFolder {
        name: "oltp",
        summary: "sysbench's tests, as the workload oltp",
        files: files!("oltp": "schema.sql" "point_select.sql" "read_only.sql" "write_only.sql"
            "workload.toml"),
    },
    ExampleFolder {
        name: "redmine-rails",
        summary: "Debian's Redmine 5.0 as the client of its database",
        files: &[
            ("workload.toml", include_str!("../examples/redmine-rails/workload.toml")),
            ("redmine.rb", include_str!("../examples/redmine-rails/redmine.rb")),
            ("people.rb", include_str!("../examples/redmine-rails/people.rb")),
            ("fill.rb", include_str!("../examples/redmine-rails/fill.rb")),
            ("client.rb", include_str!("../examples/redmine-rails/client.rb")),
            ("bakeoff.rb", include_str!("../../../examples/program/bakeoff.rb")),
        ],
    },
];
