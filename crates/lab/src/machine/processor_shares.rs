//! Gives the threads of clients and of their servers the processors of a placement.

use std::io;

use bakeoff_experiment::ThreadPlacement;
use rustix::io::Errno;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// Which processors each side may run on.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorShares {
    clients: CpuSet,
    servers: CpuSet,
}

impl ProcessorShares {
    /// Of the processors that this process may run on; `None` where the kernel chooses.
    pub fn from_placement(placement: ThreadPlacement) -> io::Result<Option<Self>> {
        let allowed = sched_getaffinity(None)?;
        let [first, second] = halve(&allowed);
        Ok(match placement {
            ThreadPlacement::Free => None,
            ThreadPlacement::Apart => Some(Self { clients: second, servers: first }),
            ThreadPlacement::Together => Some(Self { clients: first, servers: first }),
        })
    }

    /// A thread that one of these starts later is where its parent is.
    pub fn place(&self, clients: &[u32], servers: impl Iterator<Item = u32>) -> io::Result<()> {
        let clients = clients.iter().map(|thread| (*thread, &self.clients));
        let servers = servers.map(|thread| (thread, &self.servers));
        for (thread, processors) in clients.chain(servers) {
            let thread = i32::try_from(thread).ok().and_then(Pid::from_raw);
            match sched_setaffinity(thread, processors) {
                // It has ended.
                Err(Errno::SRCH) | Ok(()) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The first half is the smaller one where their number is odd.
fn halve(all: &CpuSet) -> [CpuSet; 2] {
    let mut halves = [CpuSet::new(), CpuSet::new()];
    let first = all.count() / 2;
    let numbers = (0..CpuSet::MAX_CPU).filter(|number| all.is_set(*number));
    for (place, number) in numbers.enumerate() {
        halves[usize::from(place >= first as usize)].set(number);
    }
    halves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_halved_in_their_order() {
        for (all, first, second) in [
            (&[0, 1][..], &[0][..], &[1][..]),
            (&[2, 5, 7, 8], &[2, 5], &[7, 8]),
            (&[1, 3, 6], &[1], &[3, 6]),
            (&[4], &[], &[4]),
        ] {
            let set = |numbers: &[usize]| {
                let mut set = CpuSet::new();
                numbers.iter().for_each(|number| set.set(*number));
                set
            };
            assert_eq!(halve(&set(all)), [first, second].map(set), "{all:?}");
        }
    }
}
