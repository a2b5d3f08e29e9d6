//! Whether a limit of memory suffices at all, as far as that is known before anything is started.

use bakeoff_experiment::{Cell, Factor, Memory};

use crate::refusal::Refusal;
use crate::targets::{GroupSetup, Setup, Target};

/// Refuses a cell with a group of processes whose memory is limited to less than it needs to hold to
/// serve.
///
/// # Errors
/// The engine, the limit in bytes, and the least share and the least bytes that work.
pub(super) fn check(target: &dyn Target, setup: &Setup, cell: &Cell) -> Result<(), Refusal> {
    let rows = target.size(&setup.subject).map(|size| size.rows);
    let clients = cell.clients();
    let too_little = |group: &GroupSetup| {
        let given = match group.limit.memory {
            Memory::Share(_) => group.limit.of(rows?).memory_bytes?,
            Memory::Bytes(bytes) => bytes,
            Memory::Unlimited => return None,
        };
        let least = target.least_memory(&setup.subject, group.name, clients)?;
        (given < least).then(|| why(group.limit.memory, given, least, rows, clients))
    };
    match setup.groups.iter().find_map(too_little) {
        None => Ok(()),
        Some(why) => Err(Refusal::of(cell, &[Factor::ENGINE, Factor::MEMORY], why)),
    }
}

/// Why a limit of `given` bytes can't be had where `least` are needed, beside data of so many bytes.
fn why(memory: Memory, given: u64, least: u64, rows: Option<u64>, clients: usize) -> String {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let is = match (memory, rows) {
        (Memory::Share(_), Some(rows)) => {
            format!("{memory} of {} of rows is {}", megabytes(rows), megabytes(given))
        }
        _ => format!("{memory} is {}", megabytes(given)),
    };
    let clients = if clients == 1 { "1 client".into() } else { format!("{clients} clients") };
    let share = rows.and_then(|rows| least_share(least, rows));
    let share = share.map(|share| format!("{share} of the rows, or ")).unwrap_or_default();
    format!(
        "{is}, too little for what the engine must hold to serve {clients}, the page cache included; the \
         least that works is {share}{} ({})",
        Memory::Bytes(least),
        megabytes(least),
    )
}

/// The least share of the data that comes to so many bytes; `None` where no share that can be named does.
fn least_share(least: u64, rows: u64) -> Option<Memory> {
    let percent = least.saturating_mul(100).checked_div(rows)?;
    let percent = percent + u64::from(rows * percent / 100 < least);
    Memory::parse(&format!("{percent}%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_share_suffices_and_the_one_below_does_not() {
        for (least, rows) in [(128 << 20, 2_440_000_000), (128 << 20, 244_000_000), (50, 100)] {
            let Some(Memory::Share(percent)) = least_share(least, rows) else {
                panic!("there is one")
            };
            let of = |percent: u32| rows * u64::from(percent) / 100;
            assert!(of(percent) >= least && of(percent - 1) < least, "{percent}% of {rows}");
        }
        assert_eq!(least_share(128 << 20, 1_000_000), None, "more than 1000%");
        assert_eq!(least_share(1, 0), None, "of nothing");
    }

    #[test]
    fn a_refusal_names_the_share_its_bytes_and_the_least_of_both() {
        let said = why(Memory::Share(8), 1_952_000, 128 << 20, Some(24_400_000), 4);
        let least = "the least that works is 551% of the rows, or 128M (134.2 MB)";
        assert!(said.starts_with("8% of 24.4 MB of rows is 2.0 MB, too little"), "{said}");
        assert!(said.contains("4 clients") && said.ends_with(least), "{said}");
        let said = why(Memory::Bytes(16 << 20), 16 << 20, 128 << 20, None, 1);
        assert!(said.starts_with("16M is 16.8 MB, too little"), "{said}");
        assert!(said.ends_with("the least that works is 128M (134.2 MB)"), "{said}");
    }
}
