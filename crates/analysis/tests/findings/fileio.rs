//! docs/findings/fileio.md and mount-options.md: one volume and arrays of it, and what options of ext4 buy and leave.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bakeoff_analysis::{
    CellView, CutFindings, Document, PromiseView, PublishedStatement, RatioShape, RuleView,
};
use bakeoff_results::Levels;

use crate::figures::{Times, digits, or_dash, span};
use crate::kept::{Place, cell, compared, has, levels_of, operation, read};
use crate::page::{check_file, check_page, check_warnings, csv, fill, table};

/// One volume, and the arrays of it.
const ONE: &str = "ebs-magnetic";
const FOUR: &str = "raid10:4×ebs-magnetic";
const EIGHT: &str = "raid10:8×ebs-magnetic";
const DISKS: [&str; 3] = [ONE, FOUR, EIGHT];
const ARRAYS: &[&str] = &[FOUR, EIGHT];
/// Their columns.
const COLUMNS: &str = "ebs-magnetic | RAID-10 of 4 | RAID-10 of 8";
/// The levels of memory in which all files fit, and a quarter.
const CACHED: &str = "unlimited";
const UNCACHED: &str = "25%";

/// The article's files, the same disks under an application, and the run of docs/findings/fileio-cuts.toml.
static FILES: LazyLock<Document> = LazyLock::new(|| read("findings/fileio/files"));
static APPLICATION: LazyLock<Document> = LazyLock::new(|| read("findings/fileio/application"));
static CUTS: LazyLock<Document> = LazyLock::new(|| read("findings/fileio/cuts"));

fn on<'a>(document: &'a Document, disk: &str, at: &Place<'_>) -> Option<&'a CellView> {
    cell(document, &[&[("disk", disk)], at].concat())
}

/// Operations a second, of all kinds; `None` where there is none.
fn per_second(cell: &CellView) -> Option<f64> {
    let all: f64 = cell.operations.iter().map(|it| it.per_second).sum();
    (all > 0.0).then_some(all)
}

/// How many times as many there are with a disk as with another one.
fn times(document: &Document, disks: [&str; 2], at: &Place<'_>) -> String {
    Times::from_comparison(compared(document, disks, None, at).expect("it was compared"))
        .plain_of(3)
}

/// What says a claim of the article: memory, pattern and disks, the factor of which the base has another level, and
/// whether the model of the disk assumes it, or it follows from what that assumes.
type Claim = (&'static str, &'static str, &'static [&'static str], &'static str, bool);

/// Each with the names of its figures.
const CLAIMS: [(Claim, &str, &str); 6] = [
    ((CACHED, "randread", ARRAYS, "disk", false), "fileio: claim 1", "fileio: claim 1, range"),
    ((CACHED, "randwrite", ARRAYS, "disk", false), "fileio: claim 2", "fileio: claim 2, range"),
    ((UNCACHED, "randread", &[ONE], "clients", true), "fileio: claim 3", "fileio: claim 3, range"),
    ((UNCACHED, "randread", &[FOUR], "disk", true), "fileio: claim 4", "fileio: claim 4, range"),
    ((UNCACHED, "randread", &[EIGHT], "disk", true), "fileio: claim 5", "fileio: claim 5, range"),
    ((UNCACHED, "randwrite", ARRAYS, "disk", false), "fileio: claim 6", "fileio: claim 6, range"),
];

/// The published figures that say a claim.
fn statements((memory, pattern, disks, over, _): Claim) -> Vec<&'static PublishedStatement> {
    let published = FILES.published.as_ref().expect("the article's figures");
    let is_its = |it: &&PublishedStatement| {
        let at = |disk| [("memory", memory), ("pattern", pattern), ("disk", disk)];
        disks.iter().any(|disk| has(&it.levels, &at(disk))) && it.base.contains_key(over)
    };
    published.statements.iter().filter(is_its).collect()
}

/// What all figures of a claim come to, and how many are of each kind. A model that assumes it confirms nothing.
fn verdict(claim: Claim) -> String {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for it in statements(claim) {
        *kinds.entry(it.shape.words()).or_default() += 1;
    }
    let shapes = || statements(claim).into_iter().map(|it| &it.shape);
    let is_same = |it: &RatioShape| matches!(it, RatioShape::Same | RatioShape::SameByWords);
    let others = shapes().filter(|it| matches!(it, RatioShape::NotTheSame { .. })).count();
    let word = match (shapes().all(is_same), claim.4) {
        (true, true) => "reproduced by the model",
        (true, false) => "confirmed",
        _ if others == shapes().count() => "contradicted",
        _ if others > 0 => "contradicted in part",
        _ => "open",
    };
    let counts = kinds.iter().map(|(kind, count)| format!("{count} × {kind}"));
    format!("{word}: {}", counts.collect::<Vec<_>>().join(", "))
}

/// The least and the most of our ratios, and the outermost ends of their intervals.
fn range(claim: Claim) -> String {
    let all = statements(claim);
    let ours = || all.iter().filter_map(|it| it.ours.as_ref());
    let ends = ours().flat_map(|it| [it.low, it.high]).flatten();
    format!("{} ({})", span(ours().map(|it| it.ratio)), span(ends))
}

/// What arrays have over one volume: the clients, and the row of each pattern and level of memory.
fn arrays() -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for memory in [CACHED, UNCACHED] {
        for pattern in levels_of(&FILES, "pattern") {
            for clients in ["1", "4", "8", "16"] {
                let at = [("memory", memory), ("pattern", &**pattern), ("clients", clients)];
                let Some(one) = on(&FILES, ONE, &at) else { continue };
                // A ratio is of memory where one of its two cells is.
                let marked = |figure: String, disk: &str| {
                    let mut cells = [Some(one), on(&FILES, disk, &at)].into_iter().flatten();
                    figure + if cells.any(CellView::is_from_cache) { " cache" } else { "" }
                };
                let rate = marked(or_dash(per_second(one)), ONE);
                let [four, eight] =
                    [FOUR, EIGHT].map(|disk| marked(times(&FILES, [disk, ONE], &at), disk));
                rows.push((clients, format!("`{pattern}` | {memory} | {rate} | {four} | {eight}")));
            }
        }
    }
    rows
}

/// How much of what 16 clients read came from a disk, the least and the most of all patterns that read.
fn from_disk() -> String {
    let [cached, uncached] = [CACHED, UNCACHED].map(|memory| {
        let patterns = levels_of(&FILES, "pattern").iter();
        let parts = patterns.flat_map(|pattern| {
            let at = [("memory", memory), ("pattern", &**pattern), ("clients", "16")];
            DISKS.map(|disk| on(&FILES, disk, &at)?.from_disk).into_iter().flatten()
        });
        let mut parts: Vec<f64> = parts.collect();
        parts.sort_by(f64::total_cmp);
        let ends = [parts.first(), parts.last()];
        let [least, most] = ends.map(|it| format!("{:.1}", it.expect("it reads") * 100.0));
        if least == most { format!("{least} %") } else { format!("{least} to {most} %") }
    });
    format!(
        "Of what 16 clients read, {uncached} came from a disk with memory for a quarter, and {cached} with memory for all."
    )
}

/// What the modelled disk serves of the same reads by its model alone, a second.
fn limit(disk: &str, clients: &str, at: &Place<'_>) -> Option<f64> {
    let sweep = FILES.sweep.as_ref().filter(|it| it.factor == "clients")?;
    let place = sweep.levels.iter().position(|it| it.level == clients)?;
    let panel = sweep.panels.iter().find(|it| has(&it.levels, at))?;
    panel.series.iter().find(|it| it.level == disk)?.points[place].limit
}

fn threads() -> String {
    let clients = levels_of(&FILES, "clients");
    let reads = [("memory", UNCACHED), ("pattern", "randread")];
    let row = DISKS.map(|disk| {
        let figure = |clients: &String| {
            let at = [reads[0], reads[1], ("clients", clients)];
            let rate = or_dash(on(&FILES, disk, &at).and_then(per_second));
            let limit = limit(disk, clients, &reads);
            limit.map_or(rate.clone(), |limit| format!("{rate} of {}", digits(limit)))
        };
        format!("`{disk}` | {}", clients.iter().map(figure).collect::<Vec<_>>().join(" | "))
    });
    table(&format!("disk | {}", clients.join(" | ")), row)
}

fn application() -> String {
    let mut cases: Vec<(&str, &Levels)> = Vec::new();
    for it in APPLICATION.comparisons.iter().filter(|it| it.baseline == ONE) {
        let case = (it.operation.as_str(), &it.levels);
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    let row = |(name, levels): (&str, &Levels)| {
        let at: Vec<(&str, &str)> = levels.iter().map(|(it, level)| (&**it, &**level)).collect();
        let one = on(&APPLICATION, ONE, &at).expect("a cell");
        let mean_ms = operation(&one.operations, name).mean_s.expect("a mean") * 1e3;
        let judged = [FOUR, EIGHT].map(|disk| {
            let it = compared(&APPLICATION, [disk, ONE], Some(name), &at).expect("it was compared");
            format!("{}, {}", Times::from_comparison(it).plain_of(5), it.verdict.word())
        });
        let level = &levels["durability"];
        format!("{name}, {level} | {} ms | {}", digits(mean_ms), judged.join(" | "))
    };
    table(&format!("operation | {COLUMNS}"), cases.into_iter().map(row))
}

/// What mount options buy.
fn options() -> String {
    let (base, others) = levels_of(&CUTS, "disk").split_first().expect("disks");
    let name = |disk: &String| {
        let options = disk.strip_prefix(base.as_str()).and_then(|it| it.strip_prefix('/'));
        format!("`{}`", options.expect("the same disk with options").replace('/', "`, `"))
    };
    let names: Vec<String> = others.iter().map(name).collect();
    let row = |sync: &String| {
        let at = [("sync", sync.as_str())];
        let rate = or_dash(on(&CUTS, base, &at).and_then(per_second));
        let others = others.iter().map(|disk| times(&CUTS, [disk, base], &at));
        format!("`{sync}` | {rate} | {}", others.collect::<Vec<_>>().join(" | "))
    };
    let columns = format!("sync | {base} | {}", names.join(" | "));
    table(&columns, levels_of(&CUTS, "sync").iter().map(row))
}

/// After how many cuts all was there by each rule, and the most blocks that a cut left otherwise.
fn row_of_cuts(promise: &PromiseView) -> String {
    assert!(promise.rules.iter().all(|rule| rule.cuts == 50), "the page says so");
    let stood = |rule: &RuleView| (rule.cuts - rule.broken).to_string();
    let rules: Vec<String> = promise.rules.iter().map(stood).collect();
    let most = |name: &str, found: fn(&RuleView) -> CutFindings| {
        let most = promise.rules.iter().map(|rule| found(rule).most).max().unwrap_or_default();
        (most > 0).then(|| format!("{most} {name}"))
    };
    let found =
        [most("lost", |it| it.lost), most("torn", |it| it.torn), most("phantom", |it| it.phantom)];
    let found: Vec<String> = found.into_iter().flatten().collect();
    let at_most = if found.is_empty() { "–".into() } else { found.join(", ") };
    let (disk, sync) = (&promise.engine, &promise.durability);
    format!("`{disk}`, `{sync}` | {} | {at_most}", rules.join(" | "))
}

/// Disks that kept each promise share a row.
fn cuts() -> String {
    let rules: Vec<&str> = CUTS.promises[0].rules.iter().map(|it| it.keep.as_str()).collect();
    let is_kept = |disk: &&String| {
        let mut its = CUTS.promises.iter().filter(|it| it.engine == **disk);
        its.all(|it| it.rules.iter().all(|rule| rule.broken == 0 && rule.cuts == 50))
    };
    let kept: Vec<&String> = levels_of(&CUTS, "disk").iter().filter(is_kept).collect();
    let names: Vec<String> = kept.iter().map(|disk| format!("`{disk}`")).collect();
    let all = format!("{}{} | –", names.join(", "), " | 50".repeat(rules.len()));
    let others = CUTS.promises.iter().filter(|it| !kept.contains(&&it.engine)).map(row_of_cuts);
    let columns = format!("disk, sync | {} | at most", rules.join(" | "));
    table(&columns, std::iter::once(all).chain(others))
}

#[test]
fn the_pages_are_of_the_runs() {
    let claims =
        CLAIMS.map(|(claim, name, ours)| [(name, verdict(claim)), (ours, range(claim))]).concat();
    let columns = format!("pattern | memory | {COLUMNS}");
    let of_16 = arrays().into_iter().filter(|(clients, _)| *clients == "16").map(|(_, row)| row);
    let blocks = [
        fill("fileio: claims", &claims),
        ("arrays", table(&columns, of_16)),
        ("from-disk", from_disk()),
        ("threads", threads()),
        ("application", application()),
    ];
    check_page("docs/findings/fileio.md", &blocks);
    let all = csv(
        &format!("clients | {columns}"),
        arrays().into_iter().map(|(clients, row)| format!("{clients} | {row}")),
    );
    check_file("docs/findings/fileio/arrays.csv", &all);
    for document in [&FILES, &APPLICATION] {
        check_warnings("docs/findings/fileio.md", document);
    }
    let options = [("options", options()), ("cuts", cuts())];
    check_page("docs/findings/mount-options.md", &options);
    check_warnings("docs/findings/mount-options.md", &CUTS);
}
