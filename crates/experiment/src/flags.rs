//! What the command line changes about an experiment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::count::Count;
use crate::layer::{self, Given, Layer};
use crate::message::{Place, Problem, Source};
use crate::secret::begins_plainly;
use crate::{Factor, Vocabulary, WorkloadNames, bounds, cuts, file};

/// What the flags say; each overrides what the file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The levels of factors of the lab's own, as each factor's flag gives them: separated by commas.
    pub factors: Vec<(Factor, String)>,
    /// `--factor`, each as it was given: `NAME=LEVEL,LEVEL`.
    pub named: Vec<String>,
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
    /// Whether the requests of steady trials are traced and priced.
    pub priced: Option<bool>,
    /// `--planner`: the name of what decides which block is run next.
    pub planner: Option<String>,
    /// `--max-repetitions`: how often a block is repeated at most, by a planner that decides it.
    pub max_repetitions: Option<u32>,
    /// `--max-time`: how long the trials may take, likewise.
    pub max_time: Option<String>,
    /// `--cuts`: how many power cuts are made of each engine at each level of durability.
    pub cuts: Option<Count>,
    /// `--max-images`: how many images are judged where every moment is cut.
    pub max_images: Option<u32>,
    /// `--keep`: the rules that each is judged by, separated by commas.
    pub keep: Option<String>,
    /// `--file-system`: what the file systems that it is cut on promise, separated by commas.
    pub file_system: Option<String>,
    /// `--cut-recovery`: whether the power goes again while the engine recovers.
    pub cut_recovery: Option<bool>,
    /// `--cut-number`: the one that is made alone, without trials.
    pub cut_number: Option<u32>,
}

/// The levels of a factor in a flag.
struct Levels<'a> {
    /// What stands before them: `--clients ` or `--factor clients=`.
    before: String,
    name: &'a str,
    list: &'a str,
}

impl Changes {
    /// Whether a flag gives levels of the factor.
    pub fn gives(&self, factor: Factor) -> bool {
        let named = |text: &String| {
            text.split_once('=').is_some_and(|(name, _)| name.trim() == factor.name())
        };
        self.factors.iter().any(|(given, _)| *given == factor) || self.named.iter().any(named)
    }

    /// The flags that were given, by their names.
    pub fn flags(&self) -> Vec<String> {
        let own = self.factors.iter().map(|(factor, _)| format!("--{}", factor.name()));
        let named = self.named.iter().map(|text| format!("--factor {text}"));
        let others = [
            ("--compare", self.compare.is_some()),
            ("--text", self.text.is_some()),
            ("--seconds", self.seconds.is_some()),
            ("--repetitions", self.repetitions.is_some()),
            ("--seed", self.seed.is_some()),
            ("--quick", self.quick),
            ("--noise-floor", self.noise_floor.is_some()),
            ("--priced", self.priced.is_some()),
            ("--planner", self.planner.is_some()),
            ("--max-repetitions", self.max_repetitions.is_some()),
            ("--max-time", self.max_time.is_some()),
            ("--cuts", self.cuts.is_some()),
            ("--max-images", self.max_images.is_some()),
            ("--keep", self.keep.is_some()),
            ("--file-system", self.file_system.is_some()),
            ("--cut-recovery", self.cut_recovery.is_some()),
            ("--cut-number", self.cut_number.is_some()),
        ];
        let others = others.into_iter().filter(|(_, given)| *given);
        own.chain(named).chain(others.map(|(flag, _)| flag.to_owned())).collect()
    }

    /// What they say as a layer over an experiment with that workload; notes what is wrong.
    pub(crate) fn layer(
        &self,
        vocabulary: &Vocabulary,
        workload: Option<&WorkloadNames>,
        problems: &mut Vec<Problem>,
    ) -> Layer {
        let mut layer = Layer {
            noise_floor: self.noise_floor,
            priced: self.priced,
            cut_recovery: self.cut_recovery,
            ..Layer::default()
        };
        for given in self.levels(problems) {
            match given.factor(vocabulary, workload, &layer) {
                Ok(factor) => {
                    let raw = split(&given.before, given.list).into_iter().map(Ok);
                    let levels = layer::levels(factor, raw, vocabulary, problems);
                    layer.factors.insert(factor, levels);
                }
                Err(problem) => problems.push(problem),
            }
        }
        if let Some(name) = &self.compare {
            let compare = vocabulary.factor(workload, name);
            layer.compare = noted("compare", name, compare, problems);
        }
        if let Some(path) = &self.text {
            let text = file::text(Path::new(""), path);
            layer.text = noted("text", path.display(), text, problems);
        }
        if let Some(given) = self.seconds {
            layer.seconds = noted("seconds", given, layer::seconds(given), problems);
        }
        if let Some(given) = self.repetitions {
            let repetitions = layer::repetitions(given.into());
            layer.repetitions = noted("repetitions", given, repetitions, problems);
        }
        if let Some(given) = self.seed {
            layer.seed = noted("seed", given, layer::seed(given), problems);
        }
        if let Some(name) = &self.planner {
            let planner = vocabulary.planner(name).map(|planner| planner.name.clone());
            layer.planner = noted("planner", name, planner, problems);
        }
        if let Some(given) = self.max_repetitions {
            let most = bounds::max_repetitions(given.into());
            layer.max_repetitions = noted("max-repetitions", given, most, problems);
        }
        if let Some(given) = &self.max_time {
            layer.max_time = noted("max-time", given, bounds::max_time(given), problems);
        }
        self.cuts(&mut layer, problems);
        layer
    }

    /// Puts what they say of power cuts into a layer.
    fn cuts(&self, layer: &mut Layer, problems: &mut Vec<Problem>) {
        let given = |flag: &str, written: u32, value: u32| {
            let place = whole_value(flag, &written.to_string());
            Given { value, place }
        };
        if let Some(written) = self.cuts {
            let count = match written {
                Count::Times(count) => cuts::count(count.into()),
                Count::Every => Ok(written),
            };
            let place = whole_value("cuts", &written.to_string());
            layer.cuts =
                noted("cuts", written, count, problems).map(|value| Given { value, place });
        }
        if let Some(written) = self.max_images {
            let images = noted("max-images", written, cuts::images(written.into()), problems);
            layer.max_images = images.map(|images| given("max-images", written, images));
        }
        if let Some(list) = &self.keep {
            let keep = cuts::keep(split("--keep ", list));
            layer.keep = noted("keep", list, keep, problems);
        }
        if let Some(list) = &self.file_system {
            let file_systems = cuts::file_systems(split("--file-system ", list));
            layer.file_systems = noted("file-system", list, file_systems, problems);
        }
        if let Some(written) = self.cut_number {
            let only = noted("cut-number", written, cuts::only(written.into()), problems);
            layer.cut_number = only.map(|only| given("cut-number", written, only));
            layer.repetitions = Some(0);
        }
    }

    /// The levels of all factors that a flag gives, those of the factors' own flags first.
    fn levels(&self, problems: &mut Vec<Problem>) -> Vec<Levels<'_>> {
        let own = self.factors.iter().map(|(factor, list)| Levels {
            before: format!("--{factor} "),
            name: factor.name(),
            list,
        });
        let mut all: Vec<Levels<'_>> = own.collect();
        for text in &self.named {
            let Some((name, list)) = text.split_once('=') else {
                let problem = Problem::new(format!("`--factor {text}` gives no level")).help(
                    "write the factor's name, `=`, and its levels with commas: NAME=LEVEL,LEVEL",
                );
                problems.push(problem.at(&whole_value("factor", text)));
                continue;
            };
            all.push(Levels { before: format!("--factor {name}="), name: name.trim(), list });
        }
        all
    }
}

impl Levels<'_> {
    /// The factor whose levels they are, unless the layer has some of it already.
    fn factor(
        &self,
        vocabulary: &Vocabulary,
        workload: Option<&WorkloadNames>,
        layer: &Layer,
    ) -> Result<Factor, Problem> {
        let at_name = || {
            let start = self.before.rfind(self.name).unwrap_or_default();
            let text = format!("{}{}", self.before, self.list);
            Place { source: source(text), span: Some(start..start + self.name.len()) }
        };
        let factor = vocabulary.factor(workload, self.name).map_err(|p| p.at(&at_name()))?;
        if !layer.factors.contains_key(&factor) {
            return Ok(factor);
        }
        Err(Problem::new(format!("the levels of `{factor}` are given by two flags"))
            .at(&at_name())
            .help("give them by one, with commas between them"))
    }
}

/// What a flag says, where it is right; notes what is wrong with it.
fn noted<T>(
    flag: &str,
    written: impl ToString,
    value: Result<T, Problem>,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let at_value = |problem: Problem| problem.at(&whole_value(flag, &written.to_string()));
    value.map_err(|problem| problems.push(at_value(problem))).ok()
}

/// The pieces of a comma list and where each stands in its flag, behind what stands before them.
fn split(before: &str, list: &str) -> Vec<Given<String>> {
    let source = source(format!("{before}{list}"));
    let mut start = before.len();
    let pieces = pieces(list).into_iter().map(|piece| {
        let value = piece.trim();
        let from = start + (piece.len() - piece.trim_start().len());
        start += piece.len() + 1;
        let span = Some(from..from + value.len());
        Given { value: value.to_owned(), place: Place { source: Arc::clone(&source), span } }
    });
    pieces.collect()
}

/// What stands between commas. A URL that is not plainly one has all up to the next URL: a comma may
/// be one of its password's, of which nothing may be shown.
fn pieces(list: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut open) = (Vec::new(), 0, None);
    for piece in list.split(',') {
        let end = start + piece.len();
        match open.filter(|_| !piece.contains(":/")) {
            Some(first) => {
                pieces.pop();
                pieces.push(&list[first..end]);
            }
            None => {
                pieces.push(piece);
                let is_open = piece.contains(":/") && !begins_plainly(&list[start..]);
                open = is_open.then_some(start);
            }
        }
        start = end + 1;
    }
    pieces
}

/// The place of a flag's value.
fn whole_value(name: &str, value: &str) -> Place {
    let source = source(format!("--{name} {value}"));
    let end = source.text.len();
    Place { source, span: Some(end - value.len()..end) }
}

fn source(text: String) -> Arc<Source> {
    Arc::new(Source { name: "the command line".to_owned(), text })
}
