use crate::device::DeviceRequest;

/// Requests that are made together; when all are done, the next step's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceWork {
    /// The requests of a step may be done in any order.
    pub steps: Vec<Vec<DeviceRequest>>,
    /// (step, number of other work that must be done before that step); after the last step it must
    /// be done before this work is done. Work that is not in flight counts as done.
    pub waits: Vec<(usize, u64)>,
    /// To be given back to [`Ext4::finish_work`](super::Ext4::finish_work) when the work is done.
    pub ticket: Ticket,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket {
    /// 0 for work that nobody waits for; it need not be reported.
    pub number: u64,
    /// The transaction that is on the device then, with all before it.
    pub commits: Option<u64>,
}

impl DeviceWork {
    pub fn is_empty(&self) -> bool {
        self.steps.iter().all(Vec::is_empty) && self.waits.is_empty()
    }

    pub(super) fn wait_for(&mut self, number: u64) {
        self.waits.push((self.steps.len(), number));
    }

    /// Adds requests to the last step; to a step of their own if other work must end before them.
    pub(super) fn add_beside(&mut self, step: Vec<DeviceRequest>) {
        let waited = self.waits.iter().any(|(at, _)| *at == self.steps.len());
        match self.steps.last_mut() {
            Some(last) if !waited => last.extend(step),
            _ => self.add_step(step),
        }
    }

    pub(super) fn add_step(&mut self, step: Vec<DeviceRequest>) {
        if !step.is_empty() {
            self.steps.push(step);
        }
    }
}
