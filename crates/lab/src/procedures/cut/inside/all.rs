use serde::{Deserialize, Serialize};

use super::open_and_audit;
use crate::TrialError;
use crate::place::TargetPlace;
use crate::procedures::ChildContext;
use crate::targets::PreparedTarget;

#[derive(Debug, Serialize, Deserialize)]
pub struct PendingImage {
    pub place: TargetPlace,
    pub off_at_ns: u64,
}

/// Reports ready, then audits each image that the lab names. Sends each result after closing, so
/// that the image can be removed at once.
pub fn audit_all(
    subject: &dyn PreparedTarget,
    claims: &[Vec<u8>],
    within: &mut ChildContext<'_, '_>,
) -> Result<(), TrialError> {
    within.await_start()?;
    let mut line = String::new();
    loop {
        line.clear();
        match within.input.read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(TrialError::process_error(format!("no image: {error}"))),
        }
        let next: PendingImage = serde_json::from_str(&line)
            .map_err(|error| TrialError::process_error(format!("no such image: {error}")))?;
        let (message, open) = open_and_audit(subject, &next.place, claims, next.off_at_ns);
        drop(open);
        within.output.send(&message);
    }
}
