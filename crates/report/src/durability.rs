//! The promises of durability levels, in a user's words.

use bakeoff_results::DurabilityLevel;

/// No level of its own: what the server's owner has set.
const AS_IS: &str = "as-is";

/// "With every commit kept", before a sentence.
pub fn begin_clause(level: &str) -> String {
    match DurabilityLevel::from_name(level) {
        Some(DurabilityLevel::Strict) => "With every commit kept".into(),
        Some(DurabilityLevel::Relaxed) => "If the last second may be lost".into(),
        Some(DurabilityLevel::None) => "If anything may be lost".into(),
        None if level == AS_IS => "With the server as it is".into(),
        None => format!("With {level} durability"),
    }
}

/// "every commit kept", after "with".
pub fn describe_level(level: &str) -> String {
    match DurabilityLevel::from_name(level) {
        Some(DurabilityLevel::Strict) => "every commit kept".into(),
        Some(DurabilityLevel::Relaxed) => "the last second at risk".into(),
        Some(DurabilityLevel::None) => "nothing promised".into(),
        None if level == AS_IS => "the server as it is".into(),
        None => format!("{level} durability"),
    }
}

/// "Every commit kept".
pub fn title_level(level: &str) -> String {
    match DurabilityLevel::from_name(level) {
        Some(DurabilityLevel::Strict) => "Every commit kept".into(),
        Some(DurabilityLevel::Relaxed) => "Last second at risk".into(),
        Some(DurabilityLevel::None) => "Nothing promised".into(),
        None if level == AS_IS => "The server as it is".into(),
        None => format!("{level} durability"),
    }
}
