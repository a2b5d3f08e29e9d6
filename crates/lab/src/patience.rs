//! How long is waited for processes that were killed: at once they are gone where all is well.

use std::time::Duration;

/// The longest wait for them: a machine that is busy, or a virtual one that its host takes the processors from,
/// may stand still for many seconds.
pub const PATIENCE: Duration = Duration::from_secs(60);
