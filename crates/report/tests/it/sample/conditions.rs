//! Runs that go on until they are decided.

use bakeoff_analysis::{ConditionState, ConditionView, Document};
use bakeoff_results::SequentialDesign;

use super::{Sample, changed, three};

pub fn looks(comparisons: u32) -> SequentialDesign {
    SequentialDesign {
        looks: vec![3, 4, 5, 6, 8, 10, 13, 16, 20],
        confidence: 0.9996,
        comparisons,
        max_time_s: Some(3600.0),
        used_s: 3590.0,
    }
}

/// Two conditions, one of which the time kept open.
pub fn looked_at() -> Document {
    let sample = Sample { factors: vec![("durability", vec!["relaxed", "strict"])], ..three() };
    let view = |durability: &str, blocks, judged_at, state| ConditionView {
        levels: [("durability".to_owned(), durability.to_owned())].into(),
        blocks,
        judged_at,
        state,
    };
    changed(sample.document(), |it| {
        (it.run.run.repetitions, it.run.run.planned) = (20, 120);
        it.run.run.sequential = Some(looks(16));
        it.conditions = vec![
            view("relaxed", 4, 4, ConditionState::Decided),
            view("strict", 9, 8, ConditionState::MaxTime),
        ];
    })
}
