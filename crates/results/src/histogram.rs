//! Histograms as JSON between processes, as bytes in the database: nanoseconds, three digits,
//! growing.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as V2Deserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const DIGITS: u8 = 3;

pub fn new_histogram() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("three is a number of digits that a histogram can have")
}

pub fn serialize<S: Serializer>(histogram: &Histogram<u64>, to: S) -> Result<S::Ok, S::Error> {
    let steps = histogram.iter_recorded();
    to.collect_seq(steps.map(|step| (step.value_iterated_to(), step.count_at_value())))
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram<u64>, D::Error> {
    let mut histogram = new_histogram();
    for (value, count) in Vec::<(u64, u64)>::deserialize(from)? {
        histogram.record_n(value, count).map_err(de::Error::custom)?;
    }
    Ok(histogram)
}

pub mod optional {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct SparseHistogram(#[serde(with = "super")] Histogram<u64>);

    pub fn serialize<S: Serializer>(
        histogram: &Option<Histogram<u64>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match histogram {
            Some(histogram) => super::serialize(histogram, to),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Histogram<u64>>, D::Error> {
        Ok(Option::<SparseHistogram>::deserialize(from)?
            .map(|SparseHistogram(histogram)| histogram))
    }
}

/// HdrHistogram's V2 form, uncompressed: runs of empty buckets take few bytes already.
pub(crate) fn to_bytes(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .expect("a histogram of sane bounds fits into memory twice");
    bytes
}

pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    check_head(bytes)?;
    let mut histogram: Histogram<u64> = V2Deserializer::new()
        .deserialize(&mut &*bytes)
        .map_err(|error| format!("a histogram can't be read: {error}"))?;
    histogram.auto(true);
    Ok(histogram)
}

/// Nine bytes for each count of 64-bit values.
const LONGEST: usize = 40 + 9 * 64 * 1024;

/// Checks the head first: it decides how much memory is taken.
pub(crate) fn check_head(bytes: &[u8]) -> Result<(), String> {
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let long = |at: usize| Some(u64::from(word(at)?) << 32 | u64::from(word(at + 4)?));
    if bytes.len() > LONGEST {
        return Err(format!("a histogram has {} bytes", bytes.len()));
    }
    let head = || Some((word(0)?, word(4)?, word(12)?, long(16)?));
    match head() {
        Some((cookie, ..)) if cookie != COOKIE => Err("a blob is not a histogram".to_owned()),
        Some((_, length, ..)) if length as usize > bytes.len() => {
            Err("a histogram is cut short".to_owned())
        }
        Some((.., digits, _)) if digits != u32::from(DIGITS) => {
            Err(format!("a histogram keeps {digits} digits, and not {DIGITS}"))
        }
        Some((.., low)) if low != 1 => {
            Err(format!("a histogram counts from {low}, and not from 1"))
        }
        Some(_) => Ok(()),
        None => Err("a histogram is cut short".to_owned()),
    }
}

/// The mark of an uncompressed V2 histogram.
const COOKIE: u32 = 0x1c84_9303 | 0x10;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Carried {
        #[serde(with = "super")]
        kept: Histogram<u64>,
        #[serde(with = "super::optional")]
        service: Option<Histogram<u64>>,
    }

    /// From a nanosecond to an hour: three digits are kept, and what comes back grows on.
    #[test]
    fn a_histogram_survives_the_journey_and_still_grows() {
        let mut kept = new_histogram();
        for (value, count) in [(1, 3), (999, 1), (123_456_789, 7), (3_600_000_000_000, 2)] {
            kept.record_n(value, count).unwrap();
        }
        let carried = Carried { service: Some(kept.clone()), kept };
        let json = serde_json::to_string(&carried).unwrap();
        assert!(json.len() < 200, "only what occurs is written: {json}");
        let mut back: Carried = serde_json::from_str(&json).unwrap();
        assert_eq!(back, carried);
        assert_eq!((back.kept.sigfig(), back.kept.len()), (3, 13));
        back.kept.record(u64::MAX / 2).unwrap();
        let bytes = from_bytes(&to_bytes(&carried.kept)).unwrap();
        assert_eq!(bytes, carried.kept);
    }

    #[test]
    fn none_is_none_and_an_empty_one_is_empty() {
        let carried = Carried { kept: new_histogram(), service: None };
        let json = serde_json::to_string(&carried).unwrap();
        assert_eq!(json, r#"{"kept":[],"service":null}"#);
        assert_eq!(serde_json::from_str::<Carried>(&json).unwrap(), carried);
        assert!(serde_json::from_str::<Carried>(r#"{"kept":[[1]],"service":null}"#).is_err());
    }
}
