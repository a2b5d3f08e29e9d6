//! What each machine of a merged run found, and whether they agree.

use bakeoff_results::{Levels, Machine};
use bakeoff_stats::MARGIN;
use serde::{Deserialize, Serialize};

/// The machines of a merged run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachinesView {
    /// Each machine once, in the order of their shards.
    pub machines: Vec<MachineView>,
    /// The ratios that two machines or more have, in the order of the run's comparisons.
    pub ratios: Vec<RatioOverMachines>,
}

/// One machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineView {
    /// What it is called: its name in its network, with a number where another one has that, too.
    pub name: String,
    /// The machine.
    pub machine: Machine,
    /// The shards that it ran, from 1; none where it went on with the merged run alone.
    pub shards: Vec<u32>,
    /// Whether it ran two of them, or what was missing, at one time.
    pub shared: bool,
    /// When the first of its parts began, in seconds since 1970 by its own clock.
    pub started_s: f64,
    /// When the last of them ended; `None` where one was killed, or has not ended.
    pub ended_s: Option<f64>,
    /// Each disk that its data lay on, in the order of its parts.
    pub disks: Vec<DiskView>,
    /// What timing and recording an operation costs bakeoff there at most, in seconds of processor time.
    pub harness_s: f64,
    /// How many processes wanted a processor in the minute before it began, at most; `None` where that is
    /// not known.
    pub load: Option<f64>,
    /// Requests a second that one neighbour stream reached alone there, where it was measured.
    pub neighbour_alone_per_second: Option<f64>,
    /// How many blocks are its own.
    pub blocks: u32,
    /// How many of its trials count.
    pub trials: u32,
    /// How many looks at the machine alone it took, and how many were off.
    pub canaries: u32,
    /// How many of these were unlike those before.
    pub canaries_off: u32,
}

/// A disk that data of a machine lay on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskView {
    /// The device, as its kernel names it.
    pub device: String,
    /// The type of the file system on it.
    pub file_system: String,
    /// How many of the machine's blocks were run there.
    pub blocks: u32,
}

/// A ratio of two levels on several machines. On each it is worked out inside blocks, by its own pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioOverMachines {
    /// The operation.
    pub operation: String,
    /// The other factors' levels.
    pub levels: Levels,
    /// The level that the other is held against.
    pub baseline: String,
    /// The level.
    pub level: String,
    /// What each machine has of it.
    pub on: Vec<OnMachine>,
    /// How far they agree; `None` where that can't be told.
    pub agreement: Option<Agreement>,
    /// Whether they disagree: by more than the margin, and not by chance in any of these ratios.
    pub disagree: bool,
}

/// A ratio on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnMachine {
    /// Which machine, by its place in [`MachinesView::machines`].
    pub machine: u32,
    /// How many times slower the level is.
    pub ratio: f64,
    /// The 95 % interval's lower end; `None` with a single block.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// How many blocks back it.
    pub blocks: u32,
}

/// How far machines agree on a ratio. All of it is of logarithms; ratios are given as such.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Cochran's Q.
    pub q: f64,
    /// How large Q is on average where the machines agree: one less than there are.
    pub expected_q: f64,
    /// The p-value of "they agree", after Holm's adjustment over all ratios.
    pub p_adjusted: f64,
    /// I²: the part of the spread of the ratios that is between machines, and no chance, from 0 to 1.
    pub i_squared: f64,
    /// The mean of the machines' true ratios.
    pub ratio: f64,
    /// The lower end of where the true ratio of one more such machine lies, at 95 %; `None` with fewer than
    /// three machines.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// How far apart the machines' own ratios of two levels lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// The smallest of the ratios: how many times slower the one level is than the other.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Whether the machines disagree: see [`RatioOverMachines::disagree`].
    pub disagree: bool,
}

impl MachinesView {
    /// How far apart the ratios of `slow` to `fast` lie, among the ratios that `is_here` picks, of one
    /// operation at one condition. `None` where fewer than two machines have both.
    ///
    /// Two levels of which neither is the baseline are told by their ratios to it: the machines disagree
    /// where they do so on one of these, and the ratio of the two differs by more than the margin.
    pub fn apart(
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
