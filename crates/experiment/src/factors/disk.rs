//! The factor `disk`.

use crate::factor::{Factor, Own, Valid};

impl Factor {
    /// The device under the data.
    pub const DISK: Self = Self::Own(&DISK);
}

static DISK: Own = Own {
    name: "disk",
    summary: "the device under the data",
    syntax: "host, a model (see `bakeoff list disks`), or a name under [disks]",
    help: "host, or a model (see `bakeoff list disks`)",
    default: Some("host"),
    valid: Valid::Disks,
    bare: true,
};
