//! The factor of workloads whose statements are prepared once, or sent as texts each time.

use bakeoff_engines::{Declared, DeclaredLevels, Preparation};

const ON: &str = "on";
const OFF: &str = "off";

/// Whether statements are prepared; `on` by default.
pub static PREPARED: Declared = Declared {
    name: "prepared",
    summary: "on: statements are prepared once a connection; off: their texts are sent each time",
    syntax: "on; off",
    default: ON,
    canonical: &|text| match text {
        ON | OFF => Ok(text.into()),
        _ => Err(format!("`{text}` is no level of `prepared`\nvalid: {ON}, {OFF}")),
    },
};

/// What a level of [`PREPARED`] asks of the engine.
pub fn read_preparation(levels: &DeclaredLevels) -> Preparation {
    match levels.level_of(&PREPARED) {
        OFF => Preparation::EachExecution,
        _ => Preparation::OncePerSession,
    }
}
