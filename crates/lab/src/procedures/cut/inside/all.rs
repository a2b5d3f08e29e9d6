//! The audit of one image after the other, from the inside.

use serde::{Deserialize, Serialize};

use super::examine;
use crate::TrialError;
use crate::place::TargetPlace;
use crate::procedures::Within;
use crate::targets::PreparedTarget;

/// An image that is to be audited.
#[derive(Debug, Serialize, Deserialize)]
pub struct PendingImage {
    /// Where it is, and where a server has its own files.
    pub place: TargetPlace,
    /// When the power went, in nanoseconds of `CLOCK_MONOTONIC`.
    pub off_at_ns: u64,
}

/// Says that it is ready; then opens, checks and audits each image that it is told of. What was found is
/// sent when the image is closed, so that it can be removed at once.
///
/// # Errors
/// What it is told can't be read.
pub fn audit_all(
    subject: &dyn PreparedTarget,
    claims: &[Vec<u8>],
    within: &mut Within<'_, '_>,
) -> Result<(), TrialError> {
    within.ready()?;
    let mut line = String::new();
    loop {
        line.clear();
        match within.input.read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(TrialError::process(format!("no image: {error}"))),
        }
        let next: PendingImage = serde_json::from_str(&line)
            .map_err(|error| TrialError::process(format!("no such image: {error}")))?;
        let (message, open) = examine(subject, &next.place, claims, next.off_at_ns);
        drop(open);
        within.output.send(&message);
    }
}
