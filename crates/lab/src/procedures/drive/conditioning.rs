//! Conditioning: work before the measuring that brings an engine's debts to their lasting level. One
//! client does it, alone, and the disk takes no time meanwhile.

use std::time::{Duration, Instant};

use bakeoff_engines::Debt;
use bakeoff_results::measure::{self, Measures, Scope};

use crate::TrialError;
use crate::driving::Conditioning;
use crate::process::Output;
use crate::process::job::Message;
use crate::targets::Running;

/// How often it is told how far the work is, and looked whether the debts have turned over.
const LOOK: Duration = Duration::from_millis(250);
/// How long a calibration waits for debts to turn over. It works on a disk that takes no time, so
/// that an engine which has not paid once by then pays seldom.
const LONGEST: Duration = Duration::from_secs(20 * 60);
/// After so long an engine of which nothing is put off by the work, as by one that only reads, is
/// known as such.
const NOTHING: Duration = Duration::from_secs(10);

/// Does the work, and accounts for it.
///
/// # Errors
/// What keeps it from being done.
pub fn condition(
    running: &dyn Running,
    work: Conditioning,
    output: &Output<'_>,
) -> Result<Measures, TrialError> {
    let (most, seed) = match work {
        Conditioning::None => return Ok(Measures::default()),
        Conditioning::Operations { count, seed } => (count, seed),
        Conditioning::Calibrate { seed } => (u64::MAX, seed),
    };
    let calibrates = matches!(work, Conditioning::Calibrate { .. });
    let mut operate = running.conditioner(seed)?;
    let at_first = debt(running)?;
    let (start, mut told, mut done) = (Instant::now(), Instant::now(), 0);
    let (mut turned, mut committed) = (false, 0);
    loop {
        let is_over = done == most;
        if is_over || told.elapsed() > LOOK {
            told = Instant::now();
            output.send(&Message::Conditioning { done, of: (!calibrates).then_some(most) });
            // Some engines' payments are seen where something differs from the last look.
            let debt = debt(running)?;
            // A debt that comes in large pieces can stand still while something is put off.
            let idle = committed == 0 && debt == at_first;
            let is_idle = idle && (is_over || start.elapsed() > NOTHING);
            turned |= is_idle || debt.has_turned_over();
            if is_over || calibrates && (turned || start.elapsed() > LONGEST) {
                break;
            }
        }
        committed += operate()?;
        done += 1;
    }
    let mut measures = Measures::default();
    measures.set(&measure::CONDITIONED, Scope::Clients, done as f64);
    measures.set(&measure::CONDITIONING, Scope::Trial, start.elapsed().as_secs_f64());
    measures.set(&measure::TURNED_OVER, Scope::Trial, f64::from(u8::from(turned)));
    Ok(measures)
}

/// What it owes.
fn debt(running: &dyn Running) -> Result<Debt, TrialError> {
    let unknown =
        || TrialError::User("nobody knows what it owes, so that it can't be steady".into());
    running.debt()?.ok_or_else(unknown)
}
