//! Text that compresses like text: seeded, or cut from a file of the user's.

/// Where a workload takes its subjects, descriptions and notes from.
#[derive(Debug)]
pub struct Text {
    corpus: String,
}
