//! The ways in which clients pick keys: the distributions of sysbench, with its parameters.

use bakeoff_engines::Declared;
use rand::RngExt;

use crate::WorkloadRandom;

macro_rules! syntax {
    () => {
        "uniform; zipf:EXPONENT (the lowest keys most often); special:SHARE:PART (SHARE % of the \
         picks fall into PART % of the keys, in the middle); gaussian; pareto:SHAPE"
    };
}
pub(crate) use syntax;

pub const SYNTAX: &str = syntax!();

pub static UNIFORM: Declared = Declared {
    name: "keys",
    summary: "how clients pick keys",
    syntax: SYNTAX,
    default: "uniform",
    canonical: &normalize_keys,
};

/// How many uniform numbers `special` averages for a pick that is not special (`--rand-spec-iter`).
const ITERATIONS: u32 = 12;
/// Percent of the picks that are special (`--rand-spec-res`), and percent of the keys that they
/// fall into (`--rand-spec-pct`).
const SPECIAL: KeyDistribution = KeyDistribution::Special { share: 75, part: 1 };
/// The exponent of `zipf` (`--rand-zipfian-exp` of sysbench's development branch) and of `pareto`
/// (`--rand-pareto-h`).
const EXPONENT: f64 = 0.8;
const SHAPE: f64 = 0.2;
/// Beyond it nearly all picks are the first key.
const LARGEST_EXPONENT: f64 = 10.0;

/// How often each key is picked, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyDistribution {
    /// Each key as often.
    Uniform,
    /// Keys in the middle most often: the mean of twelve uniform numbers.
    Gaussian,
    /// `share` % of the picks fall into the middle `part` % of the keys, the others are gaussian.
    Special {
        /// From 0 to 99.
        share: u32,
        /// From 1 to 100.
        part: u32,
    },
    /// `u ^ (ln h / ln (1 - h))` of the way through the keys, for a uniform `u`.
    Pareto(f64),
    /// The key of rank `r` in proportion to `r ^ -exponent`.
    Zipf(f64),
}

pub fn normalize_keys(text: &str) -> Result<String, String> {
    KeyDistribution::parse(text).map(|keys| keys.to_string())
}

impl KeyDistribution {
    /// Reads `uniform`, `gaussian`, `special:75:1`, `pareto:0.2` or `zipf:0.8`. Without parameters
    /// `zipf`, `special` and `pareto` have sysbench's.
    ///
    /// # Errors
    ///
    /// A sentence on what is wrong, and a line with what is valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| Err(format!("{what}\nvalid: {SYNTAX}"));
        let (name, parameters) =
            text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let number = |default| match parameters {
            None => Some(default),
            Some(text) => text.parse::<f64>().ok(),
        };
        match (name, parameters) {
            ("uniform", None) => Ok(Self::Uniform),
            ("gaussian", None) => Ok(Self::Gaussian),
            ("uniform" | "gaussian", Some(_)) => wrong(&format!("`{name}` has no parameters")),
            ("special", None) => Ok(SPECIAL),
            ("special", Some(of)) => match parse_special(of) {
                Some(keys) => Ok(keys),
                None => wrong(&format!(
                    "`{text}` is no distribution: SHARE is a whole number from 0 to 99, PART one from 1 to 100"
                )),
            },
            ("zipf", _) => match number(EXPONENT) {
                Some(e) if e > 0.0 && e <= LARGEST_EXPONENT => Ok(Self::Zipf(e)),
                _ => wrong(&format!(
                    "`{text}` is no distribution: EXPONENT is a number above 0, up to {LARGEST_EXPONENT}"
                )),
            },
            ("pareto", _) => match number(SHAPE) {
                Some(h) if h > 0.0 && h < 1.0 => Ok(Self::Pareto(h)),
                _ => wrong(&format!(
                    "`{text}` is no distribution: SHAPE is a number above 0 and below 1"
                )),
            },
            _ => wrong(&format!("`{text}` is no distribution of keys")),
        }
    }
}

fn parse_special(of: &str) -> Option<KeyDistribution> {
    let (share, part) = of.split_once(':')?;
    let (share, part) = (share.parse().ok()?, part.parse().ok()?);
    (share < 100 && (1..=100).contains(&part)).then_some(KeyDistribution::Special { share, part })
}

impl std::fmt::Display for KeyDistribution {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uniform => formatter.write_str("uniform"),
            Self::Gaussian => formatter.write_str("gaussian"),
            Self::Special { share, part } => write!(formatter, "special:{share}:{part}"),
            Self::Pareto(shape) => write!(formatter, "pareto:{shape}"),
            Self::Zipf(exponent) => write!(formatter, "zipf:{exponent}"),
        }
    }
}

/// Picks keys of a range by a distribution.
#[derive(Clone, Copy, Debug)]
pub struct KeySampler {
    keys: KeyDistribution,
    first: i64,
    last: i64,
    zipf: Option<Zipf>,
}

impl KeySampler {
    /// Panics without a key from `first` to `last`. There may be at most `i64::MAX` of them.
    pub fn new(keys: KeyDistribution, first: i64, last: i64) -> Self {
        assert!(first <= last, "no key from {first} to {last}");
        let zipf = match keys {
            KeyDistribution::Zipf(exponent) => Some(Zipf::new((last - first + 1) as f64, exponent)),
            _ => None,
        };
        Self { keys, first, last, zipf }
    }

    /// Draws a key.
    ///
    /// Formulas: `sb_rand.c` of sysbench 1.0.20; `zipf`, which it lacks, from the development
    /// branch.
    pub fn pick(&self, random: &mut WorkloadRandom) -> i64 {
        let count = (self.last - self.first + 1) as f64;
        let offset = match self.keys {
            KeyDistribution::Uniform => return random.random_range(self.first..=self.last),
            KeyDistribution::Gaussian => draw_bell(random) * count,
            KeyDistribution::Special { share, part } => {
                let span = count - 1.0;
                // One draw decides which kind of pick it is, and where a special one falls.
                let dice: f64 = random.random();
                match dice < f64::from(100 - share) / 100.0 {
                    true => draw_bell(random) * span,
                    false => {
                        let width = span * f64::from(part) / 100.0;
                        dice * (width + 1.0) + (span - width) / 2.0
                    }
                }
            }
            KeyDistribution::Pareto(shape) => {
                count * random.random::<f64>().powf(shape.ln() / (-shape).ln_1p())
            }
            KeyDistribution::Zipf(_) => self.zipf.map_or(0.0, |zipf| zipf.draw_rank(random) - 1.0),
        };
        self.first.saturating_add(offset as i64).min(self.last)
    }
}

fn draw_bell(random: &mut WorkloadRandom) -> f64 {
    let sum: f64 = (0..ITERATIONS).map(|_| random.random::<f64>()).sum();
    sum / f64::from(ITERATIONS)
}

/// Zipf's law by rejection-inversion: Hörmann and Derflinger, "Rejection-inversion to generate
/// variates from monotone discrete distributions", ACM TOMACS 6.3 (1996).
#[derive(Clone, Copy, Debug)]
struct Zipf {
    count: f64,
    exponent: f64,
    from: f64,
    to: f64,
    /// A pick this near to the middle of its bar is taken at once.
    squeeze: f64,
}

impl Zipf {
    fn new(count: f64, exponent: f64) -> Self {
        let hat = |at: f64| integrate_hat(at, exponent);
        Self {
            count,
            exponent,
            from: hat(1.5) - 1.0,
            to: hat(count + 0.5),
            squeeze: 2.0 - invert_integral(hat(2.5) - 2f64.powf(-exponent), exponent),
        }
    }

    fn draw_rank(&self, random: &mut WorkloadRandom) -> f64 {
        loop {
            let area = self.to + random.random::<f64>() * (self.from - self.to);
            let at = invert_integral(area, self.exponent);
            let rank = (at + 0.5).floor().clamp(1.0, self.count);
            let bar = || integrate_hat(rank + 0.5, self.exponent) - rank.powf(-self.exponent);
            if rank - at <= self.squeeze || area >= bar() {
                return rank;
            }
        }
    }
}

fn integrate_hat(at: f64, exponent: f64) -> f64 {
    let log = at.ln();
    let scaled = (1.0 - exponent) * log;
    log * if scaled.abs() > 1e-8 { scaled.exp_m1() / scaled } else { 1.0 + scaled / 2.0 }
}

fn invert_integral(area: f64, exponent: f64) -> f64 {
    let scaled = (area * (1.0 - exponent)).max(-1.0);
    let log = area * if scaled.abs() > 1e-8 { scaled.ln_1p() / scaled } else { 1.0 - scaled / 2.0 };
    log.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed_stream;

    /// How often each of `count` keys from 1 is picked, of 200,000 picks.
    fn picked(level: &str, count: i64) -> Vec<f64> {
        let picker = KeySampler::new(KeyDistribution::parse(level).unwrap(), 1, count);
        let mut random = seed_stream(3, 0);
        let mut times = vec![0.0; count as usize];
        for _ in 0..200_000 {
            times[picker.pick(&mut random) as usize - 1] += 1.0;
        }
        times
    }

    /// Pearson's statistic, by its degrees of freedom: about 1 where the weights are right.
    fn misfit(times: &[f64], weights: &[f64]) -> f64 {
        let (all, total) = (times.iter().sum::<f64>(), weights.iter().sum::<f64>());
        let expected = weights.iter().map(|weight| all * weight / total);
        let sum: f64 = times.iter().zip(expected).map(|(is, of)| (is - of).powi(2) / of).sum();
        sum / (times.len() - 1) as f64
    }

    #[test]
    fn keys_are_picked_as_the_distribution_says() {
        assert!(misfit(&picked("uniform", 100), &[1.0; 100]) < 1.5);
        for exponent in [0.5, 0.99, 1.0, 1.7] {
            let weights: Vec<f64> = (1..=100).map(|rank| f64::from(rank).powf(-exponent)).collect();
            let times = picked(&format!("zipf:{exponent}"), 100);
            assert!(misfit(&times, &weights) < 1.5, "{exponent}: {times:?}");
            assert!(misfit(&times, &[1.0; 100]) > 10.0, "{exponent}");
        }
        // P(u ^ power < x) = x ^ (1 / power).
        let power = 0.2f64.ln() / 0.8f64.ln();
        let until = |key: i32| (f64::from(key) / 20.0).powf(1.0 / power);
        let weights: Vec<f64> = (0..20).map(|key| until(key + 1) - until(key)).collect();
        assert!(misfit(&picked("pareto", 20), &weights) < 2.0);
    }

    #[test]
    fn special_keys_are_in_the_middle() {
        let share = |level: &str, keys: std::ops::Range<usize>| {
            picked(level, 10_000)[keys].iter().sum::<f64>() / 200_000.0
        };
        // Three quarters of them, and those of the bell that fall there, too.
        let middle = share("special", 4_949..5_052);
        assert!((0.75..0.82).contains(&middle), "{middle}");
        let middle = share("special:20:10", 4_499..5_502);
        assert!((0.55..0.70).contains(&middle), "{middle}");
        // A standard deviation of the mean of twelve is 1/12: 68.3 % are within it.
        let bell = share("gaussian", 4_167..5_833);
        assert!((0.67..0.70).contains(&bell), "{bell}");
    }

    #[test]
    fn every_key_may_be_the_only_one() {
        let mut random = seed_stream(1, 0);
        for level in ["uniform", "zipf:0.99", "special", "gaussian", "pareto", "zipf:10"] {
            let keys = KeyDistribution::parse(level).unwrap();
            let one = KeySampler::new(keys, 7, 7);
            let two = KeySampler::new(keys, 7, 8);
            for _ in 0..1_000 {
                assert_eq!(one.pick(&mut random), 7, "{level}");
                assert!((7..=8).contains(&two.pick(&mut random)), "{level}");
            }
        }
    }

    #[test]
    fn a_level_has_one_form() {
        for (level, form) in [
            ("uniform", "uniform"),
            ("zipf", "zipf:0.8"),
            ("zipf:0.990", "zipf:0.99"),
            ("zipf:1", "zipf:1"),
            ("special", "special:75:1"),
            ("special:75:1", "special:75:1"),
            ("special:20:10", "special:20:10"),
            ("pareto", "pareto:0.2"),
            ("gaussian", "gaussian"),
        ] {
            assert_eq!(normalize_keys(level).as_deref(), Ok(form));
            assert_eq!(normalize_keys(form).as_deref(), Ok(form));
        }
    }

    #[test]
    fn impossible_parameters_are_refused_with_the_valid_ones() {
        for (level, why) in [
            ("zipf:0", "EXPONENT is a number above 0, up to 10"),
            ("zipf:-1", "EXPONENT"),
            ("zipf:NaN", "EXPONENT"),
            ("zipf:inf", "EXPONENT"),
            ("zipf:", "EXPONENT"),
            ("special:100:1", "SHARE is a whole number from 0 to 99"),
            ("special:75", "SHARE"),
            ("special:75:0", "PART one from 1 to 100"),
            ("special:75:101", "PART"),
            ("special:7.5:1", "SHARE"),
            ("pareto:0", "SHAPE is a number above 0 and below 1"),
            ("pareto:1", "SHAPE"),
            ("uniform:2", "`uniform` has no parameters"),
            ("zipfian", "`zipfian` is no distribution of keys"),
            ("", "`` is no distribution of keys"),
        ] {
            let said = normalize_keys(level).unwrap_err();
            let (first, valid) = said.split_once('\n').unwrap();
            assert!(first.contains(why), "{level}: {first}");
            assert!(valid.starts_with("valid: uniform; zipf:EXPONENT"), "{level}: {valid}");
        }
    }
}
