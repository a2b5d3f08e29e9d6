//! A disk that is filled from the others while they are used.

use crate::device::Nanos;

/// Bytes of a step.
pub(super) const STEP: u64 = 64 << 10;
/// From one step to the next: 1,000 KiB a second, which is what md keeps up while others use the disks
/// (md(4), `sync_speed_min`).
const PACE: Nanos = STEP * 1_000_000_000 / (1000 << 10);

/// The steps of a rebuild: one after the other over the whole disk, and then again from its start, so that it
/// lasts longer than whatever is measured.
pub(super) struct Rebuild {
    /// When the next one is due.
    pub(super) next: Nanos,
    /// Where on the disk it is.
    offset: u64,
    /// The parts of the one that is under way.
    pub(super) parts: Vec<u64>,
}

impl Rebuild {
    pub(super) fn new() -> Self {
        Self { next: 0, offset: 0, parts: Vec::new() }
    }

    /// The step that is due now, as a place on the disk, of which so many bytes are used; `None` while the
    /// one before is under way.
    pub(super) fn step(&mut self, used: u64) -> Option<u64> {
        self.next += PACE;
        if !self.parts.is_empty() {
            return None;
        }
        let offset = self.offset;
        self.offset = if offset + 2 * STEP <= used { offset + STEP } else { 0 };
        Some(offset)
    }

    /// Whether a part that has ended is one of its own.
    pub(super) fn ended(&mut self, part: u64) -> bool {
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
        let steps: Vec<_> = (0..5).map(|_| rebuild.step(3 * STEP)).collect();
        assert_eq!(steps, [0, 1, 2, 0, 1].map(|step| Some(step * STEP)));
        assert_eq!(rebuild.next, 5 * 64_000_000);
        rebuild.parts = vec![7, 8];
        assert_eq!(rebuild.step(3 * STEP), None);
        assert!(rebuild.ended(8) && !rebuild.ended(9) && rebuild.ended(7));
        assert_eq!(rebuild.step(3 * STEP), Some(2 * STEP));
    }
}
