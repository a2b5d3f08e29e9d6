//! The factor `clients`.

use bakeoff_results::OwnFactor;

use crate::factor::{Factor, LabFactor, Valid};
use crate::message::ExperimentProblem;

/// A target may take fewer; then the plan says why.
const MOST: u32 = 1_000_000;

impl Factor {
    pub const CLIENTS: Self = Self::Own(&CLIENTS);
}

static CLIENTS: LabFactor = LabFactor {
    name: OwnFactor::Clients.as_str(),
    summary: "how many clients work at once",
    syntax: "1 to 1000000; at most 1024 where each client has a thread of its own; 1..64 doubles",
    help: "Clients at work at the same time: 1,2,4 or 1..64, which doubles",
    default: Some("1"),
    valid: Valid::Text(canonical_level),
    bare: false,
};

fn canonical_level(text: &str) -> Result<String, ExperimentProblem> {
    let range = format!("valid: {}", CLIENTS.syntax);
    if let Some((first, last)) = text.split_once("..") {
        return Err(no_range(text, first.trim(), last.trim()).with_help(range));
    }
    match text.parse::<u32>() {
        Ok(0) => {
            Err(ExperimentProblem::new("with 0 clients there is nothing to measure")
                .with_help(range))
        }
        Ok(clients) if clients <= MOST => Ok(clients.to_string()),
        Ok(_) => {
            Err(ExperimentProblem::new(format!("{text} clients are too many")).with_help(range))
        }
        Err(_) => Err(ExperimentProblem::new(format!(
            "`{text}` is no number of clients; write it in digits"
        ))
        .with_help(range)),
    }
}

fn no_range(text: &str, first: &str, last: &str) -> ExperimentProblem {
    match (first.parse::<u32>(), last.parse::<u32>()) {
        (Ok(from), Ok(to)) if from > to => ExperimentProblem::new(format!(
            "the range of clients `{text}` begins with the larger number"
        ))
        .with_help(format!("write the smaller one first: {to}..{from}")),
        _ => ExperimentProblem::new(format!("`{text}` is no range of clients")),
    }
}

/// Each twice the one before, up to the end of the range; `None` for no range.
pub(crate) fn double_range(text: &str) -> Option<Vec<String>> {
    let (first, last) = text.split_once("..")?;
    let valid = |number: &u32| (1..=MOST).contains(number);
    let read = |text: &str| text.trim().parse::<u32>().ok().filter(valid);
    let (first, last) = (read(first)?, read(last)?);
    let below = std::iter::successors(Some(first), |number| number.checked_mul(2));
    let below = below.take_while(|number| *number < last);
    (first <= last).then(|| below.chain([last]).map(|number| number.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_doubles_and_has_its_end() {
        let numbers = |text| double_range(text).map(|numbers| numbers.join(","));
        assert_eq!(numbers("1..64").as_deref(), Some("1,2,4,8,16,32,64"));
        assert_eq!(numbers("3 .. 20").as_deref(), Some("3,6,12,20"));
        assert_eq!(numbers("7..7").as_deref(), Some("7"));
        for none in ["8", "0..4", "4..1", "1..", "..4", "1..x", "1..1000001", "1..2..4", "-1..4"] {
            assert_eq!(double_range(none), None, "{none}");
        }
    }
}
