//! Sections of a page: each once as a page and a terminal have it, and what differs in its other states.

use bakeoff_analysis::{CellView, Document, GroupView, Verdict, Warning, WarningKind};
use bakeoff_report::Options;
use bakeoff_results::{FigureOfMerit, Scope, TrialSummary, measure};
use serde_json::{Value, json};

use crate::reading::section;
use crate::sample::broken::{broken, cuts_alone, lost};
use crate::sample::conditions::{looked_at, looks};
use crate::sample::cut_off::cut_off;
use crate::sample::rate::rate;
use crate::sample::{
    Sample, by_factor, changed, fail, files, limits, open, plausible, promises, single, sweep, with,
};
use crate::snapshots::Piece;

/// Two engines with one and four clients.
pub fn small() -> Sample {
    Sample {
        engines: vec!["sqlite", "lmdb"],
        factors: vec![("clients", vec!["1", "4"])],
        operations: vec!["create_issue"],
        ..plausible()
    }
}

/// The small run with other values.
fn small_with(changes: Value) -> Document {
    with(small().document(), changes)
}

/// The small run, whose operations are compared by rows a second.
fn small_rate() -> Document {
    rate(small().document(), FigureOfMerit::Rows)
}

/// Another state of a section, and the formats that show it best.
pub type SectionState<'a> = (&'a str, &'a str, Document);

/// What differs in each state, in each of its formats.
pub fn change_all(title: &str, document: &Document, states: &[SectionState<'_>]) -> Vec<Piece> {
    let change = |(name, formats, other): &SectionState<'_>| {
        let of = |format| Piece::change(name, title, format, document, other);
        formats.split(' ').map(of).collect::<Vec<_>>()
    };
    states.iter().flat_map(change).collect()
}

/// A section in formats, and of others what differs.
pub fn states(
    title: &str,
    formats: &[&str],
    document: &Document,
    states: &[SectionState<'_>],
) -> Vec<Piece> {
    let whole = formats.iter().map(|format| Piece::section("", title, format, document));
    whole.chain(change_all(title, document, states)).collect()
}

pub const BOTH: [&str; 2] = ["term", "html"];
const NO_TERM: [&str; 2] = ["md", "html"];

pub fn limits() -> Vec<Piece> {
    states("The highest rate that keeps the limit", &BOTH, &limits::document(), &[])
}

pub fn applications() -> Vec<Piece> {
    let steps = by_factor(single().document(), "step", &[("sqlite", "whole"), ("lmdb", "read")]);
    let steps = changed(steps, |it| {
        it.applications = vec![bakeoff_analysis::ApplicationView {
            folder: "runs/vote".into(),
            workload: "vote".into(),
            varying: vec!["clients".into()],
            comparisons: it.comparisons.clone(),
            differences: vec!["the kernel".into(), "its cache".into()],
        }];
    });
    let steps = with(
        steps,
        json!({
            "applications/0/comparisons/0/operation": "page", "applications/0/comparisons/0/levels/clients": "4",
        }),
    );
    let word = |word: &str, p: f64| {
        let [verdict, p_adjusted] =
            ["verdict", "p_adjusted"].map(|it| format!("applications/0/comparisons/0/{it}"));
        with(steps.clone(), json!({ verdict: word, p_adjusted: p }))
    };
    let cached = with(steps.clone(), json!({ "cells/*/from_disk": 0.1 }));
    states(
        "What it is worth to an application",
        &BOTH,
        &steps,
        &[
            ("even", "term", word("same", 0.01)),
            ("held back", "term", word("undecided", 0.07)),
            ("of the page cache", "md", cached),
        ],
    )
}

pub fn changes() -> Vec<Piece> {
    let cached = json!({ "cells/*/from_disk": 1.0, "cells/0/from_disk": 0.1 });
    let clients = ("clients", vec!["1", "4", "16"]);
    let more = Sample {
        factors: vec![
            ("durability", vec!["strict", "relaxed"]),
            clients,
            ("neighbours", vec!["0", "x2"]),
        ],
        operations: vec!["create_issue", "process_issues", "sum", "transact"],
        ..promises()
    };
    let rows = rate(promises().document(), FigureOfMerit::Rows);
    let unkept = with(promises().document(), json!({ "cells/0/broken_promise": "not-synced" }));
    let levels =
        ["disk", "memory", "cpus"].map(|factor| (factor, vec!["1", "2", "3", "4", "5", "6"]));
    let of_many = Sample { factors: levels.into(), blocks: 1, ..single() };
    let disks = vec![("disk", vec!["a", "b"])];
    let less = Sample { factors: disks, engines: vec!["fjall", "lmdb", "sqlite"], ..single() };
    let title = "What each change buys";
    let other = vec![("engine".into(), "lmdb".into()), ("durability".into(), "relaxed".into())];
    let other = Options { present: other, ..Options::default() };
    let other = section(&promises().document(), "term", title, &other);
    let mut pieces = states(
        title,
        &BOTH,
        &promises().document(),
        &[
            ("of the page cache", "term", with(promises().document(), cached)),
            ("more than there is room for", "term", more.document()),
            ("of a rate", "term", rows),
            ("with losses", "term", broken("torn", "x")),
            ("with losses at a rate", "term", lost(2)),
            ("a broken promise", "term", unkept),
            ("one trial of each", "term", Sample { blocks: 1, ..promises() }.document()),
            ("of many factors", "term", of_many.document()),
            ("of engines that take less", "term", less.document()),
        ],
    );
    pieces.push(Piece::new("from another choice: term", other));
    pieces
}

pub fn cells() -> Vec<Piece> {
    let document = Sample { blocks: 3, ..small() }.document();
    let rates = rate(document.clone(), FigureOfMerit::Rows);
    let broken = with(document.clone(), json!({ "cells/0/broken_promise": "not-synced" }));
    states(
        "All cells",
        &NO_TERM,
        &document,
        &[
            ("a broken promise", "html", broken),
            ("rates that were cut off", "md", changed(rates, |it| cut_off(it, "lmdb"))),
            (
                "one that failed",
                "md",
                changed(document.clone(), |it| fail(it, "lmdb", "it crashed")),
            ),
        ],
    )
}

pub fn slowest() -> Vec<Piece> {
    let document = Sample { engines: vec!["sqlite", "lmdb", "fjall"], ..small() }.document();
    let unknown = with(
        document.clone(),
        json!({
            "cells/0/operations": [], "cells/1/operations/0/max_s": null, "cells/2/operations/0/unfinished": 1,
            "cells/3/operations/0/p99_s": null, "cells/4/operations/0/p50_s": null,
        }),
    );
    let many =
        Sample { operations: vec!["a", "b", "c", "d", "e", "f"], factors: vec![], ..plausible() };
    // The first is decided, the second clear by itself alone.
    let tails = changed(document.clone(), |it| {
        it.tails = it.comparisons[..2].to_vec();
        (it.tails[0].verdict, it.tails[1].verdict) = (Verdict::Faster, Verdict::Undecided);
        (it.tails[1].ratio, it.tails[1].low, it.tails[1].high) = (Some(1.7), Some(1.2), Some(2.4));
        (it.tails[1].p_adjusted, it.tails[1].adjusted_over) = (Some(0.07), 8);
    });
    states(
        "The slowest operations",
        &BOTH,
        &document,
        &[
            ("p99 of levels against each other", "term md", tails),
            ("what is not known", "term html", unknown),
            (
                "no trial counts",
                "term",
                changed(document.clone(), |it| fail(it, "lmdb", "it crashed")),
            ),
            ("more operations than there is room for", "term", many.document()),
        ],
    )
}

pub fn conditions() -> Vec<Piece> {
    let ended = |first: &str, second: &str| {
        let judged_at = "conditions/0/judged_at";
        with(
            looked_at(),
            json!({ "conditions/0/state": first, "conditions/1/state": second, judged_at: 0 }),
        )
    };
    states(
        "How long each condition went on",
        &BOTH,
        &looked_at(),
        &[
            ("open, and out of reach", "md", ended("open", "out-of-reach")),
            ("the most repetitions", "md", ended("max-repetitions", "max-repetitions")),
        ],
    )
}

pub fn offered() -> Vec<Piece> {
    let document = changed(small().document(), |it| open(it, "lmdb"));
    states("What was offered", &BOTH, &document, &[])
}

pub fn work() -> Vec<Piece> {
    let document = small_rate();
    // Of all of them the column is not there, and the reason is.
    let none = json!({
        "cells/*/work/device_reads": null,
        "cells/*/work/lacks": [{ "figure": "device_reads", "why": "no-virtual-disk" }],
    });
    let of_operations = json!({ "cells/*/work/each": "operation" });
    states(
        "What the work took of cache, device and processor",
        &BOTH,
        &document,
        &[
            ("no device reads", "md", with(document.clone(), none)),
            ("of operations", "md", with(document.clone(), of_operations)),
        ],
    )
}

/// A group that nothing was measured of but its processor time, and this.
fn group(name: &str, cpu_s: f64, more: &[(&str, f64)]) -> Value {
    let mut group = json!({ "name": name, "cpu_s": cpu_s, "cpu_per_operation_s": cpu_s / 1e3 });
    more.iter().for_each(|(measure, value)| group[measure] = (*value).into());
    group
}

/// The small run, each cell of which had these groups of processes.
pub fn with_groups(groups: &[Value]) -> Document {
    let groups: Vec<GroupView> =
        serde_json::from_value(Value::Array(groups.to_vec())).expect("groups");
    let each = |cell: &mut CellView| cell.groups = groups.clone();
    changed(small().document(), |it| it.cells.iter_mut().for_each(each))
}

pub fn one_group() -> Document {
    with_groups(&[group("database", 3.5, &[])])
}

/// A database and a web server, and what each took.
fn two_groups() -> Document {
    let web = group(
        "web",
        6.25,
        &[
            ("drain_cpu_s", 0.5),
            ("memory_limit_bytes", 99e6),
            ("memory_peak_bytes", 77e6),
            ("memory_cached_bytes", 55e6),
            ("read_bytes", 21e3),
            ("written_bytes", 31e3),
            ("drain_written_bytes", 41e3),
        ],
    );
    with(
        with_groups(&[group("database", 3.5, &[]), web]),
        json!({
            "cells/*/processes": [
                { "name": "clients", "cpu_per_operation_s": 0.001 },
                { "name": "web", "cpu_per_operation_s": 0.00625 },
                { "name": "database", "cpu_per_operation_s": 0.0035 },
            ],
            // Nothing is no part.
            "cells/0/cpu_s/client": 0.0,
        }),
    )
}

pub fn costs() -> Vec<Piece> {
    let title = "What it cost";
    let synced_by = |first: &str, others: &str| {
        let by = "cost/syncs/counted_by";
        small_with(json!({ format!("cells/*/{by}"): others, format!("cells/0/{by}"): first }))
    };
    let limited = with_groups(&[group("database", 3.5, &[("memory_limit_bytes", 64e6)])]);
    // Without engines there is no cost, but errors by their kinds are among the counters.
    let counted = json!({ "cells/*/counters": { "page.wrong_status": 6, "page.closed": 0 } });
    let target = Piece::section("a target without engines", title, "md", &with(files(), counted));
    let of_states = states(
        title,
        &BOTH,
        &small().document(),
        &[
            ("syncs of the device", "md", synced_by("device", "device")),
            ("syncs of the kernel and the disk", "md", synced_by("kernel", "disk")),
            ("with the bytes of the rows", "md", small_rate()),
            ("of groups", "md term", two_groups()),
            ("of a limited group", "md", limited),
        ],
    );
    of_states.into_iter().chain([target]).collect()
}

pub fn restarts() -> Vec<Piece> {
    let restart =
        json!({ "opening_s": 12.5, "first_10_s": 0.75, "first_100_s": 0.25, "first_1000_s": null });
    let steady = json!({
        "conditioned": 51_234.0, "not_turned_over": 1, "followed_others": 1, "space_at_start_bytes": 3e8,
        "steady": 2, "never_steady": 1, "largest_range": 0.345,
    });
    let document = Sample { blocks: 5, ..small() }.document();
    let document = with(document, json!({ "cells/0/restart": restart, "cells/1/steady": steady }));
    let own = with(
        document.clone(),
        json!({
            "cells/1/steady/followed_others": 0, "cells/1/steady/not_turned_over": 0,
            "cells/1/steady/never_steady": 0, "cells/1/steady/steady": 5,
        }),
    );
    let title = "Restarts, and steady trials";
    states(title, &BOTH, &document, &[("none followed others", "md", own)])
}

pub fn debts() -> Vec<Piece> {
    let document = small_with(json!({
        "cells/0/debt/fresh": true, "cells/1/debt/cut_off": 1, "cells/2/debt/fresh": null,
        "cells/2/debt/bytes": 0.0, "cells/3/debt/fresh": null, "cells/3/debt/bytes": null,
    }));
    states("What was left to write back", &BOTH, &document, &[])
}

pub fn priced() -> Vec<Piece> {
    let price = json!({
        "time_s": 0.05, "log_s": 0.02, "reads_s": 0.01, "put_off_s": 0.02, "rate": 4.0, "rate_most": 7.5,
        "turns": 3.75, "trace_bytes": 1e6, "watched_rate": 31.0, "watched_s": 0.032, "paid": true, "ratio": null,
    });
    let document = with(
        small_with(json!({ "cells/*/priced": price })),
        json!({
            "cells/1/priced/watched_s": null,
            "cells/1/priced/ratio": { "ratio": 2.0, "low": 1.9, "high": 2.1, "blocks": 3 },
        }),
    );
    // A window in which nothing was paid has no price to be held against.
    let agrees = with(
        document.clone(),
        json!({
            "cells/*/priced/watched_s": 0.049, "cells/1/priced/watched_s": 0.02, "cells/1/priced/paid": false,
            "cells/2/priced/paid": null,
        }),
    );
    let title = "What a commit costs the disk: priced";
    states(title, &BOTH, &document, &[("prices that agree", "md", agrees)])
}

pub fn processor() -> Vec<Piece> {
    let neighbours = json!({ "cells/0/cpu_s/neighbours": 0.7, "cells/*/cpu_s/disk_daemon": null });
    let quota = with_groups(&[group(
        "database",
        3.5,
        &[
            ("cpu_limit", 0.5),
            ("cpu_periods", 200.0),
            ("cpu_throttled", 50.0),
            ("cpu_waited_s", 1.25),
        ],
    )]);
    states(
        "Processor time of a trial",
        &BOTH,
        &small().document(),
        &[
            ("of neighbours", "md", small_with(neighbours)),
            ("of files", "md", files()),
            ("of groups", "html term", two_groups()),
            ("of a quota", "md", quota),
        ],
    )
}

pub fn space() -> Vec<Piece> {
    let long = "an_engine_with_a_name_of_sixty_letters_that_no_column_can_hold";
    let factors = vec![("memory", vec!["64M", "256M"]), ("clients", vec!["1", "4"])];
    states(
        "Space on disk",
        &NO_TERM,
        &small().document(),
        &[
            ("of several panels", "md", Sample { factors, ..small() }.document()),
            ("with the bytes of the rows", "md", small_rate()),
            ("of files", "md", files()),
            (
                "of a long name",
                "html",
                Sample { engines: vec!["sqlite", long], ..small() }.document(),
            ),
        ],
    )
}

pub fn settings() -> Vec<Piece> {
    let factors =
        vec![("durability", vec!["relaxed", "strict"]), ("memory", vec!["256M", "unlimited"])];
    let options = changed(small().document(), |it| {
        it.run.run.engines[1].settings.truncate(1);
        it.run.run.applied.push(it.run.run.applied[0].clone());
    });
    let options = with(
        options,
        json!({
            "run/applied/0/options": { "work_mem": "4MB" }, "run/applied/2/options": { "work_mem": "64MB" },
            "run/applied/2/settings/0/value": "64",
        }),
    );
    let document = Sample { factors, ..small() }.document();
    let of_options = ("of options, and what can’t be given", "md", options);
    states("What each engine was set to", &NO_TERM, &document, &[of_options])
}

pub fn neighbours() -> Vec<Piece> {
    let factors = vec![("clients", vec!["4"]), ("neighbours", vec!["0", "25%", "x1"])];
    let document = Sample { factors, ..small() }.document();
    let unknown = with(document.clone(), json!({ "run/neighbour_alone_per_second": null }));
    let unknown = ("a stream alone is not known", "md", unknown);
    states("What the background I/O did", &NO_TERM, &document, &[unknown])
}

pub fn trials() -> Vec<Piece> {
    let sample = Sample { factors: vec![("durability", vec!["strict", "relaxed"])], ..small() };
    let document = changed(sample.document(), |it| {
        for (trial, error) in [(1, 0.01), (2, 0.2)] {
            let measures = &mut it.trials[trial].measures;
            measures.set(&measure::RISE, Scope::Trial, 0.3);
            measures.set(&measure::RISE_ERROR, Scope::Trial, error);
        }
        it.trials.push(TrialSummary { attempt: 1, ..it.trials[4].clone() });
    });
    let document = with(
        document,
        json!({
            "trials/0/warnings": ["2 of something"], "trials/3/operations/0/unfinished": 1,
            "trials/4/valid": false, "trials/4/reason": "the run was interrupted",
            "trials/5/valid": false, "trials/5/reason": "the disk was full",
        }),
    );
    states(
        "Every trial",
        &["html"],
        &document,
        &[
            ("at a rate", "html", changed(document.clone(), |it| open(it, "lmdb"))),
            ("of rows", "html", rate(document.clone(), FigureOfMerit::Rows)),
            (
                "without a figure",
                "html",
                with(document.clone(), json!({ "trials/*/operations/0/mean_s": null })),
            ),
        ],
    )
}

pub fn warnings() -> Vec<Piece> {
    let document = changed(small().document(), |it| {
        let drifted = Warning::new(WarningKind::MachineDrifted, "the machine drifted, --so to say");
        let waited = Warning::new(WarningKind::ServersWaited, "servers waited, at worst 30 %");
        it.warnings = vec![waited, drifted.with_remedy("let it rest, --seconds 60")];
    });
    states("What could mislead", &["term", "html", "md"], &document, &[])
}

/// What engines answered before their first trials, by a digest of each.
fn answered(document: Document, digests: &[(&str, &str)]) -> Document {
    let answers = digests.iter().map(|(engine, digest)| {
        json!({
            "image": engine, "engine": engine, "levels": { "engine": engine }, "work": "redmine small",
            "operations": 19, "statements": 5_228, "digest": digest, "failed": null, "difference": null,
        })
    });
    with(document, json!({ "run/answers": answers.collect::<Vec<_>>() }))
}

pub fn method() -> Vec<Piece> {
    let base = small().document();
    let asked = |digests| answered(base.clone(), digests);
    let both_loops = changed(base.clone(), |it| open(it, "nobody"));
    let both_loops = with(both_loops, json!({ "cells/0/open_loop": null }));
    let takeover = |sum: Option<String>, cuts: u32| {
        let by = json!({ "version": "0.2.0 (456789abc)", "program_sha256": sum, "kernel": "6.12.9", "kernel_version": null });
        json!({ "by": by, "trials": 5, "cuts": cuts })
    };
    let takeovers = json!([takeover(Some("f".repeat(64)), 0), takeover(None, 2)]);
    let third = Sample { engines: vec!["sqlite", "lmdb", "fjall", "null"], ..small() }.document();
    let rtt = Sample { factors: vec![("rtt", vec!["0", "10ms"])], ..small() }.document();
    let unknown = json!({ "run/version": "0.1.0", "run/program_sha256": null });
    states(
        "How it was measured",
        &NO_TERM,
        &base,
        &[
            ("uncommitted", "md", small_with(json!({ "run/version": "0.1.0 (0123abcde-dirty)" }))),
            ("of no known revision", "md", small_with(unknown)),
            ("gone on with by others", "md", small_with(json!({ "run/takeovers": takeovers }))),
            ("the same answers", "md", asked(&[("sqlite", "1"), ("lmdb", "1")])),
            ("other answers", "md", asked(&[("sqlite", "1"), ("lmdb", "2")])),
            ("one engine asked", "md", asked(&[("sqlite", "1")])),
            ("several not asked", "md", answered(third, &[("sqlite", "1")])),
            ("at a rate", "md", changed(base.clone(), |it| open(it, "nobody"))),
            ("in both loops", "md", both_loops),
            ("with round trips", "md", rtt),
            ("ended by operations", "md", small_with(json!({ "run/operations_each": 100 }))),
            (
                "until it is decided",
                "md",
                changed(base.clone(), |it| it.run.run.sequential = Some(looks(16))),
            ),
            ("by a rate", "md", small_rate()),
            ("power cuts alone", "md", cuts_alone(broken("torn", "x"))),
            ("still running", "md", small_with(json!({ "run/ended_s": null }))),
            ("other hardware", "md", small_with(json!({ "run/machine/hardware": "a server" }))),
        ],
    )
}

pub fn repeat() -> Vec<Piece> {
    states("Run it again", &NO_TERM, &small().document(), &[])
}

/// Lines over a numeric factor, and the times beside those of a rate.
pub fn lines() -> Vec<Piece> {
    let knees = json!({
        "sweep/knees/1/clients": 9.1, "sweep/knees/1/low": 8.2, "sweep/knees/2/clients": 3.5,
        "sweep/knees/2/clients_is": "exact", "sweep/knees/2/low": 3.1, "sweep/knees/2/high": 3.9,
    });
    let built = |document| {
        changed(document, |it: &mut Document| it.sweep = bakeoff_analysis::build_sweep(it))
    };
    let of = |changes| with(sweep::crossing(), changes);
    let rows = built(rate(sweep::crossing(), FigureOfMerit::Rows));
    let cached = |share: &str| {
        let [own, others] = ["engine=lmdb", "*"].map(|it| format!("cells/{it}/{share}"));
        with(of(json!({ others: 0.5 })), json!({ own: 0.49, format!("cells/7/{share}"): 0.5 }))
    };
    let held_back = json!({
        "comparisons/clients=8/verdict": "undecided", "comparisons/clients=8/p_adjusted": 0.07,
    });
    let nobody =
        of(json!({ "comparisons/*/verdict": "undecided", "between/*/verdict": "undecided" }));
    let mut pieces = states(
        "Over clients",
        &BOTH,
        &sweep::crossing(),
        &[
            ("with gaps, bounds and what was set aside", "html term", sweep::eventful()),
            ("where clients are enough", "md", of(knees)),
            ("of the page cache, by reads", "term", cached("from_disk")),
            ("of the page cache, by writes", "term", cached("to_disk")),
            ("held back", "term html", built(of(held_back))),
            ("where it turns late", "term", sweep::turning_late()),
            (
                "too few operations",
                "term",
                built(of(json!({ "comparisons/clients=8/verdict": "too-few" }))),
            ),
            ("nobody is fastest", "term", built(nobody)),
            ("of a rate", "html term", rows.clone()),
        ],
    );
    pieces.extend(Piece::both("times", "Mean times over clients", &rows));
    pieces
}

/// Tables of operations: of each cell its figures, and what it is against the baseline.
pub fn operations() -> Vec<Piece> {
    let title = "create_issue";
    let base = Sample { engines: vec!["sqlite", "lmdb", "null"], ..small() }.document();
    let of = |changes| with(base.clone(), changes);
    let by = |change: &dyn Fn(&mut Document)| changed(base.clone(), change);
    let word = |word: &str, p: f64| {
        of(json!({ "comparisons/0/verdict": word, "comparisons/0/p_adjusted": p }))
    };
    let no_figure = of(json!({
        "cells/1/operations/0/count": 0, "cells/1/operations/0/mean_s": null, "cells/1/operations/0/p50_s": null,
        "cells/1/operations/0/p95_s": null, "cells/1/operations/0/p99_s": null,
        "cells/1/operations/0/per_second": 0.0, "comparisons/0/ratio": null,
    }));
    let harness = rate(base.clone(), FigureOfMerit::Rows);
    let uncounted = with(
        harness.clone(),
        json!({
            "cells/*/total/typical/rows_per_second": null, "comparisons/*/ratio": null, "comparisons/*/blocks": 0,
        }),
    );
    let bounds = by(&|it| cut_off(it, "lmdb"));
    let both_bounds = changed(bounds.clone(), |it| cut_off(it, "sqlite"));
    let failed = |engine: &str| by(&|it| fail(it, engine, "it crashed"));
    let rates = Sample { operations: plausible().operations, ..small() };
    let rates = rate(rates.document(), FigureOfMerit::Rows);
    let of_steps = Sample { operations: vec!["write"], ..small() }.document();
    let of_steps = by_factor(rate(of_steps, FigureOfMerit::Operations), "step", &[]);
    let alone = Sample { engines: vec!["sqlite"], ..small() }.document();
    let three = Sample { engines: plausible().engines, ..small() }.document();
    let wide = json!({ "comparisons/0/low": 7.5e-5, "comparisons/0/high": 7.3e5 });
    let mut pieces = states(
        title,
        &BOTH,
        &base,
        &[
            ("one engine", "term md", alone),
            ("pairs of the others", "term md", three),
            ("at a rate", "term md", by(&|it| open(it, "lmdb"))),
            ("bounds", "term md", bounds),
            ("bounds on both sides", "md", both_bounds),
            ("held back", "term md", word("undecided", 0.07)),
            ("short of processors", "term", word("short-of-processors", 0.01)),
            ("the baseline failed", "md term", failed("sqlite")),
            ("another failed", "md", failed("lmdb")),
            ("no figure", "md html", no_figure),
            ("not done here", "md", of(json!({ "cells/1/operations": [] }))),
            ("too wide", "md", of(wide)),
            (
                "the engine’s own ratio",
                "md",
                of(json!({ "comparisons/0/engine_only_ratio": 7.77 })),
            ),
            ("of the page cache", "term", of(json!({ "cells/0/from_disk": 0.1 }))),
            ("a broken promise", "html", broken("torn", "x")),
            ("rates beside the harness", "term", harness),
            ("rates that were not counted", "md", uncounted),
            ("beside a rate", "md", rates.clone()),
        ],
    );
    pieces.extend(["term", "md"].map(|it| Piece::section("a rate", "all operations", it, &rates)));
    pieces.push(Piece::section("of disks", "write", "term", &files()));
    pieces.push(Piece::section("a rate without engines", "write", "term", &of_steps));
    pieces
}
