//! Where bytes lie on the platters, and how long the head takes to be over them.

use super::HddParameters;
use super::seek::Curve;
use crate::device::Nanos;

/// How many arcs data have at least, as far as a track may be cut into so many: few enough that a
/// piece of the journal in the way of a file is passed without a seek.
const LEAST_ARCS: f64 = 512.0;
const ARCS_OF_A_TRACK: f64 = 16.0;

const MINUTE: u64 = 60_000_000_000;

/// A rest of a turn below this is a rounding error: moments are whole nanoseconds.
const ROUNDING: f64 = 1e-6;

/// A position on the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlatterPosition {
    /// The number of its track, counted from the first byte in use.
    pub track: f64,
    /// The number of its arc.
    arc: f64,
    /// Where on the track it is, in turns and as the platter sees it.
    angle: f64,
    /// How far in from the outermost track, as a share of the stroke.
    stroke: f64,
}

/// The platters and the arm.
///
/// Bits lie equally dense along every track, so that a track's rate is proportional to its radius,
/// and the bytes outside a radius to a difference of squares. With x the share of the disk's bytes
/// that are further out, rate(x) = √(outer² − (outer² − inner²)·x). The data are spread evenly over
/// the part in use: x = used·offset/span. Integrating 1/rate from the first byte on, the head needs
/// 2·offset/(outer + rate(x)) to pass over all bytes before `offset`: a time that, counted in turns,
/// is the number of the track and the place on it. The arm has then come x·(outer + inner)/(outer +
/// rate(x)) of the stroke.
///
/// Data of a few tracks that are spread over the whole stroke are a model of data that fill it: of a
/// track only an arc is theirs, and what lies further along has been moved to other tracks. So the
/// arm rests within an arc, goes one step to the next, and has a seek to make beyond.
pub(super) struct Geometry {
    rpm: u64,
    /// Nanoseconds of one turn.
    turn: f64,
    /// Bytes a nanosecond, outermost and innermost.
    outer: f64,
    inner: f64,
    /// Nanoseconds from a track to the next; tracks are skewed by as much, so that their next one
    /// begins under the head when it is there.
    step: f64,
    used: f64,
    span: f64,
    /// Arcs of a track.
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

    /// Spreads so many bytes over the part in use. They are rounded up by at most a sixteenth:
    /// growing data would else turn the platter under the head with every byte. Says whether that
    /// changed where the bytes lie.
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
    fn outside(&self, offset: u64) -> f64 {
        self.used * (offset as f64 / self.span).min(1.0)
    }

    /// Bytes a nanosecond.
    pub fn rate(&self, offset: u64) -> f64 {
        let (outer, inner) = (self.outer * self.outer, self.inner * self.inner);
        (outer - (outer - inner) * self.outside(offset)).sqrt()
    }

    pub fn place(&self, offset: u64) -> PlatterPosition {
        let sum = self.outer + self.rate(offset);
        let turns = 2.0 * offset as f64 / (sum * self.turn);
        let track = whole(turns);
        let skewed = turns + track * (self.step / self.turn) + self.phase;
        PlatterPosition {
            track,
            arc: whole(turns * self.arcs),
            angle: skewed - whole(skewed),
            stroke: self.outside(offset) * (self.outer + self.inner) / sum,
        }
    }

    /// Nanoseconds from one place to another one's track.
    fn seek(&self, from: &PlatterPosition, to: &PlatterPosition) -> f64 {
        if (from.arc - to.arc).abs() <= 1.0 {
            return (from.track - to.track).abs() * self.step;
        }
        self.curve.time((from.stroke - to.stroke).abs()).max(self.step / 1e6) * 1e6
    }

    /// When the head, which is over `from` at `at`, is over `to`.
    pub fn arrive(&self, at: Nanos, from: &PlatterPosition, to: &PlatterPosition) -> Nanos {
        let there = at + nanos(self.seek(from, to));
        self.wait(there, to)
    }

    /// When a place of the track under the head comes round.
    pub fn wait(&self, at: Nanos, to: &PlatterPosition) -> Nanos {
        // A minute has a whole number of turns: no error adds up.
        let turned = (at % MINUTE * self.rpm % MINUTE) as f64 / MINUTE as f64;
        let left = to.angle - turned;
        let left = if left < 0.0 { left + 1.0 } else { left };
        at + if left > 1.0 - ROUNDING { 0 } else { nanos(left * self.turn) }
    }

    /// Nanoseconds from the first byte under the head to the last, going on to the next track as
    /// often as needed.
    pub fn pass(&self, from: u64, to: u64) -> Nanos {
        let turns =
            |offset: u64| 2.0 * offset as f64 / ((self.outer + self.rate(offset)) * self.turn);
        let (from, to) = (turns(from), turns(to));
        let steps = (whole(to) - whole(from)) * self.step;
        nanos(((to - from) * self.turn + steps).max(0.0))
    }

    /// Nanoseconds of one turn.
    pub fn turn(&self) -> Nanos {
        nanos(self.turn)
    }
}

/// The whole part of a number that is not negative, and a span rounded to nanoseconds. Through an
/// integer: without a processor's newer instructions, `floor` and `round` are calls, and a disk
/// makes them for each waiting request at each decision.
fn whole(number: f64) -> f64 {
    number as u64 as f64
}

fn nanos(span: f64) -> Nanos {
    (span + 0.5) as Nanos
}
