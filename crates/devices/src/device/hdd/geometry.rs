//! Maps bytes to places on the platters, and computes how long the head takes to reach them.

use super::HddParameters;
use super::seek::Curve;
use crate::device::Nanos;

/// The least number of arcs of data, as far as a track can be cut. With so many, the head passes a
/// piece of the journal inside a file without a seek.
const LEAST_ARCS: f64 = 512.0;
const ARCS_OF_A_TRACK: f64 = 16.0;

const MINUTE: u64 = 60_000_000_000;

/// A rest of a turn below this is a rounding error: moments are whole nanoseconds.
const ROUNDING: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlatterPosition {
    pub track: f64,
    arc: f64,
    /// In turns, as the platter sees it.
    angle: f64,
    /// How far in from the outermost track, as a share of the stroke.
    stroke: f64,
}

/// The platters and the arm.
///
/// Bits lie equally dense along every track. So a track's rate is proportional to its radius, and
/// the bytes outside a radius to a difference of squares. With x the share of the disk's bytes that
/// are further out, rate(x) = √(outer² − (outer² − inner²)·x). Data are spread evenly over the part
/// in use: x = used·offset/span. The integral of 1/rate from the first byte on is 2·offset/(outer +
/// rate(x)): the time in which the head passes all bytes before `offset`. Counted in turns it is
/// the number of the track and the place on it. The arm has then come x·(outer + inner)/(outer +
/// rate(x)) of the stroke.
///
/// A few tracks of data stand for data that fill the stroke. So of each track only an arc is
/// theirs: the arm rests within an arc, goes one step to the next arc, and seeks beyond that.
pub(super) struct Geometry {
    rpm: u64,
    /// Nanoseconds.
    turn: f64,
    outer: f64,
    inner: f64,
    /// Nanoseconds from a track to the next. Tracks are skewed by as much, so that the next one
    /// begins under the head when it arrives.
    step: f64,
    used: f64,
    span: f64,
    arcs: f64,
    curve: Curve,
    /// Where the platter stood at 0, in turns.
    phase: f64,
}

impl Geometry {
    pub fn new(parameters: &HddParameters, phase: f64) -> Result<Self, String> {
        let p = parameters;
        let mut geometry = Self {
            rpm: p.rpm,
            turn: MINUTE as f64 / p.rpm as f64,
            outer: p.outer_mb_s / 1e3,
            inner: p.inner_mb_s / 1e3,
            step: p.track_to_track_ms * 1e6,
            used: p.used,
            span: 0.0,
            arcs: 1.0,
            curve: Curve::fit(p.track_to_track_ms, p.average_seek_ms, p.full_stroke_ms)?,
            phase,
        };
        geometry.set_span(1 << 30);
        Ok(geometry)
    }

    /// Spreads the bytes over the part in use; returns whether their places changed. Bytes are
    /// rounded up by at most a sixteenth, or the platter would turn with every byte that is added.
    pub fn set_span(&mut self, bytes: u64) -> bool {
        let bytes = bytes.max(1);
        let step = (1u64 << bytes.ilog2()).div_ceil(16);
        let span = bytes.next_multiple_of(step) as f64;
        let tracks = span / (self.outer * self.turn);
        self.arcs = (LEAST_ARCS / tracks).clamp(1.0, ARCS_OF_A_TRACK);
        std::mem::replace(&mut self.span, span) != span
    }

    pub fn covers(&self, end: u64) -> bool {
        end as f64 <= self.span
    }

    /// Share of the disk's bytes that are further out.
    fn share_outside(&self, offset: u64) -> f64 {
        self.used * (offset as f64 / self.span).min(1.0)
    }

    pub fn rate_at(&self, offset: u64) -> f64 {
        let (outer, inner) = (self.outer * self.outer, self.inner * self.inner);
        (outer - (outer - inner) * self.share_outside(offset)).sqrt()
    }

    pub fn locate(&self, offset: u64) -> PlatterPosition {
        let sum = self.outer + self.rate_at(offset);
        let turns = 2.0 * offset as f64 / (sum * self.turn);
        let track = floor_positive(turns);
        let skewed = turns + track * (self.step / self.turn) + self.phase;
        PlatterPosition {
            track,
            arc: floor_positive(turns * self.arcs),
            angle: skewed - floor_positive(skewed),
            stroke: self.share_outside(offset) * (self.outer + self.inner) / sum,
        }
    }

    fn seek_time(&self, from: &PlatterPosition, to: &PlatterPosition) -> f64 {
        if (from.arc - to.arc).abs() <= 1.0 {
            return (from.track - to.track).abs() * self.step;
        }
        self.curve.move_time((from.stroke - to.stroke).abs()).max(self.step / 1e6) * 1e6
    }

    pub fn arrival_time(&self, at: Nanos, from: &PlatterPosition, to: &PlatterPosition) -> Nanos {
        let there = at + round_to_nanos(self.seek_time(from, to));
        self.arrival_on_track(there, to)
    }

    pub fn arrival_on_track(&self, at: Nanos, to: &PlatterPosition) -> Nanos {
        // A minute has a whole number of turns, so no error adds up.
        let turned = (at % MINUTE * self.rpm % MINUTE) as f64 / MINUTE as f64;
        let left = to.angle - turned;
        let left = if left < 0.0 { left + 1.0 } else { left };
        at + if left > 1.0 - ROUNDING { 0 } else { round_to_nanos(left * self.turn) }
    }

    /// Nanoseconds for the head to pass these bytes, over as many tracks as needed.
    pub fn pass_time(&self, from: u64, to: u64) -> Nanos {
        let turns =
            |offset: u64| 2.0 * offset as f64 / ((self.outer + self.rate_at(offset)) * self.turn);
        let (from, to) = (turns(from), turns(to));
        let steps = (floor_positive(to) - floor_positive(from)) * self.step;
        round_to_nanos(((to - from) * self.turn + steps).max(0.0))
    }

    pub fn turn_time(&self) -> Nanos {
        round_to_nanos(self.turn)
    }
}

/// The whole part of a positive number, and rounding to nanoseconds. They go through an integer: on
/// older processors `floor` and `round` are calls, and a disk needs them for each waiting request.
fn floor_positive(number: f64) -> f64 {
    number as u64 as f64
}

fn round_to_nanos(span: f64) -> Nanos {
    (span + 0.5) as Nanos
}
