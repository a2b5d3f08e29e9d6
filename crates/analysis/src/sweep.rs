//! Lines over a numeric factor: the times of operations at each level, the fastest at each, and
//! where that changes.

use bakeoff_results::Levels;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::comparison::{Contrast, RatioBound, is_rate};

/// All levels of the factor are numbers, at least three.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The numeric factor with the most levels.
    pub factor: String,
    /// From easy to hard: rising, but falling for memory and processors.
    pub levels: Vec<SweepLevel>,
    pub second: Option<SecondFactor>,
    pub panels: Vec<SweepPanel>,
    /// For each level of the compared factor, where the numeric factor is the number of clients and
    /// loops were closed.
    #[serde(default)]
    pub knees: Vec<Knee>,
}

/// The number of clients at which a closed loop turns from one that answers as fast as with the
/// fewest into one that makes clients wait: N* = (R_min + Z) X_max, with the mean time R_min of an
/// operation at the fewest clients, the highest rate X_max, and Z = 0, since clients don't think
/// between two operations. Source: N. J. Gunther, "Mind your knees and queues" (CMG 2009).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    pub levels: Levels,
    /// N*: the fewest clients × the highest rate ÷ the rate of the fewest clients.
    pub clients: f64,
    /// A lower bound where the rate still rose with the last number of clients, an upper bound
    /// where it was highest with the fewest.
    pub clients_is: RatioBound,
    /// The 95 % interval's lower end, from repetitions that have both rates; which number of
    /// clients is best is taken as known.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepLevel {
    pub level: String,
    pub value: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecondFactor {
    pub factor: String,
    pub levels: Vec<SweepLevel>,
}

/// In a document the contrasts of a rate are inverted, like those of
/// [`Comparison`](crate::Comparison).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct SweepPanel {
    pub operation: String,
    pub metric: String,
    pub levels: Levels,
    pub series: Vec<SweepSeries>,
    pub fastest: Vec<SweepFastest>,
    pub turns: Vec<LeadChange>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepSeries {
    pub level: String,
    pub points: Vec<SweepPoint>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    pub state: PointState,
    /// The geometric mean of its trials' figures; for a cell that is set aside, of those that do
    /// not count.
    pub value: Option<f64>,
    pub value_is: Option<RatioBound>,
    /// From the trials' own figures; `None` with fewer than two.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Against the fastest at this level; `None` for the fastest itself, and where the two can't be
    /// compared.
    pub against: Option<Contrast>,
    pub why: Option<String>,
    /// Operations a second that the modelled device serves by its model alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointState {
    Known,
    /// No trial counts, or they only say how long they were.
    SetAside,
    /// There is no trial, or its clients do other operations.
    NotRun,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepFastest {
    pub told: FastestVerdict,
    /// Those that may be fastest, the shortest mean first: one if `Won`, none if nothing can be
    /// told.
    pub levels: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FastestVerdict {
    Won,
    /// The first is not shown to be faster than the others.
    TooClose,
    /// A cell is set aside, has too few operations, is uneven, not steady, short of processors, or
    /// void.
    Unknown,
    /// Fewer than two have a figure.
    Alone,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeadChange {
    pub after: String,
    pub at: String,
    pub from: String,
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
    /// Inverts the contrasts of a rate for readers; applied twice, it gives them back.
    fn into_told(mut self) -> Self {
        if is_rate(&self.metric) {
            for point in self.series.iter_mut().flat_map(|it| &mut it.points) {
                point.against = point.against.map(Contrast::with_inverse_ratio);
            }
        }
        self
    }

    pub fn winner(&self, at: usize) -> Option<&str> {
        let fastest = self.fastest.get(at).filter(|fastest| fastest.told == FastestVerdict::Won)?;
        fastest.levels.first().map(String::as_str)
    }
}
