//! The worst losses in power cuts, by engine and durability.

use std::collections::BTreeMap;

use bakeoff_analysis::Document;
use bakeoff_results::{Cut, JudgedImage, OwnFactor};

use crate::promises::{self, PromiseCuts};
use crate::words;

#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Worst {
    Nothing,
    /// Acknowledged commits; the number is the most, if it was counted.
    Lost(Option<u64>),
    /// Less than was promised, at every moment of a run: in how many images of how many.
    Broken(u64, u64),
    /// More than the last commits was wrong: in how many images of how many.
    Damaged(u64, u64),
}

#[derive(Clone, Debug)]
pub struct Loss {
    pub worst: Worst,
    /// The most acknowledged commits that an image lost, damaged ones included.
    pub most: u64,
    pub cuts: u64,
    /// Images that were judged: each rule draws its own of a cut.
    pub images: u64,
    /// Every moment of one run was cut: one history tells no share of cuts.
    pub is_of_every_moment: bool,
    /// Age of the oldest lost commit at the cut, in seconds.
    pub oldest_s: Option<f64>,
    pub elsewhere: bool,
    load: (u64, f64),
}

pub struct Losses<'a>(BTreeMap<(&'a str, &'a str), Loss>);

impl<'a> Losses<'a> {
    pub fn from_document(document: &'a Document) -> Self {
        let mut all: BTreeMap<_, Loss> = BTreeMap::new();
        for told in promises::list_promises(document) {
            let Some(loss) = Loss::from_cuts(&told) else { continue };
            let place = (told.promise.engine.as_str(), told.promise.durability.as_str());
            match all.get_mut(&place) {
                Some(known) => known.merge_loss(loss),
                None => drop(all.insert(place, loss)),
            }
        }
        Self(all)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn find_loss<'b>(
        &'b self,
        document: &'b Document,
        engine: &'b str,
        durability: &'b str,
    ) -> Option<&'b Loss> {
        let run = &document.run.run;
        let engine = run.resolve_alias(OwnFactor::Engine.as_str(), engine).unwrap_or(engine);
        let durability =
            run.resolve_alias(OwnFactor::Durability.as_str(), durability).unwrap_or(durability);
        let mut all = self.0.iter();
        all.find(|(place, _)| **place == (engine, durability)).map(|(_, loss)| loss)
    }

    pub fn of_level<'b>(
        &'b self,
        durability: &'b str,
    ) -> impl Iterator<Item = (&'a str, &'b Loss)> {
        let here = self.0.iter().filter(move |((_, level), _)| *level == durability);
        here.map(|((engine, _), loss)| (*engine, loss))
    }

    pub fn levels(&self) -> Vec<&'a str> {
        let mut levels: Vec<&str> = self.0.keys().map(|(_, level)| *level).collect();
        levels.sort_by_key(|level| (bakeoff_analysis::rank_durability(level), *level));
        levels.dedup();
        levels
    }
}

impl Loss {
    fn from_cuts(told: &PromiseCuts<'_>) -> Option<Self> {
        let made: Vec<&Cut> = told.cuts.iter().copied().filter(|it| it.failed.is_none()).collect();
        let judged: Vec<&JudgedImage> = made.iter().flat_map(|cut| &cut.judged).collect();
        let every: Vec<_> = made.iter().filter_map(|cut| cut.every.as_ref()).collect();
        if judged.is_empty() && every.is_empty() {
            return None;
        }
        let damaged = judged.iter().filter(|it| !it.verdict.is_whole()).count() as u64;
        let most = judged.iter().map(|it| it.verdict.lost).max().unwrap_or(0);
        let rules = || every.iter().flat_map(|it| &it.rules);
        let images = judged.len() as u64 + every.iter().map(|it| it.judged).sum::<u64>();
        // Of every moment only broken promises and losses were counted.
        let broken = every.iter().map(|it| it.broken).sum::<u64>();
        let worst = if damaged > 0 {
            Worst::Damaged(damaged, judged.len() as u64)
        } else if broken > 0 {
            Worst::Broken(broken, every.iter().map(|it| it.judged).sum())
        } else if most > 0 {
            Worst::Lost(Some(most))
        } else if rules().any(|rule| rule.lost > 0) {
            Worst::Lost(None)
        } else {
            Worst::Nothing
        };
        let oldest_s = judged.iter().filter_map(|it| it.verdict.oldest_lost_s).reduce(f64::max);
        Some(Self {
            worst,
            most,
            cuts: made.len() as u64,
            images,
            is_of_every_moment: !every.is_empty(),
            oldest_s,
            elsewhere: told.folder.is_some(),
            load: sum_load(&made),
        })
    }

    fn merge_loss(&mut self, other: Self) {
        let oldest = [self.oldest_s, other.oldest_s].into_iter().flatten();
        self.oldest_s = oldest.reduce(f64::max);
        self.most = self.most.max(other.most);
        self.cuts += other.cuts;
        self.images += other.images;
        self.is_of_every_moment |= other.is_of_every_moment;
        self.elsewhere |= other.elsewhere;
        self.load = (self.load.0 + other.load.0, self.load.1 + other.load.1);
        if other.worst > self.worst {
            self.worst = other.worst;
        }
    }

    /// The clients' rate where commits were lost: how many are lost depends on it, too.
    pub fn per_second(&self) -> Option<String> {
        let (acknowledged, seconds) = self.load;
        let some = matches!(self.worst, Worst::Lost(Some(_)));
        (some && acknowledged > 0 && seconds > 0.0)
            .then(|| words::format_digits(acknowledged as f64 / seconds))
    }

    /// "none of 15: at most 18 in 100"; `None` where something was lost.
    pub fn describe_bound(&self) -> Option<String> {
        let is_of_none = self.worst == Worst::Nothing && !self.is_of_every_moment;
        is_of_none.then(|| {
            format!("none of {}: {}", words::format_count(self.cuts), promises::at_most(self.cuts))
        })
    }

    /// "nothing", "81 commits", "damaged, 86 of 200".
    pub fn text(&self) -> String {
        match self.worst {
            Worst::Nothing => "nothing".into(),
            Worst::Lost(Some(most)) => words::count_nouns(most as usize, "commit"),
            Worst::Lost(None) => "some commits".into(),
            Worst::Broken(number, of) => {
                format!(
                    "less than promised, {} of {}",
                    words::format_count(number),
                    words::format_count(of)
                )
            }
            Worst::Damaged(number, of) => {
                format!("damaged, {} of {}", words::format_count(number), words::format_count(of))
            }
        }
    }
}

/// Acknowledged commits and seconds. Commits of conditioning have no time.
fn sum_load(made: &[&Cut]) -> (u64, f64) {
    let timed = || made.iter().filter(|cut| cut.conditioned.is_none());
    (timed().map(|cut| cut.acknowledged).sum(), timed().map(|cut| cut.ran_s).sum())
}
