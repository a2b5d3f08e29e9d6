//! From a histogram to the figures that are printed, and to bytes and back.

use bakeoff_stats::quantile;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use crate::document::OperationView;
use crate::record::Operation;

/// Nanoseconds, which histograms hold, in a second.
const NANOSECONDS: f64 = 1e9;

/// The figures of one operation of a trial whose window was `window_s` seconds long.
pub(crate) fn of_trial(operation: &Operation, window_s: f64) -> OperationView {
    OperationView {
        untrimmed_mean_s: untrimmed_mean(operation),
        per_second: if window_s > 0.0 { operation.kept.len() as f64 / window_s } else { 0.0 },
        errors: operation.errors,
        retries: operation.retries,
        ..of_histogram(&operation.name, &operation.kept)
    }
}

/// What a histogram alone can say.
pub(crate) fn of_histogram(name: &str, histogram: &Histogram<u64>) -> OperationView {
    let count = histogram.len();
    let seconds = |q: f64| {
        let backed = quantile::backed(count, q);
        backed.then(|| histogram.value_at_quantile(q) as f64 / NANOSECONDS)
    };
    OperationView {
        name: name.to_owned(),
        count,
        mean_s: (count > 0).then(|| histogram.mean() / NANOSECONDS),
        p50_s: seconds(0.5),
        p95_s: seconds(0.95),
        p99_s: seconds(0.99),
        p999_s: seconds(0.999),
        max_s: (count > 0).then(|| histogram.max() as f64 / NANOSECONDS),
        untrimmed_mean_s: None,
        per_second: 0.0,
        errors: 0,
        retries: 0,
    }
}

/// The mean over all slots, nothing dropped.
fn untrimmed_mean(operation: &Operation) -> Option<f64> {
    let (mut count, mut sum) = (0, 0.0);
    for slot in &operation.slots {
        count += slot.histogram.len();
        sum += slot.histogram.mean() * slot.histogram.len() as f64;
    }
    (count > 0).then(|| sum / count as f64 / NANOSECONDS)
}

/// HdrHistogram's V2 form, uncompressed: runs of empty buckets take a byte or two as it is.
pub(crate) fn to_bytes(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .expect("a histogram of sane bounds fits into memory twice");
    bytes
}

/// The histogram that [`to_bytes`] wrote; what is wrong with the bytes where it did not.
pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    // The length of the payload stands behind the cookie, and memory is taken for it before it
    // is read: a broken one must not ask for gigabytes.
    let length = bytes.get(4..8).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    if length.is_none_or(|length| length as usize > bytes.len()) {
        return Err("a histogram is cut short".to_owned());
    }
    Deserializer::new()
        .deserialize(&mut &*bytes)
        .map_err(|error| format!("a histogram can't be read: {error}"))
}
