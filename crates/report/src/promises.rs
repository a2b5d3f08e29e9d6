//! Promises that power cuts tested, in this run or another, in words.

use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_analysis::{Document, PromiseView, most_of_none};
use bakeoff_results::{
    CellLevels, Cut, CutPlan, DurabilityPromise, FileSystem, OwnFactor, PromiseFactors,
};

use crate::durability;
use crate::words;

pub const SECTION: &str = "promises";

/// The thing that an engine loses.
pub const COMMIT: &str = "commit";
pub const SYNCED_BLOCK: &str = "synced block";

pub const BROKEN: &str = "promise broken";
/// Broken only on a file system that promises no more than POSIX does.
const BROKEN_ON_POSIX: &str = "promise broken on posix";

pub struct PromiseCuts<'a> {
    pub promise: &'a PromiseView,
    pub cuts: Vec<&'a Cut>,
    pub plan: Option<&'a CutPlan>,
    /// Of the run that made the cuts; `None` for this one.
    pub folder: Option<&'a str>,
    pub differences: &'a [String],
}

pub fn list_promises(document: &Document) -> impl Iterator<Item = PromiseCuts<'_>> {
    let own = document.promises.iter().map(|promise| PromiseCuts {
        promise,
        cuts: document.cuts.iter().filter(|cut| promise.is_of(cut)).collect(),
        plan: document.run.run.cuts.as_ref(),
        folder: None,
        differences: &[],
    });
    let others = document.other_cuts.iter().map(|other| PromiseCuts {
        promise: &other.promise,
        cuts: other.cuts.iter().collect(),
        plan: other.plan.as_ref(),
        folder: Some(&other.folder),
        differences: &other.differences,
    });
    own.chain(others)
}

/// Assumes promises of engines if no plan is known.
pub fn plan_factors(plan: Option<&CutPlan>) -> PromiseFactors {
    plan.map(|plan| plan.promise.clone()).unwrap_or_default()
}

impl PromiseCuts<'_> {
    pub fn factors(&self) -> PromiseFactors {
        plan_factors(self.plan)
    }

    pub fn is_of_files(&self) -> bool {
        self.plan.is_some_and(|plan| !plan.promise.is_of_engines())
    }

    /// At every moment of a run: judged images, and those with less than was promised.
    pub fn images(&self) -> Option<(u64, u64)> {
        let every = self.cuts.iter().filter_map(|cut| cut.every.as_ref());
        every.map(|it| (it.judged, it.broken)).reduce(|one, next| (one.0 + next.0, one.1 + next.1))
    }

    /// Of one rule, and how many images lost something.
    pub fn images_of(&self, keep: &str) -> Option<[u64; 3]> {
        let every = self.cuts.iter().filter_map(|cut| cut.every.as_ref());
        let of_rule = every.flat_map(|it| &it.rules).filter(|rule| rule.keep == keep);
        let counts = of_rule.map(|it| [it.judged, it.broken, it.lost]);
        counts.reduce(|one, next| std::array::from_fn(|at| one[at] + next[at]))
    }

    /// The tests in words, and how many of them broke the promise.
    pub fn describe_tries(&self) -> (String, u64) {
        let (what, number, broken) = self.count_tries();
        (words::count_nouns(number as usize, what), broken)
    }

    /// The kind of tests, their number, and how many broke the promise.
    fn count_tries(&self) -> (&'static str, u64, u64) {
        match self.images() {
            Some((judged, broken)) => ("crash image", judged, broken),
            None => ("power cut", self.promise.cuts.into(), self.promise.broken.into()),
        }
    }

    /// With the file system, unless that is as ext4: "strict on posix".
    pub fn level(&self) -> String {
        self.promise.durability.clone() + &self.name_file_system()
    }

    /// Follows "with": "the last second at risk on posix", "sync fdatasync:1".
    fn in_words(&self) -> String {
        let level = &self.promise.durability;
        let words = match self.is_of_files() {
            true => words::phrase_level(&self.factors().what, level),
            false => durability::describe_level(level),
        };
        words + &self.name_file_system()
    }

    /// " on posix", unless the file system is as ext4.
    fn name_file_system(&self) -> String {
        let file_systems = self.plan.map_or(&[][..], |plan| &plan.file_systems);
        let file_system = self.promise.file_system;
        if file_system == FileSystem::Ext4 && !file_systems.contains(&FileSystem::Posix) {
            return String::new();
        }
        format!(" on {}", file_system.name())
    }
}

/// `None` if the cell's promise is kept. `level_of` gives the cell's level of a factor.
pub fn find_broken_mark<'a>(
    layout: &DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
    level: &'a str,
) -> Option<&'static str> {
    let document = layout.document;
    let run = &document.run.run;
    let has = |factor: &str, promised: &str| {
        let level = layout.level_of(factor, condition, level);
        level.is_some_and(|level| run.resolve_alias(factor, level).unwrap_or(level) == promised)
    };
    let is_of_cell = |told: &PromiseCuts<'_>| {
        let PromiseFactors { who, what } = told.factors();
        has(&who, &told.promise.engine) && has(&what, &told.promise.durability)
    };
    let broken = list_promises(document)
        .filter(|told| told.promise.kept == Some(false) && is_of_cell(told))
        .map(|told| told.promise);
    let mark = |file_system| match file_system {
        FileSystem::Ext4 => BROKEN,
        FileSystem::Posix => BROKEN_ON_POSIX,
    };
    broken.map(|promise| promise.file_system).min().map(mark)
}

/// A clause for each: "mariadb:aria broke its promise at relaxed in 2 and at strict in 5 of 100
/// power cuts each".
pub fn describe_broken(document: &Document) -> Vec<String> {
    let broken = list_promises(document).filter(|told| told.promise.kept == Some(false));
    let tried_alike = |told: &PromiseCuts<'_>| {
        let (what, number, _) = told.count_tries();
        (told.promise.engine.clone(), told.folder.map(str::to_owned), what, number)
    };
    let clause = |alike: &[PromiseCuts<'_>]| {
        let first = &alike[0];
        let at = |told: &PromiseCuts<'_>| {
            format!("at {} in {}", told.level(), words::format_count(told.count_tries().2))
        };
        let levels: Vec<String> = alike.iter().map(at).collect();
        let each = if levels.len() > 1 { " each" } else { "" };
        let by = first.folder.map_or(String::new(), |folder| format!(" by the run in {folder}"));
        let (engine, levels, cuts) =
            (&first.promise.engine, words::join_list(&levels), first.describe_tries().0);
        format!("{engine} broke its promise {levels} of {cuts}{each}{by}")
    };
    let broken: Vec<PromiseCuts<'_>> = broken.collect();
    broken.chunk_by(|one, next| tried_alike(one) == tried_alike(next)).map(clause).collect()
}

/// The levels that were tested, if the run has others; by the factor whose levels make the
/// promises.
pub fn tried_alone(document: &Document, who: &str, tried: &[&str]) -> Option<String> {
    let run = &document.run.run;
    let levels = run.levels_of(who);
    let is_tried = |level: &str| tried.contains(&level);
    let promises =
        |level: &&String| run.resolve_alias(who, level).is_none() && run.stores_data(level);
    let others = levels.iter().filter(promises).any(|level| !is_tried(level));
    let all_known = tried.iter().all(|tried| levels.iter().any(|level| level == tried));
    let mut names: Vec<&str> = tried.to_vec();
    names.sort_unstable();
    names.dedup();
    (others && all_known && !names.is_empty()).then(|| words::join_list(&names))
}

fn of_some(document: &Document, who: &str, tried: &[&str]) -> String {
    let alone = tried_alone(document, who, tried);
    alone.map_or_else(String::new, |names| format!(" of {names} (the others were not tried)"))
}

/// One clause each: no promise was broken, and which losses the promises allowed.
pub fn describe_kept(document: &Document) -> Vec<String> {
    let images =
        list_promises(document).filter(|it| it.promise.kept == Some(true)).map(|it| it.images());
    let images = images.collect::<Option<Vec<_>>>();
    let every: Vec<PromiseCuts<'_>> = list_promises(document).collect();
    let one = every.iter().find(|told| told.promise.kept == Some(true));
    let Some(who) = every.first().map(|told| told.factors().who) else { return Vec::new() };
    let all: Vec<&PromiseView> = every.iter().map(|told| told.promise).collect();
    let told = |state| all.iter().filter(move |promise| promise.kept == Some(state));
    let (kept, cuts) = told(true).fold((0, 0), |(n, cuts), p| (n + 1, cuts + p.cuts));
    let cuts = match images.filter(|it| !it.is_empty()) {
        Some(images) => {
            let judged: u64 = images.iter().map(|(judged, _)| judged).sum();
            words::count_nouns(judged as usize, "crash image")
        }
        None => words::count_nouns(cuts as usize, "power cut"),
    };
    let untried = all.iter().filter(|it| it.cuts == 0 && it.failed > 0).count();
    let but = match untried {
        0 => String::new(),
        number => format!(", and {} could not be tried", words::count_nouns(number, "level")),
    };
    let names: Vec<&str> = told(true).map(|promise| promise.engine.as_str()).collect();
    let bound = bound_of_each(&every);
    let said = match (kept, told(false).count()) {
        (0, 0) => "no promise was put to the test".into(),
        (0, _) => return Vec::new(),
        (1, 0) => {
            let of = one.map(|it| format!(" of {} at {}", it.promise.engine, it.level()));
            format!("the promise{} was not broken in {cuts}{bound}", of.unwrap_or_default())
        }
        (_, 0) => {
            format!("no promise{} was broken in {cuts}{bound}", of_some(document, &who, &names))
        }
        _ => format!("no other promise was broken in {cuts}{bound}"),
    };
    std::iter::once(said + &but).chain(describe_losses(&every, &who)).collect()
}

/// "at most 18 in 100": upper end of the 95 % interval where none was seen.
pub fn at_most(cuts: u64) -> String {
    let most = 100.0 * most_of_none(cuts);
    let most = if most < 1.0 { format!("{most:.1}") } else { format!("{most:.0}") };
    format!("at most {most} in 100")
}

/// " (15 of each: at most 18 in 100 could still break it)"; empty for images of every moment, which have one
/// history.
fn bound_of_each(every: &[PromiseCuts<'_>]) -> String {
    let kept: Vec<&PromiseCuts<'_>> =
        every.iter().filter(|told| told.promise.kept == Some(true)).collect();
    let fewest = kept.iter().map(|told| told.promise.cuts).min().unwrap_or(0);
    if fewest == 0 || kept.iter().any(|told| told.images().is_some()) {
        return String::new();
    }
    let at_most = at_most(fewest.into());
    match kept.len() {
        1 => format!(" ({at_most} could still break it)"),
        _ => format!(" ({fewest} of each: {at_most} could still break it)"),
    }
}

/// Losses that the promise allows, a clause for each level.
fn describe_losses(all: &[PromiseCuts<'_>], who: &str) -> Vec<String> {
    let kept = all.iter().filter(|told| told.promise.kept == Some(true));
    let loose =
        kept.filter(|told| matches!(told.promise.promised, DurabilityPromise::Whole { .. }));
    let mut levels: Vec<(String, Vec<&PromiseCuts<'_>>)> = Vec::new();
    for told in loose {
        let words = told.in_words();
        match levels.iter_mut().find(|(level, _)| *level == words) {
            Some((_, group)) => group.push(told),
            None => levels.push((words, vec![told])),
        }
    }
    levels.iter().map(|(level, group)| describe_loss(level, group, who)).collect()
}

fn most_lost(told: &PromiseCuts<'_>) -> u64 {
    told.promise.rules.iter().map(|rule| rule.lost.most).max().unwrap_or(0)
}

/// Images of every moment keep no such number.
fn lost_some(told: &PromiseCuts<'_>) -> bool {
    let every = told.cuts.iter().filter_map(|cut| cut.every.as_ref());
    every.flat_map(|it| &it.rules).any(|rule| rule.lost > 0)
}

/// "with the last second at risk fjall lost the most, 81 commits, and no engine lost any older than
/// 970 ms, which their promises allow"; or that nothing was lost.
fn describe_loss(level: &str, group: &[&PromiseCuts<'_>], who: &str) -> String {
    let unit = if group.iter().any(|told| told.is_of_files()) { SYNCED_BLOCK } else { COMMIT };
    // The first of equal losses.
    let worst = group.iter().rev().max_by_key(|told| most_lost(told));
    let worst = worst.map(|told| (told, most_lost(told)));
    let Some((worst, most)) = worst.filter(|(_, most)| *most > 0) else {
        return match group.iter().any(|told| lost_some(told)) {
            true => format!("with {level} some {unit}s were lost, as promises allow"),
            false => format!("with {level} nothing was lost"),
        };
    };
    let rules = group.iter().flat_map(|told| &told.promise.rules);
    let oldest = rules.filter_map(|rule| rule.oldest_lost_s).reduce(f64::max);
    let older = oldest.map(|it| format!("older than {}", words::format_seconds(it)));
    let number = words::count_nouns(most as usize, unit);
    let name = &worst.promise.engine;
    if group.len() == 1 {
        let older = older.map_or_else(String::new, |older| format!(", none {older}"));
        let up_to = if most == 1 { "" } else { "up to " };
        return format!(
            "with {level} {name} lost {up_to}{number}{older}, which its promise allows"
        );
    }
    let older = older.map_or_else(String::new, |older| format!(", and no {who} lost any {older}"));
    format!("with {level} {name} lost the most, {number}{older}, which their promises allow")
}

/// Engines that don't give a planned level: "tarantool:memtx does not give this level (relaxed)".
pub fn describe_missing(document: &Document, level: &str) -> Option<String> {
    let left_out = document
        .run
        .run
        .left_out
        .iter()
        .filter(|it| it.levels.len() == 2 && it.levels.is_at(OwnFactor::Durability, level));
    let mut names: Vec<&str> =
        left_out.filter_map(|it| it.levels.level(OwnFactor::Engine)).collect();
    names.sort_unstable();
    names.dedup();
    let verb = if names.len() == 1 { "does" } else { "do" };
    (!names.is_empty())
        .then(|| format!("{} {verb} not give this level ({level})", words::join_list(&names)))
}
