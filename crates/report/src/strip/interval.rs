//! The bar of a strip: an interval, and whether it goes beyond the axis.

use std::fmt::Write;

use super::{draw_line, format_percent};

/// Height of an interval's end above and below it, in pixels.
const CAP: f64 = 6.5;
/// Length of an arrow's head, and its height above and below the bar, in pixels.
const HEAD: (f64, f64) = (7.0, 4.5);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: IntervalEnd,
    pub high: IntervalEnd,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalEnd {
    /// Of one that lies beyond, where the axis ends.
    pub place: f64,
    pub beyond: bool,
}

impl Interval {
    pub fn goes_beyond(self) -> bool {
        self.low.beyond || self.high.beyond
    }

    /// `y` in pixels. Ends are seen even where the interval is shorter than the mark.
    pub(super) fn draw(self, out: &mut String, y: f64) {
        draw_line(out, "ci", (self.low.place, self.high.place), y);
        for (end, back) in [(self.low, 1.0), (self.high, -1.0)] {
            match end.beyond {
                true => draw_arrow(out, end.place, back, y),
                false => draw_cap(out, end.place, y),
            }
        }
    }

    pub(super) fn list_arrows(self, unicode: bool) -> impl Iterator<Item = (f64, char)> {
        let [low, high] = if unicode { ['←', '→'] } else { ['<', '>'] };
        let ends = [(self.low, low), (self.high, high)].into_iter();
        ends.filter(|(end, _)| end.beyond).map(|(end, sign)| (end.place, sign))
    }
}

fn draw_cap(out: &mut String, at: f64, y: f64) {
    let (x, top, foot) = (format_percent(at), y - CAP, y + CAP);
    let _ =
        write!(out, "<line class=\"ci\" x1=\"{x}\" x2=\"{x}\" y1=\"{top:.1}\" y2=\"{foot:.1}\"/>");
}

/// In an element of its own, so that it is not stretched. The bar leads to `back`.
fn draw_arrow(out: &mut String, at: f64, back: f64, y: f64) {
    let (x, (length, half)) = (format_percent(at), HEAD);
    let back = back * length;
    let _ = write!(
        out,
        "<svg x=\"{x}\" y=\"{y:.1}\" width=\"1\" height=\"1\" overflow=\"visible\">\
         <line class=\"ci\" x1=\"0\" x2=\"{back}\" y1=\"0\" y2=\"-{half}\"/>\
         <line class=\"ci\" x1=\"0\" x2=\"{back}\" y1=\"0\" y2=\"{half}\"/></svg>"
    );
}

#[cfg(test)]
mod tests {
    use super::super::{StripAxis, StripContent};

    /// An axis that its intervals are too wide for.
    fn axis() -> StripAxis {
        StripAxis::between_levels(&[0.9, 1.2], &[0.01, 50.0])
    }

    fn drawn(ends: (f64, f64)) -> StripContent {
        let axis = axis();
        let (at, interval) = (Some(axis.place(1.0)), Some(axis.interval(ends)));
        StripContent { at, interval, ..StripContent::default() }
    }

    #[test]
    fn an_end_beyond_the_axis_is_open_and_stands_where_the_axis_ends() {
        for (ends, open) in [
            ((0.95, 1.1), (false, false)),
            ((0.01, 1.1), (true, false)),
            ((0.95, 50.0), (false, true)),
            ((0.0, f64::INFINITY), (true, true)),
        ] {
            let interval = axis().interval(ends);
            assert_eq!((interval.low.beyond, interval.high.beyond), open, "{ends:?}");
            assert_eq!(interval.goes_beyond(), open.0 || open.1);
            let at_the_end = (interval.low.place == 0.0, interval.high.place == 1.0);
            assert_eq!(at_the_end, open, "{ends:?}");
        }
    }

    #[test]
    fn an_open_end_has_an_arrow_in_the_place_of_its_cap() {
        for (ends, caps) in [((0.95, 1.1), 2), ((0.01, 1.1), 1), ((0.01, 50.0), 0)] {
            let svg = drawn(ends).svg(&axis(), 26.0);
            let upright = "y1=\"6.5\" y2=\"19.5\"";
            assert_eq!(svg.matches(upright).count(), caps, "{svg}");
            // The mark has an element of its own, too.
            assert_eq!(svg.matches("overflow=\"visible\"").count(), 1 + 2 - caps, "{svg}");
        }
    }

    #[test]
    fn a_terminal_has_a_sign_for_an_open_end() {
        let signs = drawn((0.01, 50.0)).signs(21, true);
        assert!(signs.starts_with("←─") && signs.ends_with("─→"), "{signs}");
        let ascii = drawn((0.01, 50.0)).signs(21, false);
        assert!(ascii.starts_with("<-") && ascii.ends_with("->"), "{ascii}");
        let within = drawn((0.95, 1.1)).signs(21, true);
        assert!(!within.contains(['←', '→']), "{within}");
    }
}
