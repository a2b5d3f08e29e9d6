use std::time::Duration;

/// The longest wait for a daemon or the users of its disk. A busy machine, or a virtual one whose
/// host takes its processors, may stand still for many seconds. Whoever waits goes on at once when
/// the thing comes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
