//! A sentence for each finding: one for each promise of durability, or one of the run.

use bakeoff_analysis::answer::{Answer, AnswerFinding, FindingKind};
use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_results::OwnFactor;

use super::of_promise::{
    describe_broken, describe_fastest, describe_partly_fastest, describe_tied,
};
use super::{against, capitalize_text, not_compared, over_cases, undecided};
use crate::block::StyledText;
use crate::durability;
use crate::promises;

/// In the past tense where confidence is low: what was found may not hold.
pub fn describe_findings(
    layout: &DocumentLayout<'_>,
    answer: &Answer<'_>,
    past: bool,
) -> Vec<StyledText> {
    answer.findings.iter().map(|finding| describe_finding(layout, finding, past)).collect()
}

fn describe_finding(
    layout: &DocumentLayout<'_>,
    finding: &AnswerFinding<'_>,
    past: bool,
) -> StyledText {
    let lead = finding.promise.map(durability::begin_clause);
    if let FindingKind::PromiseBroken(levels) = &finding.kind {
        return describe_broken(layout, &lead.unwrap_or_default(), levels);
    }
    let kept = if finding.has_broken_promise { ", of those that kept it" } else { "" };
    let lead = lead.map(|lead| StyledText::default().stressed(lead + kept + ",").plain(" "));
    let told = match (lead, describe_kind(layout, finding, past)) {
        (Some(lead), Told::Sentence(answer)) => lead.then(answer),
        (None, Told::Sentence(answer)) if layout.compare == OwnFactor::Engine => answer,
        (None, Told::Sentence(answer)) => answer.capital(),
        (Some(lead), Told::Clause(clause)) => {
            lead.plain(format!("{}.", continue_sentence(&clause)))
        }
        (None, Told::Clause(clause)) => {
            StyledText::from(capitalize_text(layout.document, &clause) + ".")
        }
    };
    let missing = finding.promise.and_then(|it| promises::describe_missing(layout.document, it));
    match missing {
        Some(missing) => told.plain(format!(" {missing}.")),
        None => told,
    }
}

enum Told {
    Sentence(StyledText),
    /// Begins with a capital or a name, without its stop.
    Clause(String),
}

fn describe_kind(layout: &DocumentLayout<'_>, finding: &AnswerFinding<'_>, past: bool) -> Told {
    let AnswerFinding { cases, .. } = finding;
    Told::Clause(match &finding.kind {
        FindingKind::PromiseBroken(_) => String::new(),
        FindingKind::Fastest { .. } => {
            return Told::Sentence(describe_fastest(layout, finding, past));
        }
        FindingKind::PartlyFastest(it) => {
            return Told::Sentence(describe_partly_fastest(layout, it, past));
        }
        FindingKind::Tied(it) => return Told::Sentence(describe_tied(layout, cases, it, past)),
        FindingKind::NotCompared(why) => not_compared::explain(layout, *why),
        FindingKind::AgainstFirst(levels) => against::describe_levels(layout, cases, levels),
        FindingKind::FastestIn { leader, won } => {
            over_cases::describe_one_winner(layout, cases, leader, won)
        }
        FindingKind::DependsOn { factor, winners } => {
            over_cases::describe_dependence(layout, *factor, winners)
        }
        FindingKind::FastestInSome(wins) => over_cases::describe_wins(layout, cases, wins),
        FindingKind::NoWinner(why) => undecided::describe_no_winner(layout, cases, why),
    })
}

/// A name keeps its own letters.
fn continue_sentence(finding: &str) -> String {
    const OWN: [&str; 4] = ["Nothing ", "It depends ", "No level ", "Neither "];
    match OWN.iter().any(|start| finding.starts_with(start)) {
        true => finding[..1].to_lowercase() + &finding[1..],
        false => finding.to_owned(),
    }
}
