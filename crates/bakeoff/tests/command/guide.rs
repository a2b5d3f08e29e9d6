//! The guide says what the engines and the disks say.

use bakeoff_devices::spec::{self, Spec};
use bakeoff_experiment::{Changes, Experiment};

const DISKS: &str = include_str!("../../../../docs/disks.md");
const ENGINES: &str = include_str!("../../../../docs/engines.md");
const EXPERIMENTS: &str = include_str!("../../../../docs/experiments.md");
const README: &str = include_str!("../../../../README.md");

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
    for engine in bakeoff_engines::ENGINES {
        let heading = format!("## {}\n", engine.about().name);
        assert!(ENGINES.contains(&heading), "docs/engines.md has no section {heading:?}");
    }
}

#[test]
fn the_page_on_disks_names_them_all() {
    for disk in spec::listed().iter().map(|listed| listed.name).chain(["host"]) {
        let row = format!("\n| `{disk}` |");
        assert!(DISKS.contains(&row), "docs/disks.md has no row {row:?}");
    }
}

/// The cells of a row of a table, without the ticks of code.
fn cells(row: &str) -> Vec<String> {
    let cells = row.trim_matches('|').split('|');
    cells.map(|cell| cell.replace('`', "").trim().to_owned()).collect()
}

#[test]
fn the_parameters_on_the_page_are_the_models_own() {
    let mut checked = 0;
    let mut models: Vec<String> = Vec::new();
    for line in DISKS.lines() {
        if !line.starts_with('|') {
            models.clear();
            continue;
        }
        let cells = cells(line);
        if cells[0] == "parameter" {
            models = cells[1..cells.len() - 1].to_vec();
            continue;
        }
        if cells[0].starts_with("---") {
            continue;
        }
        let keys: Vec<&str> = cells[0].split(", ").collect();
        for (model, cell) in models.iter().zip(&cells[1..]) {
            let model = match model.as_str() {
                "ebs-gp2" => "ebs-gp2:100G",
                "any model" => "raid10:4×ssd-sata",
                model => model,
            };
            let values: Vec<&str> = cell.split(", ").collect();
            // What depends on the size is told in words.
            if values.len() != keys.len() || cell.contains(' ') && keys.len() == 1 {
                continue;
            }
            for (key, value) in keys.iter().zip(values) {
                // What does not differ from the model is not written.
                let spec = Spec::parse(&format!("{model}/{key}={value}"));
                assert_eq!(spec.map(|spec| spec.to_string()), Ok(model.to_owned()), "{line}");
                checked += 1;
            }
        }
    }
    assert!(checked > 50, "{checked} parameters");
}

#[test]
fn the_experiments_on_the_pages_are_right() {
    let blocks = [DISKS, ENGINES].iter().flat_map(|page| page.split("```toml\n").skip(1));
    let blocks: Vec<&str> = blocks.collect();
    assert!(blocks.len() >= 2);
    for block in blocks {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, block.split("```").next().unwrap()).unwrap();
        let path = path.to_str().unwrap();
        Experiment::load(
            path,
            &Changes::default(),
            &bakeoff_lab::Registry::standard().vocabulary(),
        )
        .unwrap();
    }
}

#[test]
fn the_message_on_the_page_is_what_is_printed() {
    let blocks = EXPERIMENTS.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let shown = blocks.into_iter().find(|block| block.starts_with("error:"));
    let place = super::Place::new();
    place.write("mine.toml", "workload = \"redmine\"\nengine = [\"sqlite\", \"lmbd\"]\n");
    let printed = place.run(&["run", "mine.toml"]).code(2).err();
    assert_eq!(shown.expect("the page shows a message"), printed);
}

/// The commands that run a preset, as they are shown, each in a line of its own.
#[test]
fn the_runs_on_the_pages_are_right() {
    let place = super::Place::new();
    let pages = [README, EXPERIMENTS, ENGINES, DISKS].iter().flat_map(|page| page.lines());
    let runs: Vec<&str> = pages.filter(|line| line.starts_with("bakeoff run redmine")).collect();
    assert!(runs.len() >= 4, "{runs:?}");
    for run in runs {
        // What a shell makes of it: a comment ends it, and quotes hold a word together.
        let command = run.split(" #").next().unwrap().replace('"', "");
        let words: Vec<&str> = command.split_whitespace().skip(1).chain(["--dry-run"]).collect();
        place.run(&words).code(0);
    }
}
