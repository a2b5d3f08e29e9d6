//! Which model a timed disk is like, and that model with the times of the disk.

use bakeoff_devices::models::Models;
use bakeoff_devices::spec::{Spec, SpecError};
use bakeoff_results::{ALIKE, DiskTiming, LEAST_FLUSH_S, are_flushes_alike};

/// Writes and reads below that differ by the machine, and not by the disk.
const LEAST_S: f64 = 10e-6;

/// Times of a model, in seconds.
#[derive(Clone, Debug, PartialEq)]
struct ModelTimes {
    name: String,
    write_s: f64,
    flush_s: f64,
    read_s: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum FlushPlace {
    /// Writes, flushes and reads are all alike.
    Like,
    Below(ModelTimes),
    Between(ModelTimes, ModelTimes),
    Above(ModelTimes),
}

/// A timed disk among the models.
#[derive(Clone, Debug)]
pub struct DiskLikeness {
    nearest: ModelTimes,
    place: FlushPlace,
    flush_s: f64,
    /// The nearest model with the times of the disk.
    pub model: Spec,
}

impl DiskLikeness {
    /// Fails if no device can have these times.
    pub fn find(models: &Models, timing: &DiskTiming) -> Result<Self, SpecError> {
        let mut all = list_times(models);
        let by_distance = |one: &ModelTimes, other: &ModelTimes| {
            one.find_distance(timing).total_cmp(&other.find_distance(timing))
        };
        // Of those with the same flush the nearest is the last.
        all.sort_by(|one, other| {
            one.flush_s.total_cmp(&other.flush_s).then_with(|| by_distance(other, one))
        });
        let nearest = all
            .iter()
            .min_by(|one, other| by_distance(one, other))
            .expect("a model of an SSD comes with bakeoff");
        let spec = models.parse(&nearest.name)?;
        let parameters = list_parameters(&spec, timing);
        let parameters: Vec<(&str, &str)> =
            parameters.iter().map(|(name, value)| (*name, &**value)).collect();
        Ok(Self {
            place: place_flush(&all, nearest, timing),
            nearest: nearest.clone(),
            flush_s: timing.flush.flush_s,
            model: spec.with_parameters(&parameters)?,
        })
    }

    /// "like ssd-nvme (a flush 0.22 ms, here 0.24)".
    pub fn describe(&self) -> String {
        let here = format_ms(self.flush_s);
        let told = |it: &ModelTimes| format!("{} ms", format_ms(it.flush_s));
        match &self.place {
            FlushPlace::Like => {
                format!("like {} (a flush {}, here {here})", self.nearest.name, told(&self.nearest))
            }
            FlushPlace::Below(it) => {
                format!("below {} by its flush ({}, here {here})", it.name, told(it))
            }
            FlushPlace::Above(it) => {
                format!("above {} by its flush ({}, here {here})", it.name, told(it))
            }
            FlushPlace::Between(low, high) => format!(
                "between {} and {} by its flush ({} and {}, here {here})",
                low.name,
                high.name,
                format_ms(low.flush_s),
                told(high)
            ),
        }
    }
}

impl ModelTimes {
    /// `None` if the model has no time of its own for each.
    fn from_spec(name: String, spec: &Spec) -> Option<Self> {
        let number = |parameter| spec.read_number(parameter);
        if let Some(latency_ms) = number("latency_ms") {
            // A cloud volume keeps what it acknowledged.
            let latency_s = latency_ms * 1e-3;
            return Some(Self { name, write_s: latency_s, flush_s: 0.0, read_s: latency_s });
        }
        Some(Self {
            write_s: number("write_us")? * 1e-6,
            flush_s: number("flush_us")? * 1e-6,
            read_s: number("read_us")? * 1e-6,
            name,
        })
    }

    /// Logarithms of quotients, of what was timed.
    fn find_distance(&self, timing: &DiskTiming) -> f64 {
        let of = |timed: Option<f64>, model: f64, least: f64| {
            timed.map_or(0.0, |timed| (timed.max(least) / model.max(least)).ln().abs())
        };
        of(Some(timing.flush.flush_s), self.flush_s, LEAST_FLUSH_S)
            + of(timing.flush.write_s, self.write_s, LEAST_S)
            + of(timing.read_s, self.read_s, LEAST_S)
    }

    fn is_alike(&self, timing: &DiskTiming) -> bool {
        let alike = |timed: Option<f64>, model: f64| {
            timed.is_none_or(|timed| {
                let [one, other] = [timed, model].map(|seconds| seconds.max(LEAST_S));
                one.max(other) <= ALIKE * one.min(other)
            })
        };
        are_flushes_alike(timing.flush.flush_s, self.flush_s)
            && alike(timing.flush.write_s, self.write_s)
            && alike(timing.read_s, self.read_s)
    }
}

/// Models that need a size have none here.
fn list_times(models: &Models) -> Vec<ModelTimes> {
    let listed = models.list_models().into_iter();
    let times = |name: String| ModelTimes::from_spec(name.clone(), &models.parse(&name).ok()?);
    listed.filter_map(|listed| times(listed.name)).collect()
}

/// `sorted` by the time of a flush.
fn place_flush(sorted: &[ModelTimes], nearest: &ModelTimes, timing: &DiskTiming) -> FlushPlace {
    if nearest.is_alike(timing) {
        return FlushPlace::Like;
    }
    let split = sorted.partition_point(|it| it.flush_s <= timing.flush.flush_s);
    match (sorted[..split].last(), sorted.get(split)) {
        (Some(low), Some(high)) => FlushPlace::Between(low.clone(), high.clone()),
        (None, Some(high)) => FlushPlace::Below(high.clone()),
        (low, None) => FlushPlace::Above(low.unwrap_or(nearest).clone()),
    }
}

/// The parameters of the model that were timed, as far as it has them.
fn list_parameters(spec: &Spec, timing: &DiskTiming) -> Vec<(&'static str, String)> {
    let us = |seconds: f64| Some(seconds * 1e6);
    let flush_s = timing.flush.flush_s;
    // Where a flush costs nothing, no cache is written past.
    let has_fua = timing.has_fua != Some(false) && flush_s > 0.0;
    let through = if has_fua { timing.write_through_s } else { 0.0 };
    let latency_s = timing.flush.write_s.unwrap_or(flush_s);
    // Where it was not faster than the model's full write buffer, it has no fast one.
    let sustained = spec.read_number("sustained_mb_s").filter(|it| *it > timing.write_mb_s);
    let timed = [
        ("latency_ms", Some(latency_s * 1e3)),
        ("write_us", timing.flush.write_s.and_then(us)),
        ("flush_us", us(flush_s)),
        ("flush_floor_us", us(timing.clean_flush_s.min(flush_s))),
        ("flush_mb_s", Some(timing.flush_mb_s)),
        ("fua_us", us(through)),
        ("read_us", timing.read_s.and_then(us)),
        ("reads_at_once", timing.reads_at_once),
        ("read_mb_s", timing.read_mb_s),
        ("write_mb_s", Some(timing.write_mb_s)),
        ("sustained_mb_s", sustained.map(|_| timing.write_mb_s)),
    ];
    let had = timed.into_iter().filter(|(name, _)| spec.read_number(name).is_some());
    had.filter_map(|(name, value)| Some((name, format_two_digits(value?)))).collect()
}

fn format_ms(seconds: f64) -> String {
    format_two_digits(seconds * 1e3)
}

/// Rounds to two digits: more would be pretence.
pub fn format_two_digits(value: f64) -> String {
    if value.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
        return "0".into();
    }
    let step = 10f64.powf(value.log10().floor() - 1.0);
    let decimals = (-step.log10().round()).max(0.0) as usize;
    format!("{:.decimals$}", (value / step).round() * step)
}

#[cfg(test)]
mod tests {
    use bakeoff_testkit::synthetic::sample_timing;

    use super::*;

    /// A model of these times.
    fn model(name: &str, flush: f64) -> ModelTimes {
        ModelTimes { name: name.into(), write_s: 2e-5, flush_s: flush * 1e-6, read_s: 6e-5 }
    }

    #[test]
    fn a_disk_is_like_a_model_only_if_each_of_its_times_is() {
        let models = Models::standard();
        let own = models.parse("ssd-sata").unwrap().read_number("flush_us").unwrap();
        let place = |write, flush, read| {
            DiskLikeness::find(&models, &sample_timing([write, flush, read])).unwrap()
        };
        let like = place(30.0, own * 1.4, 80.0);
        assert_eq!(like.place, FlushPlace::Like);
        let told = like.describe();
        assert!(told.starts_with("like ssd-sata (a flush ") && told.contains("here "), "{told}");
        for (write, flush, read) in [(60.0, own, 80.0), (30.0, own, 200.0), (30.0, own * 1.6, 77.0)]
        {
            assert_ne!(place(write, flush, read).place, FlushPlace::Like, "{write} {flush} {read}");
        }
        // A volume that keeps what it acknowledged.
        let cloud = place(900.0, 3.0, 850.0);
        assert!(cloud.describe().starts_with("like ebs-gp3 (a flush 0 ms"), "{}", cloud.describe());
        assert_eq!(cloud.model.to_string(), "ebs-gp3/latency_ms=0.9");
    }

    #[test]
    fn what_is_like_none_stands_between_two_by_its_flush() {
        let all = [model("a", 0.0), model("b", 200.0), model("c", 900.0)];
        for (flush, place) in [
            (450.0, FlushPlace::Between(all[1].clone(), all[2].clone())),
            (3000.0, FlushPlace::Above(all[2].clone())),
            (210.0, FlushPlace::Like),
            // Both are lost in the time of a call.
            (9.0, FlushPlace::Like),
        ] {
            let timed = sample_timing([20.0, flush, 60.0]);
            let nearest = all.iter().min_by(|one, other| {
                one.find_distance(&timed).total_cmp(&other.find_distance(&timed))
            });
            assert_eq!(place_flush(&all, nearest.unwrap(), &timed), place, "{flush}");
        }
        let timed = sample_timing([20.0, 50.0, 60.0]);
        assert_eq!(place_flush(&all[1..], &all[1], &timed), FlushPlace::Below(all[1].clone()));
    }

    #[test]
    fn the_model_has_the_times_of_the_disk_and_no_floor_above_its_flush() {
        let models = Models::standard();
        let likeness = DiskLikeness::find(&models, &sample_timing([29.4, 1243.0, 81.0])).unwrap();
        let number = |name| likeness.model.read_number(name);
        assert_eq!((number("write_us"), number("flush_us")), (Some(29.0), Some(1200.0)));
        assert_eq!(number("read_us"), Some(81.0));
        assert!(number("flush_floor_us").is_none_or(|floor| floor == 1200.0));
        // It is the text that names it.
        assert_eq!(models.parse(&likeness.model.to_string()).unwrap(), likeness.model);
        let slow =
            DiskTiming { write_mb_s: 100.0, read_s: None, ..sample_timing([29.0, 0.0, 81.0]) };
        let likeness = DiskLikeness::find(&models, &slow).unwrap();
        let number = |name| likeness.model.read_number(name);
        let rates = (number("write_mb_s"), number("sustained_mb_s"));
        assert!(rates.0.is_none() || rates == (Some(100.0), Some(100.0)), "{}", likeness.model);
    }

    #[test]
    fn figures_have_two_digits() {
        for (value, text) in [
            (0.01234, "0.012"),
            (0.5, "0.50"),
            (1.26, "1.3"),
            (43.2, "43"),
            (8765.0, "8800"),
            (0.0, "0"),
            (f64::NAN, "0"),
        ] {
            assert_eq!(format_two_digits(value), text, "{value}");
        }
    }
}
