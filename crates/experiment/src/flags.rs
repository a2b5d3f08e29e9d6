//! What the command line changes about an experiment.

use std::path::Path;

use crate::keys::{FlagOverrides, Layer};
use crate::message::{ExperimentProblem, LocatedValue, SourceSpan};
use crate::written::{Around, source, split, whole_value};
use crate::{Factor, Vocabulary, WorkloadNames, layer};

/// The levels of a factor in a flag.
struct FlagLevels<'a> {
    /// What stands before them: `--clients ` or `--factor clients=`.
    before: String,
    name: &'a str,
    list: &'a str,
}

impl FlagOverrides {
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
        let quick = self.quick.then(|| "--quick".to_owned());
        own.chain(named).chain(self.of_keys()).chain(quick).collect()
    }

    /// What they say as a layer over an experiment with that workload; notes what is wrong.
    pub(crate) fn layer(
        &self,
        vocabulary: &Vocabulary,
        workload: Option<&WorkloadNames>,
        problems: &mut Vec<ExperimentProblem>,
    ) -> Layer {
        let mut layer = Layer::default();
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
        let around = Around { vocabulary, workload, folder: Path::new("") };
        self.put(&mut layer, &around, problems);
        if let Some(LocatedValue { place, .. }) = &layer.cut_number {
            layer.repetitions = Some(LocatedValue { value: 0, place: place.clone() });
        }
        layer
    }

    /// The levels of all factors that a flag gives, those of the factors' own flags first.
    fn levels(&self, problems: &mut Vec<ExperimentProblem>) -> Vec<FlagLevels<'_>> {
        let own = self.factors.iter().map(|(factor, list)| FlagLevels {
            before: format!("--{factor} "),
            name: factor.name(),
            list,
        });
        let mut all: Vec<FlagLevels<'_>> = own.collect();
        for text in &self.named {
            let Some((name, list)) = text.split_once('=') else {
                let problem = ExperimentProblem::new(format!("`--factor {text}` gives no level")).help(
                    "write the factor's name, `=`, and its levels with commas: NAME=LEVEL,LEVEL",
                );
                problems.push(problem.at(&whole_value("factor", text)));
                continue;
            };
            all.push(FlagLevels { before: format!("--factor {name}="), name: name.trim(), list });
        }
        all
    }
}

impl FlagLevels<'_> {
    /// The factor whose levels they are, unless the layer has some of it already.
    fn factor(
        &self,
        vocabulary: &Vocabulary,
        workload: Option<&WorkloadNames>,
        layer: &Layer,
    ) -> Result<Factor, ExperimentProblem> {
        let at_name = || {
            let start = self.before.rfind(self.name).unwrap_or_default();
            let text = format!("{}{}", self.before, self.list);
            SourceSpan { source: source(text), span: Some(start..start + self.name.len()) }
        };
        let factor = vocabulary.factor(workload, self.name).map_err(|p| p.at(&at_name()))?;
        if !layer.factors.contains_key(&factor) {
            return Ok(factor);
        }
        Err(ExperimentProblem::new(format!("the levels of `{factor}` are given by two flags"))
            .at(&at_name())
            .help("give them by one, with commas between them"))
    }
}
