//! What a reader should know of a run as a whole: one sentence a kind, with how often it is so
//! and where it is worst.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_stats::{drift, quantile};

use crate::cells::achieved;
use crate::compare::{self, Mean};
use crate::document::{Attempts, CellView, Comparison, Document, OperationView, TrialView};
use crate::read::TrialRow;
use crate::record::{Canary, HARNESS, Levels, Run};

/// How far the sum of latencies may be from the clients' time.
const LITTLE_OFF: f64 = 0.10;

/// The share of a processor that a client may use before it measures itself.
const CLIENT_BUSY: f64 = 0.70;

/// The share of another level's neighbours that a level's may fall short by.
const STARVED: f64 = 0.20;

/// How far a virtual disk's mean latency may be from the model's.
const STRAYED: f64 = 0.05;

/// Below this mean latency, in seconds, a file system in user space is no longer small beside the
/// device: a round trip through it takes 30 to 100 microseconds.
const FLOOR: f64 = 200e-6;

/// Transactions run again, for each operation, that are worth a word.
const RETRIES: f64 = 0.01;

/// How many times a cell's mean a trial's may be, or what part of it.
const STALLED: f64 = 2.0;

/// Fewer operations in a trial's window make a rough mean.
const FEW: u64 = 100;
/// By fewer it is not told how long a trial would have to be.
const SURE: u64 = 10;

/// The share of the syncs that strict commits need at least; fewer, and some were not synced for.
const SYNCED: f64 = 0.5;

/// The quantile whose absence is worth a word.
const WANTED: f64 = 0.99;

/// All warnings of a run, the gravest first.
pub(crate) fn all(document: &Document, rows: &[TrialRow], counted: &[&TrialRow]) -> Vec<String> {
    let run = &document.run.run;
    let cells = &document.cells;
    let attempts = Attempts::of(rows.iter().map(|row| &row.view));
    let (aside, standing): (Vec<&TrialView>, Vec<&TrialView>) =
        rows.iter().map(|row| &row.view).partition(|view| attempts.set_aside(view));
    let [failed, disturbed] = lost(run, &standing);
    let warnings = [
        failed,
        disturbed,
        elsewhere(run),
        drifted(&document.canaries),
        noise(run, &document.noise),
        unsynced(run, cells),
        stalled(run, cells, counted),
        errors(run, counted),
        starved(run, counted),
        strayed(run, counted),
        too_fast(run, counted),
        busy_clients(run, counted),
        little(run, counted),
        unsteady(run, counted),
        retries(run, counted),
        untrimmed(run, rows, counted, &document.comparisons),
        few_operations(run, cells, counted),
        set_aside(&aside),
    ];
    warnings.into_iter().flatten().map(|text| sentence(&text)).collect()
}

/// The text with a capital at its start and a full stop at its end.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", rest.as_str())
}

/// How often something is so, and where it is worst.
struct Tally<'a> {
    times: usize,
    of: usize,
    /// How bad it is at its worst, and where that is.
    worst: Option<(f64, &'a Levels)>,
}

impl<'a> Tally<'a> {
    /// Goes through `items`; `how_bad` is above 0 where there is something to say.
    fn of<T>(
        items: impl IntoIterator<Item = T>,
        levels: impl Fn(&T) -> &'a Levels,
        how_bad: impl Fn(&T) -> f64,
    ) -> Self {
        let mut tally = Self { times: 0, of: 0, worst: None };
        for item in items {
            tally.of += 1;
            let bad = how_bad(&item);
            if bad > 0.0 {
                tally.times += 1;
                if tally.worst.is_none_or(|(worst, _)| bad > worst) {
                    tally.worst = Some((bad, levels(&item)));
                }
            }
        }
        tally
    }

    /// As [`Tally::of`], over trials.
    fn of_trials(rows: &[&'a TrialRow], how_bad: impl Fn(&'a TrialRow) -> f64) -> Self {
        Self::of(rows.iter().copied(), |row| &row.view.levels, |row| how_bad(row))
    }

    /// The sentence: how often, of how many, the worst, and where.
    fn say(
        &self,
        run: &Run,
        sentence: impl FnOnce(usize, usize, f64, &str) -> String,
    ) -> Option<String> {
        let (worst, levels) = self.worst?;
        Some(sentence(self.times, self.of, worst, &place(run, levels)))
    }
}

/// The levels of the factors that the run varies, in the plan's order.
fn place(run: &Run, levels: &Levels) -> String {
    let varied = run.factors.iter().filter(|(_, known)| known.len() > 1);
    let words: Vec<String> = varied
        .filter_map(|(factor, _)| levels.get(factor).map(|level| format!("{factor} {level}")))
        .collect();
    if words.is_empty() { "the only cell".to_owned() } else { words.join(", ") }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// "2 of 32 trials".
fn part(number: usize, of: usize) -> String {
    let noun = if of == 1 { "trial" } else { "trials" };
    format!("{number} of {of} {noun}")
}

/// Trials that failed or don't count; those that were set aside aren't among `rows`.
fn lost(run: &Run, rows: &[&TrialView]) -> [Option<String>; 2] {
    let say = |lost: Vec<&TrialView>, how: &str| {
        let first = lost.first()?;
        let reason = first.reason.as_deref().unwrap_or("no reason was given");
        let (part, place) = (part(lost.len(), rows.len()), place(run, &first.levels));
        Some(format!("{part} {how}; the first at {place}: {reason}"))
    };
    let (failed, disturbed): (Vec<&TrialView>, Vec<&TrialView>) =
        rows.iter().copied().filter(|view| !view.valid).partition(|view| view.facts.is_none());
    let how = if disturbed.len() == 1 {
        "does not count, though it ended"
    } else {
        "do not count, though they ended"
    };
    [say(failed, "failed"), say(disturbed, how)]
}

/// Engines that are known by a URL: no image of their data is restored.
fn elsewhere(run: &Run) -> Option<String> {
    let (_, levels) = run.factors.iter().find(|(factor, _)| factor == "engine")?;
    let levels = levels.iter().filter(|level| run.alias("engine", level).is_none());
    let urls: Vec<&str> =
        levels.map(String::as_str).filter(|level| level.contains("://")).collect();
    (!urls.is_empty()).then(|| {
        format!(
            "somebody else runs {}: its database is emptied and loaded anew for each trial \
             that can start, so that trials do not start from the same bytes; its settings, memory and disk are what \
             its owner gave it, and who else uses it is not known",
            urls.join(" and ")
        )
    })
}

fn set_aside(aside: &[&TrialView]) -> Option<String> {
    let blocks: BTreeSet<u32> = aside.iter().map(|view| view.block).collect();
    let (trials, was) = match aside.len() {
        0 => return None,
        1 => ("1 trial".to_owned(), "was"),
        number => (format!("{number} trials"), "were"),
    };
    let again = match (aside.len(), blocks.len()) {
        (1, _) => "its block was",
        (_, 1) => "their block was",
        _ => "their blocks were",
    };
    Some(format!("{trials} {was} set aside when the run was interrupted; {again} run again"))
}

fn drifted(canaries: &[Canary]) -> Option<String> {
    let changes: Vec<String> = Canary::MEASUREMENTS
        .iter()
        .filter_map(|(name, value)| {
            let series: Vec<f64> = canaries.iter().filter_map(value).collect();
            let drift = drift::drift(&series).filter(drift::Drift::matters)?;
            let direction = if drift.change > 0.0 { "slower" } else { "faster" };
            Some(format!("{name} {} {direction}", percent(drift.change.abs())))
        })
        .collect();
    (!changes.is_empty()).then(|| {
        format!(
            "the machine itself changed during the run ({} at its end); comparisons inside blocks \
             bear that, figures of cells do not",
            changes.join(", ")
        )
    })
}

fn noise(run: &Run, noise: &[Comparison]) -> Option<String> {
    // How far the nearer end of the interval is from 1.
    let off = |comparison: &&Comparison| match (comparison.low, comparison.high) {
        (Some(low), Some(high)) => (low - 1.0).max(1.0 - high),
        _ => 0.0,
    };
    Tally::of(noise, |comparison| &comparison.levels, off).say(run, |n, m, worst, at| {
        format!(
            "a level entered twice differs from itself in {n} of {m} comparisons, at worst by {} \
             or more, at {at}: take differences of that size for noise (one in twenty is off \
             by chance)",
            percent(worst)
        )
    })
}

/// Strict cells that did not sync for their commits. Commits that are under way at once can share a
/// sync, so that one is needed for each round of the clients at least.
fn unsynced(run: &Run, cells: &[CellView]) -> Option<String> {
    let level = |cell: &CellView, factor: &str| {
        let level = cell.levels.get(factor)?;
        Some(run.alias(factor, level).unwrap_or(level).to_owned())
    };
    let strict: Vec<&CellView> = cells
        .iter()
        .filter(|cell| level(cell, "durability").as_deref() == Some("strict"))
        .filter(|cell| level(cell, "engine").as_deref() != Some(HARNESS))
        .collect();
    // The part of the syncs that is missing.
    let missing = |cell: &&CellView| {
        let share = || {
            let cost = cell.cost?;
            cost.sums.syncs.filter(|syncs| syncs.counted_by.is_exact())?;
            let clients: f64 = level(cell, "clients")?.parse().ok()?;
            Some(cost.syncs_per_commit? * clients)
        };
        share().filter(|share| *share < SYNCED).map_or(0.0, |share| 1.0 - share)
    };
    Tally::of(strict, |cell| &cell.levels, missing).say(run, |n, m, worst, at| {
        format!(
            "in {n} of {m} strict cells the engine did not sync for its commits, at worst it made \
             {:.2} of the syncs that its clients' commits need at least, at {at}: a power cut would \
             take commits that it had acknowledged, so do not compare it with engines that sync; \
             look for a setting that turns syncs off",
            1.0 - worst
        )
    })
}

fn errors(run: &Run, counted: &[&TrialRow]) -> Option<String> {
    let errors = |row: &TrialRow| row.view.operations.iter().map(|op| op.errors).sum::<u64>();
    let sum: u64 = counted.iter().map(|row| errors(row)).sum();
    Tally::of_trials(counted, |row| errors(row) as f64).say(run, |n, m, worst, at| {
        let operations = if sum == 1 { "operation" } else { "operations" };
        format!("{sum} {operations} ended in an error, in {}; most ({worst}) at {at}", part(n, m))
    })
}

fn retries(run: &Run, counted: &[&TrialRow]) -> Option<String> {
    let share = |row: &TrialRow| {
        let sum = |of: fn(&OperationView) -> u64| row.view.operations.iter().map(of).sum::<u64>();
        sum(|op| op.retries) as f64 / sum(|op| op.count).max(1) as f64
    };
    let above = |row| Some(share(row)).filter(|share| *share > RETRIES).unwrap_or_default();
    Tally::of_trials(counted, above).say(run, |n, m, worst, at| {
        format!(
            "in {} transactions were run again (a conflict in the engine, or a stale version of \
             the row), at worst {worst:.2} for each operation, at {at}; the latencies include it",
            part(n, m)
        )
    })
}

/// The neighbours of one level against the other levels' of the same block: an engine whose
/// neighbours got less had more of the disk for itself.
fn starved(run: &Run, counted: &[&TrialRow]) -> Option<String> {
    if run.compare == "neighbours" {
        return None;
    }
    let mut most: BTreeMap<u32, f64> = BTreeMap::new();
    for (row, achieved) in counted.iter().filter_map(|row| Some((row, achieved(row)?))) {
        let most = most.entry(row.view.block).or_default();
        *most = most.max(achieved);
    }
    let short = |row: &TrialRow| {
        let most = most.get(&row.view.block).copied().unwrap_or_default();
        let short = 1.0 - achieved(row).unwrap_or_default() / most;
        if most > 0.0 && short > STARVED { short } else { 0.0 }
    };
    Tally::of_trials(counted, short).say(run, |n, m, worst, at| {
        format!(
            "in {} the neighbours reached over {} less than beside another level of the same \
             block, at worst {} less, at {at}: a starved neighbour makes a level look good",
            part(n, m),
            percent(STARVED),
            percent(worst)
        )
    })
}

/// The mean latencies of a trial's virtual disk: modelled and achieved.
fn disk_means(row: &TrialRow) -> Option<(f64, f64)> {
    let disk = row.view.facts.as_ref()?.disk?;
    disk.modelled_mean_s.zip(disk.achieved_mean_s).filter(|(modelled, _)| *modelled > 0.0)
}

fn strayed(run: &Run, counted: &[&TrialRow]) -> Option<String> {
    let off = |row| match disk_means(row) {
        Some((modelled, achieved)) if modelled >= FLOOR => (achieved / modelled - 1.0).abs(),
        _ => 0.0,
    };
    let above = |row| Some(off(row)).filter(|off| *off > STRAYED).unwrap_or_default();
    Tally::of_trials(counted, above).say(run, |n, m, worst, at| {
        format!(
            "in {} the virtual disk did not keep its model's time, at worst off by \
             {}, at {at}: the machine was too busy to wake in time",
            part(n, m),
            percent(worst)
        )
    })
}

fn too_fast(run: &Run, counted: &[&TrialRow]) -> Option<String> {
    // The faster the device, the worse.
    let slowed = |row| match disk_means(row) {
        Some((modelled, achieved)) if modelled < FLOOR && achieved > modelled => {
            achieved / modelled
        }
        _ => 0.0,
    };
    Tally::of_trials(counted, slowed).say(run, |n, m, worst, at| {
        format!(
            "in {} the modelled disk is about as fast as a file system in user \
             space can be, at worst its answers took {worst:.1} times what the model says, at \
             {at}: there its latencies are too long by up to 0.1 ms",
            part(n, m)
        )
    })
}

fn busy_clients(run: &Run, counted: &[&TrialRow]) -> Option<String> {
    let share = |row: &TrialRow| {
        let clients: f64 = row.view.levels.get("clients")?.parse().ok()?;
        Some(row.view.cpu_s?.client / (row.ran_s? * clients))
    };
    let above = |row| share(row).filter(|share| *share > CLIENT_BUSY).unwrap_or_default();
    Tally::of_trials(counted, above).say(run, |n, m, worst, at| {
        format!(
            "in {} a client used over {} of a processor itself, at worst {}, at {at}: there the \
             clients are measured more than what serves them",
            part(n, m),
            percent(CLIENT_BUSY),
            percent(worst)
        )
    })
}

fn little(run: &Run, counted: &[&TrialRow]) -> Option<String> {
    let off = |row: &TrialRow| row.view.facts.as_ref().map(|facts| (facts.littles_law - 1.0).abs());
    let above = |row| off(row).filter(|off| *off > LITTLE_OFF).unwrap_or_default();
    Tally::of_trials(counted, above).say(run, |n, m, worst, at| {
        format!(
            "in {} the latencies do not add up to the clients' time, at worst by {}, at {at}: \
             clients waited for something that is in no latency, or operations are long beside the \
             trial (a longer --seconds mends that)",
            part(n, m),
            percent(worst)
        )
    })
}

fn unsteady(run: &Run, counted: &[&TrialRow]) -> Option<String> {
    let unsteady =
        |row: &TrialRow| row.view.facts.as_ref().is_some_and(|facts| facts.steady == Some(false));
    Tally::of_trials(counted, |row| f64::from(u8::from(unsteady(row)))).say(run, |n, m, _, at| {
        format!(
            "{} had not settled when {}, first at {at}; a longer --seconds shows what comes then",
            part(n, m),
            if n == 1 { "it ended" } else { "they ended" }
        )
    })
}

/// Cells with a trial whose mean is far from the cell's.
fn stalled(run: &Run, cells: &[CellView], counted: &[&TrialRow]) -> Option<String> {
    let known: BTreeMap<&Levels, &CellView> =
        cells.iter().map(|cell| (&cell.levels, cell)).collect();
    let mut furthest: BTreeMap<&Levels, f64> = BTreeMap::new();
    for row in counted {
        let Some(cell) = known.get(&row.view.levels) else { continue };
        for (trial, whole) in row.view.operations.iter().zip(&cell.operations) {
            let Some((trial, whole)) = trial.mean_s.zip(whole.mean_s) else { continue };
            let off = (trial / whole).max(whole / trial);
            let furthest = furthest.entry(&cell.levels).or_default();
            *furthest = off.max(*furthest);
        }
    }
    let above = |(_, off): &(&Levels, f64)| if *off > STALLED { *off } else { 0.0 };
    Tally::of(furthest, |(levels, _)| levels, above).say(run, |n, m, worst, at| {
        format!(
            "in {n} of {m} cells a trial's mean is more than twice the cell's, or less than half of \
             it, at worst by a factor of {worst:.1}, at {at}: that trial, or the machine under it, \
             was not like the others; look at them one by one"
        )
    })
}

/// Where the mean over whole trials leads to another verdict than the mean over the window.
fn untrimmed(
    run: &Run,
    rows: &[TrialRow],
    counted: &[&TrialRow],
    trimmed: &[Comparison],
) -> Option<String> {
    let mean: Mean = |view| view.untrimmed_mean_s;
    let (whole, _) = compare::all(run, rows, counted, mean);
    let differ: Vec<_> =
        trimmed.iter().zip(&whole).filter(|(a, b)| a.verdict != b.verdict).collect();
    let (first, other) = differ.first()?;
    let mut levels = first.levels.clone();
    levels.insert(first.factor.clone(), first.level.clone());
    Some(format!(
        "with nothing dropped at the start and the end of trials, {} of {} verdicts would differ; \
         the first is {} at {}: {} instead of {}",
        differ.len(),
        trimmed.len(),
        first.operation,
        place(run, &levels),
        other.verdict.word(),
        first.verdict.word()
    ))
}

/// Too few operations for a trial's mean, and for a cell's p99, in one sentence.
fn few_operations(run: &Run, cells: &[CellView], counted: &[&TrialRow]) -> Option<String> {
    let parts: Vec<String> =
        [few_in_trials(run, counted), few_for_quantile(run, cells)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Each operation is looked at alone: the rarest has as much to say as the others.
fn few_in_trials(run: &Run, counted: &[&TrialRow]) -> Option<String> {
    let rarest = |row: &TrialRow| row.view.operations.iter().map(|op| op.count).min();
    let short = |row| FEW.saturating_sub(rarest(row).unwrap_or(FEW)) as f64;
    Tally::of_trials(counted, short).say(run, |n, m, worst, at| {
        let fewest = FEW - worst as u64;
        let more = match fewest {
            0..SURE => "longer trials (--seconds) show how many there are".into(),
            _ => {
                let seconds = enough(run, FEW as f64 / fewest as f64);
                format!("--seconds {seconds} would keep {FEW} of each there")
            }
        };
        format!(
            "in {} fewer than {FEW} of an operation ended in the window, so that its mean is \
             rough; fewest ({fewest}) at {at}: {more}",
            part(n, m)
        )
    })
}

fn few_for_quantile(run: &Run, cells: &[CellView]) -> Option<String> {
    let needed = quantile::needed(WANTED)?;
    let all = cells.iter().flat_map(|cell| cell.operations.iter().map(move |op| (cell, op)));
    // The fewer, the worse.
    let lack = |(_, op): &(&CellView, &OperationView)| needed as f64 / op.count.max(1) as f64;
    let above = |item: &(&CellView, &OperationView)| {
        Some(lack(item)).filter(|lack| *lack > 1.0).unwrap_or_default()
    };
    Tally::of(all, |(cell, _)| &cell.levels, above).say(run, |n, m, worst, at| {
        let more = if needed as f64 / worst < SURE as f64 {
            String::new()
        } else {
            format!("; --seconds {} would bring enough there", enough(run, worst))
        };
        format!(
            "the p99 is left out for {n} of {m} operations of cells: fewer than {needed} of them \
             back it, fewest at {at}{more}"
        )
    })
}

/// The `--seconds` that bring so many times more operations.
fn enough(run: &Run, times: f64) -> f64 {
    (run.seconds * times).ceil()
}
