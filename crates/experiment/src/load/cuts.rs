//! Combines the settings of power cuts, and checks that they fit together.

use std::collections::BTreeMap;

use super::value_of;
use crate::cuts::IMAGES;
use crate::keys::Layer;
use crate::level::each_once;
use crate::message::{ExperimentProblem, LocatedValue, SourceSpan};
use crate::{
    Count, CutBy, Cuts, FILE_SYSTEMS, Factor, FlagOverrides, KEEPS, Vocabulary, WorkloadNames,
};

pub(super) fn settle_cuts(
    layer: &Layer,
    workload: &WorkloadNames,
    factors: &BTreeMap<Factor, Vec<String>>,
    vocabulary: &Vocabulary,
) -> Option<Cuts> {
    place_of_cuts(layer)?;
    // Without power cuts in the workload, the check refuses them.
    let by = workload.cut_by.clone().unwrap_or_else(|_| CutBy::under_engines(""));
    let [subject, _] = by.promise;
    let mut subjects = each_once(factors.get(&subject).into_iter().flatten());
    if subject == Factor::ENGINE {
        subjects.retain(|engine| vocabulary.engines.stores(engine));
    }
    Some(Cuts {
        count: match value_of(&layer.cuts) {
            Some(Count::Times(count)) => count,
            Some(Count::Every) | None => 0,
        },
        every: value_of(&layer.cuts)
            .filter(|cuts| *cuts == Count::Every)
            .map(|_| value_of(&layer.max_images).unwrap_or(IMAGES)),
        keep: value_of(&layer.keep).unwrap_or_else(|| KEEPS.map(str::to_owned).into()),
        file_systems: value_of(&layer.file_system).unwrap_or_else(|| vec![FILE_SYSTEMS[0].into()]),
        recovery: value_of(&layer.cut_recovery).unwrap_or(false),
        only: value_of(&layer.cut_number),
        subjects: subjects.into_iter().map(str::to_owned).collect(),
        by,
    })
}

pub(super) fn place_of_cuts(layer: &Layer) -> Option<&SourceSpan> {
    let count = layer.cuts.as_ref().filter(|count| count.value != Count::Times(0));
    let alone = layer.cut_number.as_ref().map(|given| &given.place);
    alone.or(count.map(|given| &given.place))
}

pub(super) fn idle_flags(changes: &FlagOverrides, layer: &Layer) -> Vec<ExperimentProblem> {
    if place_of_cuts(layer).is_some() {
        return Vec::new();
    }
    let flags = [
        ("--keep", changes.keep.is_some()),
        ("--file-system", changes.file_system.is_some()),
        ("--cut-recovery", changes.cut_recovery == Some(true)),
    ];
    let given = flags.into_iter().filter(|(_, given)| *given);
    let problem = |(flag, _)| {
        ExperimentProblem::new(format!("{flag} is for power cuts, and this run makes none"))
            .with_help(format!("add --cuts N, or leave {flag} out"))
    };
    given.map(problem).collect()
}

pub(super) fn find_clash(layer: &Layer) -> Option<ExperimentProblem> {
    let every = value_of(&layer.cuts) == Some(Count::Every);
    let (what, place) = match layer {
        Layer { max_images: Some(given), .. } if !every => {
            let problem = ExperimentProblem::new("`max_images` is for cuts at every moment");
            return Some(
                problem
                    .at_place(&given.place)
                    .with_help("add `--cuts every`, or leave `max_images` out"),
            );
        }
        Layer { cut_number: Some(given), .. } => ("one cut can't be made alone", &given.place),
        Layer {
            cut_recovery: Some(LocatedValue { value: true, .. }), cuts: Some(given), ..
        } => ("the power can't go a second time", &given.place),
        _ => return None,
    };
    let problem =
        ExperimentProblem::new(format!("where every moment is cut, {what}")).at_place(place);
    every.then(|| problem.with_help("give a number of cuts, or leave the other out"))
}
