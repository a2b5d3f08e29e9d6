//! Checks how many files a trial's process and its servers may open: a client takes several, and
//! many systems allow 1,024 unless a process asks for more.

use std::{fs, io};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that an engine opens for itself, and the lab for counting.
const SPARE: usize = 32;

pub fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If this is forbidden, [`ensure_enough_files`] says whether it matters.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

pub fn count_open_files() -> io::Result<usize> {
    Ok(fs::read_dir("/proc/self/fd")?.count())
}

/// Fails if `clients` with `each` files would exceed the limit.
pub fn ensure_enough_files(clients: usize, each: usize) -> Result<(), String> {
    let needed = count_open_files().map_err(|error| error.to_string())? + clients * each + SPARE;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed as u64 => Err(format!(
            "{clients} clients take {needed} open files, and this process may have {limit}: raise \
             the limit (ulimit -n, LimitNOFILE of a systemd unit, nofile in limits.conf), or take \
             fewer clients"
        )),
        _ => Ok(()),
    }
}
