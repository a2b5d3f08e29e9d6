use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use crate::TrialError;

const ENDING: Duration = Duration::from_secs(10);

/// Kernel threads of io_uring, which the kernel keeps for a while.
const KERNELS: &str = "iou-";

pub struct ThreadNames(BTreeMap<String, String>);

impl ThreadNames {
    pub fn now() -> Self {
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let named = threads.filter_map(|thread| {
            let name = fs::read_to_string(thread.path().join("comm")).ok()?;
            Some((thread.file_name().into_string().ok()?, name.trim().to_owned()))
        });
        Self(named.collect())
    }

    /// Waits a little until no thread is left that wasn't there before.
    pub fn are_gone(&self) -> Result<(), TrialError> {
        let start = Instant::now();
        loop {
            let mut left = Self::now().0;
            left.retain(|number, name| !self.0.contains_key(number) && !name.starts_with(KERNELS));
            if left.is_empty() {
                return Ok(());
            }
            if start.elapsed() > ENDING {
                let names: Vec<&str> = left.values().map(String::as_str).collect();
                let count = match names.len() {
                    1 => "1 thread".to_owned(),
                    more => format!("{more} threads"),
                };
                let names = names.join(", ");
                return Err(TrialError::Engine(format!(
                    "it was closed, and has left {count} running: {names}"
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
