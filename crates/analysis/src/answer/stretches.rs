//! Stretches of a numeric factor over which the same level is fastest.

use crate::sweep::{FastestVerdict, SweepPanel};

pub struct LevelStretch {
    /// Indices of the first and the last level.
    pub ends: (usize, usize),
    pub told: FastestVerdict,
    /// The fastest level; empty if unknown.
    pub winner: String,
}

pub fn find_stretches(panel: &SweepPanel) -> Vec<LevelStretch> {
    let mut stretches: Vec<LevelStretch> = Vec::new();
    for (at, fastest) in panel.fastest.iter().enumerate() {
        let winner = panel.winner(at).unwrap_or_default();
        match stretches.last_mut().filter(|it| it.told == fastest.told && it.winner == winner) {
            Some(last) => last.ends.1 = at,
            None => stretches.push(LevelStretch {
                ends: (at, at),
                told: fastest.told,
                winner: winner.to_owned(),
            }),
        }
    }
    stretches
}
