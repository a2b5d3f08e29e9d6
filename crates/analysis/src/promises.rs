//! Sums up the power cuts of each engine at each level of durability: whether the promise was kept.

use bakeoff_results::{Cut, FileSystem, JudgedImage, Promised, Run};
use bakeoff_stats::quantile::median;
use serde::{Deserialize, Serialize};

/// How a cell broke the promise of its level of durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BrokenPromise {
    /// It did not sync for the commits that it acknowledged.
    NotSynced,
    /// A power cut took more than the level allows, or left damage.
    BrokenInPowerCut,
}

/// What was found of an engine's promise at a level of durability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromiseView {
    /// The engine; the disk where files are written without one.
    pub engine: String,
    /// The level of its promise.
    pub durability: String,
    /// What the file system promised of names.
    pub file_system: FileSystem,
    /// What it says.
    pub promised: Promised,
    /// Whether it was kept in every cut; `None` where nothing was promised, or no cut was made.
    pub kept: Option<bool>,
    /// How many cuts were made.
    pub cuts: u32,
    /// After how many of them there was less than was promised, by any of the rules.
    pub broken: u32,
    /// How many more failed, and say nothing.
    pub failed: u32,
    /// Median time to open the engine again, over all cuts and rules; `None` where it never opened.
    pub recovery_median_s: Option<f64>,
    /// The longest.
    pub recovery_max_s: Option<f64>,
    /// What was found by each rule.
    pub rules: Vec<RuleView>,
}

/// What was found by one rule for what a power cut leaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleView {
    /// The rule.
    pub keep: String,
    /// How many cuts it judged.
    pub cuts: u32,
    /// After how many of them everything was there and whole.
    pub intact: u32,
    /// After how many of them there was less than was promised.
    pub broken: u32,
    /// After how many of them an acknowledged transaction was lost, and by how many at most.
    pub lost: FoundInCuts,
    /// How old the oldest of these was at most, in seconds before the cut.
    pub oldest_lost_s: Option<f64>,
    /// There and never sent.
    pub phantom: FoundInCuts,
    /// Part of a transaction.
    pub torn: FoundInCuts,
    /// Gone, while a later one of the same client is there.
    pub hole: FoundInCuts,
    /// Found by key and not by an index, or the other way round.
    pub index_broken: FoundInCuts,
    /// After how many cuts the engine would not start, or its own check failed.
    pub corrupt: u32,
    /// The first words on what was found that breaks the promise, or else on what was found.
    pub example: Option<String>,
    /// Which cut to repeat: the first that broke the promise.
    pub repeat: Option<u32>,
}

/// In how many cuts something was found, and how much of it in the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundInCuts {
    /// In how many cuts.
    pub cuts: u32,
    /// How many at most.
    pub most: u64,
}

impl FoundInCuts {
    fn add(&mut self, number: u64) {
        self.cuts += u32::from(number > 0);
        self.most = self.most.max(number);
    }
}

impl PromiseView {
    /// Whether a cut is one of those that it tells of.
    pub fn is_of(&self, cut: &Cut) -> bool {
        (&self.engine, &self.durability, self.file_system)
            == (&cut.engine, &cut.durability, cut.file_system)
    }
}

/// What the cuts come to, an entry for each engine, level and file system, in the plan's order.
pub(crate) fn promises(run: &Run, cuts: &[Cut]) -> Vec<PromiseView> {
    let mut groups: Vec<Vec<&Cut>> = Vec::new();
    for cut in cuts {
        let of = |cut: &Cut| (cut.engine.clone(), cut.durability.clone(), cut.file_system);
        let same = |group: &&mut Vec<&Cut>| of(group[0]) == of(cut);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(cut),
            None => groups.push(vec![cut]),
        }
    }
    let place = |factor: &str, level: &str| {
        let levels = run.factors.iter().find(|(name, _)| name == factor);
        levels.and_then(|(_, levels)| levels.iter().position(|name| name == level))
    };
    let factors = run.cuts.as_ref().map(|plan| plan.promise.clone()).unwrap_or_default();
    groups.sort_by_key(|group| {
        let Cut { engine, durability, file_system, .. } = group[0];
        (place(&factors.who, engine), place(&factors.what, durability), *file_system)
    });
    groups.iter().map(|group| promise(group)).collect()
}

fn promise(cuts: &[&Cut]) -> PromiseView {
    let first = cuts[0];
    let made: Vec<&Cut> = cuts.iter().copied().filter(|cut| cut.failed.is_none()).collect();
    let mut rules: Vec<RuleView> = Vec::new();
    for cut in &made {
        for judged in &cut.judged {
            let known = rules.iter().position(|rule| rule.keep == judged.keep);
            let at = known.unwrap_or_else(|| {
                rules.push(RuleView { keep: judged.keep.clone(), ..RuleView::default() });
                rules.len() - 1
            });
            rules[at].add(cut, judged);
        }
    }
    let judged = made.iter().flat_map(|cut| &cut.judged);
    let recoveries: Vec<f64> = judged.filter_map(|judged| judged.verdict.recovery_s).collect();
    let told = first.promised != Promised::Nothing && !made.is_empty();
    PromiseView {
        engine: first.engine.clone(),
        durability: first.durability.clone(),
        file_system: first.file_system,
        promised: first.promised,
        kept: told.then(|| rules.iter().all(|rule| rule.broken == 0)),
        cuts: made.len() as u32,
        broken: made.iter().filter(|cut| cut.broken().next().is_some()).count() as u32,
        failed: (cuts.len() - made.len()) as u32,
        recovery_median_s: median(&recoveries),
        recovery_max_s: recoveries.iter().copied().reduce(f64::max),
        rules,
    }
}

impl RuleView {
    /// Adds what the rule has found in a cut.
    fn add(&mut self, cut: &Cut, judged: &JudgedImage) {
        let verdict = &judged.verdict;
        let breaks = verdict.breaks(cut.promised);
        self.cuts += 1;
        self.intact += u32::from(verdict.is_whole() && verdict.lost == 0);
        self.lost.add(verdict.lost);
        self.phantom.add(verdict.phantom);
        self.torn.add(verdict.torn);
        self.hole.add(verdict.hole);
        self.index_broken.add(verdict.index_broken);
        self.corrupt += u32::from(verdict.corrupt.is_some());
        let oldest = [self.oldest_lost_s, verdict.oldest_lost_s].into_iter().flatten();
        self.oldest_lost_s = oldest.reduce(f64::max);
        let words = verdict.corrupt.as_ref().or(verdict.examples.first());
        if breaks && self.broken == 0 {
            self.example = words.cloned();
            self.repeat = Some(cut.number);
        } else if self.example.is_none() {
            self.example = words.cloned();
        }
        self.broken += u32::from(breaks);
    }
}
