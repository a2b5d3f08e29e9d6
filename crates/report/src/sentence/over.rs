//! Who is fastest over a numeric factor, in sentences: at which levels who is, and by how much at the
//! ends.

use bakeoff_analysis::{Sweep, SweepPanel, Told};

use crate::block::Words;
use crate::layout::Layout;
use crate::words;

/// Levels in a row of which the same is told: from one to another.
struct Stretch {
    /// The places of the first and of the last.
    ends: (usize, usize),
    told: Told,
    /// Who is fastest; empty where that is not told.
    winner: String,
}

/// A sentence for each panel: who is fastest, stressed, and by how much.
pub fn told(layout: &Layout<'_>, sweep: &Sweep) -> Vec<Words> {
    let of = |panel| {
        let words = Words::default().plain(format!("{}: ", place(layout, sweep, panel)));
        words.stressed(leads(layout, sweep, panel)).plain(ends(layout, sweep, panel))
    };
    sweep.panels.iter().map(of).collect()
}

/// "create_issue with strict durability".
fn place(layout: &Layout<'_>, sweep: &Sweep, panel: &SweepPanel) -> String {
    let others = layout.varying.iter().filter(|factor| **factor != sweep.factor);
    let levels: Vec<String> =
        others.filter_map(|it| Some(words::level(it, panel.levels.get(*it)?))).collect();
    match levels.as_slice() {
        [] => panel.operation.clone(),
        levels => format!("{} with {}", panel.operation, words::list(levels)),
    }
}

/// "sqlite is fastest with 1 client, lmdb from 4 clients on; too close to call with 2 clients."
fn leads(layout: &Layout<'_>, sweep: &Sweep, panel: &SweepPanel) -> String {
    let stretches = stretches(panel);
    let won: Vec<&Stretch> = stretches.iter().filter(|it| it.told == Told::Won).collect();
    let mut parts = Vec::new();
    let mut clauses = Vec::new();
    for it in &won {
        let name = words::contender(layout.compare, &it.winner);
        let is = if clauses.is_empty() { " is fastest" } else { "" };
        clauses.push(format!("{name}{is} {}", range(sweep, it.ends)));
    }
    if clauses.is_empty() {
        parts.push("none is shown to be fastest at any level".to_owned());
    } else {
        parts.push(clauses.join(", "));
        for (told, words) in
            [(Told::TooClose, "too close to call"), (Told::Unknown, "not to be told")]
        {
            let open: Vec<String> = stretches
                .iter()
                .filter(|it| it.told == told)
                .map(|it| range(sweep, it.ends))
                .collect();
            if !open.is_empty() {
                parts.push(format!("{words} {}", words::list(&open)));
            }
        }
    }
    format!("{}.", parts.join("; "))
}

fn stretches(panel: &SweepPanel) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (at, fastest) in panel.fastest.iter().enumerate() {
        let winner = panel.winner(at).unwrap_or_default();
        match stretches.last_mut().filter(|it| it.told == fastest.told && it.winner == winner) {
            Some(last) => last.ends.1 = at,
            None => stretches.push(Stretch {
                ends: (at, at),
                told: fastest.told,
                winner: winner.to_owned(),
            }),
        }
    }
    stretches
}

/// "with 1 client", "from 2 clients on", "up to 4 clients", "from 2 to 8 clients", "throughout".
fn range(sweep: &Sweep, (from, to): (usize, usize)) -> String {
    let level = |at: usize| words::level(&sweep.factor, &sweep.levels[at].level);
    let last = sweep.levels.len() - 1;
    match (from, to) {
        (0, to) if to == last => format!("at every level, {} to {}", level(0), level(last)),
        (from, to) if from == to => format!("with {}", level(from)),
        (from, to) if to == last => format!("from {} on", level(from)),
        (0, to) => format!("up to {}", level(to)),
        (from, to) => format!("from {} to {}", level(from), level(to)),
    }
}

/// " With 1 client lmdb takes 1.20 times as long as sqlite (1.10 to 1.30)": the next best at both ends.
fn ends(layout: &Layout<'_>, sweep: &Sweep, panel: &SweepPanel) -> String {
    let mut clauses = Vec::new();
    for at in [0, sweep.levels.len() - 1] {
        let Some(leader) = panel.winner(at) else { continue };
        let rivals = panel.series.iter().filter_map(|it| Some((&it.level, it.points[at].against?)));
        let next = rivals.min_by(|one, other| one.1.ratio.total_cmp(&other.1.ratio));
        let Some((level, contrast)) = next else { continue };
        let interval = words::ends(contrast.ends, contrast.is, contrast.blocks);
        let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
        let [slow, fast] = [level.as_str(), leader].map(|it| words::contender(layout.compare, it));
        clauses.push(format!(
            "with {} {slow} takes {} times as long as {fast}{interval}",
            words::level(&sweep.factor, &sweep.levels[at].level),
            words::times(contrast.ratio, contrast.is),
        ));
    }
    match clauses.as_slice() {
        [] => String::new(),
        clauses => format!(" {}.", words::capital(&clauses.join("; "))),
    }
}
