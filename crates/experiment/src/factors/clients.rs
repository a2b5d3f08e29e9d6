//! The factor `clients`.

use crate::factor::{Factor, Own, Valid};
use crate::message::Problem;

/// No number is beyond this. Where a target takes fewer, the plan says so, and why.
const MOST: u32 = 1_000_000;

impl Factor {
    /// How many clients work at once.
    pub const CLIENTS: Self = Self::Own(&CLIENTS);
}

static CLIENTS: Own = Own {
    name: "clients",
    summary: "how many clients work at once",
    syntax: "1 to 1000000; at most 1024 where each client has a thread of its own",
    help: "Clients at work at the same time: 1,2,4 …",
    default: Some("1"),
    valid: Valid::Text(canonical),
    bare: false,
};

fn canonical(text: &str) -> Result<String, Problem> {
    let range = format!("valid: {}", CLIENTS.syntax);
    match text.parse::<u32>() {
        Ok(0) => Err(Problem::new("with 0 clients there is nothing to measure").help(range)),
        Ok(clients) if clients <= MOST => Ok(clients.to_string()),
        Ok(_) => Err(Problem::new(format!("{text} clients are too many")).help(range)),
        Err(_) => {
            Err(Problem::new(format!("`{text}` is no number of clients; write it in digits"))
                .help(range))
        }
    }
}
