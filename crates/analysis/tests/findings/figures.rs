//! How pages write figures.

use bakeoff_analysis::{Comparison, Contrast, Ours, RatioBound, compare_shape};
use bakeoff_results::published::PublishedValue;
use bakeoff_stats::paired::{self, CONFIDENCE};

/// Three significant digits.
pub fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let whole = value.abs().log10().floor().max(-4.0) as i32;
    let step = 10_f64.powi((whole - 2).max(0));
    let value = if whole >= 2 { (value / step).round() * step } else { value };
    format!("{value:.*}", (2 - whole).max(0) as usize)
}

pub fn or_dash(value: Option<f64>) -> String {
    value.map_or("–".into(), digits)
}

/// The least and the most: "0.5 to 2".
pub fn span(values: impl IntoIterator<Item = f64>) -> String {
    let wider = |(least, most): (f64, f64), it: f64| (least.min(it), most.max(it));
    let (least, most) = values.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), wider);
    format!("{} to {}", digits(least), digits(most))
}

/// How many times as much something is, with the ends of its 95 % interval.
#[derive(Clone, Copy)]
pub struct Times {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub pairs: u32,
}

impl Times {
    /// A comparison says how many times slower a level is; this is how many times as fast, or as many.
    pub fn from_comparison(it: &Comparison) -> Self {
        let it = Contrast::from_comparison(it).expect("it has pairs").with_inverse_ratio();
        assert_eq!(it.is, RatioBound::Exact);
        let (Some(low), Some(high)) = it.ends else { panic!("no interval: {it:?}") };
        Self { ratio: it.ratio, low, high, pairs: it.blocks }
    }

    /// Of pairs, each with what is divided by first.
    pub fn from_pairs(pairs: &[(f64, f64)]) -> Self {
        let it = paired::estimate_ratio(pairs, CONFIDENCE).expect("pairs");
        let (Some(low), Some(high)) = (it.low, it.high) else { panic!("no interval: {it:?}") };
        Self { ratio: it.ratio, low, high, pairs: it.pairs as u32 }
    }

    /// "2.34 (2.23–2.46)".
    pub fn plain(self) -> String {
        format!("{} ({}–{})", digits(self.ratio), digits(self.low), digits(self.high))
    }

    /// The same, and the blocks where there are not as many as the page says of all.
    pub fn plain_of(self, blocks: u32) -> String {
        match self.pairs {
            pairs if pairs == blocks => self.plain(),
            pairs => format!("{}, {pairs} blocks", self.plain()),
        }
    }

    /// "2.34 times as much (2.23 to 2.46)".
    pub fn words(self, as_what: &str) -> String {
        let [ratio, low, high] = [self.ratio, self.low, self.high].map(digits);
        format!("{ratio} times {as_what} ({low} to {high})")
    }

    /// What a published ratio is beside it.
    pub fn beside(self, theirs: f64) -> String {
        let Self { ratio, low, high, pairs } = self;
        let (low, high) = (Some(low), Some(high));
        let ours = Ours { ratio, ratio_is: RatioBound::Exact, low, high, pairs };
        compare_shape(Ok(PublishedValue::Exactly(theirs)), Ok(ours)).words()
    }
}
