//! What a crash image holds: recovered, checked by its engine, and held against the log.

use std::time::Duration;

use bakeoff_engines::Database;
use bakeoff_results::Verdict;
use bakeoff_workloads::ledger::{Books, Claim, Findings};

use super::log::Account;

/// How much of what an engine says of its damage is kept, in characters.
const SAID: usize = 4000;

/// Of an image that its engine does not open.
pub fn wreck(reason: &str) -> Verdict {
    Verdict { corrupt: Some(shortened(reason)), ..Verdict::default() }
}

/// Has the engine check itself, and audits the books. It took `recovery` to open it.
pub fn judge(
    books: &Books,
    database: &dyn Database,
    recovery: Duration,
    accounts: &[Account],
    off_at_ns: u64,
) -> Verdict {
    let mut verdict = Verdict { recovery_s: Some(recovery.as_secs_f64()), ..Verdict::default() };
    let mut wrong = match database.check() {
        Ok(faults) => faults,
        Err(error) => vec![format!("its check fails: {error}")],
    };
    let claims: Vec<Claim> = accounts.iter().map(Account::claim).collect();
    match books.audit(database, &claims) {
        Ok(findings) => take(&mut verdict, findings, accounts, off_at_ns),
        Err(error) => wrong.push(format!("it can't be read: {error}")),
    }
    verdict.corrupt = (!wrong.is_empty()).then(|| shortened(&wrong.join("; ")));
    verdict
}

/// Takes what was found into the verdict, with the age of the oldest loss.
fn take(verdict: &mut Verdict, findings: Findings, accounts: &[Account], off_at_ns: u64) {
    let lost = findings.first_lost.iter();
    let times = lost.filter_map(|(client, first)| accounts.get(*client)?.when(*first));
    let oldest = times.min();
    *verdict = Verdict {
        lost: findings.lost,
        oldest_lost_s: oldest.map(|time| off_at_ns.saturating_sub(time) as f64 / 1e9),
        phantom: findings.phantom,
        torn: findings.torn,
        hole: findings.hole,
        index_broken: findings.index_broken,
        examples: findings.examples,
        ..std::mem::take(verdict)
    };
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SAID) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.into(),
    }
}
