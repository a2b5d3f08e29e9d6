use std::io;
use std::os::unix::fs::FileExt;

use bakeoff_load::{BlockingClient, OperationOutcome, WorkAmount};

use super::files::AlignedBuffers;
use super::requests::{BlockRequest, Requests};

pub struct SingleRequestClient<'a> {
    requests: Requests<'a>,
    buffer: AlignedBuffers,
    request: BlockRequest,
}

impl<'a> SingleRequestClient<'a> {
    pub fn new(requests: Requests<'a>) -> Self {
        let buffer = AlignedBuffers::new(1, requests.block());
        Self { requests, buffer, request: BlockRequest::default() }
    }

    fn perform(&mut self) -> io::Result<()> {
        let Self { requests, buffer, request } = self;
        let files = &requests.files().files;
        let (spot, buffer) = (request.spot, buffer.block(0));
        match request.writes {
            true => files[spot.file].write_all_at(buffer, spot.offset)?,
            false => files[spot.file].read_exact_at(buffer, spot.offset)?,
        }
        let mut due = requests.end_request(request);
        while let Some(file) = due.pop().or_else(|| requests.next_sync()) {
            let syncing = requests.begin_sync(file);
            match requests.data_only() {
                true => files[file].sync_data()?,
                false => files[file].sync_all()?,
            }
            requests.end_sync(syncing);
        }
        Ok(())
    }
}

impl BlockingClient for SingleRequestClient<'_> {
    fn choose_operation(&mut self) -> usize {
        self.request = self.requests.next_request();
        self.requests.fill(&self.request, self.buffer.block(0));
        self.request.kind
    }

    fn run_operation(&mut self, _: usize) -> OperationOutcome {
        let error = self.perform().err().map(|error| error.to_string());
        let work = WorkAmount { bytes: self.requests.block() as u64, ..WorkAmount::default() };
        OperationOutcome { error, work, ..OperationOutcome::default() }
    }
}
