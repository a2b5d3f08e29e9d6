use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::price::{Depth, Price, PriceParameters, price_trace};
use bakeoff_devices::trace::Trace;
use bakeoff_results::measure::{self, Measures, Scope};

use super::{TrialTurn, Turns};
use crate::TrialError;
use crate::driving::Drive;
use crate::procedures::ProcedureContext;
use crate::spec::DiskSpec;

/// Other requests in the queue besides one of the log: a SATA queue has 32 places.
const BESIDE: usize = 31;

/// How long a sync is held while several clients work: long compared with what an engine computes
/// for a commit, so that the others' commits share the next sync, as on a slow disk.
const HOLD: Duration = Duration::from_millis(5);

pub fn trace_file(stage: &ProcedureContext<'_>) -> PathBuf {
    stage.work.join("trace")
}

pub fn sync_hold(drive: &Drive) -> Duration {
    if drive.clients > 1 { HOLD } else { Duration::ZERO }
}

#[derive(Default)]
pub struct TracePrices {
    bytes: usize,
    alone: Price,
    /// One request after the other, and a full device queue.
    beside: Vec<(NeighbourLevel, Price, Price)>,
}

impl TracePrices {
    /// Prices and removes the trace that the trials' process has just ended.
    pub fn from_trace(stage: &ProcedureContext<'_>, turns: &Turns<'_>) -> Result<Self, TrialError> {
        let trial = turns.trial;
        let DiskSpec::Virtual(spec) = &trial.disk else { return Ok(Self::default()) };
        let failed = |error| TrialError::place_error("its trace can't be read", error);
        let file = trace_file(stage);
        let bytes = fs::read(&file).map_err(failed)?;
        fs::remove_file(&file).map_err(failed)?;
        let trace = Trace::read(&bytes);
        let trace = trace.map_err(|error| TrialError::process_error(error.to_string()))?;
        let is_log = |path: &Path| trial.setup.subject.is_log(path);
        let path = |name: &&[u8]| PathBuf::from(OsStr::from_bytes(name));
        let logs: Vec<bool> = trace.files.iter().map(|name| is_log(&path(name))).collect();
        let priced = |neighbours, depth| {
            let terms = PriceParameters { neighbours, seed: trial.seed, depth };
            price_trace(&trace, spec, terms, &|file| logs[file])
        };
        let alone = priced(NeighbourLevel::None, Depth::One);
        let beside = turns.turns.iter().map(|turn| turn.neighbours).map(|level| {
            let one = if level == NeighbourLevel::None { alone } else { priced(level, Depth::One) };
            (level, one, priced(level, Depth::Beside(BESIDE)))
        });
        let beside = beside.collect();
        tracing::info!(works = trace.works, files = trace.files.len(), ?alone, ?beside, "priced");
        Ok(Self { bytes: bytes.len(), alone, beside })
    }

    pub fn put_into(&self, turn: &TrialTurn, measures: &mut Measures) {
        let Some((_, beside, most)) =
            self.beside.iter().find(|(level, ..)| *level == turn.neighbours)
        else {
            return;
        };
        measures.set(&measure::TRACE, Scope::Disk, self.bytes as f64);
        set_prices(measures, self.alone, *beside, *most);
    }
}

fn set_prices(measures: &mut Measures, alone: Price, beside: Price, most: Price) {
    let commits = measures.get(&measure::TRACED_COMMITS, &Scope::Clients);
    let Some(commits) = commits.filter(|commits| *commits > 0.0) else { return };
    let each = |nanos: u64| nanos as f64 / 1e9 / commits;
    let times = [
        (&measure::PRICED, alone.elapsed),
        (&measure::PRICED_LOG, alone.log),
        (&measure::PRICED_READS, alone.read),
        (&measure::PRICED_PUT_OFF, alone.put_off),
    ];
    for (what, nanos) in times {
        measures.set(what, Scope::Disk, each(nanos));
    }
    for (what, price) in [(&measure::PRICED_RATE, beside), (&measure::PRICED_RATE_MOST, most)] {
        let rate = (price.elapsed > 0).then(|| 1.0 / each(price.elapsed));
        measures.set_some(what, Scope::Disk, rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_told_a_commit() {
        let mut measures = Measures::default();
        measures.set(&measure::TRACED_COMMITS, Scope::Clients, 200.0);
        let price = |elapsed, put_off| Price { elapsed, log: elapsed - put_off, read: 0, put_off };
        let second = 1_000_000_000;
        set_prices(
            &mut measures,
            price(2 * second, second / 2),
            price(8 * second, 0),
            price(4 * second, 0),
        );
        let of = |what| measures.get(what, &Scope::Disk);
        assert_eq!(of(&measure::PRICED), Some(0.01));
        assert_eq!(
            (of(&measure::PRICED_LOG), of(&measure::PRICED_READS)),
            (Some(0.0075), Some(0.0))
        );
        assert_eq!(of(&measure::PRICED_PUT_OFF), Some(0.0025));
        assert_eq!(
            (of(&measure::PRICED_RATE), of(&measure::PRICED_RATE_MOST)),
            (Some(25.0), Some(50.0))
        );
        let mut none = Measures::default();
        none.set(&measure::TRACED_COMMITS, Scope::Clients, 0.0);
        set_prices(&mut none, Price::default(), Price::default(), Price::default());
        assert_eq!(none.iter().count(), 1, "work that commits nothing has no price a commit");
    }
}
