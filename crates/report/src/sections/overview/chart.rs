//! The first screen's chart: levels under each promise, the fastest first, on one scale.

use bakeoff_analysis::layout::MeritAmount;
use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_analysis::{OperationCase, PromiseCases, estimate_interval};
use bakeoff_results::{FigureOfMerit, OwnFactor};

use super::ratios;
use super::standing::{compare_levels, describe_level};
use super::terms;
use crate::amount::AmountText;
use crate::block::{ReportCell, Strip, StripGroup, StripHead, StripRow, Strips, Tone};
use crate::cell_tables;
use crate::changes::find_looser;
use crate::chart::find_style;
use crate::durability;
use crate::promise_titles;
use crate::strip::{Means, StripAxis, StripContent};
use crate::words;
use crate::worst_losses::{Losses, Worst};

const OPERATIONS: usize = 4;
/// Rows of a first screen, and from how many on they are lower.
const ROWS: usize = 24;
const LOW: usize = 8;

/// With `chosen`, a page shows the groups of conditions only as they are chosen, and has all of them.
pub fn build_strips<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    losses: &Losses<'_>,
    chosen: bool,
) -> Option<Strips> {
    let shown = ChartOperations::from_layout(layout);
    let levels = layout.charted_levels();
    let conditions = promise_titles::by_promise(layout);
    let all = conditions.len();
    let shown_first = all.min((ROWS / levels.len().max(1)).max(1));
    let (first, others) = conditions.split_at(shown_first);
    let conditions = if chosen { &conditions[..] } else { first };
    let places: Vec<(&ConditionLevels, &str)> = conditions
        .iter()
        .flat_map(|condition| levels.iter().map(move |level| (*condition, *level)))
        .collect();
    let scales = shown.axes(layout, &places)?;
    let height = if places.len() > LOW { 33.0 } else { 42.0 };
    let chart = OverviewChart { layout, heads: &shown, scales: &scales, losses, height };
    let build = |of: &[&ConditionLevels<'a>]| -> Vec<StripGroup> {
        of.iter().map(|condition| chart.group(condition, cases)).collect()
    };
    let groups = build(first);
    let more = chosen.then(|| build(others));
    let drawn = || groups.iter().flat_map(|it| &it.rows).flat_map(|it| &it.strips);
    let marks = Means {
        bars: drawn().any(|it| it.drawn.interval.is_some()),
        trials: drawn().any(|it| !it.drawn.each.is_empty()),
        beyond: groups.iter().any(StripGroup::goes_beyond),
        origin: drawn().any(|it| it.drawn.from.is_some()),
    };
    let legend = marks.legend();
    Some(Strips {
        caption: "Every promise and who is fastest under it".into(),
        names: layout.compare.to_owned(),
        heads: shown.build_heads(layout, &scales),
        columns: chart.columns(),
        legend,
        terms: terms::explain_terms(layout, cases, losses),
        notes: build_notes(layout, &shown, (first.len(), all)),
        groups,
        more,
    })
}

fn build_notes<'a>(
    layout: &DocumentLayout<'a>,
    heads: &ChartOperations<'a>,
    (shown, all): (usize, usize),
) -> Vec<String> {
    let mut notes = Vec::new();
    if shown < all {
        let all = words::count_nouns(all, "condition");
        notes.push(format!("{shown} of {all} are in this chart, and all in the tables below."));
    }
    if heads.left_out > 0 {
        let number = words::count_nouns(heads.left_out, "more operation");
        notes.push(format!("{number}: in the tables below."));
    }
    let hidden = layout.hidden();
    if !hidden.is_empty() {
        notes.push(format!(
            "{} stores nothing and measures the harness.",
            words::join_list(&hidden)
        ));
    }
    notes
}

struct ChartOperations<'a> {
    operations: Vec<(&'a str, FigureOfMerit)>,
    left_out: usize,
}

impl<'a> ChartOperations<'a> {
    fn from_layout(layout: &DocumentLayout<'a>) -> Self {
        let merit = |operation: &'a str| {
            let mut all = layout.conditions.iter();
            Some((operation, all.find_map(|it| layout.merit(operation, it))?))
        };
        let mut operations: Vec<_> = layout.operations().filter_map(merit).collect();
        let left_out = operations.len().saturating_sub(OPERATIONS);
        operations.truncate(OPERATIONS);
        Self { operations, left_out }
    }

    fn axes(
        &self,
        layout: &DocumentLayout<'a>,
        places: &[(&ConditionLevels<'a>, &'a str)],
    ) -> Option<Vec<(FigureOfMerit, StripAxis)>> {
        let mut kinds: Vec<FigureOfMerit> = self.operations.iter().map(|(_, it)| *it).collect();
        kinds.dedup();
        let (mut axes, mut some) = (Vec::new(), false);
        for kind in kinds {
            let (mut values, mut ends) = (Vec::new(), Vec::new());
            for (operation, _) in self.operations.iter().filter(|(_, merit)| *merit == kind) {
                for (condition, level) in places {
                    let Some(amount) = find_amount(layout, operation, kind, (*condition, *level))
                    else {
                        continue;
                    };
                    let each = layout.trial_figures(operation, condition, level);
                    let own = own_interval(layout, &each);
                    ends.extend(own.into_iter().flat_map(|(low, high)| [low, high]));
                    values.push(amount.value);
                    values.extend(each);
                }
            }
            some |= !values.is_empty();
            axes.push((kind, StripAxis::of_amounts(kind, &values, &ends)));
        }
        some.then_some(axes)
    }

    fn build_heads(
        &self,
        layout: &DocumentLayout<'a>,
        axes: &[(FigureOfMerit, StripAxis)],
    ) -> Vec<StripHead> {
        let head = |(operation, merit): &(&str, FigureOfMerit)| StripHead {
            name: (*operation).to_owned(),
            unit: match merit.is_rate() {
                true => format!("{}, right is faster, log scale", merit.in_words()),
                false => format!("{}, left is faster, log scale", words::name_metric(layout)),
            },
            axis: find_axis(axes, *merit).svg(),
        };
        self.operations.iter().map(head).collect()
    }
}

fn find_axis(axes: &[(FigureOfMerit, StripAxis)], merit: FigureOfMerit) -> &StripAxis {
    let found = axes.iter().find(|(kind, _)| *kind == merit);
    &found.expect("each kind of figure has an axis").1
}

/// Only where the cell stands against no other: beside a verdict a reader would take it for the
/// verdict's, which goes by pairs.
fn own_interval(layout: &DocumentLayout<'_>, each: &[f64]) -> Option<(f64, f64)> {
    estimate_interval(each).filter(|_| layout.contenders().len() < 2)
}

fn find_amount<'a>(
    layout: &DocumentLayout<'a>,
    operation: &str,
    kind: FigureOfMerit,
    (condition, level): (&ConditionLevels<'a>, &'a str),
) -> Option<MeritAmount> {
    layout.merit(operation, condition).filter(|merit| *merit == kind)?;
    layout.amount(operation, condition, level).filter(|it| it.value > 0.0 && it.value.is_finite())
}

struct OverviewChart<'b, 'a> {
    layout: &'b DocumentLayout<'a>,
    heads: &'b ChartOperations<'a>,
    scales: &'b [(FigureOfMerit, StripAxis)],
    losses: &'b Losses<'b>,
    height: f64,
}

impl<'a> OverviewChart<'_, 'a> {
    fn has_rivals(&self) -> bool {
        self.layout.contenders().len() > 1
    }

    fn has_losses(&self) -> bool {
        !self.losses.is_empty() && self.layout.has_engines()
    }

    fn columns(&self) -> Vec<String> {
        let against = self.has_rivals().then_some("against the fastest");
        let lost = self.has_losses().then_some("lost at worst when the power was cut");
        against.into_iter().chain(lost).map(str::to_owned).collect()
    }

    fn group(&self, condition: &ConditionLevels<'a>, cases: &[OperationCase<'a>]) -> StripGroup {
        let layout = self.layout;
        let here = cases.iter().filter(|case| case.condition == *condition).cloned();
        let group = PromiseCases {
            durability: promise_titles::find_promise(layout, condition),
            cases: here.collect(),
        };
        let place = |level: &&'a str| {
            let cost = |(operation, merit): &(&str, FigureOfMerit)| {
                let value = find_amount(layout, operation, *merit, (condition, *level))?.value.ln();
                Some(if merit.is_rate() { -value } else { value })
            };
            self.heads.operations.iter().map(cost).sum::<Option<f64>>().unwrap_or(f64::INFINITY)
        };
        let mut levels = layout.charted_levels();
        levels.sort_by(|one, other| place(one).total_cmp(&place(other)));
        let rows = levels.iter().map(|level| self.row(condition, level, &group)).collect();
        let (title, tool) = promise_titles::build_title(layout, condition);
        let number = layout.conditions.iter().position(|it| it == condition).unwrap_or(0);
        StripGroup { id: Some(ratios::format_id(number)), title, tool, rows }
    }

    fn row(
        &self,
        condition: &ConditionLevels<'a>,
        level: &'a str,
        group: &PromiseCases<'a>,
    ) -> StripRow {
        let layout = self.layout;
        let strip = |(operation, merit): &(&'a str, FigureOfMerit)| {
            let drawn = self.draw_cell(operation, *merit, (condition, level));
            Strip::from_content(drawn, find_axis(self.scales, *merit), self.height)
        };
        let against = self.has_rivals().then(|| describe_level(layout, group, level));
        let lost = self.has_losses().then(|| self.describe_loss(condition, level));
        let title =
            (layout.compare == OwnFactor::Durability).then(|| durability::title_level(level));
        StripRow {
            name: ReportCell {
                style: Some(find_style(layout, level)),
                marks: cell_tables::mark_cell(layout, condition, level),
                aside: title,
                ..level.into()
            },
            strips: self.heads.operations.iter().map(strip).collect(),
            cells: against.into_iter().chain(lost).collect(),
            against: self.list_choices(group, level),
        }
    }

    /// Against each other level, where there are more than two.
    fn list_choices(&self, group: &PromiseCases<'a>, level: &'a str) -> Vec<(String, String)> {
        let layout = self.layout;
        let contenders = layout.contenders();
        if contenders.len() < 3 || group.cases.is_empty() || !contenders.contains(&level) {
            return Vec::new();
        }
        let against = |other: &str| match other == level {
            true => "what the others are held against".to_owned(),
            false => match compare_levels(layout, group, other, level) {
                (text, None) => text,
                (text, Some(aside)) => format!("{text}; {aside}"),
            },
        };
        contenders.iter().map(|other| ((*other).to_owned(), against(other))).collect()
    }

    fn draw_cell(
        &self,
        operation: &'a str,
        merit: FigureOfMerit,
        (condition, level): (&ConditionLevels<'a>, &'a str),
    ) -> StripContent {
        let (layout, axis) = (self.layout, find_axis(self.scales, merit));
        let style = find_style(layout, level);
        let Some(found) = find_amount(layout, operation, merit, (condition, level)) else {
            let label = cell_tables::explain_missing(layout, operation, condition, level);
            let said = format!("{operation}, {level}: {label}");
            return StripContent { style, label: label.into(), said, ..StripContent::default() };
        };
        let each = layout.trial_figures(operation, condition, level);
        let alone = remark_trials(each.len());
        let ends = own_interval(layout, &each).filter(|_| !found.is_bound);
        let mut said = format!("{operation}, {level}: {}", found.text());
        if let Some(ends) = ends {
            let [low, high] = [ends.0, ends.1].map(|value| MeritAmount { value, ..found }.text());
            said += &format!(", {low} to {high}");
        }
        let from = find_looser(layout, condition).and_then(|(looser, _)| {
            let loose = find_amount(layout, operation, merit, (looser, level))?;
            let times = match merit.is_rate() {
                true => loose.value / found.value,
                false => found.value / loose.value,
            };
            let times = (!loose.is_bound && !found.is_bound).then(|| words::format_two(times));
            Some((axis.place(loose.value), times))
        });
        let arrow = match (found.is_bound, merit.is_rate()) {
            (false, _) => "",
            (true, false) => " →",
            (true, true) => " ←",
        };
        StripContent {
            style,
            hollow: false,
            at: Some(axis.place(found.value)),
            interval: ends.map(|ends| axis.interval(ends)),
            each: each.into_iter().map(|value| axis.place(value)).collect(),
            from,
            label: format!("{}{arrow}{alone}", found.text()),
            beside: true,
            said,
        }
    }

    fn describe_loss(&self, condition: &ConditionLevels<'a>, level: &'a str) -> ReportCell {
        let layout = self.layout;
        let of = |factor: OwnFactor| layout.level_of(factor.as_str(), condition, level);
        let place = of(OwnFactor::Engine).zip(of(OwnFactor::Durability));
        let loss = place.and_then(|(engine, durability)| {
            self.losses.find_loss(layout.document, engine, durability)
        });
        let Some(loss) = loss else { return "not tried".into() };
        let tone = match loss.worst {
            Worst::Damaged(..) | Worst::Broken(..) => Tone::Bad,
            Worst::Nothing | Worst::Lost(_) => Tone::Plain,
        };
        let load = loss.per_second();
        let load = load.map(|it| format!("at {it} a second"));
        let elsewhere = loss.elsewhere.then(|| "by another run".to_owned());
        let asides: Vec<String> =
            loss.describe_bound().into_iter().chain(load).chain(elsewhere).collect();
        let aside = (!asides.is_empty()).then(|| asides.join("; "));
        ReportCell { tone, aside, ..loss.text().into() }
    }
}

/// Beside a figure without an interval, so that it does not look precise.
fn remark_trials(trials: usize) -> &'static str {
    if trials == 1 { " (1 trial)" } else { "" }
}
