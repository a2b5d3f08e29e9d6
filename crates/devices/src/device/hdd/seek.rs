/// Milliseconds of a move over a share of the stroke: a + b·√d while the arm speeds up and slows
/// down, c + e·d once it coasts in between (Ruemmler and Wilkes, "An introduction to disk drive
/// modeling", IEEE Computer 27(3), 1994). The two meet smoothly, in value and in slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    a: f64,
    b: f64,
    c: f64,
    e: f64,
    meet: f64,
}

impl Curve {
    /// Fits the curve to the three times of a data sheet, in milliseconds: track to track, average
    /// over all pairs of places, full stroke.
    ///
    /// The meeting place and two of the times give all else; the third time gives the meeting
    /// place. (average − track) / (full − track) is 1/3 for a move that only coasts and 8/15 for
    /// one that never does. The error is a sentence.
    pub fn fit(track: f64, average: f64, full: f64) -> Result<Self, String> {
        let (average_rise, full_rise) = (average - track, full - track);
        let (mut coasts, mut never) = (1e-4_f64, 1.0_f64);
        let share = |meet: f64| Self::average_of_unit(meet) / Self::full_of_unit(meet);
        if full_rise == 0.0 && average_rise == 0.0 {
            return Ok(Self { a: track, b: 0.0, c: track, e: 0.0, meet: 1.0 });
        }
        let (least, most) = (track + full_rise * share(coasts), track + full_rise * share(never));
        if !(0.0..1e9).contains(&track) || !(track..1e9).contains(&full) {
            return Err(format!(
                "full_stroke_ms {full} does not go with track_to_track_ms {track}: no arm is faster \
                 over the full stroke than over a track"
            ));
        }
        if !(least..=most).contains(&average) {
            return Err(format!(
                "average_seek_ms {average} does not go with track_to_track_ms {track} and \
                 full_stroke_ms {full}: such an arm averages from {least:.1} to {most:.1}"
            ));
        }
        for _ in 0..60 {
            let middle = (coasts + never) / 2.0;
            if share(middle) < average_rise / full_rise { coasts = middle } else { never = middle }
        }
        let b = full_rise / Self::full_of_unit(never);
        let (c, e) = (track + b * never.sqrt() / 2.0, b / (2.0 * never.sqrt()));
        Ok(Self { a: track, b, c, e, meet: never })
    }

    /// The full stroke for a = 0 and b = 1: √m + (1−m)/(2√m).
    fn full_of_unit(meet: f64) -> f64 {
        let root = meet.sqrt();
        root + (1.0 - meet) / (2.0 * root)
    }

    /// The average for a = 0 and b = 1: the integral of the curve over 2(1−d), the density of the
    /// distance of two random places.
    fn average_of_unit(meet: f64) -> f64 {
        let root = meet.sqrt();
        let short = 4.0 / 3.0 * root * meet - 4.0 / 5.0 * root * meet * meet;
        let offset = root / 2.0 * (1.0 - meet) * (1.0 - meet);
        let slope = (1.0 - 3.0 * meet * meet + 2.0 * meet * meet * meet) / (6.0 * root);
        short + offset + slope
    }

    /// Milliseconds of a move over this share of the stroke.
    pub fn move_time(&self, distance: f64) -> f64 {
        if distance <= 0.0 {
            0.0
        } else if distance < self.meet {
            self.a + self.b * distance.sqrt()
        } else {
            self.c + self.e * distance
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_the_published_times() {
        for (track, average, full) in [(0.3, 8.5, 18.0), (1.0, 11.0, 20.0), (2.0, 12.0, 22.0)] {
            let curve = Curve::fit(track, average, full).unwrap();
            assert!((curve.move_time(1.0) - full).abs() < 1e-6);
            assert!((curve.move_time(1e-9) - track).abs() < 0.01);
            let steps = 2000;
            let at = |step: usize| (step as f64 + 0.5) / f64::from(steps);
            let pairs = (0..2000).map(|step| 2.0 * (1.0 - at(step)) * curve.move_time(at(step)));
            let mean = pairs.sum::<f64>() / f64::from(steps);
            assert!((mean - average).abs() < 0.01, "{mean} for {average}");
            let (below, above) =
                (curve.move_time(curve.meet - 1e-9), curve.move_time(curve.meet + 1e-9));
            assert!((below - above).abs() < 1e-6);
        }
    }

    #[test]
    fn impossible_times_are_refused() {
        for (track, average, full) in [
            (-0.1, 8.5, 18.0),
            (0.3, 8.5, 8.0),
            (9.0, 8.5, 18.0),
            (0.3, 17.0, 18.0),
            (0.3, 3.0, 18.0),
        ] {
            let error = Curve::fit(track, average, full).unwrap_err();
            assert!(error.contains(" does not go with "), "{error}");
        }
        assert!(Curve::fit(0.3, f64::NAN, 18.0).is_err());
    }
}
