//! `bakeoff list settings`: what bakeoff sets of each engine, what the values depend on, and why.

use bakeoff_engines::{Durability, Engine, Setting, Terms};
use bakeoff_lab::Registry;
use comfy_table::Table;

/// Bytes of a limit of memory, by which it shows what depends on one.
const LIMIT: u64 = 512 << 20;
/// What stands for a setting that is left as it comes.
const UNSET: &str = "as it comes";

/// A setting of an engine's.
struct Row {
    name: String,
    /// Its value, or one for each level or limit where they differ.
    values: String,
    depends_on: &'static str,
    why: &'static str,
}

/// A row for each setting of each engine.
pub fn table(registry: &Registry) -> Table {
    let mut table = super::table(&["engine", "setting", "value", "depends on", "why"]);
    for engine in registry.engines() {
        let mut name = engine.about().name;
        for row in rows(engine) {
            table.add_row([name, &row.name, &row.values, row.depends_on, row.why]);
            name = "";
        }
    }
    table
}

/// The engines that get any.
pub fn engines(registry: &Registry) -> Vec<String> {
    let set = registry.engines().filter(|engine| !rows(*engine).is_empty());
    set.map(|engine| engine.about().name.to_owned()).collect()
}

fn rows(engine: &dyn Engine) -> Vec<Row> {
    let given = Durability::ALL.into_iter().filter(|level| engine.gives(*level).is_ok());
    let levels: Vec<(Durability, Vec<Setting>)> =
        given.map(|level| (level, engine.settings(&Terms::new(level)))).collect();
    let Some((strongest, free)) = levels.last() else { return Vec::new() };
    let limited = engine.settings(&Terms { memory_bytes: Some(LIMIT), ..Terms::new(*strongest) });
    let mut rows: Vec<Row> = Vec::new();
    for setting in levels.iter().flat_map(|(_, settings)| settings).chain(&limited) {
        if rows.iter().all(|row| row.name != setting.name) {
            rows.push(row(setting, &levels, free, &limited));
        }
    }
    rows
}

/// The row of a setting, whose value is looked up at each level, and without and with a limit of memory.
fn row(
    setting: &Setting,
    levels: &[(Durability, Vec<Setting>)],
    free: &[Setting],
    limited: &[Setting],
) -> Row {
    let name = &setting.name;
    let of_levels: Vec<(&str, &str)> =
        levels.iter().map(|(level, settings)| (level.name(), value(settings, name))).collect();
    let (free, limited) = (value(free, name), value(limited, name));
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
        (false, false) => "nothing",
    };
    let why = setting.reason.unwrap_or_default();
    Row { name: name.clone(), values: values.join("\n"), depends_on, why }
}

/// The value of a setting.
fn value<'s>(settings: &'s [Setting], name: &str) -> &'s str {
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
            for row in rows(engine) {
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
        let synced = all.iter().find(|(of, row)| *of == "postgres" && row.name == "fsync");
        assert_eq!(synced.expect("it is there").1.values, "none: off\nrelaxed: on\nstrict: on");
    }

    #[test]
    fn an_engine_that_gets_no_settings_is_not_named() {
        let named = engines(&Registry::standard());
        assert!(named.iter().any(|name| name == "postgres"), "{named:?}");
        assert!(named.iter().all(|name| name != "null"), "{named:?}");
    }
}
