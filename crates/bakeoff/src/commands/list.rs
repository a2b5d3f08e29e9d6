//! `bakeoff list`: prints the engines, workloads, factors and other names to choose from.

mod settings;

use std::path::Path;

use bakeoff_experiment::{
    Declared, Experiment, Factor, FlagOverrides, HOST, LIKE, Vocabulary, WorkloadNames,
};
use bakeoff_lab::{Plan, Registry, RunEstimate};
use bakeoff_load::ARRIVALS;
use clap::ValueEnum;
use comfy_table::{ColumnConstraint, ContentArrangement, Row, Table, Width, presets};

use super::plan::round_seconds;
use crate::Lab;
use crate::cli::{self, ListTopic};
use crate::exit::{CommandFailure, Exit};
use crate::output::{by_own_name, print, table_width, wrap_text};
use crate::progress::format_span;

/// Prints one list in full, or the names of all lists, by question.
pub fn run(lab: &Lab, arguments: &cli::ListArguments) -> Result<Exit, CommandFailure> {
    match (arguments.what, &arguments.of) {
        (what, Some(of)) => {
            let table = list_factors_of(&lab.registry.vocabulary(), what, of)?;
            print(&format_table(table, table_width()))?;
        }
        (Some(what), None) => print(&build_list(&lab.registry, what, table_width()))?,
        (None, None) => print(&by_own_name(&list_names(&lab.registry)))?,
    }
    Ok(Exit::Done)
}

/// The factors of one workload. A folder has the name of its last part.
fn list_factors_of(
    vocabulary: &Vocabulary,
    what: Option<ListTopic>,
    of: &str,
) -> Result<Table, CommandFailure> {
    if what != Some(ListTopic::Factors) {
        let why = format!("only factors are listed of one workload: bakeoff list factors {of}");
        return Err(CommandFailure::new(Exit::Usage, why));
    }
    let name = Path::new(of).file_name().map_or(of.into(), |name| name.to_string_lossy());
    let known = |it: &&WorkloadNames| it.name == of || it.name == name;
    let workload = vocabulary.workloads.iter().find(known).ok_or_else(|| {
        let all: Vec<&str> = vocabulary.workloads.iter().map(|it| &*it.name).collect();
        let why = format!(
            "`{of}` is no workload and no application's folder; workloads: {}",
            all.join(", ")
        );
        CommandFailure::new(Exit::Usage, why)
    })?;
    let mut table = new_table(&["factor", "what it is"]);
    let options = vocabulary.option_factors(Some(workload));
    for factor in workload.factors.iter().copied().chain(options) {
        table.add_row([factor.name(), &describe_factor(vocabulary, factor, None)]);
    }
    if workload.has_factor(Factor::ENGINE) {
        table.add_row(SETTING_FACTORS);
    }
    Ok(table)
}

/// Those that have no names of their own here.
const SETTING_FACTORS: [&str; 2] = [
    "ENGINE.SETTING",
    "a setting of an engine, as postgres.work_mem, mariadb.sync_binlog or sqlite.page_size: its values \
     are levels of that engine\nlevels: values that the engine takes, and default\nof: engines whose levels take settings",
];

/// A line of what it is, one of its levels, one of its default, and one of who has it.
fn describe_factor(vocabulary: &Vocabulary, factor: Factor, has: Option<&str>) -> String {
    let syntax = match factor {
        Factor::Option(_) => factor.syntax().to_owned(),
        _ => by_own_name(&vocabulary.level_syntax(factor)),
    };
    let default = factor.default_level().map(|level| format!("without it: {level}"));
    let has = has.map(|has| format!("of: {has}"));
    let lines =
        [Some(factor.summary().to_owned()), Some(format!("levels: {syntax}")), default, has];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The names of all lists, below the question that each list answers.
fn list_names(registry: &Registry) -> String {
    let part = |what: &ListTopic| {
        let question = match what {
            ListTopic::Presets => "What can be run as it is?",
            ListTopic::Engines => "Which engines can be compared?",
            ListTopic::Settings => "What does bakeoff set of which engine, and why?",
            ListTopic::Workloads => "What can clients do?",
            ListTopic::Disks => "Which disks can be under the data?",
            ListTopic::Arrivals => "How can operations follow each other, where a rate is given?",
            ListTopic::Planners => "What decides how often a block is run?",
            ListTopic::Factors => "What else can be varied?",
        };
        let name = what.to_possible_value().map_or_else(String::new, |it| it.get_name().to_owned());
        format!("{question} More: bakeoff list {name}\n{}", wrap_names(&names_of(registry, *what)))
    };
    ListTopic::value_variants().iter().map(part).collect::<Vec<_>>().join("\n")
}

fn names_of(registry: &Registry, what: ListTopic) -> Vec<String> {
    let vocabulary = registry.vocabulary();
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    match what {
        ListTopic::Presets => owned(vocabulary.presets.iter().map(|it| it.name).collect()),
        ListTopic::Engines => {
            let engines = registry.engines().map(|it| it.about().name.to_owned());
            let urls = bakeoff_engines::urls::KINDS.iter().map(|(scheme, _)| format!("{scheme}…"));
            engines.chain(urls).collect()
        }
        ListTopic::Settings => settings::engines_with_settings(registry),
        ListTopic::Workloads => {
            vocabulary.workloads.iter().map(|it| (*it.name).to_owned()).collect()
        }
        ListTopic::Disks => {
            let models = registry.models().list_models().into_iter().map(|it| it.name);
            [HOST.to_owned(), format!("{LIKE}PATH")].into_iter().chain(models).collect()
        }
        ListTopic::Arrivals => owned(ARRIVALS.iter().map(|it| it.name).collect()),
        ListTopic::Planners => owned(registry.planners().iter().map(|it| it.name).collect()),
        ListTopic::Factors => {
            let mut all: Vec<String> = Vec::new();
            for factor in
                described_factors(&vocabulary).into_iter().chain(vocabulary.option_factors(None))
            {
                if all.iter().all(|known| known != factor.name()) {
                    all.push(factor.name().to_owned());
                }
            }
            all
        }
    }
}

fn wrap_names(names: &[String]) -> String {
    let mut lines = vec![String::new()];
    for (number, name) in names.iter().enumerate() {
        let comma = if number + 1 < names.len() { "," } else { "" };
        let last = lines.last_mut().expect("a line");
        let length = last.chars().count() + name.chars().count() + comma.len() + 1;
        if !last.is_empty() && length + INDENT.len() > table_width() {
            lines.push(format!("{name}{comma}"));
        } else {
            let space = if last.is_empty() { "" } else { " " };
            *last += &format!("{space}{name}{comma}");
        }
    }
    lines.into_iter().map(|line| format!("{INDENT}{line}\n")).collect()
}

const INDENT: &str = "  ";

/// Indents of an entry's first line, and of its further lines.
const INDENTS: [&str; 2] = ["  ", "      "];

fn build_list(registry: &Registry, what: ListTopic, width: usize) -> String {
    let sources = match what {
        ListTopic::Disks => format!(
            "\nWhere do their constants come from?\n{}",
            format_table(sources_table(registry), width)
        ),
        _ => String::new(),
    };
    match table_of(registry, what) {
        Some(table) => format_table(table, width) + &sources,
        None => settings::format_settings(registry, width),
    }
}

fn table_of(registry: &Registry, what: ListTopic) -> Option<Table> {
    let vocabulary = registry.vocabulary();
    Some(match what {
        ListTopic::Settings => return None,
        ListTopic::Presets => presets_table(registry, &vocabulary),
        ListTopic::Engines => engines_table(registry),
        ListTopic::Workloads => workloads_table(registry),
        ListTopic::Disks => disks_table(registry),
        ListTopic::Arrivals => arrivals_table(),
        ListTopic::Planners => planners_table(registry),
        ListTopic::Factors => factors_table(&vocabulary),
    })
}

fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    table
}

/// Breaks no word. If the words have no room beside each other, entries stand below each other.
fn format_table(mut table: Table, width: usize) -> String {
    let cells = |row: &Row| row.cell_iter().map(|cell| cell.content()).collect::<Vec<String>>();
    let header = table.header().map(cells).unwrap_or_default();
    let rows: Vec<Vec<String>> = table.row_iter().map(cells).collect();
    let longest = |text: &String| text.split_whitespace().map(|it| it.chars().count()).max();
    let least = |column: usize| {
        let all = rows.iter().chain([&header]).filter_map(|row| longest(&row[column]));
        all.max().unwrap_or(0) + AROUND
    };
    let least: Vec<usize> = (0..header.len()).map(least).collect();
    if least.iter().sum::<usize>() > width {
        return rows.iter().map(|row| format_entry(&header, row, width)).collect();
    }
    for (column, least) in table.column_iter_mut().zip(least) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least as u16)));
    }
    table.set_width(width as u16);
    format!("{table}\n")
}

const AROUND: usize = 2;

/// Makes lines of a row: its name, and below it each cell with its heading. A row without a name
/// continues the one above.
fn format_entry(header: &[String], row: &[String], width: usize) -> String {
    let line = |text: &str, indents| wrap_text(&text.replace('\n', "; "), indents, width);
    let [name, kind, rest @ ..] = row else { return row.concat() + "\n" };
    let filled = || rest.iter().filter(|text| !text.is_empty());
    if name.is_empty() {
        let mut more = filled();
        let first = more.next().map_or("", String::as_str);
        let more: String = more.map(|text| line(text, [INDENTS[1]; 2])).collect();
        return line(&format!("{kind}: {first}"), INDENTS) + &more;
    }
    if kind.is_empty() {
        return line(name, ["", INDENTS[0]])
            + &filled().map(|text| line(text, INDENTS)).collect::<String>();
    }
    let headed = header.iter().zip(row).skip(1).filter(|(_, text)| !text.is_empty());
    let headed = headed.map(|(head, text)| line(&format!("{head}: {text}"), INDENTS));
    line(name, ["", INDENTS[0]]) + &headed.collect::<String>()
}

fn presets_table(registry: &Registry, vocabulary: &Vocabulary) -> Table {
    let mut table = new_table(&["preset", "what it asks", "takes about", "with --quick"]);
    for preset in &vocabulary.presets {
        let load = |quick| {
            let changes = FlagOverrides { quick, ..FlagOverrides::default() };
            Experiment::load(preset.name, &changes, vocabulary)
        };
        let takes = |experiment: &Experiment| {
            let plan = Plan::from_experiment(registry, experiment);
            format_span(round_seconds(RunEstimate::on_files(&plan).total_s()))
        };
        let title =
            load(false).map_or_else(|error| error.to_string(), |it| registry.experiment_title(&it));
        let [whole, quick] =
            [false, true].map(|quick| load(quick).map_or_else(|_| String::new(), |it| takes(&it)));
        table.add_row([preset.name, &title, &whole, &quick]);
    }
    table
}

fn engines_table(registry: &Registry) -> Table {
    let mut table = new_table(&["engine", "durability", "its settings", "what they promise"]);
    for engine in registry.engines() {
        let about = engine.about();
        table.add_row([
            format!("{} {}", about.name, engine.version()),
            String::new(),
            about.summary.into(),
            String::new(),
        ]);
        for promise in about.promises {
            let settings = promise.settings.unwrap_or("can't be had");
            table.add_row(["", promise.durability.name(), settings, promise.source]);
        }
        for option in engine.options() {
            let Declared { name, syntax, summary, .. } = option.factor;
            table.add_row(["", "option", &format!("/{name}={syntax}"), summary]);
        }
        if engine.takes_settings() {
            table.add_row(["", "option", "/SETTING=VALUE", "any setting of it by its name"]);
        }
    }
    for (scheme, kind) in bakeoff_engines::urls::KINDS {
        let summary = format!("a database on a {kind} server that somebody else runs");
        table.add_row([
            &format!("{scheme}…"),
            "",
            &summary,
            "its owner's settings, which have to give the level",
        ]);
    }
    table
}

fn workloads_table(registry: &Registry) -> Table {
    let header = [
        "workload",
        "what it stands for",
        "operations",
        "compared by",
        "scales",
        "its own factors",
    ];
    let mut table = new_table(&header);
    for target in registry.targets() {
        for workload in target.workloads() {
            let Some(about) = target.describe_workload(&workload.name) else { continue };
            let scales = about.scales.iter().map(|(name, summary)| format!("{name}: {summary}"));
            let scales: Vec<String> = scales.collect();
            table.add_row([
                &workload.name,
                &about.summary,
                &about.operations.join("\n"),
                about.figure_of_merit.in_words(),
                &scales.join("\n"),
                &list_declared(&workload),
            ]);
        }
    }
    table
}

fn list_declared(workload: &WorkloadNames) -> String {
    let declared = workload.factors.iter().filter(|factor| !Factor::OWN.contains(factor));
    let lines: Vec<String> =
        declared.map(|factor| format!("{factor}: {}", factor.summary())).collect();
    lines.join("\n")
}

fn disks_table(registry: &Registry) -> Table {
    let mut table = new_table(&["disk", "what it is"]);
    table.add_row([HOST, "this machine's own disk, under the run folder"]);
    table.add_row([&*format!("{LIKE}PATH"), "a model with the times of the real disk at PATH"]);
    for disk in registry.models().list_models() {
        table.add_row([&disk.name, disk.summary]);
    }
    table
}

fn sources_table(registry: &Registry) -> Table {
    let mut table = new_table(&["disk", "parameters", "published values", "source"]);
    for (name, sourced) in registry.models().list_sources() {
        for parameters in sourced {
            let values = parameters.values.join(" ");
            let source = parameters.source.unwrap_or("own");
            table.add_row([&name, values.as_str(), parameters.spread, source]);
        }
    }
    table
}

fn arrivals_table() -> Table {
    let mut table = new_table(&["arrival process", "how starts follow each other"]);
    for arrivals in ARRIVALS {
        table.add_row([arrivals.name, arrivals.summary]);
    }
    table
}

fn planners_table(registry: &Registry) -> Table {
    let mut table = new_table(&["planner", "which blocks are run"]);
    for planner in registry.planners() {
        table.add_row([planner.name, planner.summary]);
    }
    table
}

fn factors_table(vocabulary: &Vocabulary) -> Table {
    let mut table = new_table(&["factor", "what it is"]);
    for factor in described_factors(vocabulary) {
        let has = |workload: &&WorkloadNames| {
            workload.factors.iter().any(|it| described_alike(*it, factor))
        };
        let workloads = vocabulary.workloads.iter().filter(has).map(|workload| &*workload.name);
        let workloads: Vec<&str> = workloads.collect();
        let workloads = match workloads.len() {
            all if all == vocabulary.workloads.len() => "all workloads".to_owned(),
            _ => workloads.join(", "),
        };
        table.add_row([factor.name(), &describe_factor(vocabulary, factor, Some(&workloads))]);
    }
    for factor in vocabulary.option_factors(None) {
        let Factor::Option(option) = factor else { continue };
        let declarers = option.declarers().join(", ");
        table.add_row([factor.name(), &describe_factor(vocabulary, factor, Some(&declarers))]);
    }
    table.add_row(SETTING_FACTORS);
    table
}

/// The lab's own factors, then the declared ones, one for each description.
fn described_factors(vocabulary: &Vocabulary) -> Vec<Factor> {
    let mut all = Vec::from(Factor::OWN);
    for factor in vocabulary.workloads.iter().flat_map(|workload| &workload.factors) {
        if !all.iter().any(|other| described_alike(*other, *factor)) {
            all.push(*factor);
        }
    }
    all
}

/// Several workloads may declare the same name with different descriptions.
fn described_alike(one: Factor, other: Factor) -> bool {
    let described = |factor: Factor| (factor.name(), factor.summary(), factor.syntax());
    described(one) == described(other)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    static DEPTH: Declared = Declared {
        name: "depth",
        summary: "how many requests are in flight",
        syntax: "1 to 1024",
        default: "1",
        canonical: &|text| Ok(text.to_owned()),
    };
    static DEPTH_OF_TREE: Declared = Declared { summary: "how deep the folders are", ..DEPTH };

    /// What is valid in fact of three workloads, with factors that two of them declare.
    fn vocabulary() -> Vocabulary {
        let mut vocabulary = Registry::standard().vocabulary();
        vocabulary.workloads.retain(|it| ["redmine", "ledger", "point"].contains(&&*it.name));
        vocabulary.workloads[0].factors = vec![Factor::DISK, Factor::Declared(&DEPTH)];
        vocabulary.workloads[1].factors.push(Factor::Declared(&DEPTH_OF_TREE));
        vocabulary
    }

    /// The first cell of each row, and its last.
    fn ends(table: &Table) -> Vec<(String, String)> {
        let ends = |row: &comfy_table::Row| {
            let cells: Vec<String> = row.cell_iter().map(|cell| cell.content()).collect();
            (cells[0].clone(), cells[cells.len() - 1].clone())
        };
        table.row_iter().map(ends).collect()
    }

    #[test]
    fn the_list_of_all_is_short_and_has_every_name() {
        let registry = Registry::standard();
        let all = list_names(&registry);
        let words: Vec<&str> = all.split([' ', ',', '\n']).collect();
        for what in ListTopic::value_variants() {
            let missing: Vec<String> = names_of(&registry, *what)
                .into_iter()
                .filter(|name| !words.contains(&&**name))
                .collect();
            assert!(missing.is_empty(), "{missing:?} in\n{all}");
        }
        assert!(words.contains(&"rpm") && words.contains(&"mysql://…"), "{all}");
        assert!(all.lines().count() <= 40, "{all}");
    }

    #[test]
    fn no_list_breaks_a_word_or_is_wider_than_the_terminal() {
        let registry = Lab::standard().registry;
        let bare = |word: &str| word.trim_end_matches([';', ':']).to_owned();
        for (what, width) in ListTopic::value_variants()
            .iter()
            .flat_map(|what| [40, 60, 80, 100].map(|width| (what, width)))
        {
            let text = build_list(&registry, *what, width);
            let is_long =
                |line: &&str| line.chars().count() > width && line.split_whitespace().count() > 1;
            assert_eq!(text.lines().find(is_long), None, "{what:?} in {width}");
            let words: BTreeSet<String> = text.split_whitespace().map(bare).collect();
            let Some(table) = table_of(&registry, *what) else { continue };
            for cell in table.row_iter().flat_map(|row| row.cell_iter()) {
                let content = cell.content();
                let broken = content.split_whitespace().map(bare).find(|it| !words.contains(it));
                assert_eq!(broken, None, "{what:?} in {width}:\n{text}");
            }
        }
    }

    /// In a preset's file its time stands in a comment; it is no shorter than what the plan says.
    #[test]
    fn presets_take_about_as_long_as_their_comments_say() {
        // With its planners.
        let registry = Lab::standard().registry;
        let vocabulary = registry.vocabulary();
        let mut told = 0;
        for preset in &vocabulary.presets {
            for line in preset.toml.lines().filter(|line| line.contains(" trials, ")) {
                let Some(minutes) = minutes(line) else { continue };
                let changes =
                    FlagOverrides { quick: line.contains("--quick"), ..FlagOverrides::default() };
                let experiment = Experiment::load(preset.name, &changes, &vocabulary).unwrap();
                let plan = Plan::from_experiment(&registry, &experiment);
                let planned = RunEstimate::on_files(&plan).total_s() / 60.0;
                let share = minutes / planned;
                assert!((0.95..1.4).contains(&share), "{}: {planned:.1} min, {line}", preset.name);
                told += 1;
            }
        }
        assert!(told >= 8, "{told} comments");
    }

    /// The minutes after the number of trials: `48 trials, 15 minutes`, `2 1/2 minutes`.
    fn minutes(line: &str) -> Option<f64> {
        let (_, after) = line.split_once(" trials, ")?;
        let (number, _) = after.split_once(" minutes")?;
        match number.strip_suffix(" 1/2") {
            Some(whole) => Some(whole.parse::<f64>().ok()? + 0.5),
            None => number.parse().ok(),
        }
    }

    #[test]
    fn factors_are_listed_with_the_workloads_that_have_them() {
        let vocabulary = vocabulary();
        let names: Vec<&str> = vocabulary.workloads.iter().map(|it| &*it.name).collect();
        let who = |(name, text): (String, String)| {
            let who = text.lines().find_map(|line| line.strip_prefix("of: "));
            (name, who.expect("it is told").to_owned())
        };
        let rows: Vec<_> = ends(&factors_table(&vocabulary)).into_iter().map(who).collect();
        let (own, others) = rows.split_at(Factor::OWN.len());
        let (declared, options) = others.split_at(2);
        for ((name, workloads), factor) in own.iter().zip(Factor::OWN) {
            let expected =
                if factor == Factor::DISK { "all workloads".into() } else { names[1..].join(", ") };
            assert_eq!((name.as_str(), workloads), (factor.name(), &expected));
        }
        let depth = |workload: &str| ("depth".to_owned(), workload.to_owned());
        assert_eq!(declared, [depth(names[0]), depth(names[1])]);
        let who = |name: &str| options.iter().find(|row| row.0 == name).map(|row| &*row.1);
        assert_eq!(who("compression"), Some("fjall, mariadb:innodb, mariadb:rocksdb, postgres"));
        assert_eq!(who("rpm"), Some("hdd-7200, hdd-5400"));
        // One of both could not be named in an experiment that has such an engine on such a disk.
        let registry = Registry::standard();
        let engines = registry.engines().filter(|engine| !engine.options().is_empty());
        let engines: Vec<&str> = engines.map(|engine| engine.about().name).collect();
        for (option, who) in options {
            let of_engines = who.split(", ").filter(|it| engines.contains(it)).count();
            let all = who.split(", ").count();
            assert!(of_engines == 0 || of_engines == all, "{option} means two things: {who}");
        }
    }

    #[test]
    fn the_factors_of_a_workload_are_those_that_an_experiment_of_it_may_have() {
        let vocabulary = Registry::standard().vocabulary();
        let of = |name: &str| {
            let table = list_factors_of(&vocabulary, Some(ListTopic::Factors), name);
            table.map(|table| ends(&table).into_iter().map(|(name, _)| name).collect::<Vec<_>>())
        };
        let redmine = of("redmine").unwrap();
        assert!(
            redmine.iter().any(|it| it == "durability") && redmine.iter().any(|it| it == "rpm")
        );
        assert!(!redmine.iter().any(|it| it == "pattern"), "{redmine:?}");
        assert!(of("fileio").unwrap().iter().any(|it| it == "pattern"));
        assert!(of("fileoi").unwrap_err().to_string().contains("redmine, "));
        let engines = list_factors_of(&vocabulary, Some(ListTopic::Engines), "redmine");
        assert_eq!(engines.err().map(|it| it.exit), Some(Exit::Usage));
    }

    #[test]
    fn workloads_are_listed_with_the_factors_that_are_declared_for_them() {
        let rows = ends(&workloads_table(&Registry::standard()));
        let (of_files, others): (Vec<_>, Vec<_>) =
            rows.iter().partition(|(name, _)| name == "fileio");
        assert!(of_files[0].1.contains("depth: requests that each client"), "{rows:?}");
        let none = ["redmine", "ledger"].map(|name| (name.to_owned(), String::new()));
        assert!(none.iter().all(|row| others.contains(&row)), "{rows:?}");
        for (name, factor) in
            [("text-oltp", "keys: how clients pick keys"), ("point", "prepared: ")]
        {
            let row = others.iter().find(|row| row.0 == name).expect("it is listed");
            assert!(row.1.contains(factor), "{rows:?}");
        }
    }
}
