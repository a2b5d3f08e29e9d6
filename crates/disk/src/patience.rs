//! How long is waited for what comes at once where all is well.

use std::time::Duration;

/// The longest wait for a daemon or for those who use its disk: a machine that is busy, or a virtual one that
/// its host takes the processors from, may stand still for many seconds. Whoever waits goes on as soon as
/// what is waited for has come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
