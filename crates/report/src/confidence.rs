//! Confidence in the answer, in words.

use bakeoff_analysis::answer::{AnswerConfidence, ConfidenceGrade, ConfidenceReason};
use bakeoff_analysis::layout::DocumentLayout;
use serde::Serialize;

use crate::block::Badge;
use crate::warning_names;
use crate::words;

const REASONS: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confidence {
    pub level: ConfidenceGrade,
    /// The first two reasons, and levels with unpaid deferred writes.
    pub reasons: Vec<String>,
}

impl Confidence {
    pub(crate) fn from_answer(layout: &DocumentLayout<'_>, answer: &AnswerConfidence<'_>) -> Self {
        let trials = format!("{} of each", words::count_nouns(answer.blocks as usize, "trial"));
        let reason = |reason: &ConfidenceReason<'_>| match reason {
            ConfidenceReason::Warned(kind) => warning_names::phrase_kind(*kind),
            ConfidenceReason::NeverTested(factor) => format!("{factor} was never put to the test"),
            ConfidenceReason::VeryFewBlocks => format!("only {trials}"),
            ConfidenceReason::FewBlocks => trials.clone(),
            ConfidenceReason::NoWinner => "a comparison has no winner yet".to_owned(),
            ConfidenceReason::SomeWithoutWinner => "some comparisons have no winner yet".to_owned(),
            ConfidenceReason::MachinesApart => "machines far apart".to_owned(),
            ConfidenceReason::WideIntervals => "wide intervals".to_owned(),
        };
        let mut reasons: Vec<String> = answer.reasons.iter().map(reason).collect();
        if reasons.is_empty() {
            reasons.push(trials.clone());
        }
        reasons.dedup();
        reasons.truncate(REASONS);
        reasons.extend(describe_unpaid(layout, &answer.unpaid));
        Self { level: answer.grade, reasons }
    }

    pub fn word(&self) -> &'static str {
        match self.level {
            ConfidenceGrade::Low => "Low confidence",
            ConfidenceGrade::Fair => "Fair confidence",
            ConfidenceGrade::High => "High confidence",
        }
    }

    fn give_advice(&self) -> &'static str {
        match self.level {
            ConfidenceGrade::Low => "Don’t decide by this run alone.",
            ConfidenceGrade::Fair => "Good enough to drop what is far behind.",
            ConfidenceGrade::High => "Good enough to decide by.",
        }
    }

    pub fn text(&self) -> String {
        format!("{}. {}", words::capitalize(&self.reasons.join(", ")), self.give_advice())
    }

    pub(crate) fn badge(&self) -> Badge {
        Badge { word: self.word(), rank: self.level as u32 + 1, text: self.text() }
    }
}

/// "fjall still had writes to do at the end".
fn describe_unpaid(layout: &DocumentLayout<'_>, unpaid: &[&str]) -> Option<String> {
    let name = |level: &&str| words::name_contender(layout.compare, level);
    let names: Vec<String> = unpaid.iter().map(name).collect();
    (!names.is_empty())
        .then(|| format!("{} still had writes to do at the end", words::join_list(&names)))
}
