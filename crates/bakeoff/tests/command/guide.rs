//! The guide says what the engines and the disks say.

use bakeoff_devices::models::Models;
use bakeoff_engines::EngineHome;
use bakeoff_experiment::{Experiment, Factor, FlagOverrides};

use super::{Done, Place};

const DISKS: &str = include_str!("../../../../docs/disks.md");
const ENGINES: &str = include_str!("../../../../docs/engines.md");
const EXPERIMENTS: &str = include_str!("../../../../docs/experiments.md");
const README: &str = include_str!("../../../../README.md");

#[test]
fn the_tables_of_the_guide_are_the_programs_own() {
    let (mut promises, mut engines) = (String::new(), String::new());
    for engine in bakeoff_engines::ENGINES {
        let about = engine.about();
        for alike in about
            .promises
            .chunk_by(|one, next| (one.settings, one.source) == (next.settings, next.source))
        {
            let levels: Vec<String> =
                alike.iter().map(|it| format!("`{}`", it.durability.name())).collect();
            let settings =
                alike[0].settings.map_or("can't be had".into(), |text| format!("`{text}`"));
            let (levels, source) = (levels.join(", "), alike[0].source);
            promises += &format!("- {} {levels}: {settings}; {source}\n", about.name);
        }
        // What every server has, the page tells once.
        let declared = engine.options().into_iter().map(|option| option.factor);
        let declared = declared.filter(|option| option.name != "path");
        let declared = declared
            .map(|option| format!("`{}`: {} ({})", option.name, option.summary, option.syntax));
        let settings = engine.takes_settings().then(|| match about.home {
            EngineHome::Server => "those of all servers".to_owned(),
            EngineHome::Process | EngineHome::External => "its settings by their names".to_owned(),
        });
        let options: Vec<String> = declared.chain(settings).collect();
        let options = if options.is_empty() { "none".into() } else { options.join("; ") };
        let (name, summary) = (about.name, about.summary);
        engines += &format!("- [`{name}`]({}): {summary}. Options: {options}\n", page_of(name));
    }
    let row = |name: &str, summary: &str| format!("| `{name}` | {summary} |\n");
    let arrivals = bakeoff_load::ARRIVALS.iter().map(|it| row(it.name, it.summary)).collect();
    let planners = &bakeoff_lab::planner::PLANNERS;
    let planners: String = planners.iter().map(|it| row(it.name, it.summary)).collect();
    for (page, text, rows) in [
        ("durability", include_str!("../../../../docs/durability.md"), promises),
        ("engines", ENGINES, engines),
        ("experiments", EXPERIMENTS, arrivals),
        ("experiments", EXPERIMENTS, planners),
    ] {
        assert!(text.contains(&rows), "docs/{page}.md should hold these rows:\n{rows}");
    }
    for disk in Models::standard().list_models().into_iter().map(|it| it.name) {
        assert!(DISKS.contains(&format!("\n- `{disk}`: ")), "docs/disks.md has no line of {disk}");
    }
    let options = bakeoff_lab::Registry::standard().vocabulary().option_factors(None);
    let names: Vec<&str> = options.into_iter().map(Factor::name).collect();
    assert!(names.contains(&"compression") && names.contains(&"rpm"), "{names:?}");
    for name in names {
        let quoted = format!("`{name}`");
        let is_there = [ENGINES, DISKS].iter().any(|page| page.contains(&quoted));
        assert!(is_there, "neither docs/engines.md nor docs/disks.md tells of {quoted}");
    }
}

#[test]
fn each_row_of_the_page_on_security_names_a_test_that_is_there() {
    let page = include_str!("../../../../docs/security.md");
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (_, below) = page.split_once("\n## Who may read what\n").expect("the first of its lists");
    let (lists, _) = below.split_once("\n## Not protected\n").expect("the end of these");
    let rows = lists.split("\n- ").skip(1);
    let rows = rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut count = 0;
    for row in rows {
        let named =
            row.split_once(".rs`: `").unwrap_or_else(|| panic!("a row names no test: {row}"));
        let file = format!("{}.rs", named.0.rsplit('`').next().unwrap());
        let test = named.1.split('`').next().unwrap();
        let source = std::fs::read_to_string(crates.join(&file)).unwrap_or_default();
        assert!(source.contains(&format!("fn {test}(")), "{file} has no test {test}: {row}");
        count += 1;
    }
    assert!(count > 50, "{count}");
}

/// Where an engine's own page is, below docs.
fn page_of(engine: &str) -> String {
    format!("engines/{}.md", engine.replace(':', "-"))
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
    let place = Place::new();
    place.write("mine.toml", "workload = \"redmine\"\ndurability = [\"strict\", \"relaxd\"]\n");
    let printed = place.typed("run mine.toml").code(2).err();
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
    assert!(README.lines().count() <= 90, "{} lines", README.lines().count());
    let (_, picture) = README.split_once("![").expect("a picture");
    let (_, path) = picture.split_once("](").expect("its path");
    let (path, _) = path.split_once(')').expect("the end of its path");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bytes = std::fs::read(root.join(path)).expect("the picture");
    assert!(bytes.starts_with(b"\x89PNG"), "{path} is no PNG");
    let made = std::fs::read_to_string(root.join("ci/picture")).expect("the command");
    assert!(made.contains(path), "ci/picture does not make {path}");
}

/// The example with a URL, after what the page on engines says that the server needs.
#[test]
fn the_example_with_a_url_runs_as_it_is_written() {
    if !super::servers::installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, theirs) = (Place::new(), super::elsewhere::Theirs::start_with(&[]));
    let sql = ENGINES.split("```sql\n").nth(1).expect("what the server needs");
    theirs.must(sql.split("-- PostgreSQL").next().expect("MySQL's part"));
    let mut runs = README.lines().filter(|line| line.starts_with("bakeoff run "));
    let example = runs.find(|line| line.contains("mysql://")).expect("the example");
    let (words, told) = example.split_once(" #").expect("it says a time");
    let words: Vec<&str> = words.split_whitespace().skip(1).collect();
    let host = format!("localhost/db?socket={}", theirs.socket().display());
    let words: Vec<String> = words.iter().map(|word| word.replace("host/db", &host)).collect();
    let password = README.lines().find_map(|line| line.strip_prefix("export MYSQL_PWD="));
    let password = password.expect("it is not in the URL");
    let run = |more: &[&str]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = place.command(&[&words[..], more].concat());
        Done(command.env("MYSQL_PWD", password).output().unwrap()).code(0)
    };
    let planned = run(&["--dry-run"]);
    let (told, planned_s) = (seconds(told).expect("a time"), estimated(&planned.out()));
    assert!((0.8..1.25).contains(&(told / planned_s)), "{told} s: {}", planned.out());
    // Nothing is in its way.
    assert!(planned.err().starts_with("a server by URL is run as it is: "), "{}", planned.err());
    assert_eq!(planned.err().lines().count(), 1, "{}", planned.err());
    let short = "--seconds 0.5 --repetitions 1 --noise-floor false --out r";
    let done = run(&super::words(short));
    assert!(!done.err().contains("not run"), "{}", done.err());
    let document = place.json("r");
    let trials = document["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2, "the server and SQLite");
    assert!(trials.iter().all(|trial| trial["valid"] == true), "{trials:?}");
}

/// The whole of a preset, with short trials, beside what was estimated before it began. How far that was off is told, and
/// judged where the machine is quiet: a busy one takes longer.
#[test]
#[ignore = "slow: make test-slow"]
fn a_preset_takes_no_less_than_its_trials_and_tells_its_estimate_beside_that() {
    if !super::on_disks::can_mount() {
        return;
    }
    let place = Place::new();
    place.typed("run fileio --quick --seconds 0.5 --out r").code(0);
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
