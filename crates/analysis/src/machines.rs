use bakeoff_results::{Levels, Machine};
use bakeoff_stats::MARGIN;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachinesView {
    pub machines: Vec<MachineView>,
    pub ratios: Vec<RatioOverMachines>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineView {
    /// Its name in its network, with a number where another machine has that name.
    pub name: String,
    pub machine: Machine,
    pub shards: Vec<u32>,
    /// Whether it ran two parts at one time.
    pub shared: bool,
    pub started_s: f64,
    pub ended_s: Option<f64>,
    pub disks: Vec<DiskView>,
    pub harness_s: f64,
    /// The most processes that wanted a processor in the minute before a part began.
    pub load: Option<f64>,
    /// Requests a second that one neighbour stream reached alone there.
    pub neighbour_alone_per_second: Option<f64>,
    pub blocks: u32,
    pub trials: u32,
    pub canaries: u32,
    pub canaries_off: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskView {
    pub device: String,
    pub file_system: String,
    pub blocks: u32,
}

/// A ratio of two levels on several machines, on each by its own pairs inside blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioOverMachines {
    pub operation: String,
    pub levels: Levels,
    pub baseline: String,
    pub level: String,
    pub on: Vec<MachineRatio>,
    pub agreement: Option<Agreement>,
    /// By more than the margin, and not by chance in any of these ratios.
    pub disagree: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineRatio {
    pub machine: u32,
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub blocks: u32,
}

/// Computed from logarithms; ratios are given as ratios.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Cochran's Q.
    pub q: f64,
    /// Q on average if the machines agree: one less than their number.
    pub expected_q: f64,
    /// The p-value of "they agree", after Holm's adjustment over all ratios.
    pub p_adjusted: f64,
    /// I²: the share of the spread between machines that is no chance, from 0 to 1.
    pub i_squared: f64,
    pub ratio: f64,
    /// The prediction interval at 95 %: where the true ratio of one more such machine lies. `None`
    /// with fewer than three machines.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// How many times slower the one level is than the other, on the machine where that is least.
    pub least: f64,
    pub most: f64,
    pub disagree: bool,
}

impl MachinesView {
    /// How far apart the ratios of `slow` to `fast` lie, among those that `is_here` picks. `None`
    /// if fewer than two machines have both.
    ///
    /// Two levels that are not the baseline are compared by their ratios to it: the machines
    /// disagree if they do so on one of these, and the ratio of the two differs by more than the
    /// margin.
    pub fn find_spread(
        &self,
        is_here: impl Fn(&RatioOverMachines) -> bool,
        fast: &str,
        slow: &str,
    ) -> Option<Apart> {
        let here: Vec<&RatioOverMachines> =
            self.ratios.iter().filter(|ratio| is_here(ratio)).collect();
        let of = |level: &str| here.iter().copied().find(|ratio| ratio.level == level);
        let to_baseline = |level: &str, machine: u32| match of(level) {
            Some(ratio) => ratio.on.iter().find(|on| on.machine == machine).map(|on| on.ratio),
            None => here.iter().any(|ratio| ratio.baseline == level).then_some(1.0),
        };
        let own = |machine| Some(to_baseline(slow, machine)? / to_baseline(fast, machine)?);
        let ratios: Vec<f64> = (0..self.machines.len() as u32).filter_map(own).collect();
        if ratios.len() < 2 {
            return None;
        }
        let least = ratios.iter().copied().reduce(f64::min)?;
        let most = ratios.iter().copied().reduce(f64::max)?;
        let any = [fast, slow].into_iter().filter_map(of).any(|ratio| ratio.disagree);
        Some(Apart { least, most, disagree: any && most / least > 1.0 + MARGIN })
    }
}
