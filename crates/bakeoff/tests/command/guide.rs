//! The guide says what the engines and the disks say.

use bakeoff_devices::models::Models;
use bakeoff_engines::EngineHome;
use bakeoff_experiment::{Experiment, Factor, FlagOverrides};

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
fn each_row_of_the_page_on_security_names_a_test_that_is_there() {
    let page = include_str!("../../../../docs/security.md");
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains(".rs`: `"));
    let mut count = 0;
    for row in rows {
        let named: Vec<&str> = row.rsplit(" | ").next().unwrap().split('`').collect();
        let (file, test) = (named[1], named[3]);
        let source = std::fs::read_to_string(crates.join(file)).unwrap_or_default();
        assert!(source.contains(&format!("fn {test}(")), "{file} has no test {test}: {row}");
        count += 1;
    }
    let tables = page.matches("| what | from or by whom | how | test |").count();
    let all = page.lines().filter(|line| line.matches(" | ").count() == 3).count();
    assert_eq!(count + tables, all, "a row names no test");
    assert!(count > 50, "{count}");
}

/// Where an engine's own page is, below docs.
fn page_of(engine: &str) -> String {
    format!("engines/{}.md", engine.replace(':', "-"))
}

/// The rows of the table in docs/engines.md, as the engines have it.
fn rows_of_engines() -> String {
    let mut rows = String::new();
    for engine in bakeoff_engines::ENGINES {
        let about = engine.about();
        let declared = engine
            .options()
            .into_iter()
            .map(|option| option.factor)
            .map(|option| format!("`{}`: {} ({})", option.name, option.summary, option.syntax));
        let server = about.home == EngineHome::Server;
        let settings = server.then(|| "any setting of the server by its name".to_owned());
        let options: Vec<String> = declared.chain(settings).collect();
        let options = if options.is_empty() { "none".into() } else { options.join("; ") };
        let name = about.name;
        let page = page_of(name);
        rows += &format!("| [`{name}`]({page}) | {} | {options} |\n", about.summary);
    }
    rows
}

#[test]
fn the_table_of_engines_is_their_list() {
    let rows = rows_of_engines();
    assert!(ENGINES.contains(&rows), "docs/engines.md should hold these rows:\n{rows}");
}

#[test]
fn each_engine_has_a_page_that_says_what_work_it_defers() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for engine in bakeoff_engines::ENGINES {
        let name = engine.about().name;
        let path = docs.join(page_of(name));
        let page = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(page.starts_with(&format!("# {name}\n")), "{} is not of {name}", path.display());
        let says = page.to_lowercase().contains("deferred work");
        assert!(says, "{} does not tell of the deferred work of {name}", path.display());
    }
}

#[test]
fn the_page_on_disks_names_them_all() {
    let listed = Models::standard().listed().into_iter().map(|listed| listed.name);
    for disk in listed.chain(["host".to_owned()]) {
        let row = format!("\n| `{disk}` |");
        assert!(DISKS.contains(&row), "docs/disks.md has no row {row:?}");
    }
}

#[test]
fn the_arrival_processes_on_the_page_are_their_list() {
    let row = |it: &&bakeoff_load::ArrivalProcess| format!("| `{}` | {} |\n", it.name, it.summary);
    let rows: String = bakeoff_load::ARRIVALS.iter().map(row).collect();
    assert!(EXPERIMENTS.contains(&rows), "docs/experiments.md should hold these rows:\n{rows}");
}

#[test]
fn the_pages_name_every_option_that_is_a_factor() {
    let options = bakeoff_lab::Registry::standard().vocabulary().options(None);
    let names: Vec<&str> = options.into_iter().map(Factor::name).collect();
    assert!(names.contains(&"compression") && names.contains(&"rpm"), "{names:?}");
    for name in names {
        let quoted = format!("`{name}`");
        let is_there = [ENGINES, DISKS].iter().any(|page| page.contains(&quoted));
        assert!(is_there, "neither docs/engines.md nor docs/disks.md tells of {quoted}");
    }
}

#[test]
fn the_planners_on_the_page_are_their_list() {
    let list = super::Place::new().run(&["list", "planners"]).code(0).out();
    let listed: Vec<&str> =
        list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(listed.contains(&"fixed") && listed.contains(&"until-decided"), "{list}");
    let row =
        |it: &&bakeoff_lab::planner::PlannerKind| format!("| `{}` | {} |\n", it.name, it.summary);
    let rows: String = bakeoff_lab::planner::PLANNERS.iter().map(row).collect();
    assert!(EXPERIMENTS.contains(&rows), "docs/experiments.md should hold these rows:\n{rows}");
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
                let spec = Models::standard().parse(&format!("{model}/{key}={value}"));
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
            &FlagOverrides::default(),
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
    place.write("mine.toml", "workload = \"redmine\"\ndurability = [\"strict\", \"relaxd\"]\n");
    let printed = place.run(&["run", "mine.toml"]).code(2).err();
    assert_eq!(shown.expect("the page shows a message"), printed, "docs/experiments.md");
}

/// Seconds that a text ends with, in words: `2 min 20 s`.
pub fn seconds(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace().rev();
    let mut sum = None;
    while let Some(unit) = words.next() {
        let unit = match unit {
            "s" => 1.0,
            "min" => 60.0,
            "h" => 3600.0,
            _ => break,
        };
        let Some(number) = words.next().and_then(|number| number.parse::<f64>().ok()) else {
            break;
        };
        sum = Some(sum.unwrap_or(0.0) + number * unit);
    }
    sum
}

/// The seconds that a dry run estimates, trials and power cuts together.
pub fn estimated(out: &str) -> f64 {
    let lines = out.lines().take_while(|line| !line.starts_with("block "));
    let told = lines.filter_map(|line| line.split("about ").nth(1));
    told.filter_map(|told| seconds(told.trim_end_matches(" with the loading"))).sum()
}

#[test]
fn readme_is_short_and_its_picture_is_one_that_a_command_of_the_repository_makes() {
    assert!(README.lines().count() <= 100, "{} lines", README.lines().count());
    let (_, picture) = README.split_once("![").expect("a picture");
    let (_, path) = picture.split_once("](").expect("its path");
    let (path, _) = path.split_once(')').expect("the end of its path");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bytes = std::fs::read(root.join(path)).expect("the picture");
    assert!(bytes.starts_with(b"\x89PNG"), "{path} is no PNG");
    let made = std::fs::read_to_string(root.join("ci/picture")).expect("the command");
    assert!(made.contains(path), "ci/picture does not make {path}");
}

/// The examples of README that run something, with the words of each and the time that it tells.
fn examples() -> Vec<(Vec<&'static str>, Option<f64>)> {
    let runs = README.lines().filter(|line| line.starts_with("bakeoff run ")).map(|line| {
        let (command, comment) = line.split_once(" #").unwrap_or((line, ""));
        (command.split_whitespace().skip(1).collect(), seconds(comment))
    });
    runs.collect()
}

#[test]
fn the_examples_say_how_long_they_take() {
    let place = super::Place::new();
    place.write("my-experiment.toml", "workload = \"redmine\"\nengine = \"sqlite\"\n");
    let mut held = 0;
    for (words, told) in examples() {
        // They need a server, an interrupted run, or a disk of the reader's.
        let needs = |word: &&str| ["--resume", "--path"].contains(word) || word.contains("://");
        if words.iter().any(needs) {
            continue;
        }
        if words.contains(&"--dry-run") {
            place.run(&words).code(0);
            continue;
        }
        let out = place.run(&[&words[..], &["--dry-run"]].concat()).code(0).out();
        let told = told.unwrap_or_else(|| panic!("{words:?} says no time"));
        let share = told / estimated(&out);
        assert!((0.8..1.25).contains(&share), "{words:?} says {told} s: {out}");
        held += 1;
    }
    assert!(held >= 5, "{held} examples");
}

/// The presets' own words on their time: in a file it stands in a comment.
#[test]
fn the_presets_say_how_long_they_take() {
    let list = super::Place::new().run(&["list", "presets"]).code(0).out();
    for (preset, whole, quick) in [
        ("articles/redmine", "15 min", "2 min 20 s"),
        ("fileio ", "3 min 40 s", "  35 s"),
        ("power-cut", "3 min 30 s", "1 min"),
        ("demo ", "3 min", "1 min 30 s"),
        ("redmine ", "18 min", "2 min 20 s"),
    ] {
        let is_its = |line: &&str| line.trim_start().starts_with(preset);
        let row = list.lines().find(is_its).expect("a row");
        assert!(row.contains(whole) && row.contains(quick), "{row}");
    }
}

/// The example with a URL, after what README says that the server needs.
#[test]
fn the_example_with_a_url_runs_as_it_is_written() {
    if !super::servers::installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, theirs) = (super::Place::new(), super::elsewhere::Theirs::start_with(&[]));
    let sql = README.split("```sql\n").nth(1).expect("what the server needs");
    theirs.must(sql.split("-- PostgreSQL").next().expect("MySQL's part"));
    let (words, told) = examples()
        .into_iter()
        .find(|(words, _)| words.iter().any(|word| word.contains("mysql://")))
        .expect("the example");
    let host = format!("localhost/db?socket={}", theirs.socket().display());
    let words: Vec<String> = words.iter().map(|word| word.replace("host/db", &host)).collect();
    let password = README.lines().find_map(|line| line.strip_prefix("export MYSQL_PWD="));
    let password = password.expect("it is not in the URL");
    let run = |more: &[&str]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = place.command(&[&words[..], more].concat());
        super::Done(command.env("MYSQL_PWD", password).output().unwrap()).code(0)
    };
    let planned = run(&["--dry-run"]);
    let (told, planned_s) = (told.expect("it says a time"), estimated(&planned.out()));
    assert!((0.8..1.25).contains(&(told / planned_s)), "{told} s: {}", planned.out());
    assert_eq!(planned.err(), "", "nothing is in its way");
    let done = run(&["--seconds", "0.5", "--repetitions", "1", "--out", "r"]);
    assert!(!done.err().contains("not run"), "{}", done.err());
    let document = place.json("r");
    let trials = document["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 3, "the server twice, for the noise, and SQLite");
    assert!(trials.iter().all(|trial| trial["valid"] == true), "{trials:?}");
}

/// The whole of a preset, beside what was estimated before it began. How far that was off is told, and
/// judged where the machine is quiet: a busy one takes longer.
#[test]
#[ignore = "slow: make test-slow"]
fn a_preset_takes_no_less_than_its_trials_and_tells_its_estimate_beside_that() {
    if !super::on_disks::can_mount() {
        return;
    }
    let place = super::Place::new();
    place.run(&["run", "fileio", "--quick", "--out", "r"]).code(0);
    let document = place.json("r");
    let run = &document["run"];
    let [estimated, started, ended] = ["estimated_s", "started_s", "ended_s"]
        .map(|moment| run[moment].as_f64().expect("it is known"));
    let trials = document["trials"].as_array().expect("trials");
    let valid = trials.iter().filter(|trial| trial["valid"] == true).count();
    assert_eq!(run["planned"], valid, "all that was planned was run");
    // Neither is shorter than the time of the clients alone.
    let clients = valid as f64 * run["seconds"].as_f64().expect("it is known");
    let took = ended - started;
    assert!(clients > 0.0 && took >= clients && estimated >= clients, "{clients} s of {took} s");
    println!("estimated at {estimated:.0} s, it took {took:.0} s");
}
