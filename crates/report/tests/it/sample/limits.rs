//! Searches for the highest rate that keeps a limit.

use bakeoff_analysis::Document;
use serde_json::json;

use super::{Sample, three, with};

/// Of two promises, one of which was searched to its end, while the server died under the other.
pub fn document() -> Document {
    let sample = Sample { factors: vec![("durability", vec!["relaxed", "strict"])], ..three() };
    let probe = |per_second: f64, said: &str, response_s: f64| {
        json!({
            "per_second": per_second, "said": said, "operation": "create_issue", "response_s": response_s,
            "service_p99_s": 0.004, "backlog": 7, "kept_up": said == "keeps", "failed": null,
        })
    };
    let dead = json!({
        "per_second": 610.0, "said": "unknown", "operation": null, "response_s": null,
        "service_p99_s": null, "backlog": null, "kept_up": null, "failed": "the server ended",
    });
    let found = json!({
        "levels": { "engine": "sqlite", "durability": "relaxed" }, "closed_per_second": 1_234.0,
        "probes": [probe(600.0, "breaks", 0.090), probe(580.0, "keeps", 0.031)], "next_per_second": null,
        "keeps_per_second": 580.0, "breaks_per_second": 600.0, "confirmed": 3, "outcome": "found",
    });
    let none = json!({
        "levels": { "engine": "sqlite", "durability": "strict" }, "closed_per_second": 1_234.0,
        "probes": [dead], "next_per_second": null, "keeps_per_second": null, "breaks_per_second": 600.0,
        "confirmed": 0, "outcome": "no-rate",
    });
    with(sample.document(), json!({ "run/limit": "p99=50ms", "limits": [found, none] }))
}
