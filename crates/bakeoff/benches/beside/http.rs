//! bakeoff's HTTP client beside wrk's, on pages of one private nginx.

use std::path::Path;
use std::process::Command;

use rustix::thread::{sched_getaffinity, sched_setaffinity};

use crate::nginx::{self, Nginx};
use crate::pairs::{self, Limit};
use crate::work::{self, Work};
use crate::{driven, page, usage};

/// Pages by their names, and bytes of each.
pub const PAGES: [(&str, usize); 2] = [("small", 100), ("large", 16 << 10)];
/// Pages and connections.
const CELLS: [(&str, usize); 6] =
    [("small", 1), ("small", 50), ("small", 1000), ("large", 1), ("large", 50), ("large", 1000)];

/// Whether nginx and wrk are there.
pub fn available() -> Result<(), String> {
    nginx::available()?;
    usage::is_installed(["wrk", "-v"], "4.1", "wrk")
}

/// Requests a second, and processor time of one, of both, after what ours does alone; whether all is within the
/// limits.
pub fn pages(place: &Path) -> bool {
    let allowed = sched_getaffinity(None).expect("a thread may ask where it may run");
    let seconds = pairs::seconds();
    let mut kept = page::memory(place, seconds);
    kept &= page::schedule(place, pairs::pairs(), seconds);
    sched_setaffinity(None, &allowed).expect("a thread may go where it was");
    usage::share_processors();
    let server = Nginx::start(place, &PAGES);
    let all = work::compare(
        CELLS,
        |(page, connections)| wrk(&server.url(page), connections, seconds),
        |(page, connections)| {
            let url = server.url(page);
            driven::to_work(&page::measure(place, &url, connections, seconds, None))
        },
    );
    drop(server);
    pairs::heading("on nginx", "wrk");
    for compared in all {
        let (page, connections) = compared.cell;
        let name = format!("{page} page, {connections} connections");
        let least = Limit::Least { ratio: 1.0, low: Some(0.97) };
        kept &= compared.rows(&name, ["requests/s", "CPU µs each"], least, 0.8);
    }
    kept
}

/// wrk on a page.
fn wrk(url: &str, connections: usize, seconds: u32) -> Work {
    let threads = connections.min(2);
    let mut command = Command::new("wrk");
    command.args([format!("-t{threads}"), format!("-c{connections}"), format!("-d{seconds}s")]);
    // Both wait for a late answer: after 2 s, its default, wrk calls it an error and waits on.
    command.args(["--timeout", "30s"]);
    let (said, cpu) = usage::accounted(command.arg(url));
    let requests = said.lines().find_map(|line| line.trim().split_once(" requests in "));
    let (requests, rest) = requests.unwrap_or_else(|| panic!("wrk said no requests:\n{said}"));
    let count: f64 = requests.parse().expect("a number of requests");
    let rate = usage::figure(&said, "Requests/sec:");
    assert!(!said.contains("Socket errors") && !said.contains("Non-2xx"), "{rest}: {said}");
    Work { count, seconds: count / rate, cpu, each: 1.0 }
}
