//! Lines over a numeric factor: how long operations take at each of its levels, who is fastest at each,
//! and where another becomes so.

use bakeoff_results::Levels;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::comparison::{Contrast, RatioIs, is_rate};

/// Lines over a numeric factor: one whose levels are all numbers, three of them at least.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The factor: of several numeric ones that with the most levels.
    pub factor: String,
    /// Its levels of which a trial was run, from easy to hard: rising, and of memory and processors
    /// falling.
    pub levels: Vec<SweepLevel>,
    /// The numeric factor with the most levels beside it; `None` where there is none.
    pub second: Option<SecondFactor>,
    /// What the lines are of: an operation and the levels of the other factors.
    pub panels: Vec<SweepPanel>,
    /// Where more clients bring no more: of each level of the compared factor at the levels of the others,
    /// where the factor is the number of clients and loops were closed.
    #[serde(default)]
    pub knees: Vec<Knee>,
}

/// The number of clients at which a closed loop turns from one that answers as fast as with the fewest into
/// one that makes clients wait: N* = (R_min + Z) X_max, with the mean time R_min of an operation at the fewest
/// clients, the highest rate X_max, and Z = 0, since clients don't think between two operations. Source: N. J.
/// Gunther, "Mind your knees and queues" (CMG 2009).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The levels of all factors but the number of clients.
    pub levels: Levels,
    /// N*: the fewest clients, times the highest rate over the rate that these reach.
    pub clients: f64,
    /// Whether that is exact: at least so many where the rate still rose with the last number of clients, and
    /// at most where it was highest with the fewest.
    pub clients_is: RatioIs,
    /// The lower end of its 95 % interval, from repetitions that have both rates; which number of clients has
    /// the highest is taken as known. `None` with fewer than two, and where it may be anything lower.
    pub low: Option<f64>,
    /// The upper end; `None` also where it may be anything higher.
    pub high: Option<f64>,
}

/// A level that is a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepLevel {
    /// The level.
    pub level: String,
    /// Its number: shares of one, bytes, or things a second.
    pub value: f64,
}

/// A numeric factor beside another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecondFactor {
    /// The factor.
    pub factor: String,
    /// Its levels, from easy to hard.
    pub levels: Vec<SweepLevel>,
}

/// The lines of an operation at the levels of the other factors. In a document the contrasts of a rate are the other
/// way round, as those of [`Comparison`](crate::Comparison) are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct SweepPanel {
    /// The operation; of a rate, all of them together, or the only one's name.
    pub operation: String,
    /// What the figures are, as a comparison says it: seconds, or so many a second.
    pub metric: String,
    /// The levels of all factors but the numeric one and the compared one.
    pub levels: Levels,
    /// A line for each level of the compared factor, in the plan's order.
    pub series: Vec<SweepSeries>,
    /// Who is fastest at each of the numeric factor's levels.
    pub fastest: Vec<SweepFastest>,
    /// Where another is fastest than before.
    pub turns: Vec<LeadChange>,
}

/// The figures of a level of the compared factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepSeries {
    /// The level.
    pub level: String,
    /// A point for each of the numeric factor's levels.
    pub points: Vec<SweepPoint>,
}

/// What is known of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// Whether its trials count.
    pub state: PointState,
    /// The geometric mean of its trials' figures; of a cell that is set aside, of those that do not
    /// count. `None` where none has a figure.
    pub value: Option<f64>,
    /// Whether that is exact or a bound; `None` without one.
    pub value_is: Option<RatioIs>,
    /// The lower end of its 95 % interval, from the trials' own figures; `None` with fewer than two.
    pub low: Option<f64>,
    /// The upper end; `None` where it may be anything above its lower end, too.
    pub high: Option<f64>,
    /// How it stands against the fastest at this level; `None` for that one itself, and where they can't
    /// be held together.
    pub against: Option<Contrast>,
    /// Why the cell is set aside.
    pub why: Option<String>,
    /// What the modelled device serves of the same requests by its model alone, in operations a second; `None`
    /// where nothing is modelled, and of other figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

/// Whether the trials of a cell count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointState {
    /// They do.
    Known,
    /// None of them does, or they only say how long the trials were.
    SetAside,
    /// There is none, or its clients do other operations.
    NotRun,
}

/// Who is fastest at a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepFastest {
    /// How sure that is.
    pub told: FastestVerdict,
    /// Those that may be it, that with the shortest mean first; one alone where it is `won`, none where
    /// nothing is to be told.
    pub levels: Vec<String>,
}

/// Whether it can be said who is fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FastestVerdict {
    /// One is faster than every other.
    Won,
    /// The first is not shown to be faster than the others.
    TooClose,
    /// A cell is set aside, has too few operations, is too uneven, was never steady, is short of processors, or is
    /// not the same work.
    Unknown,
    /// Fewer than two have a figure.
    Alone,
}

/// Where another is fastest than before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeadChange {
    /// The last of the numeric factor's levels at which the one was shown to be fastest.
    pub after: String,
    /// The first at which the other is.
    pub at: String,
    /// Who was fastest.
    pub from: String,
    /// Who is.
    pub to: String,
}

impl Serialize for SweepPanel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(&self.clone().into_told(), serializer)
    }
}

impl<'de> Deserialize<'de> for SweepPanel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::deserialize(deserializer)?.into_told())
    }
}

impl SweepPanel {
    /// The same as readers are told it, who are told of a rate how many times as much it is; and back.
    fn into_told(mut self) -> Self {
        if is_rate(&self.metric) {
            for point in self.series.iter_mut().flat_map(|it| &mut it.points) {
                point.against = point.against.map(Contrast::turned);
            }
        }
        self
    }

    /// Who is shown to be fastest at a level, by the level's place.
    pub fn winner(&self, at: usize) -> Option<&str> {
        let fastest = self.fastest.get(at).filter(|fastest| fastest.told == FastestVerdict::Won)?;
        fastest.levels.first().map(String::as_str)
    }
}
