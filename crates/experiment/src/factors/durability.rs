//! The factor `durability`.

use crate::factor::{Factor, Own, Valid};
use crate::message::one_of;

const LEVELS: [&str; 3] = ["none", "relaxed", "strict"];

impl Factor {
    /// What a commit promises.
    pub const DURABILITY: Self = Self::Own(&DURABILITY);
}

static DURABILITY: Own = Own {
    name: "durability",
    summary: "what a commit promises",
    syntax: "none, relaxed or strict",
    help: "none, relaxed, strict: what a power cut may take",
    default: Some("strict"),
    valid: Valid::Text(|text| one_of("durability", text, &LEVELS)),
    bare: true,
};
