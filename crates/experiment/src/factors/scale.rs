//! The factor `scale`.

use crate::factor::{Factor, Own, Valid};

impl Factor {
    /// How much data there is.
    pub const SCALE: Self = Self::Own(&SCALE);
}

static SCALE: Own = Own {
    name: "scale",
    summary: "how much data there is",
    syntax: "a scale of the workload (see `bakeoff list workloads`)",
    help: "The size of the data (see `bakeoff list workloads`)",
    default: None,
    valid: Valid::Scales,
    bare: true,
};
