//! Says which level is fastest over a numeric factor.

use bakeoff_analysis::answer::{LevelStretch, find_stretches};
use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{FastestVerdict, Sweep, SweepPanel};
use bakeoff_results::FigureOfMerit;

use crate::amount;
use crate::block::StyledText;
use crate::words;

/// Merge the sentences when this many panels agree.
const TOGETHER: usize = 3;

/// A sentence for each panel; many that agree share one.
pub fn describe_panels(layout: &DocumentLayout<'_>, sweep: &Sweep) -> Vec<StyledText> {
    let mut groups: Vec<(String, Vec<&SweepPanel>)> = Vec::new();
    for panel in &sweep.panels {
        let leads = describe_leads(layout, sweep, panel);
        match groups.iter_mut().find(|(known, _)| *known == leads) {
            Some((_, group)) => group.push(panel),
            None => groups.push((leads, vec![panel])),
        }
    }
    let place = |panel: &&SweepPanel| describe_place(layout, sweep, panel);
    let sentence = |place: &str, leads: &str| {
        StyledText::default().plain(format!("{place}: ")).stressed(leads)
    };
    let mut told = Vec::new();
    for (leads, group) in groups {
        if group.len() < TOGETHER {
            told.extend(
                group
                    .iter()
                    .map(|it| sentence(&place(it), &leads).plain(describe_ends(layout, sweep, it))),
            );
        } else if group.len() == sweep.panels.len() {
            told.push(sentence(&format!("In all {} cases", group.len()), &leads));
        } else {
            let places: Vec<String> = group.iter().map(place).collect();
            told.push(sentence(&words::join_list(&places), &leads));
        }
    }
    told
}

/// "create_issue with strict durability".
fn describe_place(layout: &DocumentLayout<'_>, sweep: &Sweep, panel: &SweepPanel) -> String {
    let others = layout.varying.iter().filter(|factor| **factor != sweep.factor);
    let levels: Vec<String> =
        others.filter_map(|it| Some(words::phrase_level(it, panel.levels.get(*it)?))).collect();
    match levels.as_slice() {
        [] => panel.operation.clone(),
        levels => format!("{} with {}", panel.operation, words::join_list(levels)),
    }
}

/// "sqlite is fastest with 1 client, lmdb from 4 clients on; undecided with 2 clients."
fn describe_leads(layout: &DocumentLayout<'_>, sweep: &Sweep, panel: &SweepPanel) -> String {
    let stretches = find_stretches(panel);
    let won: Vec<&LevelStretch> =
        stretches.iter().filter(|it| it.told == FastestVerdict::Won).collect();
    let mut parts = Vec::new();
    let mut clauses = Vec::new();
    for it in &won {
        let name = words::name_contender(layout.compare, &it.winner);
        let is = if clauses.is_empty() { " is fastest" } else { "" };
        clauses.push(format!("{name}{is} {}", describe_range(sweep, it.ends)));
    }
    if clauses.is_empty() {
        parts.push("none is shown to be fastest at any level".to_owned());
    } else {
        parts.push(clauses.join(", "));
        for (told, words) in
            [(FastestVerdict::TooClose, "undecided"), (FastestVerdict::Unknown, "can’t tell")]
        {
            let open: Vec<String> = stretches
                .iter()
                .filter(|it| it.told == told)
                .map(|it| describe_range(sweep, it.ends))
                .collect();
            if !open.is_empty() {
                parts.push(format!("{words} {}", words::join_list(&open)));
            }
        }
    }
    format!("{}.", parts.join("; "))
}

/// "with 1 client", "from 2 clients on", "up to 4 clients", "from 2 to 8 clients", "throughout".
fn describe_range(sweep: &Sweep, (from, to): (usize, usize)) -> String {
    let level = |at: usize| words::phrase_level(&sweep.factor, &sweep.levels[at].level);
    let last = sweep.levels.len() - 1;
    match (from, to) {
        (0, to) if to == last => format!("at every level, {} to {}", level(0), level(last)),
        (from, to) if from == to => format!("with {}", level(from)),
        (from, to) if to == last => format!("from {} on", level(from)),
        (0, to) => format!("up to {}", level(to)),
        (from, to) => format!("from {} to {}", level(from), level(to)),
    }
}

/// " With 1 client lmdb takes 1.20 times as long as sqlite (1.10 to 1.30)": the next best at both
/// ends, where one is shown to be fastest.
fn describe_ends(layout: &DocumentLayout<'_>, sweep: &Sweep, panel: &SweepPanel) -> String {
    let mut clauses = Vec::new();
    for at in [0, sweep.levels.len() - 1] {
        let Some(leader) = panel.winner(at) else { continue };
        let rivals = panel.series.iter().filter_map(|it| Some((&it.level, it.points[at].against?)));
        let next = rivals.min_by(|one, other| one.1.ratio.total_cmp(&other.1.ratio));
        let Some((level, contrast)) = next else { continue };
        let interval = words::format_ends(contrast.ends, contrast.is, contrast.blocks);
        let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
        let [slow, fast] =
            [level.as_str(), leader].map(|it| words::name_contender(layout.compare, it));
        let times = words::format_times(contrast.ratio, contrast.is);
        let rate = FigureOfMerit::of_metric(&panel.metric).filter(|merit| merit.is_rate());
        let lead = match rate.map(amount::counted_noun) {
            None => format!("{slow} takes {times} times as long as {fast}"),
            Some(what) => format!("{fast} serves {times} times as many {what} a second as {slow}"),
        };
        let level = words::phrase_level(&sweep.factor, &sweep.levels[at].level);
        clauses.push(format!("with {level} {lead}{interval}"));
    }
    match clauses.as_slice() {
        [] => String::new(),
        clauses => format!(" {}.", words::capitalize(&clauses.join("; "))),
    }
}
