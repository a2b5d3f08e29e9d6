//! The command line's changes to an experiment.

use std::path::Path;

use crate::entries::{Around, command_line_source, split_list, whole_value};
use crate::keys::{FlagOverrides, Layer};
use crate::message::{ExperimentProblem, LocatedValue, SourceSpan};
use crate::{Factor, Vocabulary, WorkloadNames, layer};

struct FlagLevels<'a> {
    /// `--clients ` or `--factor clients=`.
    before: String,
    name: &'a str,
    list: &'a str,
}

impl FlagOverrides {
    pub fn gives_factor(&self, factor: Factor) -> bool {
        let named = |text: &String| {
            text.split_once('=').is_some_and(|(name, _)| name.trim() == factor.name())
        };
        self.factors.iter().any(|(given, _)| *given == factor) || self.named.iter().any(named)
    }

    pub fn given_flags(&self) -> Vec<String> {
        let own = self.factors.iter().map(|(factor, _)| format!("--{}", factor.name()));
        let named = self.named.iter().map(|text| format!("--factor {text}"));
        let quick = self.quick.then(|| "--quick".to_owned());
        own.chain(named).chain(self.of_keys()).chain(quick).collect()
    }

    pub(crate) fn to_layer(
        &self,
        vocabulary: &Vocabulary,
        workload: Option<&WorkloadNames>,
        problems: &mut Vec<ExperimentProblem>,
    ) -> Layer {
        let mut layer = Layer::default();
        for given in self.given_levels(problems) {
            match given.find_factor(vocabulary, workload, &layer) {
                Ok(factor) => {
                    let raw = split_list(&given.before, given.list).into_iter().map(Ok);
                    let levels = layer::read_levels(factor, raw, vocabulary, problems);
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

    fn given_levels(&self, problems: &mut Vec<ExperimentProblem>) -> Vec<FlagLevels<'_>> {
        let own = self.factors.iter().map(|(factor, list)| FlagLevels {
            before: format!("--{factor} "),
            name: factor.name(),
            list,
        });
        let mut all: Vec<FlagLevels<'_>> = own.collect();
        for text in &self.named {
            let Some((name, list)) = text.split_once('=') else {
                let problem = ExperimentProblem::new(format!("`--factor {text}` gives no level")).with_help(
                    "write the factor's name, `=`, and its levels with commas: NAME=LEVEL,LEVEL",
                );
                problems.push(problem.at_place(&whole_value("factor", text)));
                continue;
            };
            all.push(FlagLevels { before: format!("--factor {name}="), name: name.trim(), list });
        }
        all
    }
}

impl FlagLevels<'_> {
    fn find_factor(
        &self,
        vocabulary: &Vocabulary,
        workload: Option<&WorkloadNames>,
        layer: &Layer,
    ) -> Result<Factor, ExperimentProblem> {
        let at_name = || {
            let start = self.before.rfind(self.name).unwrap_or_default();
            let text = format!("{}{}", self.before, self.list);
            SourceSpan {
                source: command_line_source(text),
                span: Some(start..start + self.name.len()),
            }
        };
        let factor =
            vocabulary.find_factor(workload, self.name).map_err(|p| p.at_place(&at_name()))?;
        if !layer.factors.contains_key(&factor) {
            return Ok(factor);
        }
        Err(ExperimentProblem::new(format!("the levels of `{factor}` are given by two flags"))
            .at_place(&at_name())
            .with_help("give them by one, with commas between them"))
    }
}
