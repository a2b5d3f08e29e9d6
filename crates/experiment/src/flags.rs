//! What the command line changes about an experiment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::layer::{self, Given, Layer};
use crate::message::{Place, Problem, Source};
use crate::{Factor, Vocabulary, cuts, file};

/// What flags say; each takes the place of what the file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// A factor's levels, as its flag gives them: separated by commas.
    pub factors: Vec<(Factor, String)>,
    /// `--compare`: the name of a factor.
    pub compare: Option<String>,
    /// `--text`: where the workload's text comes from.
    pub text: Option<PathBuf>,
    /// `--seconds`: how long the clients of a trial run.
    pub seconds: Option<f64>,
    /// `--repetitions`: how often each block is run.
    pub repetitions: Option<u32>,
    /// `--seed`: the seed of everything that is random.
    pub seed: Option<u64>,
    /// `--quick`: use the file's table `[quick]`.
    pub quick: bool,
    /// Whether the compared factor's first level is entered once more.
    pub noise_floor: Option<bool>,
    /// `--cuts`: how many power cuts are made of each engine at each level of durability.
    pub cuts: Option<u32>,
    /// `--keep`: the rules that each is judged by, separated by commas.
    pub keep: Option<String>,
    /// `--cut-recovery`: whether the power goes again while the engine recovers.
    pub cut_recovery: Option<bool>,
    /// `--cut-number`: the one that is made alone, without trials.
    pub cut_number: Option<u32>,
}

impl Changes {
    /// What they say as a layer; notes what is wrong with them.
    pub(crate) fn layer(&self, vocabulary: &Vocabulary, problems: &mut Vec<Problem>) -> Layer {
        let mut layer = Layer {
            noise_floor: self.noise_floor,
            cut_recovery: self.cut_recovery,
            ..Layer::default()
        };
        for (factor, list) in &self.factors {
            let raw = split(factor.name(), list).into_iter().map(Ok);
            let levels = layer::levels(*factor, raw, vocabulary, problems);
            layer.factors.insert(*factor, levels);
        }
        let mut say = |flag: &str, written: String, problem: Problem| {
            problems.push(problem.at(&whole_value(flag, &written)));
        };
        if let Some(name) = &self.compare {
            let compare = layer::compare(name);
            layer.compare = compare.map_err(|e| say("compare", name.clone(), e)).ok();
        }
        if let Some(path) = &self.text {
            let text = file::text(Path::new(""), path);
            layer.text = text.map_err(|e| say("text", path.display().to_string(), e)).ok();
        }
        if let Some(given) = self.seconds {
            let seconds = layer::seconds(given);
            layer.seconds = seconds.map_err(|e| say("seconds", given.to_string(), e)).ok();
        }
        if let Some(given) = self.repetitions {
            let repetitions = layer::repetitions(given.into());
            layer.repetitions =
                repetitions.map_err(|e| say("repetitions", given.to_string(), e)).ok();
        }
        if let Some(given) = self.seed {
            layer.seed = layer::seed(given).map_err(|e| say("seed", given.to_string(), e)).ok();
        }
        if let Some(given) = self.cuts {
            let count = cuts::count(given.into());
            layer.cuts = count.map_err(|e| say("cuts", given.to_string(), e)).ok();
        }
        if let Some(list) = &self.keep {
            let keep = cuts::keep(split("keep", list));
            layer.keep = keep.map_err(|e| say("keep", list.clone(), e)).ok();
        }
        if let Some(given) = self.cut_number {
            let only = cuts::only(given.into());
            layer.cut_number = only.map_err(|e| say("cut-number", given.to_string(), e)).ok();
            layer.repetitions = Some(0);
        }
        layer
    }
}

/// The pieces of a comma list and where each stands in its flag.
fn split(name: &str, list: &str) -> Vec<Given<String>> {
    let flag = flag(name, list);
    let mut start = flag.text.len() - list.len();
    let pieces = list.split(',').map(|piece| {
        let value = piece.trim();
        let from = start + (piece.len() - piece.trim_start().len());
        start += piece.len() + 1;
        let span = Some(from..from + value.len());
        Given { value: value.to_owned(), place: Place { source: Arc::clone(&flag), span } }
    });
    pieces.collect()
}

/// The place of a flag's value.
fn whole_value(name: &str, value: &str) -> Place {
    let source = flag(name, value);
    let end = source.text.len();
    Place { source, span: Some(end - value.len()..end) }
}

fn flag(name: &str, value: &str) -> Arc<Source> {
    Arc::new(Source { name: "the command line".to_owned(), text: format!("--{name} {value}") })
}
