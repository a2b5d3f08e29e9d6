//! Decides which lines share a panel.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{
    FastestVerdict, PointState, RatioBound, Sweep, SweepFastest, SweepPanel, SweepPoint,
    SweepSeries,
};
use bakeoff_results::{FigureOfMerit, OwnFactor};

use super::{limits, shapes};
use crate::block::sweep::{
    Fastest, LeaderLabel, LinePanel, LinePoint, LineSource, LineValue, SweepLine, SweepUnit, Tick,
};
use crate::chart::find_style;
use crate::figures::NONE;
use crate::verdict::mark_verdict;
use crate::words;

/// With more lines, each has its own panel and the others stand behind it.
const MOST_LINES: usize = 7;
/// More levels of a second numeric factor are not lines of one hue.
const MOST_SHADES: usize = 4;
/// With more levels, not all have marks.
const MOST_MARKS: usize = 12;

pub fn build_panels(layout: &DocumentLayout<'_>, sweep: &Sweep) -> Vec<LinePanel> {
    let shades = sweep.second.as_ref().filter(|it| it.levels.len() <= MOST_SHADES);
    let mut panels = match shades {
        Some(second) => {
            let names: Vec<&str> = second.levels.iter().map(|it| it.level.as_str()).collect();
            build_shaded(layout, sweep, (&second.factor, &names))
        }
        None => sweep.panels.iter().flat_map(|it| build_beside(layout, sweep, it)).collect(),
    };
    for (number, panel) in panels.iter_mut().enumerate() {
        panel.id = format!("lines{number}");
    }
    panels
}

/// One panel of all lines, or one for each where they are many.
fn build_beside(layout: &DocumentLayout<'_>, sweep: &Sweep, of: &SweepPanel) -> Vec<LinePanel> {
    let all = |pale: &dyn Fn(&SweepSeries) -> bool| -> Vec<SweepLine> {
        let line = |it: &SweepSeries| SweepLine {
            pale: pale(it),
            ..build_line(layout, (it.level.clone(), &it.level), &it.points, of)
        };
        of.series.iter().map(line).collect()
    };
    let others = |own: &dyn Fn(&SweepSeries) -> bool| -> Vec<SweepLine> {
        let others = |it: &SweepSeries| {
            let measured = build_line(layout, (it.level.clone(), &it.level), &it.points, of);
            with_others(layout, sweep, of, (&measured, it))
        };
        of.series.iter().filter(|it| own(it)).flat_map(others).collect()
    };
    let whole = LinePanel {
        lines: [all(&|_| false), others(&|_| true)].concat(),
        fastest: vec![find_fastest(layout, of, "")],
        ..build_panel(layout, sweep, of)
    };
    if of.series.len() <= MOST_LINES {
        return vec![whole];
    }
    let own = |own: &SweepSeries| {
        let mut lines = all(&|it| it.level != own.level);
        // What is drawn last lies on top.
        lines.sort_by_key(|line| !line.pale);
        lines.extend(others(&|it| it.level == own.level));
        let caption = format!("{}, {}", whole.caption, own.level);
        LinePanel { lines, caption, ..whole.clone() }
    };
    of.series.iter().map(own).collect()
}

/// One panel for each compared level, a line for each level of a second numeric factor, from light
/// to dark.
fn build_shaded(
    layout: &DocumentLayout<'_>,
    sweep: &Sweep,
    (factor, levels): (&str, &[&str]),
) -> Vec<LinePanel> {
    // They differ in the second factor alone.
    let key = |panel: &SweepPanel| {
        let mut rest = panel.levels.clone();
        rest.remove(factor);
        (panel.operation.clone(), rest)
    };
    let mut groups: Vec<Vec<&SweepPanel>> = Vec::new();
    for panel in &sweep.panels {
        match groups.iter_mut().find(|group| key(group[0]) == key(panel)) {
            Some(group) => group.push(panel),
            None => groups.push(vec![panel]),
        }
    }
    let mut panels = Vec::new();
    for mut group in groups {
        let shade = |it: &SweepPanel| levels.iter().position(|level| it.levels[factor] == *level);
        group.sort_by_key(|it| shade(it));
        for level in layout.charted_levels() {
            let lines: Vec<(&SweepPanel, &SweepSeries)> = group
                .iter()
                .filter_map(|it| Some((*it, it.series.iter().find(|one| one.level == level)?)))
                .collect();
            let Some((first, _)) = lines.first() else { continue };
            let name = |it: &SweepPanel| words::phrase_level(factor, &it.levels[factor]);
            let of = |(it, series): &(&SweepPanel, &SweepSeries)| SweepLine {
                shade: shade(it),
                ..build_line(layout, (name(it), level), &series.points, it)
            };
            let others = |one: &(&SweepPanel, &SweepSeries)| {
                with_others(layout, sweep, one.0, (&of(one), one.1))
            };
            let rows = lines.iter().map(|(it, _)| find_fastest(layout, it, &name(it))).collect();
            let whole = build_panel(layout, sweep, first);
            let caption = build_caption(layout, first, &[sweep.factor.as_str(), factor]);
            panels.push(LinePanel {
                caption: format!("{caption}, {}", words::name_contender(layout.compare, level)),
                lines: lines.iter().map(of).chain(lines.iter().flat_map(others)).collect(),
                fastest: own_rows(rows, level),
                ..whole
            });
        }
    }
    panels
}

/// Adds published figures of its cells, and the rate of the modelled device.
fn with_others(
    layout: &DocumentLayout<'_>,
    sweep: &Sweep,
    of: &SweepPanel,
    (measured, series): (&SweepLine, &SweepSeries),
) -> Vec<SweepLine> {
    let published = shapes::build_published_line(layout, sweep, of, (measured, &series.level));
    let limit = limits::build_limit_line(measured, &series.points);
    published.into_iter().chain(limit).collect()
}

fn own_rows(rows: Vec<Fastest>, level: &str) -> Vec<Fastest> {
    let own = |sign| match sign {
        LeaderLabel::Known(name, _) if name != level => LeaderLabel::Nothing,
        LeaderLabel::TooClose(names) if !names.iter().any(|name| name == level) => {
            LeaderLabel::Nothing
        }
        sign => sign,
    };
    let own = |row: Fastest| Fastest { signs: row.signs.into_iter().map(own).collect(), ..row };
    let rows: Vec<Fastest> = rows.into_iter().map(own).collect();
    let says = rows.iter().flat_map(|row| &row.signs).any(|sign| *sign != LeaderLabel::Nothing);
    if says { rows } else { Vec::new() }
}

fn build_panel(layout: &DocumentLayout<'_>, sweep: &Sweep, of: &SweepPanel) -> LinePanel {
    let merit = FigureOfMerit::of_metric(&of.metric).unwrap_or_default();
    let title = match merit.is_rate() {
        false => format!("{}, lower is faster", words::name_metric(layout)),
        true => format!("{}, higher is faster", merit.in_words()),
    };
    let caption = build_caption(layout, of, &[&sweep.factor]);
    let last = sweep.levels.last().map_or("", |level| &level.level);
    LinePanel {
        id: String::new(),
        description: format!("{caption}, over {}. The table below has every figure.", sweep.factor),
        caption,
        factor: sweep.factor.clone(),
        ticks: build_ticks(sweep, of),
        amount: match merit {
            FigureOfMerit::Time => SweepUnit::Seconds,
            FigureOfMerit::Megabytes => SweepUnit::BytesRate,
            _ => SweepUnit::Rate("/s"),
        },
        title,
        lines: Vec::new(),
        fastest: Vec::new(),
        base: None,
        slopes: means_slopes(layout, sweep, of),
        against: match layout.contenders().len() {
            0 | 1 => String::new(),
            _ => format!("at {last}, against the fastest"),
        },
    }
}

/// Faint lines have a meaning if one more client is one that waits.
fn means_slopes(layout: &DocumentLayout<'_>, sweep: &Sweep, of: &SweepPanel) -> bool {
    let is_time = of.metric == FigureOfMerit::Time.metric_name();
    sweep.factor == OwnFactor::Clients && is_time && !layout.is_open()
}

pub fn has_slopes(layout: &DocumentLayout<'_>, sweep: &Sweep) -> bool {
    sweep.panels.iter().any(|panel| means_slopes(layout, sweep, panel))
}

/// "create_issue, strict durability".
pub fn build_caption(layout: &DocumentLayout<'_>, of: &SweepPanel, without: &[&str]) -> String {
    let varying = layout.varying.iter().filter(|factor| !without.contains(factor));
    let levels =
        varying.filter_map(|factor| Some(words::phrase_level(factor, of.levels.get(*factor)?)));
    std::iter::once(of.operation.clone()).chain(levels).collect::<Vec<_>>().join(", ")
}

/// If there are many, only the ends and the changes of the fastest level have marks.
fn build_ticks(sweep: &Sweep, of: &SweepPanel) -> Vec<Tick> {
    let all = sweep.levels.len();
    let turns = |level: &str| of.turns.iter().any(|it| it.after == level || it.at == level);
    let levels = sweep.levels.iter().enumerate();
    let tick = |(at, it): (usize, &bakeoff_analysis::SweepLevel)| Tick {
        name: it.level.clone(),
        value: it.value,
        marked: all <= MOST_MARKS || at == 0 || at + 1 == all || turns(&it.level),
    };
    levels.map(tick).collect()
}

fn build_line(
    layout: &DocumentLayout<'_>,
    (name, level): (String, &str),
    points: &[SweepPoint],
    of: &SweepPanel,
) -> SweepLine {
    let against = points.last().zip(of.fastest.last());
    SweepLine {
        name,
        style: find_style(layout, level),
        source: LineSource::Ours,
        shade: None,
        pale: false,
        points: points.iter().map(build_point).collect(),
        against: against
            .map_or(NONE.into(), |(point, fastest)| against_fastest(of, level, point, fastest)),
    }
}

/// "fastest", "1.30× as long (1.20–1.50)", of a rate "0.77× as fast".
pub fn against_fastest(
    of: &SweepPanel,
    level: &str,
    point: &SweepPoint,
    fastest: &SweepFastest,
) -> String {
    let is_first = fastest.levels.first().is_some_and(|first| first == level);
    if let Some(contrast) = point.against {
        let is_rate = FigureOfMerit::of_metric(&of.metric).is_some_and(FigureOfMerit::is_rate);
        let (shown, words) = if is_rate {
            (contrast.with_inverse_ratio(), "as fast")
        } else {
            (contrast, "as long")
        };
        let ends = words::format_ends(shown.ends, shown.is, shown.blocks);
        let ends = ends.map_or(String::new(), |ends| format!(" ({})", ends.replace(" to ", "–")));
        let close = match contrast.verdict {
            bakeoff_analysis::Verdict::Slower => String::new(),
            verdict if contrast.is_held_back() => format!(", {}", mark_verdict(verdict)),
            verdict => format!(", {}", verdict.word()),
        };
        return format!("{}× {words}{ends}{close}", words::ratio_or_bound(shown.ratio, shown.is));
    }
    match (point.state, fastest.told) {
        (PointState::Known, FastestVerdict::Won) if is_first => "fastest".into(),
        (PointState::Known, FastestVerdict::TooClose) if is_first => "undecided".into(),
        (PointState::Known, FastestVerdict::Unknown) => "can’t tell".into(),
        (PointState::SetAside, _) => "set aside".into(),
        (PointState::NotRun, _) => "not run".into(),
        (PointState::Known, _) => NONE.into(),
    }
}

fn build_point(of: &SweepPoint) -> LinePoint {
    let why = || of.why.clone().unwrap_or_default();
    match (of.state, of.value) {
        (PointState::NotRun, _) => LinePoint::NotRun,
        (PointState::Known, Some(value)) => LinePoint::Known(LineValue {
            value,
            is: of.value_is.unwrap_or(RatioBound::Exact),
            ends: (of.low, of.high),
        }),
        (PointState::SetAside | PointState::Known, value) => LinePoint::SetAside(value, why()),
    }
}

fn find_fastest(layout: &DocumentLayout<'_>, of: &SweepPanel, name: &str) -> Fastest {
    let sign = |it: &SweepFastest| match (it.told, it.levels.first()) {
        (FastestVerdict::Won, Some(level)) => {
            LeaderLabel::Known(level.clone(), find_style(layout, level))
        }
        (FastestVerdict::TooClose, _) => LeaderLabel::TooClose(it.levels.clone()),
        (FastestVerdict::Unknown, _) => LeaderLabel::Unknown,
        (FastestVerdict::Alone | FastestVerdict::Won, _) => LeaderLabel::Nothing,
    };
    Fastest { name: name.to_owned(), signs: of.fastest.iter().map(sign).collect() }
}
