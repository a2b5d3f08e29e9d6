//! A disk that is filled from the others while they are used.

use crate::device::Nanos;

pub(super) const STEP: u64 = 64 << 10;
/// From one step to the next: 1,000 KiB a second, the rate that md keeps up beside other use
/// (md(4), `sync_speed_min`).
const PACE: Nanos = STEP * 1_000_000_000 / (1000 << 10);

/// The steps of a rebuild, over the whole disk and again from its start: it outlasts any
/// measurement.
pub(super) struct Rebuild {
    pub(super) next: Nanos,
    offset: u64,
    pub(super) parts: Vec<u64>,
}

impl Rebuild {
    pub(super) fn new() -> Self {
        Self { next: 0, offset: 0, parts: Vec::new() }
    }

    /// The place of the step that is due now on a disk with `used` bytes; `None` while a step is
    /// under way.
    pub(super) fn next_step(&mut self, used: u64) -> Option<u64> {
        self.next += PACE;
        if !self.parts.is_empty() {
            return None;
        }
        let offset = self.offset;
        self.offset = if offset + 2 * STEP <= used { offset + STEP } else { 0 };
        Some(offset)
    }

    pub(super) fn end_part(&mut self, part: u64) -> bool {
        let before = self.parts.len();
        self.parts.retain(|own| *own != part);
        self.parts.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_round_and_never_overtake_each_other() {
        let mut rebuild = Rebuild::new();
        let steps: Vec<_> = (0..5).map(|_| rebuild.next_step(3 * STEP)).collect();
        assert_eq!(steps, [0, 1, 2, 0, 1].map(|step| Some(step * STEP)));
        assert_eq!(rebuild.next, 5 * 64_000_000);
        rebuild.parts = vec![7, 8];
        assert_eq!(rebuild.next_step(3 * STEP), None);
        assert!(rebuild.end_part(8) && !rebuild.end_part(9) && rebuild.end_part(7));
        assert_eq!(rebuild.next_step(3 * STEP), Some(2 * STEP));
    }
}
