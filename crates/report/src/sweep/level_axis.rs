//! Places of levels on the horizontal axis, and which have room for their names.

use crate::block::sweep::Tick;

/// Share of the axis for a level of 0 and its break.
const BREAK: f64 = 0.17;
const CHARACTER: f64 = 0.027;

pub(super) struct LevelAxis {
    pub places: Vec<f64>,
    pub named: Vec<bool>,
    pub broken: Option<f64>,
}

impl LevelAxis {
    pub fn from_ticks(ticks: &[Tick]) -> Self {
        let positive = || ticks.iter().map(|tick| tick.value).filter(|value| *value > 0.0);
        let (first, last) =
            (positive().next().unwrap_or(1.0), positive().next_back().unwrap_or(1.0));
        let zero = ticks.iter().position(|tick| tick.value <= 0.0);
        let (from, to) = match zero {
            Some(0) => (BREAK, 1.0),
            Some(_) => (0.0, 1.0 - BREAK),
            None => (0.0, 1.0),
        };
        let place = |tick: &Tick| match tick.value {
            value if value <= 0.0 => {
                if zero == Some(0) {
                    0.0
                } else {
                    1.0
                }
            }
            _ if first == last => f64::midpoint(from, to),
            value => from + (value / first).ln() / (last / first).ln() * (to - from),
        };
        let places: Vec<f64> = ticks.iter().map(place).collect();
        let broken = zero.map(|at| if at == 0 { from / 2.0 } else { f64::midpoint(to, 1.0) });
        let named = select_named(ticks, &places);
        Self { places, named, broken }
    }
}

/// The ends first, then levels with marks, then the others.
fn select_named(ticks: &[Tick], places: &[f64]) -> Vec<bool> {
    let mut named = vec![false; ticks.len()];
    let ends = [0, ticks.len().saturating_sub(1)];
    let marked = (0..ticks.len()).filter(|at| ticks[*at].marked);
    for at in ends.into_iter().chain(marked).chain(0..ticks.len()) {
        let half = |at: usize| (ticks[at].name.chars().count() as f64 + 1.0) / 2.0 * CHARACTER;
        let free = |other: usize| {
            other == at || (places[at] - places[other]).abs() >= half(at) + half(other)
        };
        if at < ticks.len() && (0..ticks.len()).all(|other| !named[other] || free(other)) {
            named[at] = true;
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(values: &[f64]) -> Vec<Tick> {
        let tick = |value: &f64| Tick { name: format!("{value}"), value: *value, marked: true };
        values.iter().map(tick).collect()
    }

    #[test]
    fn equal_factors_are_equal_steps_whichever_way_levels_go() {
        for values in [[1.0, 2.0, 4.0, 8.0, 16.0], [512.0, 256.0, 128.0, 64.0, 32.0]] {
            let across = LevelAxis::from_ticks(&ticks(&values));
            for (at, place) in across.places.iter().enumerate() {
                assert!((place - at as f64 / 4.0).abs() < 1e-9, "{:?}", across.places);
            }
            assert_eq!((across.named, across.broken), (vec![true; 5], None));
        }
    }

    #[test]
    fn a_level_of_nothing_stands_beside_a_break() {
        let across = LevelAxis::from_ticks(&ticks(&[0.0, 0.25, 1.0, 4.0]));
        assert_eq!((across.places[0], across.places[3]), (0.0, 1.0));
        let middle = f64::midpoint(across.places[1], across.places[3]);
        assert!((across.places[2] - middle).abs() < 1e-9, "the others keep their scale");
        let broken = across.broken.expect("a break");
        assert!(across.places[0] < broken && broken < across.places[1]);
    }

    #[test]
    fn of_forty_levels_the_ends_and_those_with_room_are_named() {
        let values: Vec<f64> = (1..=40).map(f64::from).collect();
        let across = LevelAxis::from_ticks(&ticks(&values));
        assert!(across.named[0] && across.named[39] && !across.named[38]);
        assert!((5..20).contains(&across.named.iter().filter(|named| **named).count()));
        assert!(LevelAxis::from_ticks(&[]).places.is_empty());
    }
}
