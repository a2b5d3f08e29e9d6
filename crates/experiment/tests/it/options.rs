//! Options of engines and parameters of disks, as factors.

use bakeoff_engines::EngineOption;
use bakeoff_experiment::{Declared, Engines, Factor, OptionFactor, Vocabulary, WorkloadNames};

use crate::common::{
    self, FILES, NamedEngine, assert_has, check_messages, good_with, load, wrong_with,
};

const BOTH: &str = "workload = \"redmine\"\nengine = [\"pages\", \"trees\", \"plain\"]\n";

static OF_PAGES: Declared = Declared {
    name: "compression",
    summary: "of pages",
    syntax: "none or zlib",
    default: "none",
    canonical: &|text| one_of(text, &["none", "zlib"]),
};
static OF_TREES: Declared = Declared {
    syntax: "none or zstd",
    canonical: &|text| one_of(text, &["none", "zstd"]),
    ..OF_PAGES
};
static TAGS: Declared = Declared { name: "tags", ..OF_PAGES };

fn one_of(text: &str, valid: &[&str]) -> Result<String, String> {
    let text = text.to_lowercase();
    let wrong = || format!("`{text}` is no compression\nvalid: {}", valid.join(", "));
    if valid.contains(&&*text) { Ok(text) } else { Err(wrong()) }
}

/// Two engines that declare one option, each with levels of its own, and the disks that there are.
fn vocabulary() -> Vocabulary {
    let option = |factor| EngineOption { factor, trust: None };
    let engines = [
        NamedEngine::new("pages", vec![option(&OF_PAGES)]),
        NamedEngine::new("trees", vec![option(&OF_TREES)]),
        NamedEngine::new("plain", Vec::new()),
        NamedEngine::new("queue", vec![option(&TAGS)]),
    ];
    Vocabulary {
        engines: Engines::new(engines.map(NamedEngine::registered)),
        ..common::vocabulary()
    }
}

/// The option of that name.
fn option(name: &str) -> Factor {
    let mut all = vocabulary().option_factors(None).into_iter();
    all.find(|option| option.name() == name).expect("it is declared")
}

#[test]
fn an_option_that_several_declare_is_one_factor() {
    let Factor::Option(compression) = option("compression") else { panic!("it is an option") };
    assert_eq!(compression.declarers(), ["pages", "trees"]);
    assert_eq!(compression.syntax, "none or zlib; or none or zstd");
    assert_eq!((&*compression.summary, &*compression.default), ("of pages", "none"));
    let toml = format!("{BOTH}compression = [\"none\", \"ZLIB\", \"zstd\"]\n");
    let experiment = good_with(&toml, "", &vocabulary());
    assert_eq!(experiment.run_levels(option("compression")), ["none", "zlib", "zstd"]);
    assert_eq!(experiment.plan().blocks[0].trials.len(), 3);
    assert_eq!(experiment.plan().count_trials(), 45);
}

/// What is added to an experiment, and the options of its first block's trials that are not left as
/// they are.
#[test]
fn a_cell_has_the_options_that_are_given() {
    for (more, factor, given) in [
        ("", None, [None, None, None].to_vec()),
        ("compare = \"compression\"\n", Some("default"), vec![None]),
        (
            "compare = \"compression\"\ncompression = [\"default\", \"zlib@x\"]\n",
            Some("default zlib@x"),
            vec![None, Some("compression=zlib")],
        ),
    ] {
        let experiment = good_with(&format!("{BOTH}{more}"), "", &vocabulary());
        let levels = experiment.factors.get(&option("compression")).map(|it| it.join(" "));
        assert_eq!(levels.as_deref(), factor, "{more}");
        let cells = experiment.plan().blocks[0].trials.clone().into_iter();
        let option = |(option, level): (&OptionFactor, &str)| format!("{}={level}", option.name);
        let mut options: Vec<_> = cells.map(|it| it.cell.options().next().map(option)).collect();
        options.sort();
        assert_eq!(options.iter().map(Option::as_deref).collect::<Vec<_>>(), given);
    }
}

#[test]
fn a_parameter_of_disks_is_a_factor_of_workloads_that_have_disks() {
    for (disk, compare) in [
        ("disk = [\"hdd-7200\", \"ssd-sata\", \"mine\"]", Factor::DISK),
        // It alone has several levels.
        ("disk = \"mine\"", option("rpm")),
    ] {
        let mine = "[disks.mine]\nmodel = \"hdd-7200\"\n";
        let toml = format!("{FILES}{disk}\nrpm = [5400, 7200]\n{mine}");
        let experiment = good_with(&toml, "", &vocabulary());
        assert_eq!(experiment.run_levels(option("rpm")), ["5400", "7200"]);
        assert_eq!(experiment.compare, compare);
    }
    // It means the disk's where no engine has it, and the engine's where no disk has it.
    good_with(&format!("{FILES}disk = \"hdd-7200\"\ntags = 32\n"), "", &vocabulary());
    let queue = "workload = \"redmine\"\nengine = [\"queue\", \"plain\"]\ntags = \"zlib\"\n";
    good_with(queue, "", &vocabulary());
}

#[test]
fn what_is_wrong_with_an_option_is_told_at_its_place() {
    check_messages(include_str!("options.txt"), &vocabulary());
}

#[test]
fn a_name_that_workload_and_engine_declare_is_refused_where_it_is_given() {
    let mut vocabulary = vocabulary();
    let WorkloadNames { factors, .. } = &mut vocabulary.workloads[0];
    factors.push(Factor::Declared(&OF_PAGES));
    let silent = "workload = \"redmine\"\nengine = \"pages\"\n";
    // Nobody has to tell what it means.
    assert!(load(silent, "", &vocabulary).is_ok());
    let given = format!("{silent}compression = \"zlib\"\n");
    let said = "the workload `redmine` declares it, and so does the engine `pages`";
    assert_has(&wrong_with(&given, "", &vocabulary), &[said]);
    // The workload's alone.
    good_with(&given.replace("pages", "plain"), "", &vocabulary);
}

#[test]
fn what_can_not_be_a_factors_name_is_told_with_who_declares_it() {
    static CLIENTS: Declared = Declared { name: "clients", ..OF_PAGES };
    let option = EngineOption { factor: &CLIENTS, trust: None };
    let engines = Engines::new([NamedEngine::new("mine", vec![option]).registered()]);
    let problems = Vocabulary { engines, ..vocabulary() }.find_problems();
    assert_eq!(
        problems,
        ["the name of the declared factor `clients` is taken: the engine `mine` declares it; \
             rename it there"]
    );
    assert_eq!(vocabulary().find_problems(), Vec::<String>::new());
}
