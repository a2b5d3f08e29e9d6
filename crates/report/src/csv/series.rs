//! A row for each slot of a trial and operation, each look at deferred work, and each payment of
//! it. Trials that don't count are included.

use bakeoff_analysis::{Document, OperationSeries, TrialSeries, layout};
use bakeoff_results::{OwedSeries, PaymentSeries, TrialSummary};

use super::{format_optional, name_column, write_line};

const TRIAL: [&str; 4] = ["block", "attempt", "order", "valid"];

const POINT: [&str; 11] = [
    "kind", "name", "start_s", "end_s", "count", "mean_s", "least_s", "most_s", "amount", "unit",
    "limit",
];

#[derive(Default)]
struct SeriesPoint<'a> {
    kind: &'a str,
    name: &'a str,
    at_s: [f64; 2],
    count: Option<u64>,
    latency_s: Option<[f64; 3]>,
    amount: Option<u64>,
    unit: &'a str,
    limit: Option<u64>,
}

pub fn write_series(document: &Document) -> String {
    let factors: Vec<&str> = document.run.run.factors.iter().map(|(f, _)| f.as_str()).collect();
    let own = factors.iter().map(|factor| name_column(factor, &TRIAL));
    let header = own.chain(TRIAL.into_iter().chain(POINT).map(str::to_owned));
    let mut out = String::new();
    write_line(&mut out, &header.collect::<Vec<_>>());
    for (trial, series) in document.trials.iter().zip(&document.series) {
        let start = start_fields(trial, &factors);
        for point in list_points(series) {
            write_line(&mut out, &[&start[..], &point.fields()].concat());
        }
    }
    out
}

fn start_fields(trial: &TrialSummary, factors: &[&str]) -> Vec<String> {
    let levels =
        factors.iter().map(|factor| layout::level_or_empty(&trial.levels, factor).to_owned());
    let TrialSummary { block, attempt, order, valid, .. } = trial;
    let place = [block.to_string(), attempt.to_string(), order.to_string(), valid.to_string()];
    levels.chain(place).collect()
}

fn list_points(series: &TrialSeries) -> impl Iterator<Item = SeriesPoint<'_>> {
    let operations = series.operations.iter().flat_map(list_slots);
    let owed = series.debts.owed.iter().flat_map(list_looks);
    operations.chain(owed).chain(series.debts.payments.iter().flat_map(list_payments))
}

fn list_slots(operation: &OperationSeries) -> impl Iterator<Item = SeriesPoint<'_>> {
    operation.slots.iter().map(|slot| SeriesPoint {
        kind: "operation",
        name: &operation.name,
        at_s: [slot.start_s, slot.end_s],
        count: Some(slot.count),
        latency_s: slot.latency_s,
        ..SeriesPoint::default()
    })
}

fn list_looks(owed: &OwedSeries) -> impl Iterator<Item = SeriesPoint<'_>> {
    owed.points.iter().map(|&(at_s, amount)| SeriesPoint {
        kind: "owed",
        name: &owed.name,
        at_s: [at_s; 2],
        amount: Some(amount),
        unit: &owed.unit,
        limit: owed.limit,
        ..SeriesPoint::default()
    })
}

fn list_payments(payment: &PaymentSeries) -> impl Iterator<Item = SeriesPoint<'_>> {
    payment.ended.iter().map(|&(at_s, number)| SeriesPoint {
        kind: "payment",
        name: &payment.name,
        at_s: [at_s; 2],
        count: Some(number),
        ..SeriesPoint::default()
    })
}

impl SeriesPoint<'_> {
    fn fields(&self) -> [String; POINT.len()] {
        let latency_s = |at: usize| format_optional(self.latency_s.map(|latency| latency[at]));
        [
            self.kind.to_owned(),
            self.name.to_owned(),
            self.at_s[0].to_string(),
            self.at_s[1].to_string(),
            format_optional(self.count),
            latency_s(1),
            latency_s(0),
            latency_s(2),
            format_optional(self.amount),
            self.unit.to_owned(),
            format_optional(self.limit),
        ]
    }
}
