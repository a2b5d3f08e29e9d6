//! How many files a trial's process, and the servers that it starts, may have open: a client takes
//! several, and many systems give a process no more than 1,024 unless it asks for more.

use std::{fs, io};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that anybody may open meanwhile: an engine for itself, the lab to count.
const SPARE: usize = 32;

/// Asks for as many as this process may ask for. What it starts afterwards may have as many.
pub fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where this is forbidden, `suffice` says whether it matters.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// How many this process has open.
///
/// # Errors
/// When there is none left to look.
pub fn count() -> io::Result<usize> {
    Ok(fs::read_dir("/proc/self/fd")?.count())
}

/// Makes sure that so many clients, with so many files each, can be had beside what is open.
///
/// # Errors
/// What to do when they can't.
pub fn suffice(clients: usize, each: usize) -> Result<(), String> {
    let needed = count().map_err(|error| error.to_string())? + clients * each + SPARE;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed as u64 => Err(format!(
            "{clients} clients take {needed} open files, and this process may have {limit}: raise \
             the limit (ulimit -n, LimitNOFILE of a systemd unit, nofile in limits.conf), or take \
             fewer clients"
        )),
        _ => Ok(()),
    }
}
