//! Looks at a target's debts once a second, on a separate thread: a server that stalls holds up
//! nobody else.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_engines::Debt;
use bakeoff_results::{Debts, OwedSeries, PaymentSeries};

use crate::targets::RunningTarget;

const EVERY: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub struct ClientTimes {
    pub start: OnceLock<Instant>,
    over: AtomicBool,
}

impl ClientTimes {
    pub fn stop_guard(&self) -> ClientsStopGuard<'_> {
        ClientsStopGuard(&self.over)
    }
}

pub struct ClientsStopGuard<'a>(&'a AtomicBool);

impl Drop for ClientsStopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// From the clients' start to their stop. A look that fails leaves a gap.
pub fn watch_debts(running: &dyn RunningTarget, times: &ClientTimes) -> Debts {
    let mut series = DebtSeries::default();
    let mut due = Instant::now();
    while !times.over.load(Ordering::Acquire) {
        thread::sleep(SOON);
        let Some(start) = times.start.get() else { continue };
        if Instant::now() < due {
            continue;
        }
        due = Instant::now() + EVERY;
        if let Ok(Some(debt)) = running.debt() {
            // More digits than milliseconds are noise, and take room.
            series.add((start.elapsed().as_secs_f64() * 1e3).round() / 1e3, &debt);
        }
    }
    series.debts
}

#[derive(Default)]
struct DebtSeries {
    debts: Debts,
    paid: Vec<u64>,
}

impl DebtSeries {
    fn add(&mut self, at_s: f64, debt: &Debt) {
        for owed in &debt.owed {
            let same = |it: &&mut OwedSeries| it.name == owed.name;
            let known = match self.debts.owed.iter_mut().find(same) {
                Some(known) => known,
                None => {
                    self.debts.owed.push(OwedSeries {
                        name: owed.name.into(),
                        unit: owed.unit.name().into(),
                        limit: None,
                        points: Vec::new(),
                    });
                    self.debts.owed.last_mut().expect("it was just added")
                }
            };
            known.limit = owed.limit;
            known.points.push((at_s, owed.amount));
        }
        for payment in &debt.payments {
            let at = self.debts.payments.iter().position(|it| it.name == payment.name);
            let Some(at) = at else {
                // Payments before the first look came before the clients.
                let name = payment.name.into();
                self.debts.payments.push(PaymentSeries { name, ended: Vec::new() });
                self.paid.push(payment.count);
                continue;
            };
            let ended = payment.count.saturating_sub(self.paid[at]);
            self.paid[at] = payment.count;
            if ended > 0 {
                self.debts.payments[at].ended.push((at_s, ended));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::{DebtUnit, DeferredWork, Payment};

    use super::*;

    #[test]
    fn looks_become_series_and_payments_are_told_when_they_end() {
        let debt = |amount, limit, count| Debt {
            owed: vec![DeferredWork {
                name: "log",
                unit: DebtUnit::Bytes,
                amount,
                limit: Some(limit),
            }],
            turns: Vec::new(),
            payments: vec![Payment { name: "checkpoint", count }],
        };
        let mut series = DebtSeries::default();
        series.add(0.1, &debt(10, 100, 7));
        series.add(1.1, &debt(90, 100, 7));
        series.add(2.1, &debt(5, 120, 9));
        series.add(3.1, &Debt::default());
        let Debts { owed, payments } = series.debts;
        assert_eq!(owed.len(), 1);
        assert_eq!((&*owed[0].name, &*owed[0].unit), ("log", "bytes"));
        assert_eq!(owed[0].limit, Some(120), "a limit that grows");
        assert_eq!(owed[0].points, [(0.1, 10), (1.1, 90), (2.1, 5)]);
        assert_eq!(payments[0].ended, [(2.1, 2)], "two since the look before");
    }

    #[test]
    fn results_take_what_engines_count_in() {
        assert_eq!(DebtUnit::ALL.map(DebtUnit::name), bakeoff_results::DEBT_UNITS);
    }
}
