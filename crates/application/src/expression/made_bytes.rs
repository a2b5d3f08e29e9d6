//! Bytes in expressions. They are made or copied where they are kept, and never looked at.

use bakeoff_engines::schema::Type;
use bakeoff_workloads::WorkloadRandom;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

use super::EvaluationError;
use crate::Slot;

/// Bytes that an expression gives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpaqueBytes {
    Drawn(DrawnBytes),
    /// Those of a variable.
    Variable(Slot),
}

/// Random bytes that are not made yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnBytes {
    seed: u64,
    length: usize,
}

impl DrawnBytes {
    /// From `least` to `most` bytes.
    ///
    /// # Errors
    ///
    /// Bounds that are below 0, in the wrong order, or above what a column holds.
    pub fn draw(
        random: &mut WorkloadRandom,
        [least, most]: [i64; 2],
    ) -> Result<Self, EvaluationError> {
        if least < 0 || least > most || most > Type::MEDIUM_BYTES as i64 {
            return Err(EvaluationError::new(format!(
                "bytes({least}, {most}) needs a least and a most number of bytes, from 0 to {}",
                Type::MEDIUM_BYTES
            )));
        }
        let length = random.random_range(least..=most) as usize;
        Ok(Self { seed: random.random(), length })
    }

    /// Appends them.
    pub fn write_to(self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.resize(start + self.length, 0);
        WorkloadRandom::seed_from_u64(self.seed).fill_bytes(&mut bytes[start..]);
    }
}
