//! Variables that every operation has. Scripts read them, and can't set them.

use crate::Slot;

/// Their names, by slot. Given variables follow: factors and tables' numbers of rows.
pub const AUTOMATIC: [&str; 7] =
    ["client_id", "clients", "scale", "random_seed", "default_seed", "row_count", "now"];

pub const CLIENT_ID: Slot = 0;
pub const CLIENTS: Slot = 1;
pub const SCALE: Slot = 2;
pub const RANDOM_SEED: Slot = 3;
pub const DEFAULT_SEED: Slot = 4;
/// Rows that the last statement read or changed.
pub const ROW_COUNT: Slot = 5;
/// A moment that every engine sees alike: it goes on by a microsecond an operation.
pub const NOW: Slot = 6;
pub const FIRST_GIVEN: Slot = AUTOMATIC.len();
