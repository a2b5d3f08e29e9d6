//! What power cuts took at worst of each engine at each level of durability.

use std::collections::BTreeMap;

use bakeoff_analysis::Document;
use bakeoff_results::{Cut, JudgedImage};

use crate::promises::{self, PromiseCuts};
use crate::words;

/// What cuts left at worst, the mildest first.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Worst {
    /// All that was acknowledged was there.
    Nothing,
    /// Acknowledged commits were gone; how many at most, where they were counted.
    Lost(Option<u64>),
    /// Less was there than was promised, in how many images of how many, at every moment of a run.
    Broken(u64, u64),
    /// More than the last commits was wrong: in how many images of how many.
    Damaged(u64, u64),
}

/// What all cuts of an engine at a level come to.
#[derive(Clone, Debug)]
pub struct Loss {
    /// What they left at worst.
    pub worst: Worst,
    /// How many acknowledged commits an image had lost at most, where they were counted: damaged ones, too.
    pub most: u64,
    /// How many power cuts were made.
    pub cuts: u64,
    /// How many images of a disk were judged: of one cut each rule draws its own.
    pub images: u64,
    /// Whether every moment of a run was cut: its images have one history, and tell no share of cuts.
    pub is_of_every_moment: bool,
    /// How long before the cut the oldest commit that was lost was acknowledged, in seconds.
    pub oldest_s: Option<f64>,
    /// Whether some were made by another run.
    pub elsewhere: bool,
    /// What their clients had acknowledged, and how many seconds they had been at work.
    load: (u64, f64),
}

/// The losses of a document, by engine and level of durability.
pub struct Losses<'a>(BTreeMap<(&'a str, &'a str), Loss>);

impl<'a> Losses<'a> {
    /// Of this run's cuts and of others'.
    pub fn from_document(document: &'a Document) -> Self {
        let mut all: BTreeMap<_, Loss> = BTreeMap::new();
        for told in promises::all(document) {
            let Some(loss) = Loss::from_cuts(&told) else { continue };
            let place = (told.promise.engine.as_str(), told.promise.durability.as_str());
            match all.get_mut(&place) {
                Some(known) => known.add(loss),
                None => drop(all.insert(place, loss)),
            }
        }
        Self(all)
    }

    /// Whether no cut was made.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of an engine at a level.
    pub fn at<'b>(
        &'b self,
        document: &'b Document,
        engine: &'b str,
        durability: &'b str,
    ) -> Option<&'b Loss> {
        let run = &document.run.run;
        let engine = run.alias("engine", engine).unwrap_or(engine);
        let durability = run.alias("durability", durability).unwrap_or(durability);
        let mut all = self.0.iter();
        all.find(|(place, _)| **place == (engine, durability)).map(|(_, loss)| loss)
    }

    /// Of a level: each engine's, in the order of their names.
    pub fn of_level<'b>(
        &'b self,
        durability: &'b str,
    ) -> impl Iterator<Item = (&'a str, &'b Loss)> {
        let here = self.0.iter().filter(move |((_, level), _)| *level == durability);
        here.map(|((engine, _), loss)| (*engine, loss))
    }

    /// The levels that were tried.
    pub fn levels(&self) -> Vec<&'a str> {
        let mut levels: Vec<&str> = self.0.keys().map(|(_, level)| *level).collect();
        levels.sort_by_key(|level| (crate::durability::rank(level), *level));
        levels.dedup();
        levels
    }
}

impl Loss {
    /// `None` where no cut says anything.
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
        // Of every moment only what broke a promise and what lost something was counted.
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
            load: load(&made),
        })
    }

    /// What other cuts of the same promise found counts, too.
    fn add(&mut self, other: Self) {
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

    /// How many a second the clients had acknowledged, where some were lost and counted: how many that are says as
    /// much of these clients as of the engine.
    pub fn per_second(&self) -> Option<String> {
        let (acknowledged, seconds) = self.load;
        let some = matches!(self.worst, Worst::Lost(Some(_)));
        (some && acknowledged > 0 && seconds > 0.0)
            .then(|| words::digits(acknowledged as f64 / seconds))
    }

    /// "none of 15: at most 18 in 100": how often something may be lost though nothing was; `None` where
    /// something was.
    pub fn bound(&self) -> Option<String> {
        let is_of_none = self.worst == Worst::Nothing && !self.is_of_every_moment;
        is_of_none.then(|| {
            format!("none of {}: {}", words::count(self.cuts), promises::at_most(self.cuts))
        })
    }

    /// "nothing", "81 commits", "damaged, 86 of 200".
    pub fn text(&self) -> String {
        match self.worst {
            Worst::Nothing => "nothing".into(),
            Worst::Lost(Some(most)) => words::many(most as usize, "commit"),
            Worst::Lost(None) => "some commits".into(),
            Worst::Broken(number, of) => {
                format!("less than promised, {} of {}", words::count(number), words::count(of))
            }
            Worst::Damaged(number, of) => {
                format!("damaged, {} of {}", words::count(number), words::count(of))
            }
        }
    }
}

/// What the clients of some cuts had acknowledged, and in how many seconds. Of an engine that was conditioned
/// before, what it was told until then has no time beside it.
fn load(made: &[&Cut]) -> (u64, f64) {
    let timed = || made.iter().filter(|cut| cut.conditioned.is_none());
    (timed().map(|cut| cut.acknowledged).sum(), timed().map(|cut| cut.ran_s).sum())
}
