//! The guide says what the engines say.

/// The rows of the table in docs/durability.md, as the engines have it.
fn rows() -> String {
    let mut rows = String::new();
    for engine in bakeoff_engines::ENGINES {
        let about = engine.about();
        for promise in about.promises {
            let settings =
                promise.settings.map_or("can't be had".into(), |text| format!("`{text}`"));
            let (level, source) = (promise.durability.name(), promise.source);
            rows += &format!("| {} | `{level}` | {settings} | {source} |\n", about.name);
        }
    }
    rows
}

#[test]
fn the_table_of_promises_is_the_engines() {
    let page = include_str!("../../../../docs/durability.md");
    let rows = rows();
    assert!(page.contains(&rows), "docs/durability.md should hold these rows:\n{rows}");
}

#[test]
fn the_page_on_engines_names_them_all() {
    let page = include_str!("../../../../docs/engines.md");
    for engine in bakeoff_engines::ENGINES {
        let heading = format!("## {}\n", engine.about().name);
        assert!(page.contains(&heading), "docs/engines.md has no section {heading:?}");
    }
}
