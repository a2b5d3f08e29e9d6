//! What levels of durability promise, in the words of somebody who chooses one.

/// The factor.
pub const FACTOR: &str = "durability";

/// Before a sentence of what holds at a level: "With every commit kept".
pub fn clause(level: &str) -> String {
    match level {
        "strict" => "With every commit kept".into(),
        "relaxed" => "If the last second may be lost".into(),
        "none" => "If anything may be lost".into(),
        other => format!("With {other} durability"),
    }
}

/// The same within a sentence, after "with": "every commit kept".
pub fn told(level: &str) -> String {
    match level {
        "strict" => "every commit kept".into(),
        "relaxed" => "the last second at risk".into(),
        "none" => "nothing promised".into(),
        other => format!("{other} durability"),
    }
}

/// Over rows of what holds at a level: "Every commit kept".
pub fn title(level: &str) -> String {
    match level {
        "strict" => "Every commit kept".into(),
        "relaxed" => "Last second at risk".into(),
        "none" => "Nothing promised".into(),
        other => format!("{other} durability"),
    }
}

/// Where a level stands among others, the one that promises most first.
pub fn rank(level: &str) -> usize {
    let known = ["strict", "relaxed", "none"];
    known.iter().position(|name| *name == level).unwrap_or(known.len())
}
