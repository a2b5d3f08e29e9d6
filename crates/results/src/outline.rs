//! Reads a histogram's figures from its bytes. Of some 12,000 buckets a second's operations fill
//! only a few, so this is much cheaper than building the histogram.

use hdrhistogram::Histogram;

use crate::histogram::{check_head, from_bytes};

const HEAD: usize = 40;

/// Count, least, mean and greatest value, to the histogram's digits; all 0 if empty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Outline {
    pub count: u64,
    pub least: u64,
    pub mean: f64,
    pub most: u64,
}

impl Outline {
    fn from_histogram(histogram: &Histogram<u64>) -> Self {
        let (count, mean) = (histogram.len(), histogram.mean());
        Self { count, least: histogram.min(), mean, most: histogram.max() }
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        check_head(bytes)?;
        match read_filled_buckets(bytes).and_then(|buckets| Self::of_buckets(&buckets)) {
            Some(outline) => Ok(outline),
            // The general reader decides about unusual forms.
            None => from_bytes(bytes).map(|histogram| Self::from_histogram(&histogram)),
        }
    }

    /// As HdrHistogram computes it; `None` if the count overflows.
    fn of_buckets(buckets: &[HistogramBucket]) -> Option<Self> {
        let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else {
            return Some(Self::default());
        };
        let count = buckets.iter().try_fold(0_u64, |sum, bucket| sum.checked_add(bucket.count))?;
        let share = |mean: f64, bucket: &HistogramBucket| {
            let middle = bucket.value + (bucket.range >> 1);
            mean + middle as f64 * bucket.count as f64 / count as f64
        };
        let mean = buckets.iter().fold(0.0, share);
        Some(Self { count, least: first.value, mean, most: last.value + (last.range - 1) })
    }
}

struct HistogramBucket {
    value: u64,
    /// How many different values fall into it.
    range: u64,
    count: u64,
}

impl HistogramBucket {
    /// `None` beyond the largest values.
    ///
    /// The first 2,048 buckets hold one value each; then each doubling of values has 1,024.
    fn at_index(index: u64, count: u64) -> Option<Self> {
        let doublings = (index >> 10).saturating_sub(1);
        let place = index - (doublings << 10);
        (doublings <= 52).then(|| Self { value: place << doublings, range: 1 << doublings, count })
    }
}

/// `None` if the bytes are not what bakeoff writes.
fn read_filled_buckets(bytes: &[u8]) -> Option<Vec<HistogramBucket>> {
    let head = bytes.first_chunk::<HEAD>()?;
    let number = |at: usize| head.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
    // Four bytes each: the length of the rest, and an offset that is 0.
    let (length, offset) = (number(4)? >> 32, number(4)? & 0xffff_ffff);
    // It has room up to the next power of two.
    let most = u64::MAX >> number(24)?.max(2_047).leading_zeros();
    let scale = f64::from_bits(number(32)?);
    if offset != 0 || scale != 1.0 {
        return None;
    }
    let mut rest = bytes.get(HEAD..)?.get(..usize::try_from(length).ok()?)?;
    let (mut buckets, mut index) = (Vec::new(), 0_u64);
    while !rest.is_empty() {
        let (number, after) = first_number(rest)?;
        rest = after;
        match u64::try_from(number) {
            Ok(count) => {
                if count > 0 {
                    buckets.push(
                        HistogramBucket::at_index(index, count).filter(|it| it.value <= most)?,
                    );
                }
                index = index.checked_add(1)?;
            }
            // A negative number counts empty buckets.
            Err(_) => index = index.checked_add(number.unsigned_abs())?,
        }
    }
    Some(buckets)
}

/// Also returns the rest. Seven bits a byte, lowest first, the eighth says whether more come; all
/// eight of the ninth. The lowest bit is the sign.
fn first_number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (mut bits, mut rest) = (0_u64, bytes);
    for place in 0..9 {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        let own = if place == 8 { byte } else { byte & 0x7f };
        bits |= u64::from(own) << (7 * place);
        if byte == own {
            break;
        }
    }
    Some((((bits >> 1) as i64) ^ -((bits & 1) as i64), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::{new_histogram, to_bytes};

    fn of(values: impl IntoIterator<Item = (u64, u64)>) -> Histogram<u64> {
        let mut histogram = new_histogram();
        for (value, count) in values {
            histogram.record_n(value, count).unwrap();
        }
        histogram
    }

    /// To the last bit: around every edge between buckets, of few values and of many, of counts of one byte
    /// and of nine.
    #[test]
    fn it_is_what_the_histogram_itself_says() {
        let powers = [0, 1, 9, 10, 11, 12, 13, 20, 32, 52, 61].into_iter();
        let edges = powers.flat_map(|power| [(1_u64 << power) - 1, 1 << power, (1 << power) + 1]);
        let mut all: Vec<Histogram<u64>> = edges.clone().map(|value| of([(value, 3)])).collect();
        all.extend([of([]), of([(0, 7)]), of([(0, 1), (5, 1)]), of(edges.map(|value| (value, 1)))]);
        all.extend((0..62).step_by(3).map(|power| of([(4_000_000, 1 << power), (9_999_999, 1)])));
        let mut state = 1_u64;
        for size in [2, 40, 2_000] {
            let values = (0..size).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 42, 1 + (state >> 60))
            });
            all.push(of(values));
        }
        for histogram in all {
            let bytes = to_bytes(&histogram);
            assert!(
                read_filled_buckets(&bytes).is_some(),
                "{:?}",
                Outline::from_histogram(&histogram)
            );
            assert_eq!(Outline::from_bytes(&bytes).unwrap(), Outline::from_histogram(&histogram));
        }
    }

    /// Cut anywhere, changed anywhere: it is read where the histogram is, and as that.
    #[test]
    fn what_is_no_histogram_is_refused() {
        let whole = to_bytes(&of([(3, 1), (4_000_000, 300), (5_000_000, 70_000)]));
        let read =
            |bytes: &[u8]| from_bytes(bytes).map(|histogram| Outline::from_histogram(&histogram));
        for length in 0..whole.len() {
            let cut = &whole[..length];
            assert_eq!(Outline::from_bytes(cut).is_ok(), read(cut).is_ok(), "{length}");
        }
        for at in (0..24).chain(32..HEAD) {
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            assert_eq!(Outline::from_bytes(&changed).ok(), read(&changed).ok(), "{at}");
        }
        let mut low = whole;
        low[24..32].copy_from_slice(&2_000_u64.to_be_bytes());
        assert!(
            Outline::from_bytes(&low).is_err() && read(&low).is_err(),
            "it has no room for 4 ms"
        );
    }
}
