//! All settings that the installed servers take, held against the lists of those that were gone
//! through.

use std::collections::BTreeMap;
use std::process::Command;

use bakeoff_engines::servers::{SettingStanding, TrustReason};
use bakeoff_engines::{Engine, mysql};

use crate::{Home, Program, installed};

/// What a server says of a setting: whether anything can be written in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// A number, true or false.
    Numbers,
    /// A word of a list.
    Choices,
    /// Whatever is written.
    Text,
}

/// Every setting of an installed server.
fn all(program: Program) -> BTreeMap<String, Takes> {
    match program {
        Program::MariaDb => of_mariadb(),
        Program::Postgres => of_postgres(),
    }
}

/// Its help names all that its command line takes; a choice looks like a text there.
fn of_mariadb() -> BTreeMap<String, Takes> {
    let installed = Program::MariaDb.find_installed().expect("it is installed");
    let mut server = Command::new(&installed.server);
    server.arg("--no-defaults");
    if mysql::ROCKSDB.available().is_ok() {
        server.arg("--plugin-load-add=ha_rocksdb");
    }
    let said = server.args(["--verbose", "--help"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let end = said.find("\nVariables (--variable-name=value)").expect("what it was given ends it");
    let takes = |line: &str| {
        let option = line.strip_prefix("  ")?.trim_start_matches(|c: char| c != '-');
        let option = option.split("--").nth(1).filter(|_| line.as_bytes()[2] == b'-')?;
        let end = option.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
        let (name, rest) = option.split_at(end.unwrap_or(option.len()));
        let takes = match rest.trim_start_matches('[') {
            rest if rest.starts_with("=name") => Takes::Text,
            _ => Takes::Numbers,
        };
        Some((name.replace('-', "_").to_ascii_lowercase(), takes))
    };
    said[..end].lines().filter_map(takes).collect()
}

fn of_postgres() -> BTreeMap<String, Takes> {
    let home = Home::initialised(Program::Postgres);
    let server = home.start();
    let text = "SELECT lower(name) || ' ' || vartype FROM pg_settings WHERE context <> 'internal'";
    let said = home.must(&server, text);
    let line = |line: &str| {
        let (name, kind) = line.split_once(' ').expect("two words");
        let takes = match kind {
            "string" => Takes::Text,
            "enum" => Takes::Choices,
            _ => Takes::Numbers,
        };
        (name.to_owned(), takes)
    };
    said.lines().map(line).collect()
}

#[test]
fn every_setting_that_an_installed_server_takes_was_gone_through() {
    for program in installed() {
        let all = all(program);
        assert!(all.len() > 300, "{program} has {} settings", all.len());
        let unknown: Vec<_> = all
            .iter()
            .filter(|(name, takes)| {
                let value = if **takes == Takes::Numbers { "1" } else { "word" };
                let standing = program.kind().review().find_standing(name, value);
                matches!(
                    standing,
                    SettingStanding::Trusted(TrustReason::Unknown | TrustReason::Value)
                )
            })
            .collect();
        assert!(unknown.is_empty(), "go through these of {program}: {unknown:#?}");
    }
}

#[test]
fn no_beginning_of_a_dangerous_name_is_free() {
    for program in installed().filter(|program| *program == Program::MariaDb) {
        let all = all(program);
        let dangerous = all.keys().filter(|name| {
            program.kind().review().find_standing(name, "1") != SettingStanding::Free
        });
        for name in dangerous {
            for end in 1..=name.len() {
                let short = &name[..end];
                let others = all.keys().filter(|other| other.starts_with(short)).count();
                if all.contains_key(short) && short != name || others > 1 {
                    continue;
                }
                for prefix in ["", "loose_", "skip-", "DISABLE_", "enable-", "maximum_", "autoset_"]
                {
                    let written = format!("{prefix}{short}");
                    let standing = program.kind().review().find_standing(&written, "1");
                    assert_ne!(standing, SettingStanding::Free, "{written} stands for {name}");
                }
            }
        }
    }
}
