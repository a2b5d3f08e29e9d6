//! Work for the device, and who has to wait for it.

use crate::device::DeviceRequest;

/// Requests that are made together; then, when all are done, the next ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceWork {
    /// The steps, in order; each is made of requests that may be done in any order.
    pub steps: Vec<Vec<DeviceRequest>>,
    /// Other work, by its number, that must be done before a step begins, which is told by its
    /// place in `steps`; behind the last one, before the work is done. What is not in flight need not be waited for.
    pub waits: Vec<(usize, u64)>,
    /// To be given back to [`Ext4::done`](super::Ext4::done) when it is done.
    pub ticket: Ticket,
}

/// What the file system has to know of work when it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket {
    /// The work's number; 0 for work that nothing waits for, and that need not be told of.
    pub number: u64,
    /// The transaction that is on the device then, with all before it.
    pub commits: Option<u64>,
}

impl DeviceWork {
    /// Whether there is nothing to be done, and nothing to wait for.
    pub fn is_empty(&self) -> bool {
        self.steps.iter().all(Vec::is_empty) && self.waits.is_empty()
    }

    /// Lets the next step wait for other work.
    pub(super) fn wait(&mut self, number: u64) {
        self.waits.push((self.steps.len(), number));
    }

    /// Adds requests that need not wait for those of the last step; as a step of their own where other work
    /// has to be waited for before them.
    pub(super) fn beside(&mut self, step: Vec<DeviceRequest>) {
        let waited = self.waits.iter().any(|(at, _)| *at == self.steps.len());
        match self.steps.last_mut() {
            Some(last) if !waited => last.extend(step),
            _ => self.then(step),
        }
    }

    /// Adds a step, unless there is nothing in it.
    pub(super) fn then(&mut self, step: Vec<DeviceRequest>) {
        if !step.is_empty() {
            self.steps.push(step);
        }
    }
}
