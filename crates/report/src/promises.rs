//! Every promise that power cuts were held against, by this run or another, and what a sentence
//! says of them.

use bakeoff_analysis::{Document, PromiseView, most_of_none};
use bakeoff_results::{Cut, CutPlan, FileSystem, PromiseFactors, Promised};

use crate::durability;
use crate::words;

/// The name of the section that says more.
pub const SECTION: &str = "promises";

/// What is lost of an engine.
pub const COMMIT: &str = "commit";
/// What is lost of files that are written without one.
pub const SYNCED_BLOCK: &str = "synced block";

/// What is said beside a cell whose promise was broken.
pub const BROKEN: &str = "promise broken";
/// The same, where it was broken only by a file system that promises no more than POSIX does.
const BROKEN_ON_POSIX: &str = "promise broken on posix";

/// A promise, and the cuts that tell of it.
pub struct PromiseCuts<'a> {
    /// What was found.
    pub promise: &'a PromiseView,
    /// The cuts.
    pub cuts: Vec<&'a Cut>,
    /// How they were planned.
    pub plan: Option<&'a CutPlan>,
    /// The folder of the run that made them; `None` for this one.
    pub folder: Option<&'a str>,
    /// What is not the same in that run, in words.
    pub differences: &'a [String],
}

/// This run's own first.
pub fn all(document: &Document) -> impl Iterator<Item = PromiseCuts<'_>> {
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

/// The factors by which planned cuts' promises differ; those of engines where no plan is known.
pub fn factors(plan: Option<&CutPlan>) -> PromiseFactors {
    plan.map(|plan| plan.promise.clone()).unwrap_or_default()
}

impl PromiseCuts<'_> {
    /// The factors by which the promise differs from others of its run.
    pub fn factors(&self) -> PromiseFactors {
        factors(self.plan)
    }

    /// Whether it is of files that are written without an engine: then what was synced is promised.
    pub fn is_of_files(&self) -> bool {
        self.plan.is_some_and(|plan| !plan.promise.is_of_engines())
    }

    /// Where every moment of a run was cut, how many images were judged, and how many of them were less
    /// than was promised.
    pub fn images(&self) -> Option<(u64, u64)> {
        let every = self.cuts.iter().filter_map(|cut| cut.every.as_ref());
        every.map(|it| (it.judged, it.broken)).reduce(|one, next| (one.0 + next.0, one.1 + next.1))
    }

    /// The same of one rule; and how many images had lost something.
    pub fn images_of(&self, keep: &str) -> Option<[u64; 3]> {
        let every = self.cuts.iter().filter_map(|cut| cut.every.as_ref());
        let of_rule = every.flat_map(|it| &it.rules).filter(|rule| rule.keep == keep);
        let counts = of_rule.map(|it| [it.judged, it.broken, it.lost]);
        counts.reduce(|one, next| std::array::from_fn(|at| one[at] + next[at]))
    }

    /// What the promise was held against, in words, and how much of it broke the promise.
    pub fn tried(&self) -> (String, u64) {
        let (what, number, broken) = self.tries();
        (words::many(number as usize, what), broken)
    }

    /// What the promise was held against, how many of these, and how many broke it.
    fn tries(&self) -> (&'static str, u64, u64) {
        match self.images() {
            Some((judged, broken)) => ("crash image", judged, broken),
            None => ("power cut", self.promise.cuts.into(), self.promise.broken.into()),
        }
    }

    /// The level; and the file system, where the promise was not tried on one as ext4 is alone:
    /// "strict on posix".
    pub fn level(&self) -> String {
        self.promise.durability.clone() + &self.on()
    }

    /// The same as it stands in a sentence after "with": "the last second at risk on posix", "sync fdatasync:1".
    fn in_words(&self) -> String {
        let level = &self.promise.durability;
        let words = match self.is_of_files() {
            true => words::level(&self.factors().what, level),
            false => durability::told(level),
        };
        words + &self.on()
    }

    /// " on posix": the file system, where the promise was not tried on one as ext4 is alone.
    fn on(&self) -> String {
        let file_systems = self.plan.map_or(&[][..], |plan| &plan.file_systems);
        let file_system = self.promise.file_system;
        if file_system == FileSystem::Ext4 && !file_systems.contains(&FileSystem::Posix) {
            return String::new();
        }
        format!(" on {}", file_system.name())
    }
}

/// What power cuts have shown of the promise of a cell, if it is not kept: `level_of` says which level
/// of a factor the cell has.
pub fn mark<'a>(
    document: &Document,
    level_of: impl Fn(&str) -> Option<&'a str>,
) -> Option<&'static str> {
    let run = &document.run.run;
    let has = |factor: &str, promised: &str| {
        let level = level_of(factor);
        level.is_some_and(|level| run.alias(factor, level).unwrap_or(level) == promised)
    };
    let is_of_cell = |told: &PromiseCuts<'_>| {
        let PromiseFactors { who, what } = told.factors();
        has(&who, &told.promise.engine) && has(&what, &told.promise.durability)
    };
    let broken = all(document)
        .filter(|told| told.promise.kept == Some(false) && is_of_cell(told))
        .map(|told| told.promise);
    let mark = |file_system| match file_system {
        FileSystem::Ext4 => BROKEN,
        FileSystem::Posix => BROKEN_ON_POSIX,
    };
    broken.map(|promise| promise.file_system).min().map(mark)
}

/// What the verdict on the run says of its promises: the broken ones, a clause for each that gave them, as "mariadb:aria
/// broke its promise at relaxed in 2 and at strict in 5 of 100 power cuts each".
pub fn broken(document: &Document) -> Vec<String> {
    let broken = all(document).filter(|told| told.promise.kept == Some(false));
    let tried_alike = |told: &PromiseCuts<'_>| {
        let (what, number, _) = told.tries();
        (told.promise.engine.clone(), told.folder.map(str::to_owned), what, number)
    };
    let clause = |alike: &[PromiseCuts<'_>]| {
        let first = &alike[0];
        let at = |told: &PromiseCuts<'_>| {
            format!("at {} in {}", told.level(), words::count(told.tries().2))
        };
        let levels: Vec<String> = alike.iter().map(at).collect();
        let each = if levels.len() > 1 { " each" } else { "" };
        let by = first.folder.map_or(String::new(), |folder| format!(" by the run in {folder}"));
        let (engine, levels, cuts) = (&first.promise.engine, words::list(&levels), first.tried().0);
        format!("{engine} broke its promise {levels} of {cuts}{each}{by}")
    };
    let broken: Vec<PromiseCuts<'_>> = broken.collect();
    broken.chunk_by(|one, next| tried_alike(one) == tried_alike(next)).map(clause).collect()
}

/// Those whose promises were tried, each once, where the run has others that were not: by the levels of the
/// factor that says whose the promises are.
pub fn tried_alone(document: &Document, who: &str, tried: &[&str]) -> Option<String> {
    let run = &document.run.run;
    let (_, levels) = run.factors.iter().find(|(name, _)| name == who)?;
    let is_tried = |level: &str| tried.contains(&level);
    let promises = |level: &&String| run.alias(who, level).is_none() && run.stores(level);
    let others = levels.iter().filter(promises).any(|level| !is_tried(level));
    let all_known = tried.iter().all(|tried| levels.iter().any(|level| level == tried));
    let mut names: Vec<&str> = tried.to_vec();
    names.sort_unstable();
    names.dedup();
    (others && all_known && !names.is_empty()).then(|| words::list(&names))
}

/// A clause that names whose promises these are, where the run has others that were not tried.
fn of_some(document: &Document, who: &str, tried: &[&str]) -> String {
    let alone = tried_alone(document, who, tried);
    alone.map_or_else(String::new, |names| format!(" of {names} (the others were not tried)"))
}

/// That no promise was broken and what was lost within them, a clause each; or what else there is to say when none
/// was broken.
pub fn kept(document: &Document) -> Vec<String> {
    let images = all(document).filter(|it| it.promise.kept == Some(true)).map(|it| it.images());
    let images = images.collect::<Option<Vec<_>>>();
    let every: Vec<PromiseCuts<'_>> = all(document).collect();
    let one = every.iter().find(|told| told.promise.kept == Some(true));
    let Some(who) = every.first().map(|told| told.factors().who) else { return Vec::new() };
    let all: Vec<&PromiseView> = every.iter().map(|told| told.promise).collect();
    let told = |state| all.iter().filter(move |promise| promise.kept == Some(state));
    let (kept, cuts) = told(true).fold((0, 0), |(n, cuts), p| (n + 1, cuts + p.cuts));
    let cuts = match images.filter(|it| !it.is_empty()) {
        Some(images) => {
            let judged: u64 = images.iter().map(|(judged, _)| judged).sum();
            words::many(judged as usize, "crash image")
        }
        None => words::many(cuts as usize, "power cut"),
    };
    let untried = all.iter().filter(|it| it.cuts == 0 && it.failed > 0).count();
    let but = match untried {
        0 => String::new(),
        number => format!(", and {} could not be tried", words::many(number, "level")),
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
    std::iter::once(said + &but).chain(within(&every, &who)).collect()
}

/// "at most 18 in 100": the upper end of the 95 % interval of a share of which none was seen in `cuts`.
pub fn at_most(cuts: u64) -> String {
    let most = 100.0 * most_of_none(cuts);
    let most = if most < 1.0 { format!("{most:.1}") } else { format!("{most:.0}") };
    format!("at most {most} in 100")
}

/// " (15 of each: at most 18 in 100 break it)": how often each promise that was kept may break all the same;
/// nothing where every moment of a run was cut, since its images have one history.
fn bound_of_each(every: &[PromiseCuts<'_>]) -> String {
    let kept: Vec<&PromiseCuts<'_>> =
        every.iter().filter(|told| told.promise.kept == Some(true)).collect();
    let fewest = kept.iter().map(|told| told.promise.cuts).min().unwrap_or(0);
    if fewest == 0 || kept.iter().any(|told| told.images().is_some()) {
        return String::new();
    }
    let at_most = at_most(fewest.into());
    match kept.len() {
        1 => format!(" ({at_most} break it)"),
        _ => format!(" ({fewest} of each: {at_most} break it)"),
    }
}

/// What was lost though a promise was kept, a clause for each level that allows that.
fn within(all: &[PromiseCuts<'_>], who: &str) -> Vec<String> {
    let kept = all.iter().filter(|told| told.promise.kept == Some(true));
    let loose = kept.filter(|told| matches!(told.promise.promised, Promised::Whole { .. }));
    let mut levels: Vec<(String, Vec<&PromiseCuts<'_>>)> = Vec::new();
    for told in loose {
        let words = told.in_words();
        match levels.iter_mut().find(|(level, _)| *level == words) {
            Some((_, group)) => group.push(told),
            None => levels.push((words, vec![told])),
        }
    }
    levels.iter().map(|(level, group)| lost(level, group, who)).collect()
}

/// How much an image had lost at most.
fn most_lost(told: &PromiseCuts<'_>) -> u64 {
    told.promise.rules.iter().map(|rule| rule.lost.most).max().unwrap_or(0)
}

/// Whether images of every moment had lost something: of these no number is kept.
fn lost_some(told: &PromiseCuts<'_>) -> bool {
    let every = told.cuts.iter().filter_map(|cut| cut.every.as_ref());
    every.flat_map(|it| &it.rules).any(|rule| rule.lost > 0)
}

/// "with the last second at risk fjall lost the most, 81 commits, and no engine lost any older than 970 ms, which
/// their promises allow"; of one engine "sqlite lost up to 81 commits, none older than 970 ms, which its promise allows"; or
/// that nothing was lost.
fn lost(level: &str, group: &[&PromiseCuts<'_>], who: &str) -> String {
    let unit = if group.iter().any(|told| told.is_of_files()) { SYNCED_BLOCK } else { COMMIT };
    // The first of those that lost as much.
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
    let older = oldest.map(|it| format!("older than {}", words::seconds(it)));
    let number = words::many(most as usize, unit);
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

/// The engines that were to be run at a level of durability and were not, since they do not give it: "tarantool:memtx
/// does not give this level (relaxed)".
pub fn without(document: &Document, level: &str) -> Option<String> {
    let left_out = document.run.run.left_out.iter().filter(|it| {
        it.levels.len() == 2 && it.levels.get("durability").is_some_and(|found| found == level)
    });
    let engines = left_out.filter_map(|it| it.levels.get("engine"));
    let mut names: Vec<&str> = engines.map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let verb = if names.len() == 1 { "does" } else { "do" };
    (!names.is_empty())
        .then(|| format!("{} {verb} not give this level ({level})", words::list(&names)))
}
