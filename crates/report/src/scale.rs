//! Places values and ticks on an axis.

pub struct Linear {
    /// The last tick, at or above every value.
    pub end: f64,
    pub ticks: Vec<f64>,
}

impl Linear {
    /// At most six ticks, at round numbers.
    pub fn up_to(most: f64) -> Self {
        let most = if most > 0.0 && most.is_finite() { most } else { 1.0 };
        let step = round_step(most / 5.0);
        let steps = (most / step - 1e-9).ceil().max(1.0) as usize;
        Self { end: steps as f64 * step, ticks: (0..=steps).map(|n| n as f64 * step).collect() }
    }

    pub fn place(&self, value: f64) -> f64 {
        (value / self.end).clamp(0.0, 1.0)
    }
}

pub struct Time {
    end_s: f64,
    pub ticks: Vec<(f64, String)>,
    pub unit: &'static str,
}

impl Time {
    /// At most eleven ticks, at round numbers of a unit that suits the length.
    pub fn up_to(end_s: f64) -> Self {
        const ROUND: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0];
        const MOST: f64 = 10.0;
        let end_s = if end_s > 0.0 && end_s.is_finite() { end_s } else { 1.0 };
        let (length, unit) = match end_s {
            s if s <= 180.0 => (1.0, "seconds"),
            s if s <= 3.0 * 3600.0 => (60.0, "minutes"),
            _ => (3600.0, "hours"),
        };
        let end = end_s / length;
        let step = ROUND.into_iter().find(|step| end / step <= MOST);
        let step = step.unwrap_or_else(|| round_step(end / MOST));
        let ticks = (0..=(end / step) as u32).map(|number| f64::from(number) * step);
        let ticks = ticks.map(|tick| (tick * length, format!("{tick}"))).collect();
        Self { end_s, ticks, unit }
    }

    pub fn place(&self, seconds: f64) -> f64 {
        (seconds / self.end_s).clamp(0.0, 1.0)
    }
}

pub struct LogScale {
    low: f64,
    high: f64,
    pub ticks: Vec<f64>,
}

impl LogScale {
    /// For ratios: 1 is on the axis.
    pub fn from_ratios(ratios: impl Iterator<Item = f64>) -> Self {
        let usable = ratios.filter(|ratio| *ratio > 0.0 && ratio.is_finite());
        let (least, most) = usable.fold((1.0_f64, 1.0_f64), |(l, m), r| (l.min(r), m.max(r)));
        // From 0.9 to 1.1 at least: noise around 1 must not look like a mountain.
        let (least, most) = (least.min(0.9), most.max(1.1));
        Self::with_padding(least, most)
    }

    pub fn from_values(values: impl Iterator<Item = f64>) -> Self {
        let usable = values.filter(|value| *value > 0.0 && value.is_finite());
        let ends = usable.fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(l, m)| (l.min(value), m.max(value))))
        });
        let (least, most) = ends.unwrap_or((1.0, 10.0));
        Self::with_padding(least, most)
    }

    /// For a line plot of `height` pixels: ticks at 1, 2 and 5 times powers of ten, or at powers
    /// alone where they are too close. It spans a factor of four at least: noise must not look like
    /// a slope.
    pub fn of_height(values: impl Iterator<Item = f64>, height: f64) -> Self {
        const APART: f64 = 17.0;
        let Self { low, high, .. } = Self::from_values(values);
        let widen = (4.0 / (high / low)).max(1.0).sqrt();
        let (low, high) = (low / widen, high * widen);
        let decade = height / (high / low).log10();
        let every = (APART / decade).ceil().max(1.0) as i32;
        // The narrowest of 1 to 2, 2 to 5 and 5 to 10.
        let factors: &[f64] =
            if decade * 2_f64.log10() >= APART { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let ticks = list_powers(low, high, every, factors);
        Self { low, high, ticks }
    }

    fn with_padding(least: f64, most: f64) -> Self {
        let pad = (most / least).powf(0.06).max(1.01);
        let (low, high) = (least / pad, most * pad);
        Self { low, high, ticks: log_ticks(low, high) }
    }

    /// From 0 to 1; values outside stand at the edge.
    pub fn place(&self, value: f64) -> f64 {
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    pub fn is_below(&self, value: f64) -> bool {
        value < self.low
    }

    pub fn is_above(&self, value: f64) -> bool {
        value > self.high
    }
}

/// Without needless zeros.
pub fn tick_label(tick: f64) -> String {
    if tick != 0.0 && !(1e-4..1e6).contains(&tick.abs()) {
        return format!("{tick:.0e}");
    }
    let text = format!("{tick:.5}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= least * 0.999);
    factor.unwrap_or(10.0) * power
}

/// 1 is always a tick.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let span = high / low;
    if span < 2.5 {
        let step = round_step((high - low) / 5.0);
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        return (first..=last).map(|n| n as f64 * step).collect();
    }
    let decades = span.log10();
    let every = (decades / 4.0).ceil() as i32;
    let factors: &[f64] = match decades {
        d if d < 0.9 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        d if d < 2.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    list_powers(low, high, every, factors)
}

/// `factors` times every `every`-th power of ten.
fn list_powers(low: f64, high: f64, every: i32, factors: &[f64]) -> Vec<f64> {
    let powers = low.log10().floor() as i32..=high.log10().floor() as i32;
    powers
        .filter(|power| power % every == 0)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)))
        .filter(|tick| (low..=high).contains(tick))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_end_at_a_round_tick() {
        for (most, end) in [(7.3, 8.0), (10.0, 10.0), (0.0031, 0.004), (1.0, 1.0), (0.0, 1.0)] {
            let axis = Linear::up_to(most);
            assert!(axis.end >= most && axis.ticks.len() <= 6, "{most}: {:?}", axis.ticks);
            assert!(axis.end <= end, "{most}: {}", axis.end);
            assert_eq!(axis.place(axis.end), 1.0);
        }
    }

    #[test]
    fn times_have_round_ticks_in_a_unit_that_suits_them() {
        for (end, last, unit, fewest) in [
            (20.0, "20", "seconds", 11),
            (59.9, "50", "seconds", 5),
            (180.0, "180", "seconds", 5),
            (181.0, "3", "minutes", 4),
            (540.0, "9", "minutes", 10),
            (3600.0, "60", "minutes", 5),
            (14_400.0, "4", "hours", 5),
            (1e15, "250000000000", "hours", 4),
            (f64::NAN, "1", "seconds", 2),
        ] {
            let axis = Time::up_to(end);
            assert_eq!((axis.ticks.last().unwrap().1.as_str(), axis.unit), (last, unit), "{end}");
            assert!((fewest..=11).contains(&axis.ticks.len()), "{end}: {:?}", axis.ticks);
            assert!(axis.ticks.iter().all(|(at, _)| *at <= end || end.is_nan()), "{end}");
        }
    }

    #[test]
    fn figures_of_any_size_have_ticks_among_them() {
        for values in [vec![0.003, 46.0], vec![1e-9, 1e3], vec![5.0], vec![], vec![0.1, 3.1]] {
            let axis = LogScale::from_values(values.iter().copied());
            assert!((1..=9).contains(&axis.ticks.len()), "{values:?}: {:?}", axis.ticks);
            assert!(values.iter().all(|value| (0.0..=1.0).contains(&axis.place(*value))));
        }
        assert!(LogScale::from_values([0.003, 46.0].into_iter()).place(0.003) < 0.1);
    }

    #[test]
    fn lines_have_ticks_that_stand_apart() {
        for values in [vec![17.0, 549.0], vec![1e-6, 1e4], vec![5.0, 5.1], vec![], vec![1.0, 1e15]]
        {
            let axis = LogScale::of_height(values.iter().copied(), 180.0);
            assert!(axis.ticks.len() >= 2, "{values:?}: {:?}", axis.ticks);
            let places: Vec<f64> = axis.ticks.iter().map(|it| axis.place(*it) * 180.0).collect();
            assert!(places.windows(2).all(|it| it[1] - it[0] >= 16.9), "{values:?}: {places:?}");
            let inside = |value: &f64| (0.01..=0.99).contains(&axis.place(*value));
            assert!(values.iter().all(inside), "{values:?}");
        }
        let slope = LogScale::of_height([5.0, 5.1].into_iter(), 180.0);
        assert!(slope.place(5.1) - slope.place(5.0) < 0.02, "2 % are no slope");
        assert_eq!(LogScale::of_height([20.0, 500.0].into_iter(), 180.0).ticks[..2], [20.0, 50.0]);
    }

    #[test]
    fn ratios_keep_one_among_their_ticks() {
        for ratios in [vec![1.02], vec![0.4, 2.0], vec![0.001, 3.0], vec![1e-9], vec![1e6, 2.0]] {
            let axis = LogScale::from_ratios(ratios.iter().copied());
            let nearest = axis.ticks.iter().map(|t| (t - 1.0).abs()).fold(9.0, f64::min);
            assert!(nearest < 1e-9, "{ratios:?}: {:?}", axis.ticks);
            assert!((2..=9).contains(&axis.ticks.len()), "{ratios:?}: {:?}", axis.ticks);
            assert!(ratios.iter().all(|r| (0.0..=1.0).contains(&axis.place(*r))));
        }
        assert!(LogScale::from_ratios([f64::NAN, 0.0, f64::INFINITY].into_iter()).ticks.len() > 1);
    }
}
