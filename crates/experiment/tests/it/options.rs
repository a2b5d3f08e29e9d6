//! Options of engines and parameters of disks, as factors.

use std::sync::Arc;

use bakeoff_experiment::{
    Declared, DeviceProblem, DeviceTable, DiskModels, Disks, EngineNames, Engines, Experiment,
    Factor, FlagOverrides, ParameterNames, SettingPermission, Variant, Vocabulary, WorkloadNames,
};

use crate::common::{self, FILES, assert_under, load_with, message_with};

const BOTH: &str = "workload = \"redmine\"\nengine = [\"pages\", \"trees\", \"plain\"]\n";

static OF_PAGES: Declared = Declared {
    name: "compression",
    summary: "of pages",
    syntax: "none or zlib",
    default: "none",
    canonical: |text| one_of(text, &["none", "zlib"]),
};
static OF_TREES: Declared = Declared {
    syntax: "none or zstd",
    canonical: |text| one_of(text, &["none", "zstd"]),
    ..OF_PAGES
};
static PATH: Declared = Declared {
    name: "path",
    summary: "where its programs are",
    syntax: "FOLDER",
    default: "default",
    canonical: |text| Ok(text.to_owned()),
};
static TAGS: Declared = Declared { name: "tags", ..OF_PAGES };

fn one_of(text: &str, valid: &[&str]) -> Result<String, String> {
    let text = text.to_lowercase();
    let wrong = || format!("`{text}` is no compression\nvalid: {}", valid.join(", "));
    if valid.contains(&&*text) { Ok(text) } else { Err(wrong()) }
}

/// Two engines that declare one option, each with levels of its own, and disks with parameters.
fn vocabulary() -> Vocabulary {
    let engine = |(name, options): (&str, &[&'static Declared])| EngineNames {
        name: name.to_owned(),
        options: options.to_vec(),
        takes_settings: false,
        stores: true,
    };
    let engines: [(&str, &[&'static Declared]); 4] = [
        ("pages", &[&OF_PAGES, &PATH]),
        ("trees", &[&OF_TREES]),
        ("plain", &[]),
        ("queue", &[&TAGS]),
    ];
    let url = |_: &str| Err("no URL".to_owned());
    let standing = |_: &str, _: &str, _: &str| SettingPermission::Reserved;
    Vocabulary {
        engines: Engines::new(
            engines.map(engine).into(),
            url,
            Arc::new(variant),
            Arc::new(standing),
        ),
        disks: Disks::new(Spinning),
        ..common::vocabulary()
    }
}

/// A level `NAME` or `NAME/compression=…`, with options more.
fn variant(text: &str, options: &[(&str, &str)]) -> Result<Variant, String> {
    let (name, of_level) = text.split_once('/').map_or((text, None), |(name, it)| (name, Some(it)));
    for (_, value) in options.iter().filter(|(option, _)| *option == "compression") {
        let declared = if name == "pages" { &OF_PAGES } else { &OF_TREES };
        (declared.canonical)(value)?;
    }
    let level = of_level.map_or_else(|| name.to_owned(), |option| format!("{name}/{option}"));
    let trusts = options.iter().filter(|(option, _)| *option == "path");
    let trusts = trusts.map(|(option, _)| ((*option).to_owned(), "runs programs".to_owned()));
    Ok(Variant { level, settings: Vec::new(), trusts: trusts.collect() })
}

/// `disk` has the parameters `rpm`, up to 10000, and `tags`; `card` has none.
struct Spinning;

impl Spinning {
    fn rpm(text: &str) -> Option<Result<String, String>> {
        let read = text.parse::<u32>().map(|rpm| rpm.to_string());
        let wrong = || format!("rpm is `{text}`, and must be a whole number\nwrite 7200");
        Some(read.map_err(|_| wrong()))
    }
}

impl DiskModels for Spinning {
    fn names(&self) -> Vec<String> {
        ["disk", "card"].map(str::to_owned).into()
    }

    fn example(&self) -> String {
        "card".to_owned()
    }

    fn level(&self, text: &str) -> Result<String, String> {
        let known = ["disk", "card"].contains(&text) || text.starts_with("disk/rpm=");
        if known { Ok(text.to_owned()) } else { Err("no such disk".to_owned()) }
    }

    fn check(&self, device: &DeviceTable) -> Result<(), Vec<DeviceProblem>> {
        let rpm = device.get("rpm").map(|rpm| rpm.to_string().replace('"', ""));
        if rpm.is_none_or(|rpm| rpm.parse::<u32>().is_ok_and(|rpm| rpm <= 10_000)) {
            return Ok(());
        }
        let message = "no such disk can be: its rpm is above 10000\nvalid: up to 10000".to_owned();
        Err(vec![DeviceProblem { key: Some("rpm".to_owned()), message }])
    }

    fn parameters(&self) -> Vec<ParameterNames> {
        let names = |name: &str| ParameterNames {
            model: "disk".to_owned(),
            name: name.to_owned(),
            syntax: "a whole number".to_owned(),
        };
        ["rpm", "tags"].map(names).into()
    }

    fn value(&self, parameter: &str, text: &str) -> Option<Result<String, String>> {
        if ["rpm", "tags"].contains(&parameter) { Self::rpm(text) } else { None }
    }

    fn parameters_of(&self, device: &DeviceTable) -> Vec<(String, bool)> {
        let model = device["model"].as_str().unwrap_or_default();
        let given = |name: &str| {
            let is_given = device.contains_key(name) || model.contains(&format!("/{name}="));
            (name.to_owned(), is_given)
        };
        if model.starts_with("disk") { ["rpm", "tags"].map(given).into() } else { Vec::new() }
    }
}

fn load(toml: &str) -> Experiment {
    load_with(toml, &FlagOverrides::default(), &vocabulary())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn flag(text: &str) -> FlagOverrides {
    FlagOverrides { named: vec![text.to_owned()], ..FlagOverrides::default() }
}

fn wrong(toml: &str) -> String {
    message_with(toml, &FlagOverrides::default(), &vocabulary())
}

/// The option of that name.
fn option(name: &str) -> Factor {
    let all = vocabulary().options(None).into_iter();
    all.into_iter().find(|option| option.name() == name).expect("it is declared")
}

#[test]
fn an_option_that_several_declare_is_one_factor() {
    let Factor::Option(compression) = option("compression") else { panic!("it is an option") };
    assert_eq!(compression.declarers(), ["pages", "trees"]);
    assert_eq!(compression.syntax, "none or zlib; or none or zstd");
    assert_eq!((&*compression.summary, &*compression.default), ("of pages", "none"));
    let experiment = load(&format!("{BOTH}compression = [\"none\", \"ZLIB\", \"zstd\"]\n"));
    assert_eq!(experiment.levels(option("compression")), ["none", "zlib", "zstd"]);
    assert_eq!(experiment.plan().blocks[0].trials.len(), 3);
    assert_eq!(experiment.plan().trials(), 45);
    let again = load_with(&experiment.to_toml(), &FlagOverrides::default(), &vocabulary());
    assert_eq!(again.ok(), Some(experiment));
}

#[test]
fn an_option_that_nobody_names_is_no_factor_of_the_experiment() {
    let experiment = load(BOTH);
    assert!(experiment.factors.keys().all(|factor| Factor::OWN.contains(factor)));
    assert_eq!(experiment.plan().blocks[0].trials[0].cell.options().count(), 0);
    let compared = load(&format!("{BOTH}compare = \"compression\"\n"));
    assert_eq!(compared.levels(option("compression")), ["default"]);
}

#[test]
fn a_cell_has_the_options_that_are_not_left_as_they_are() {
    let toml =
        format!("{BOTH}compare = \"compression\"\ncompression = [\"default\", \"zlib@x\"]\n");
    let experiment = load(&toml);
    let given: Vec<Option<String>> = experiment.plan().blocks[0]
        .trials
        .iter()
        .map(|trial| {
            trial.cell.options().next().map(|(option, level)| format!("{}={level}", option.name))
        })
        .collect();
    assert_eq!(given.len(), 2);
    assert!(given.contains(&None) && given.contains(&Some("compression=zlib".to_owned())));
}

#[test]
fn a_parameter_of_disks_is_a_factor_of_workloads_that_have_disks() {
    let toml = format!(
        "{FILES}disk = [\"disk\", \"card\", \"mine\"]\nrpm = [5400, 7200]\n\
                        [disks.mine]\nmodel = \"disk\"\n"
    );
    let experiment = load(&toml);
    assert_eq!(experiment.levels(option("rpm")), ["5400", "7200"]);
    let alone = load(&format!("{FILES}disk = \"disk\"\nrpm = [5400, 7200]\n"));
    assert_eq!(alone.compare, option("rpm"), "it alone has several levels");
    let said = wrong(&format!("{FILES}disk = \"disk\"\ncompression = \"zlib\"\n"));
    assert!(said.contains("the workload `files` has no factor `compression`"), "{said}");
}

#[test]
fn a_wrong_level_is_told_at_its_place() {
    let file = wrong(&format!("{BOTH}compression = [\"none\", \"lz4\"]\n"));
    let line = "compression = [\"none\", \"lz4\"]";
    assert_under(&file, "`lz4` is no compression", line, "\"lz4\"");
    assert!(file.contains("help: valid: none, zlib"), "{file}");
    // Another engine's than the experiment's.
    let toml = "workload = \"redmine\"\nengine = \"trees\"\n";
    let other = wrong(&format!("{toml}compression = \"zlib\"\n"));
    assert_under(&other, "`zlib` is no compression", "compression = \"zlib\"", "\"zlib\"");
    assert!(other.contains("help: valid: none, zstd"), "{other}");
    let flag = message_with(BOTH, &flag("compression=zlib,gzip"), &vocabulary());
    assert_under(&flag, "`gzip` is no compression", "--factor compression=zlib,gzip", "gzip");
    let many = wrong(&format!("{FILES}disk = \"disk\"\nrpm = [7200, 20000]\n"));
    assert_under(&many, "no such disk can be", "rpm = [7200, 20000]", "20000");
    let word = wrong(&format!("{FILES}disk = \"disk\"\nrpm = 1.5\n"));
    assert_under(&word, "rpm is `1.5`, and must be a whole number", "rpm = 1.5", "1.5");
}

#[test]
fn a_misspelt_option_is_told_with_the_nearest() {
    let key = wrong(&format!("{BOTH}compresion = \"zlib\"\n"));
    assert_under(&key, "unknown key `compresion`", "compresion = \"zlib\"", "compresion");
    assert!(key.contains("did you mean `compression`?"), "{key}");
    assert!(key.contains("see `bakeoff list factors`"), "{key}");
    let flag = message_with(BOTH, &flag("rmp=1"), &vocabulary());
    assert!(
        flag.contains("unknown factor `rmp`") && flag.contains("did you mean `rpm`?"),
        "{flag}"
    );
}

#[test]
fn an_option_that_nothing_of_the_experiment_has_is_refused() {
    let toml = "workload = \"redmine\"\nengine = \"plain\"\ncompression = \"zlib\"\n";
    let said = wrong(toml);
    let title = "no engine of this experiment has the option `compression`";
    assert_under(&said, title, "compression = \"zlib\"", "\"zlib\"");
    assert!(said.contains("those that have it: pages, trees"), "{said}");
    let host = wrong(&format!("{FILES}rpm = 5400\n"));
    assert!(host.contains("no disk of this experiment has the option `rpm`"), "{host}");
}

#[test]
fn an_option_that_is_given_twice_is_told_at_both_places() {
    let toml = "workload = \"redmine\"\nengine = [\"pages/compression=zlib\", \"trees\"]\n\
                compression = [\"none\", \"zlib\"]\n";
    let said = wrong(toml);
    assert!(said.starts_with("error: `compression` is given twice: by the engine"), "{said}");
    for place in ["2 | engine = [\"pages/compression=zlib\"", "3 | compression = [\"none\""] {
        assert!(said.contains(place), "{place} is not in\n{said}");
    }
    let engine = "workload = \"redmine\"\nengine = \"pages/compression=zlib\"\n";
    let said = message_with(engine, &flag("compression=none"), &vocabulary());
    for place in ["my.toml:2:10", "--factor compression=none"] {
        assert!(said.contains(place), "{place} is not in\n{said}");
    }
    let own =
        format!("{FILES}disk = \"mine\"\nrpm = 5400\n[disks.mine]\nmodel = \"disk\"\nrpm = 7200\n");
    assert!(wrong(&own).contains("`rpm` is given twice: by the disk `mine`"), "{}", wrong(&own));
    let level = format!("{FILES}disk = \"disk/rpm=7200\"\nrpm = 5400\n");
    assert!(wrong(&level).contains("by the disk `disk/rpm=7200`"), "{}", wrong(&level));
}

#[test]
fn a_name_that_two_things_of_the_experiment_declare_is_refused() {
    let toml = "workload = \"redmine\"\nengine = [\"queue\", \"plain\"]\n";
    let said = wrong(&format!("{toml}disk = \"disk\"\ntags = \"none\"\n"));
    let title =
        "`tags` means two things: the engine `queue` declares it, and so does the disk `disk`";
    assert_under(&said, title, "tags = \"none\"", "\"none\"");
    assert!(said.contains("NAME/tags=VALUE"), "{said}");
    // Where one of them is not there, it means the other.
    let disk = load_with(
        &format!("{FILES}disk = \"disk\"\ntags = 32\n"),
        &FlagOverrides::default(),
        &vocabulary(),
    );
    assert!(disk.is_ok(), "{disk:?}");
    assert!(
        load_with(&format!("{toml}tags = \"zlib\"\n"), &FlagOverrides::default(), &vocabulary())
            .is_ok()
    );

    let mut vocabulary = vocabulary();
    let WorkloadNames { factors, .. } = &mut vocabulary.workloads[0];
    factors.push(Factor::Declared(&OF_PAGES));
    let with = |engine: &str| {
        let toml = format!("workload = \"redmine\"\nengine = \"{engine}\"\n");
        [toml.clone(), format!("{toml}compression = \"zlib\"\n")]
            .map(|toml| load_with(&toml, &FlagOverrides::default(), &vocabulary))
    };
    let [silent, given] = with("pages");
    assert!(silent.is_ok(), "nobody has to tell what it means");
    let said = given.expect_err("it could be either's").to_string();
    assert!(
        said.contains("the workload `redmine` declares it, and so does the engine `pages`"),
        "{said}"
    );
    assert!(with("plain")[1].is_ok(), "the workload's alone");
}

#[test]
fn an_option_that_asks_for_trust_is_had_by_a_flag_or_a_trusted_file() {
    let toml = format!("{BOTH}path = [\"default\", \"/opt/pages\"]\n");
    let said = wrong(&toml);
    assert_under(
        &said,
        "the option `path` of `pages` runs programs",
        "path = [\"default\", \"/opt/pages\"]",
        "\"/opt/pages\"",
    );
    assert!(said.contains("--factor path=LEVELS") && said.contains("--trust-experiment"), "{said}");
    let trusting = Vocabulary { trusts: true, ..vocabulary() };
    assert!(load_with(&toml, &FlagOverrides::default(), &trusting).is_ok());
    let flag = load_with(BOTH, &flag("path=default,/opt/pages"), &vocabulary());
    assert_eq!(
        flag.expect("it is the user's own").levels(option("path")),
        ["default", "/opt/pages"]
    );
}

#[test]
fn what_can_not_be_a_factors_name_is_told_with_who_declares_it() {
    static CLIENTS: Declared = Declared { name: "clients", ..OF_PAGES };
    let engine = EngineNames {
        name: "mine".to_owned(),
        options: vec![&CLIENTS],
        takes_settings: false,
        stores: true,
    };
    let url = |_: &str| Err("no URL".to_owned());
    let standing = |_: &str, _: &str, _: &str| SettingPermission::Reserved;
    let engines = Engines::new(vec![engine], url, Arc::new(variant), Arc::new(standing));
    let problems = Vocabulary { engines, ..vocabulary() }.problems();
    assert_eq!(
        problems,
        ["the name of the declared factor `clients` is taken: the engine `mine` declares it; \
             rename it there"]
    );
    assert_eq!(vocabulary().problems(), Vec::<String>::new());
}
