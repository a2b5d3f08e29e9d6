//! What a model says of a device alone: a dashed line, which names itself where it is pointed at.

use std::fmt::Write;

use super::{PanelScale, class};
use crate::block::sweep::{LinePanel, SweepLine};
use crate::chart::escape;

/// Draws the line of a model. A single figure is a short stroke at its level.
pub(super) fn draw(
    out: &mut String,
    panel: &LinePanel,
    it: &SweepLine,
    x: &dyn Fn(usize) -> f64,
    scale: &PanelScale,
) {
    let known = it.points.iter().enumerate();
    let known = known.filter_map(|(at, point)| Some((at, point.known()?.value)));
    let known: Vec<(usize, f64)> = known.collect();
    let corners: Vec<String> = match &known[..] {
        [] => return,
        [(at, value)] => {
            let (x, y) = (x(*at), scale.y(*value));
            [-8.0, 8.0].map(|side| format!("{:.1},{y:.1}", x + side)).into()
        }
        several => {
            let corner =
                |(at, value): &(usize, f64)| format!("{:.1},{:.1}", x(*at), scale.y(*value));
            several.iter().map(corner).collect()
        }
    };
    let says = |(at, value): &(usize, f64)| {
        format!("{} {}: {}", panel.factor, panel.ticks[*at].name, panel.amount.text(*value))
    };
    let says: Vec<String> = known.iter().map(says).collect();
    let title = escape(&format!("{}, {}", it.name, says.join(", ")));
    let _ = write!(
        out,
        "<polyline class=\"course {}\" style=\"stroke-dasharray:6 4;stroke-width:1\" points=\"{}\">\
         <title>{title}</title></polyline>",
        class(it),
        corners.join(" ")
    );
}

#[cfg(test)]
mod tests {
    use crate::block::Sweeps;
    use crate::block::sweep::{LinePanel, LinePoint, LineSource, SweepLine, SweepUnit, Tick};

    fn line(name: &str, source: LineSource, figures: &[Option<f64>]) -> SweepLine {
        let point =
            |it: &Option<f64>| it.map_or(LinePoint::NotRun, |it| LinePoint::Known(it.into()));
        SweepLine {
            name: name.into(),
            style: 0,
            source,
            shade: None,
            pale: false,
            points: figures.iter().map(point).collect(),
            against: String::new(),
        }
    }

    fn panel(lines: Vec<SweepLine>) -> LinePanel {
        let tick = |value: f64| Tick { name: value.to_string(), value, marked: true };
        LinePanel {
            id: "lines0".into(),
            caption: "read".into(),
            description: String::new(),
            factor: "clients".into(),
            ticks: vec![tick(1.0), tick(2.0), tick(4.0)],
            amount: SweepUnit::Rate("/s"),
            title: "operations a second, up is faster".into(),
            lines,
            fastest: Vec::new(),
            base: None,
            slopes: false,
            against: String::new(),
        }
    }

    #[test]
    fn a_model_is_a_dashed_line_without_marks_or_a_name_at_its_end() {
        let figures = [Some(70.0), Some(80.0), Some(90.0)];
        let ours = line("hdd", LineSource::Ours, &figures);
        let name = "hdd, the device alone";
        let model = line(name, LineSource::Modelled, &[Some(75.0), None, Some(150.0)]);
        let svg = |lines| {
            let sweeps = Sweeps::from_panels("".into(), vec![panel(lines)], None);
            sweeps.charts[0].chart.svg.clone()
        };
        let (with, without) = (svg(vec![ours.clone(), model]), svg(vec![ours.clone()]));
        assert_eq!(with.matches("stroke-dasharray").count(), 1, "{with}");
        let says = |value| SweepUnit::Rate("/s").text(value);
        let title = format!("{name}, clients 1: {}, clients 4: {}", says(75.0), says(150.0));
        assert!(with.contains(&title), "{with}");
        for sign in ["class=\"mark", "class=\"name", "class=\"dash"] {
            assert_eq!(with.matches(sign).count(), without.matches(sign).count(), "{sign}");
        }
        let nothing = line(name, LineSource::Modelled, &[None; 3]);
        assert!(!svg(vec![ours, nothing]).contains("stroke-dasharray"));
    }
}
