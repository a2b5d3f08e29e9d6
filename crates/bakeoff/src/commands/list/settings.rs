//! `bakeoff list settings`: prints the settings that bakeoff gives each engine, what their values
//! depend on, and why.

use bakeoff_engines::{Durability, Engine, OpenTerms, Setting};
use bakeoff_lab::Registry;

use super::INDENTS;
use crate::output::wrap_text;

/// A memory limit in bytes that shows which settings depend on one.
const LIMIT: u64 = 512 << 20;
const NOTHING: &str = "nothing";
const UNSET: &str = "as it comes";

struct SettingRow {
    name: String,
    /// The value; one per level or limit if they differ.
    values: String,
    depends_on: &'static str,
    why: &'static str,
}

/// Never breaks a name or a value, as a table would.
pub fn format_settings(registry: &Registry, width: usize) -> String {
    let mut text = String::new();
    for engine in registry.engines() {
        let rows = setting_rows(engine);
        if rows.is_empty() {
            continue;
        }
        let before = if text.is_empty() { "" } else { "\n" };
        text += &format!("{before}{}\n", engine.about().name);
        for SettingRow { name, values, depends_on, why } in rows {
            let values = values.replace('\n', "; ");
            text += &wrap_text(&format!("{name} = {values}"), INDENTS, width);
            let said = match depends_on {
                NOTHING => why.to_owned(),
                _ => format!("depends on {depends_on}: {why}"),
            };
            text += &wrap_text(&said, [INDENTS[1]; 2], width);
        }
    }
    text
}

pub fn engines_with_settings(registry: &Registry) -> Vec<String> {
    let set = registry.engines().filter(|engine| !setting_rows(*engine).is_empty());
    set.map(|engine| engine.about().name.to_owned()).collect()
}

fn setting_rows(engine: &dyn Engine) -> Vec<SettingRow> {
    let given = Durability::ALL.into_iter().filter(|level| engine.check_level(*level).is_ok());
    let levels: Vec<(Durability, Vec<Setting>)> =
        given.map(|level| (level, engine.settings(&OpenTerms::new(level)))).collect();
    let Some((strongest, free)) = levels.last() else { return Vec::new() };
    let limited =
        engine.settings(&OpenTerms { memory_bytes: Some(LIMIT), ..OpenTerms::new(*strongest) });
    let mut rows: Vec<SettingRow> = Vec::new();
    for setting in levels.iter().flat_map(|(_, settings)| settings).chain(&limited) {
        if rows.iter().all(|row| row.name != setting.name) {
            rows.push(setting_row(setting, &levels, free, &limited));
        }
    }
    rows
}

/// Looks the setting up at each level, and with and without a memory limit.
fn setting_row(
    setting: &Setting,
    levels: &[(Durability, Vec<Setting>)],
    free: &[Setting],
    limited: &[Setting],
) -> SettingRow {
    let name = &setting.name;
    let of_levels: Vec<(&str, &str)> =
        levels.iter().map(|(level, settings)| (level.name(), find_value(settings, name))).collect();
    let of_limit = limited.iter().find(|it| it.name == *name).and_then(|it| it.reason);
    let (free, limited) = (find_value(free, name), find_value(limited, name));
    let by_level = of_levels.iter().any(|(_, other)| *other != free);
    let by_memory = free != limited;
    let mut values: Vec<String> = match by_level {
        true => of_levels.iter().map(|(level, value)| format!("{level}: {value}")).collect(),
        false => vec![free.to_owned()],
    };
    if by_memory {
        values.push(format!("in 512M: {limited}"));
    }
    let depends_on = match (by_level, by_memory) {
        (true, true) => "durability, memory",
        (true, false) => "durability",
        (false, true) => "memory",
        (false, false) => NOTHING,
    };
    // A value that depends on a limit is explained by the reason that holds with a limit.
    let why = of_limit.filter(|_| by_memory).or(setting.reason).unwrap_or_default();
    SettingRow { name: name.clone(), values: values.join("\n"), depends_on, why }
}

fn find_value<'s>(settings: &'s [Setting], name: &str) -> &'s str {
    settings.iter().find(|it| it.name == name).map_or(UNSET, |it| it.value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_says_what_its_value_depends_on_and_why_it_is_set() {
        let registry = Registry::standard();
        let mut all = Vec::new();
        for engine in registry.engines() {
            let name = engine.about().name;
            for row in setting_rows(engine) {
                assert!(!row.why.is_empty(), "{name}: {}", row.name);
                all.push((name, row));
            }
        }
        for (engine, setting, depends_on) in [
            ("mariadb:innodb", "innodb_flush_log_at_trx_commit", "durability"),
            ("mariadb:innodb", "innodb_buffer_pool_size", "memory"),
            ("mariadb:innodb", "max_connections", "nothing"),
            ("postgres", "fsync", "durability"),
            ("postgres", "shared_buffers", "memory"),
            ("postgres", "wal_level", "nothing"),
        ] {
            let found = all.iter().find(|(of, row)| *of == engine && row.name == setting);
            let row = &found.unwrap_or_else(|| panic!("{engine} has no {setting}")).1;
            assert_eq!(row.depends_on, depends_on, "{engine} {setting}: {}", row.values);
        }
        let pool = all.iter().find(|(_, row)| row.name == "innodb_buffer_pool_size");
        assert!(pool.expect("it is there").1.why.starts_with("70 % of a memory limit"));
        let synced = all.iter().find(|(of, row)| *of == "postgres" && row.name == "fsync");
        assert_eq!(synced.expect("it is there").1.values, "none: off\nrelaxed: on\nstrict: on");
    }

    #[test]
    fn no_word_is_divided_however_narrow_the_terminal_is() {
        let registry = Registry::standard();
        for width in [60, 80, 120] {
            let text = format_settings(&registry, width);
            let words: std::collections::BTreeSet<&str> = text.split([' ', '\n', ';']).collect();
            for row in registry.engines().flat_map(setting_rows) {
                let said = [&*row.name, &*row.values, row.why].join(" ");
                for word in said.split([' ', '\n', ';']) {
                    assert!(words.contains(word), "{width}: {word} of {}:\n{text}", row.name);
                }
            }
            for line in text.lines().filter(|line| line.trim_start().contains(' ')) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn lines_break_between_words_alone() {
        assert_eq!(wrap_text("one two three", ["", "  "], 7), "one two\n  three\n");
        assert_eq!(wrap_text("a innodb_flush b", ["", "  "], 8), "a\n  innodb_flush\n  b\n");
        assert_eq!(wrap_text("innodb_flush", [" ", "  "], 4), " innodb_flush\n", "no empty line");
    }

    #[test]
    fn an_engine_that_gets_no_settings_is_not_named() {
        let named = engines_with_settings(&Registry::standard());
        assert!(named.iter().any(|name| name == "postgres"), "{named:?}");
        assert!(named.iter().all(|name| name != "null"), "{named:?}");
    }
}
