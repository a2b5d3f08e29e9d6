//! Debts over a trial: one row for each series, with points in JSON for SQLite's own functions.

use rusqlite::{Connection, Row, Transaction};

use crate::column::{ReadBudget, read_json, read_text, reject_column};
use crate::error::SizeLimitError;
use crate::record::{Debts, OwedSeries, PaymentSeries};

pub const UNITS: [&str; 5] = ["bytes", "pages", "rows", "transactions", "files"];

const MOST_SERIES: usize = 64;

pub(crate) fn explain_unfit(debts: &Debts) -> Option<String> {
    let Debts { owed, payments } = debts;
    let beyond = |limit: u64| i64::try_from(limit).is_err();
    let number = [owed.len(), payments.len()].map(check_number);
    let owed = owed.iter().flat_map(|series| {
        let limit = series.limit.filter(|limit| beyond(*limit));
        let limit = limit.map_or(Ok(()), |limit| Err(format!("a debt has the limit {limit}")));
        [check_unit(&series.unit), check_times(&series.points), limit]
    });
    let payments = payments.iter().map(|series| check_times(&series.ended));
    number.into_iter().chain(owed).chain(payments).find_map(Result::err)
}

pub(crate) fn insert_debts(to: &Transaction, trial: i64, debts: &Debts) -> rusqlite::Result<()> {
    let mut owed = to.prepare_cached(
        "INSERT INTO owed (trial, position, name, unit, most, points)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (position, series) in debts.owed.iter().enumerate() {
        let OwedSeries { name, unit, limit, points } = series;
        owed.execute((trial, position, name, unit, limit, format_points(points)))?;
    }
    let mut payment = to.prepare_cached(
        "INSERT INTO payment (trial, position, name, ended) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (position, series) in debts.payments.iter().enumerate() {
        payment.execute((trial, position, &series.name, format_points(&series.ended)))?;
    }
    Ok(())
}

fn format_points(points: &[(f64, u64)]) -> String {
    serde_json::to_string(points).expect("figures are plain data")
}

pub(crate) fn read_debts(
    connection: &Connection,
    trial: i64,
    left: &mut ReadBudget,
) -> rusqlite::Result<Debts> {
    let mut sql = connection.prepare_cached(
        "SELECT name, points, unit, most FROM owed WHERE trial = ?1 ORDER BY position",
    )?;
    let mut rows = sql.query([trial])?;
    let mut debts = Debts::default();
    while let Some(row) = rows.next()? {
        left.take_row(row)?;
        let unit = read_text(row, 2)?;
        check_unit(&unit).map_err(|why| reject_column(2, why))?;
        let (name, limit) = (read_text(row, 0)?, row.get(3)?);
        debts.owed.push(OwedSeries { name, unit, limit, points: read_points(row)? });
        check_number(debts.owed.len()).map_err(too_much)?;
    }
    let mut sql = connection
        .prepare_cached("SELECT name, ended FROM payment WHERE trial = ?1 ORDER BY position")?;
    let mut rows = sql.query([trial])?;
    while let Some(row) = rows.next()? {
        left.take_row(row)?;
        debts.payments.push(PaymentSeries { name: read_text(row, 0)?, ended: read_points(row)? });
        check_number(debts.payments.len()).map_err(too_much)?;
    }
    Ok(debts)
}

fn too_much(why: String) -> rusqlite::Error {
    reject_column(0, SizeLimitError(why))
}

/// Times with numbers, in the second column.
fn read_points(row: &Row) -> rusqlite::Result<Vec<(f64, u64)>> {
    let points: Vec<(f64, u64)> = read_json(row, 1)?;
    check_times(&points).map_err(|why| reject_column(1, why))?;
    Ok(points)
}

fn check_number(series: usize) -> Result<(), String> {
    match series > MOST_SERIES {
        true => Err(format!("a trial has {series} kinds of debt or of payment")),
        false => Ok(()),
    }
}

fn check_unit(unit: &str) -> Result<(), String> {
    match UNITS.contains(&unit) {
        true => Ok(()),
        false => Err(format!("a debt is counted in {unit}, and not in {}", UNITS.join(", "))),
    }
}

fn check_times(points: &[(f64, u64)]) -> Result<(), String> {
    let mut before = f64::NEG_INFINITY;
    for &(at, _) in points {
        if !(at.is_finite() && at >= before) {
            return Err(format!(
                "a debt was looked at after {at} s, and before that after {before} s"
            ));
        }
        before = at;
    }
    Ok(())
}
