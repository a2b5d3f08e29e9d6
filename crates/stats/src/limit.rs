//! Searches the highest rate that keeps a limit, by probes that say yes or no.
//!
//! Rates rise until one breaks the limit (or fall until one keeps it); the next ones bisect
//! geometrically until the two ends are close. The rate that kept it is then confirmed by several
//! probes; one that breaks it makes the search go lower. So a lucky probe is no answer.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    pub start: f64,
    /// The factor between rates until the limit is bracketed; above 1.
    pub growth: f64,
    /// The largest gap above the answer, as a part of it.
    pub precision: f64,
    /// How often the answer is probed again.
    pub confirm: u32,
    pub most: usize,
    pub bounds: (f64, f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    pub rate: f64,
    pub kept: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchStep {
    Probe(f64),
    Over(LimitBracket),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitBracket {
    pub keeps: Option<f64>,
    pub breaks: Option<f64>,
    /// Fewer than asked for if there were too many probes, or if no rate above broke the limit.
    pub confirmed: u32,
}

impl Search {
    /// The next step after these probes, in order. A rate not above zero or a growth not above 1
    /// ends the search.
    pub fn next(&self, probes: &[Probe]) -> SearchStep {
        let found = self.bracket_limit(probes);
        let (lowest, highest) = self.bounds;
        let is_right = self.start > 0.0 && self.start.is_finite() && self.growth > 1.0;
        if !is_right || probes.len() >= self.most {
            return SearchStep::Over(found);
        }
        let rate = match (found.keeps, found.breaks) {
            (None, None) => self.start.clamp(lowest, highest),
            (Some(keeps), None) if keeps >= highest => return SearchStep::Over(found),
            (Some(keeps), None) => (keeps * self.growth).min(highest),
            (None, Some(breaks)) if breaks <= lowest => return SearchStep::Over(found),
            (None, Some(breaks)) => (breaks / self.growth).max(lowest),
            (Some(keeps), Some(breaks)) => match self.find_between(keeps, breaks) {
                Some(middle) => middle,
                None if found.confirmed >= self.confirm => return SearchStep::Over(found),
                None => return SearchStep::Probe(keeps),
            },
        };
        SearchStep::Probe(round_rate(rate))
    }

    pub fn bracket_limit(&self, probes: &[Probe]) -> LimitBracket {
        let mut kept: Vec<f64> = Vec::new();
        let mut found = LimitBracket::default();
        for probe in probes {
            if probe.kept {
                let again = found.keeps == Some(probe.rate);
                let close =
                    || found.breaks.is_some_and(|it| self.find_between(probe.rate, it).is_none());
                found.confirmed = if again && close() { found.confirmed + 1 } else { 0 };
                kept.push(probe.rate);
            } else {
                found.confirmed = 0;
                found.breaks = Some(found.breaks.map_or(probe.rate, |it| it.min(probe.rate)));
                // A rate that once broke the limit does not keep it, nor do higher rates.
                kept.retain(|rate| *rate < probe.rate);
            }
            found.keeps = kept.iter().copied().reduce(f64::max);
        }
        found
    }

    /// `None` if the two are close enough, or none lies between after rounding.
    fn find_between(&self, keeps: f64, breaks: f64) -> Option<f64> {
        let middle = round_rate((keeps * breaks).sqrt());
        (breaks > keeps * (1.0 + self.precision) && keeps < middle && middle < breaks)
            .then_some(middle)
    }
}

/// To three digits: a rate is written and read again.
fn round_rate(rate: f64) -> f64 {
    let digits = rate.log10().floor() as i32 - 2;
    let unit = 10f64.powi(digits.abs());
    match digits {
        0.. => (rate / unit).round() * unit,
        // Division gives the number nearest to what is written.
        _ => (rate * unit).round() / unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: Search = Search {
        start: 100.0,
        growth: 1.5,
        precision: 0.05,
        confirm: 3,
        most: 40,
        bounds: (0.001, 1e6),
    };

    /// Probes until the end; what was found, and the rates that were probed.
    fn searched(
        search: Search,
        mut keeps: impl FnMut(f64, usize) -> bool,
    ) -> (LimitBracket, Vec<f64>) {
        let mut probes: Vec<Probe> = Vec::new();
        loop {
            match search.next(&probes) {
                SearchStep::Over(found) => {
                    return (found, probes.iter().map(|it| it.rate).collect());
                }
                SearchStep::Probe(rate) => {
                    let kept = keeps(rate, probes.len());
                    probes.push(Probe { rate, kept });
                }
            }
        }
    }

    #[test]
    fn a_limit_is_found_from_below_and_from_above_within_the_precision() {
        for limit in [0.02, 3.0, 99.0, 100.0, 101.0, 12_345.0, 900_000.0] {
            let (found, rates) = searched(SEARCH, |rate, _| rate <= limit);
            let (keeps, breaks) = (found.keeps.unwrap(), found.breaks.unwrap());
            assert!(keeps <= limit && limit < breaks, "{limit}: {found:?}");
            assert!(breaks <= keeps * 1.06, "{limit}: {found:?}");
            assert_eq!(found.confirmed, 3, "{limit}");
            assert_eq!(rates[rates.len() - 3..], [keeps; 3], "{limit}: {rates:?}");
        }
        let (_, rates) = searched(SEARCH, |rate, _| rate <= 200.0);
        assert_eq!(rates, [100.0, 150.0, 225.0, 184.0, 203.0, 193.0, 198.0, 198.0, 198.0, 198.0]);
    }

    #[test]
    fn a_rate_that_breaks_the_limit_when_it_is_tried_again_is_not_the_answer() {
        let mut tried = 0;
        let (found, rates) = searched(SEARCH, |rate, _| {
            // 198 keeps it twice, and not the third time.
            tried += usize::from(rate == 198.0);
            rate <= 200.0 && !(rate == 198.0 && tried == 3)
        });
        assert_eq!(rates.iter().filter(|it| **it == 198.0).count(), 3, "{rates:?}");
        assert_eq!(found.breaks, Some(198.0));
        assert!(found.keeps.unwrap() < 198.0 && found.confirmed == 3, "{found:?}");
    }

    #[test]
    fn a_search_ends_whatever_its_rates_do() {
        let (found, rates) = searched(Search { most: 100, ..SEARCH }, |_, _| false);
        assert_eq!((found.keeps, found.breaks), (None, Some(0.001)));
        assert!(rates.len() < 40, "{}", rates.len());
        let (found, _) = searched(Search { most: 100, ..SEARCH }, |_, _| true);
        assert_eq!((found.keeps, found.breaks, found.confirmed), (Some(1e6), None, 0));
        // Without rhyme.
        let (_, rates) = searched(SEARCH, |_, number| number % 3 != 2);
        assert!(rates.len() <= SEARCH.most);
        for wrong in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let (_, rates) = searched(Search { start: wrong, ..SEARCH }, |_, _| true);
            assert!(rates.is_empty(), "{wrong}");
        }
    }

    #[test]
    fn a_rate_has_three_digits_and_is_read_as_it_was_written() {
        for (rate, wanted) in [
            (12_345.6, "12300"),
            (123.46, "123"),
            (1.2346, "1.23"),
            (0.012_346, "0.0123"),
            (1e6, "1000000"),
        ] {
            let rounded = round_rate(rate);
            assert_eq!(rounded.to_string(), wanted);
            assert_eq!(rounded.to_string().parse(), Ok(rounded));
        }
    }
}
