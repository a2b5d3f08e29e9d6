//! The page docs/findings/fileio.md says what its run folders say: every row of its tables is made from there,
//! but for those of `make bench-io`, which leaves no run folder.

mod claims;
mod cuts;
pub mod headlines;

use std::sync::LazyLock;

use bakeoff_analysis::{CellView, Comparison, Contrast, Document, RatioIs};
use bakeoff_results::Levels;

use super::kept::{self, digits};

const PAGE: &str = include_str!("../../../../docs/findings/fileio.md");
const NONE: &str = "–";

/// One volume, and the arrays of it.
const ONE: &str = "ebs-magnetic";
const FOUR: &str = "raid10:4×ebs-magnetic";
const EIGHT: &str = "raid10:8×ebs-magnetic";
const DISKS: [&str; 3] = [ONE, FOUR, EIGHT];
/// Their columns.
const COLUMNS: &str = "ebs-magnetic | RAID-10 of 4 | RAID-10 of 8";

/// The article's files, and the same disks under an application.
static FILES: LazyLock<Document> = LazyLock::new(|| read("files"));
static APPLICATION: LazyLock<Document> = LazyLock::new(|| read("application"));

/// What a run folder of the page has to tell.
fn read(name: &str) -> Document {
    let name = format!("fileio/{name}");
    kept::read(&name, |folder| bakeoff_analysis::document(folder).unwrap())
}

/// The levels of a factor, in the plan's order.
fn levels_of<'a>(document: &'a Document, factor: &str) -> &'a [String] {
    let found = document.run.run.factors.iter().find(|(name, _)| name == factor);
    &found.expect("a factor").1
}

/// Whether these levels are among them.
fn has(levels: &Levels, wanted: &[(&str, &str)]) -> bool {
    wanted.iter().all(|(factor, level)| levels.get(*factor).is_some_and(|it| it == level))
}

/// The one cell of a disk at these levels of the other factors; `None` where none of its trials counts.
fn cell<'a>(document: &'a Document, disk: &str, at: &[(&str, &str)]) -> Option<&'a CellView> {
    let is_it = |it: &&CellView| has(&it.levels, &[("disk", disk)]) && has(&it.levels, at);
    let mut found = document.cells.iter().filter(is_it);
    let first = found.next();
    assert!(found.next().is_none(), "more cells than one of {disk} at {at:?}");
    first
}

/// Operations a second, of all kinds; `None` where there is none.
fn per_second(cell: &CellView) -> Option<f64> {
    let all: f64 = cell.operations.iter().map(|it| it.per_second).sum();
    (all > 0.0).then_some(all)
}

fn or_none(value: Option<f64>) -> String {
    value.map_or(NONE.into(), digits)
}

/// What a disk is against another one, at these levels of the others; of one operation, or of the only one that is
/// compared.
fn compared<'a>(
    document: &'a Document,
    [disk, baseline]: [&str; 2],
    operation: Option<&str>,
    at: &[(&str, &str)],
) -> Option<&'a Comparison> {
    let is_it = |it: &&Comparison| {
        let is_named = operation.is_none_or(|operation| it.operation == operation);
        is_named && it.level == disk && it.baseline == baseline && has(&it.levels, at)
    };
    document.comparisons.iter().find(is_it)
}

/// How many times as many, or as fast, it is with a disk as with another one.
fn times(
    document: &Document,
    disks: [&str; 2],
    operation: Option<&str>,
    at: &[(&str, &str)],
) -> String {
    let found = compared(document, disks, operation, at);
    // A comparison says how many times slower it is.
    let Some(it) = found.and_then(Contrast::from_comparison).map(Contrast::turned) else {
        return NONE.into();
    };
    let sign = match it.is {
        RatioIs::Exact => "",
        RatioIs::AtLeast => "≥ ",
        RatioIs::AtMost => "≤ ",
    };
    let ends = match it.ends {
        (None, None) => ", no interval".to_owned(),
        (low, high) => format!(" ({}–{})", or_none(low), or_none(high)),
    };
    format!("{sign}{}{ends}, {} blocks", digits(it.ratio), it.blocks)
}

/// A table with the names of its columns, which a bar parts.
fn table(columns: &str, rows: &[Vec<String>]) -> String {
    let number = columns.split(" | ").count();
    assert!(!rows.is_empty(), "no rows: {columns}");
    assert!(rows.iter().all(|row| row.len() == number), "{columns}: {rows:?}");
    let rows: String = rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    format!("| {columns} |\n|{}\n{rows}", "---|".repeat(number))
}

#[track_caller]
fn assert_page(lines: &str) {
    assert!(PAGE.contains(lines), "docs/findings/fileio.md should hold these lines:\n{lines}");
}

/// That the page says so, wherever its lines break.
#[track_caller]
fn assert_says(words: &str) {
    let prose = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(prose.contains(words), "docs/findings/fileio.md should say: {words}");
}

#[test]
fn what_an_array_buys_is_what_the_run_compared() {
    assert_eq!(levels_of(&FILES, "disk"), DISKS);
    for (memory, caption) in
        [("unlimited", "Memory for all of the files:"), ("25%", "Memory for a quarter:")]
    {
        let mut rows = Vec::new();
        for pattern in levels_of(&FILES, "pattern") {
            for clients in ["1", "4", "8", "16"] {
                let at = [("memory", memory), ("pattern", pattern.as_str()), ("clients", clients)];
                let Some(one) = cell(&FILES, ONE, &at) else { continue };
                // A ratio is of memory where one of its two cells is.
                let marked = |figure: String, disk: &str| {
                    let mut cells = [Some(one), cell(&FILES, disk, &at)].into_iter().flatten();
                    if cells.any(CellView::is_from_cache) { figure + ", cache" } else { figure }
                };
                let rate = marked(or_none(per_second(one)), ONE);
                let mut row = vec![format!("`{pattern}`"), clients.into(), rate];
                let array = |disk| marked(times(&FILES, [disk, ONE], None, &at), disk);
                row.extend([FOUR, EIGHT].map(array));
                rows.push(row);
            }
        }
        let table = table(&format!("pattern | clients | {COLUMNS}"), &rows);
        assert_page(&format!("{caption}\n\n{table}"));
    }
}

#[test]
fn what_came_from_a_disk_is_what_the_run_counted() {
    let mut rows = Vec::new();
    for memory in levels_of(&FILES, "memory") {
        for pattern in levels_of(&FILES, "pattern") {
            let at =
                [("memory", memory.as_str()), ("pattern", pattern.as_str()), ("clients", "16")];
            let parts = DISKS.map(|disk| cell(&FILES, disk, &at)?.from_disk);
            // A pattern that only writes has no row.
            if parts.iter().any(Option::is_some) {
                let mut row = vec![format!("`{pattern}`"), memory.clone()];
                let percent = |part: f64| format!("{:.1} %", part * 100.0);
                row.extend(parts.map(|part| part.map_or(NONE.into(), percent)));
                rows.push(row);
            }
        }
    }
    assert_page(&table(&format!("pattern | memory | {COLUMNS}"), &rows));
}

/// What the modelled disk serves of the same reads by its model alone, a second.
fn limit(disk: &str, clients: &str, at: &[(&str, &str)]) -> Option<f64> {
    let sweep = FILES.sweep.as_ref().filter(|it| it.factor == "clients")?;
    let place = sweep.levels.iter().position(|it| it.level == clients)?;
    let panel = sweep.panels.iter().find(|it| has(&it.levels, at))?;
    panel.series.iter().find(|it| it.level == disk)?.points[place].limit
}

#[test]
fn reads_over_threads_stand_beside_the_models_limit() {
    let clients = levels_of(&FILES, "clients");
    let reads = [("memory", "25%"), ("pattern", "randread")];
    let figure = |disk: &str, clients: &str| {
        let at = [reads[0], reads[1], ("clients", clients)];
        let rate = or_none(cell(&FILES, disk, &at).and_then(per_second));
        let limit = limit(disk, clients, &reads);
        limit.map_or(rate.clone(), |limit| format!("{rate} of {}", digits(limit)))
    };
    let rows = DISKS.map(|disk| {
        let mut row = vec![format!("`{disk}`")];
        row.extend(clients.iter().map(|clients| figure(disk, clients)));
        row
    });
    assert_page(&table(&format!("disk | {}", clients.join(" | ")), &rows));
}

#[test]
fn an_application_gains_what_its_run_compared() {
    // One volume is entered twice, to see what it differs from itself.
    assert_eq!(levels_of(&APPLICATION, "disk")[..DISKS.len()], DISKS);
    let mut cases: Vec<(&str, &Levels)> = Vec::new();
    for it in APPLICATION.comparisons.iter().filter(|it| it.baseline == ONE) {
        let case = (it.operation.as_str(), &it.levels);
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    let row = |(operation, levels): &(&str, &Levels)| {
        let at: Vec<(&str, &str)> = levels.iter().map(|(it, level)| (&**it, &**level)).collect();
        let one = cell(&APPLICATION, ONE, &at);
        let its = one.and_then(|it| it.operations.iter().find(|it| it.name == *operation));
        let mean = its.and_then(|it| it.mean_s).map(|mean| format!("{} ms", digits(mean * 1e3)));
        let mut row = vec![
            format!("`{}`", levels["engine"]),
            levels["durability"].clone(),
            (*operation).into(),
            mean.unwrap_or(NONE.into()),
        ];
        let judged = |disk| {
            let (disks, operation) = ([disk, ONE], Some(*operation));
            let times = times(&APPLICATION, disks, operation, &at);
            let verdict = compared(&APPLICATION, disks, operation, &at).map(|it| it.verdict.word());
            format!("{times}, {}", verdict.unwrap_or(NONE))
        };
        row.extend([FOUR, EIGHT].map(judged));
        row
    };
    let rows: Vec<Vec<String>> = cases.iter().map(row).collect();
    assert_page(&table(&format!("engine | level | operation | {COLUMNS}"), &rows));
}

/// How many of a run's trials count.
fn trials(document: &Document) -> String {
    let (all, planned) = (document.trials.len(), document.run.run.planned);
    let valid = document.trials.iter().filter(|it| it.valid).count();
    let aside = match all - valid {
        0 => "none was set aside".to_owned(),
        more => format!("{more} more were set aside and run again"),
    };
    format!("{valid} of {planned} trials count, {aside}")
}

#[test]
fn how_many_trials_count_and_how_long_each_run_took_is_told() {
    assert_says(&trials(&FILES));
    assert_says(&trials(&APPLICATION));
    for (command, document) in [
        ("bakeoff run articles/fileio", &FILES),
        ("bakeoff run redmine --quick", &APPLICATION),
        ("bakeoff run docs/findings/fileio-cuts.toml", &cuts::CUTS),
    ] {
        let run = &document.run;
        let took = digits((run.ended_s.expect("it ended") - run.run.started_s) / 60.0);
        let line = PAGE.lines().find(|line| line.starts_with(command)).expect(command);
        assert!(line.contains(&format!("# {took} min")), "it took {took} min: {line}");
    }
}

#[test]
fn how_far_rates_were_off_is_told() {
    let off = kept::rates_by_latency(&[&FILES, &cuts::CUTS]);
    assert_says(&format!("in single trials they were {off}"));
}

#[test]
fn what_could_mislead_is_named() {
    let all: Vec<&Comparison> = FILES.comparisons.iter().chain(&FILES.between).collect();
    let decided = all.iter().filter(|it| it.verdict.is_decided()).count();
    assert_says(&format!("Of the {} comparisons of `files` {decided} are decided", all.len()));
    for (name, document) in
        [("files", &FILES), ("application", &APPLICATION), ("cuts", &cuts::CUTS)]
    {
        let start = format!("Of `{name}`: ");
        let entry = PAGE.split("\n- ").find(|entry| entry.starts_with(&start));
        let entry = entry.unwrap_or_else(|| panic!("docs/findings/fileio.md has no `{start}`"));
        let entry = entry.split_whitespace().collect::<Vec<_>>().join(" ");
        for warning in &document.warnings {
            let named = format!("{} ({})", warning.kind.code(), warning.kind.weight().name());
            assert!(entry.contains(&named), "`{start}` should name {named}: {warning}");
        }
    }
}
