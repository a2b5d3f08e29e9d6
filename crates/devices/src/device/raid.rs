//! RAID-10: chunks striped over mirrored disks, two copies, in Linux md's layouts "near" and "far".
//!
//! Near: copy j of chunk c is chunk (2c+j)/N of disk (2c+j) mod N (md(4), "RAID10"). A read goes to a
//! mirror that is idle, else to the one whose head is nearer. Far: copy j is chunk c/N of half j of disk
//! (c+j) mod N, and a read goes to the first half. Both as md's `read_balance` does (Linux,
//! drivers/md/raid10.c). A write goes to both and ends with the later.

mod mirrors;
mod parameters;
mod rebuild;

use std::collections::HashMap;

use super::model::ListedModel;
use super::{Completion, Device, DeviceRequest, Nanos, RequestKind};

pub use mirrors::Mirrors;
pub use parameters::{Health, RaidLayout, RaidParameters};
use rebuild::{Rebuild, STEP};

pub(crate) const NAME: &str = "raid10";

/// The most disks of an array.
pub const MOST_DISKS: u32 = 64;

/// Bytes of a chunk: what mdadm(8) gives a new array.
pub const CHUNK: u64 = 512 << 10;

const COPIES: u64 = 2;

/// The disk that has failed, where one has.
const FAILED: usize = 1;
/// The stream of a rebuild, which is no machine's.
const REBUILD: u32 = u32::MAX;

pub(crate) fn describe_arrays() -> ListedModel {
    ListedModel {
        name: format!("{NAME}:N×MODEL"),
        summary: "RAID-10 over an even number of disks, say raid10:4×hdd-7200",
    }
}

/// No array can have this number of disks, or be made of arrays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a RAID-10 needs an even number of disks from 2 to {MOST_DISKS}, each of one model that is \
     not an array itself, written like `raid10:4×hdd-7200`"
)]
pub struct WrongArray;

/// Reads an array's description: the number of disks and the text of one.
pub(crate) fn parse_array(text: &str) -> Option<Result<(u32, &str), WrongArray>> {
    let rest = text.strip_prefix(NAME)?;
    if !rest.is_empty() && !rest.starts_with([':', '/']) {
        return None;
    }
    let array = rest.strip_prefix(':').and_then(|array| array.split_once(['×', 'x']));
    let array = array.and_then(|(disks, each)| {
        let disks = disks.parse().ok()?;
        let is_right = u32::is_multiple_of(disks, 2) && (2..=MOST_DISKS).contains(&disks);
        (is_right && parse_array(each).is_none()).then_some((disks, each))
    });
    Some(array.ok_or(WrongArray))
}

struct RaidMember {
    device: Box<dyn Device>,
    under_way: u32,
    head: u64,
}

struct Whole {
    id: u64,
    parts: u32,
}

type MemberPlace = (usize, u64);

/// An array of an even number of disks of one kind.
pub struct Raid10 {
    members: Vec<RaidMember>,
    parameters: RaidParameters,
    /// Bytes of each disk that hold data; half of them are first copies in the far layout.
    used: u64,
    rebuild: Option<Rebuild>,
    parts: HashMap<u64, u64>,
    wholes: HashMap<u64, Whole>,
    numbers: u64,
    settled: Vec<Completion>,
    scratch: Vec<(Nanos, usize, u64)>,
}

impl Raid10 {
    /// Panics on an odd number of disks, or none.
    pub fn new(devices: Vec<Box<dyn Device>>, parameters: RaidParameters) -> Self {
        assert!(!devices.is_empty() && devices.len().is_multiple_of(2), "{} disks", devices.len());
        let member = |device| RaidMember { device, under_way: 0, head: 0 };
        Self {
            members: devices.into_iter().map(member).collect(),
            parameters,
            used: 0,
            rebuild: (parameters.array == Health::Rebuilding).then(Rebuild::new),
            parts: HashMap::new(),
            wholes: HashMap::new(),
            numbers: 0,
            settled: Vec::new(),
            scratch: Vec::new(),
        }
    }

    fn can_serve(&self, disk: usize, kind: RequestKind) -> bool {
        match self.parameters.array {
            Health::Healthy => true,
            Health::Degraded => disk != FAILED,
            Health::Rebuilding => kind != RequestKind::Read || disk != FAILED,
        }
    }

    fn locate_copies(&self, offset: u64) -> [MemberPlace; 2] {
        let (disks, chunk) = (self.members.len() as u64, self.parameters.chunk);
        let (number, within) = (offset / chunk, offset % chunk);
        let [first, second] = Mirrors::new(disks as u32, self.parameters).copy_disks(offset);
        match self.parameters.layout {
            RaidLayout::Near => {
                let place = COPIES * number / disks * chunk + within;
                [(first, place), (second, place)]
            }
            RaidLayout::Far => {
                let place = number / disks * chunk + within;
                [(first, place), (second, self.used / COPIES + place)]
            }
        }
    }

    fn send_part(&mut self, now: Nanos, whole: u64, disk: usize, request: DeviceRequest) {
        let part = self.next_number();
        self.parts.insert(part, whole);
        self.wholes.get_mut(&whole).expect("it is under way").parts += 1;
        self.submit_part(now, part, disk, request);
    }

    fn submit_part(&mut self, now: Nanos, part: u64, disk: usize, request: DeviceRequest) {
        let member = &mut self.members[disk];
        member.under_way += 1;
        if request.kind != RequestKind::Flush {
            member.head = request.offset + request.length;
        }
        member.device.submit(now, part, request);
    }

    fn send_chunk(&mut self, now: Nanos, whole: u64, request: DeviceRequest) {
        let copies = self.locate_copies(request.offset);
        let at = |offset| DeviceRequest { offset, ..request };
        if request.kind == RequestKind::Read {
            let (disk, offset) = self.choose_copy(copies);
            return self.send_part(now, whole, disk, at(offset));
        }
        for (disk, offset) in copies {
            if self.can_serve(disk, request.kind) {
                self.send_part(now, whole, disk, at(offset));
            }
        }
    }

    fn choose_copy(&self, [first, second]: [MemberPlace; 2]) -> MemberPlace {
        if !self.can_serve(first.0, RequestKind::Read) {
            return second;
        }
        if !self.can_serve(second.0, RequestKind::Read) || self.parameters.layout == RaidLayout::Far
        {
            return first;
        }
        let cost = |(disk, offset): MemberPlace| {
            let RaidMember { under_way, head, .. } = self.members[disk];
            if under_way == 0 { (false, 0) } else { (true, head.abs_diff(offset)) }
        };
        if cost(second) < cost(first) { second } else { first }
    }

    /// Does a step of the rebuild: reads from the disk that has the other copy.
    fn step_rebuild(&mut self, now: Nanos) {
        let (used, disks) = (self.used, self.members.len());
        let Some(offset) = self.rebuild.as_mut().and_then(|rebuild| rebuild.next_step(used)) else {
            return;
        };
        let half = used / COPIES;
        let from = match self.parameters.layout {
            RaidLayout::Near => (FAILED - 1, offset),
            RaidLayout::Far if offset < half => ((FAILED + 1) % disks, half + offset),
            RaidLayout::Far => (FAILED - 1, offset - half),
        };
        for (kind, (disk, offset)) in
            [(RequestKind::Read, from), (RequestKind::Write, (FAILED, offset))]
        {
            let part = self.next_number();
            self.rebuild.as_mut().expect("it took a step").parts.push(part);
            let request = DeviceRequest { kind, offset, length: STEP, stream: REBUILD };
            self.submit_part(now, part, disk, request);
        }
    }

    fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn run_until(&mut self, now: Nanos) {
        while let Some(at) = self.rebuild.as_ref().map(|it| it.next).filter(|at| *at <= now) {
            self.settle_members(at);
            self.step_rebuild(at);
        }
        self.settle_members(now);
    }

    fn settle_members(&mut self, now: Nanos) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut done = Vec::new();
        for (disk, member) in self.members.iter_mut().enumerate() {
            member.device.advance(now, &mut done);
            scratch.extend(done.drain(..).map(|part| (part.at, disk, part.id)));
        }
        scratch.sort_by_key(|&(at, disk, _)| (at, disk));
        for (at, disk, part) in scratch.drain(..) {
            self.members[disk].under_way -= 1;
            if self.rebuild.as_mut().is_some_and(|rebuild| rebuild.end_part(part)) {
                continue;
            }
            let whole = self.parts.remove(&part).expect("a part that was sent");
            self.finish_part(at, whole);
        }
        self.scratch = scratch;
    }

    fn finish_part(&mut self, at: Nanos, whole: u64) {
        let parts = self.wholes.get_mut(&whole).expect("it has a part under way");
        parts.parts -= 1;
        if parts.parts == 0 {
            let id = self.wholes.remove(&whole).expect("it was there").id;
            self.settled.push(Completion { id, at });
        }
    }
}

impl Device for Raid10 {
    fn set_span(&mut self, bytes: u64) {
        let disks = self.members.len() as u64;
        let chunk = self.parameters.chunk;
        self.used = match self.parameters.layout {
            RaidLayout::Near => (COPIES * bytes.div_ceil(chunk)).div_ceil(disks) * chunk,
            RaidLayout::Far => COPIES * bytes.div_ceil(chunk).div_ceil(disks) * chunk,
        };
        for member in &mut self.members {
            member.device.set_span(self.used);
        }
    }

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.run_until(now);
        let whole = self.next_number();
        self.wholes.insert(whole, Whole { id, parts: 0 });
        if request.kind == RequestKind::Flush {
            for disk in 0..self.members.len() {
                if self.can_serve(disk, request.kind) {
                    self.send_part(now, whole, disk, request);
                }
            }
            return;
        }
        let (mut offset, end) = (request.offset, request.offset + request.length);
        loop {
            let length = (self.parameters.chunk - offset % self.parameters.chunk).min(end - offset);
            self.send_chunk(now, whole, DeviceRequest { offset, length, ..request });
            offset += length;
            if offset >= end {
                break;
            }
        }
    }

    fn next_completion(&self) -> Option<Nanos> {
        let settled = self.settled.first().map(|completion| completion.at);
        let step = self.rebuild.as_ref().filter(|_| !self.wholes.is_empty()).map(|it| it.next);
        let members = self.members.iter().filter_map(|member| member.device.next_completion());
        settled.or_else(|| members.chain(step).min())
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.run_until(now);
        done.append(&mut self.settled);
    }

    fn busy_time(&self) -> Nanos {
        let there =
            (0..self.members.len()).filter(|disk| self.can_serve(*disk, RequestKind::Write));
        let (sum, number) = there.fold((0, 0), |(sum, number), disk| {
            (sum + self.members[disk].device.busy_time(), number + 1)
        });
        sum / number
    }

    fn fresh_copy(&self) -> Box<dyn Device> {
        let devices = self.members.iter().map(|member| member.device.fresh_copy()).collect();
        Box::new(Self { used: self.used, ..Self::new(devices, self.parameters) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    type Log = Arc<Mutex<Vec<(usize, DeviceRequest)>>>;

    /// Notes what it is asked for, and never completes it.
    struct Recorder(usize, Log);

    impl Device for Recorder {
        fn set_span(&mut self, bytes: u64) {
            let span =
                DeviceRequest { kind: RequestKind::Flush, offset: bytes, length: 0, stream: 0 };
            self.1.lock().unwrap().push((self.0, span));
        }

        fn submit(&mut self, _now: Nanos, _id: u64, request: DeviceRequest) {
            self.1.lock().unwrap().push((self.0, request));
        }

        fn next_completion(&self) -> Option<Nanos> {
            None
        }

        fn advance(&mut self, _now: Nanos, _done: &mut Vec<Completion>) {}

        fn busy_time(&self) -> Nanos {
            0
        }

        fn fresh_copy(&self) -> Box<dyn Device> {
            Box::new(Self(self.0, Arc::clone(&self.1)))
        }
    }

    fn array(disks: usize) -> (Raid10, Log) {
        array_of(disks, RaidParameters::default())
    }

    fn array_of(disks: usize, parameters: RaidParameters) -> (Raid10, Log) {
        let log = Log::default();
        let disk = |number| Box::new(Recorder(number, Arc::clone(&log))) as Box<dyn Device>;
        (Raid10::new((0..disks).map(disk).collect(), parameters), log)
    }

    /// Which disks are asked for what, and where, in the order in which they are asked.
    fn asked(log: &Log) -> Vec<(usize, RequestKind, u64)> {
        let mut log = log.lock().unwrap();
        log.drain(..).map(|(disk, request)| (disk, request.kind, request.offset)).collect()
    }

    #[test]
    fn far_copies_are_a_disk_further_in_the_other_half_and_the_first_half_is_read() {
        let far = RaidParameters { layout: RaidLayout::Far, ..RaidParameters::default() };
        let (mut raid, log) = array_of(4, far);
        raid.set_span(8 * CHUNK);
        assert_eq!(
            asked(&log)[3],
            (3, RequestKind::Flush, 4 * CHUNK),
            "two chunks, twice, on each disk"
        );
        for (chunk, first, second) in
            [(0, (0, 0), (1, 2)), (3, (3, 0), (0, 2)), (6, (2, 1), (3, 3))]
        {
            let request =
                |kind| DeviceRequest { kind, offset: chunk * CHUNK, length: 4096, stream: 0 };
            raid.submit(0, 2 * chunk, request(RequestKind::Write));
            raid.submit(0, 2 * chunk + 1, request(RequestKind::Read));
            let at = |kind, (disk, place): (usize, u64)| (disk, kind, place * CHUNK);
            let expected = [
                at(RequestKind::Write, first),
                at(RequestKind::Write, second),
                at(RequestKind::Read, first),
            ];
            assert_eq!(asked(&log), expected, "{chunk}");
        }
    }

    #[test]
    fn a_failed_disk_is_asked_for_nothing_and_one_that_is_filled_is_not_read() {
        for (array, writes) in [(Health::Degraded, &[0][..]), (Health::Rebuilding, &[0, 1])] {
            let (mut raid, log) =
                array_of(4, RaidParameters { array, ..RaidParameters::default() });
            let request = |kind, offset| DeviceRequest { kind, offset, length: 4096, stream: 0 };
            // Steps of a rebuild are a stream of their own.
            let mut disks = |id, kind, offset| {
                raid.submit(1, id, request(kind, offset));
                let mut log = log.lock().unwrap();
                let own = log.drain(..).filter(|(_, request)| request.stream == 0);
                own.map(|(disk, _)| disk).collect::<Vec<_>>()
            };
            assert_eq!(disks(1, RequestKind::Write, 0), writes, "{array:?}");
            assert_eq!(disks(2, RequestKind::Read, 0), [0]);
            assert_eq!(disks(3, RequestKind::Read, 8192), [0], "busy or not");
            assert_eq!(disks(4, RequestKind::Write, CHUNK), [2, 3], "the other mirror is whole");
            let flushed = disks(5, RequestKind::Flush, 0);
            assert_eq!(flushed.contains(&1), writes.contains(&1), "{flushed:?}");
        }
    }

    #[test]
    fn a_rebuild_reads_the_other_copy_and_writes_the_new_disk() {
        for (layout, from) in [(RaidLayout::Near, (0, 0)), (RaidLayout::Far, (2, 2 * CHUNK))] {
            let rebuilding = RaidParameters { array: Health::Rebuilding, layout, chunk: CHUNK };
            let (mut raid, log) = array_of(4, rebuilding);
            raid.set_span(8 * CHUNK);
            asked(&log);
            raid.advance(0, &mut Vec::new());
            let (disk, offset) = from;
            assert_eq!(
                asked(&log),
                [(disk, RequestKind::Read, offset), (1, RequestKind::Write, 0)],
                "{layout:?}"
            );
            // The next one waits until that has ended.
            raid.advance(1_000_000_000, &mut Vec::new());
            assert!(asked(&log).is_empty());
        }
    }

    #[test]
    fn copies_lie_where_the_near_layout_puts_them() {
        for disks in [2, 4, 6] {
            for chunk in 0..20 {
                let (mut raid, log) = array(disks);
                let offset = chunk * CHUNK + 512;
                let write =
                    DeviceRequest { kind: RequestKind::Write, offset, length: 1024, stream: 2 };
                raid.submit(0, 1, write);
                let number = disks as u64;
                let copies = [0, 1].map(|copy| {
                    let place = 2 * chunk + copy;
                    let offset = place / number * CHUNK + 512;
                    ((place % number) as usize, DeviceRequest { offset, ..write })
                });
                assert_eq!(*log.lock().unwrap(), copies);
            }
        }
    }

    #[test]
    fn requests_are_cut_at_chunks_and_reads_go_to_the_mirror_that_is_free_or_nearer() {
        let (mut raid, log) = array(4);
        let read =
            |offset, length| DeviceRequest { kind: RequestKind::Read, offset, length, stream: 0 };
        // Chunks 0 and 1 are on disks 0, 1 and 2, 3.
        raid.submit(0, 1, read(CHUNK - 4096, 8192));
        let parts = [(0, read(CHUNK - 4096, 4096)), (2, read(0, 4096))];
        assert_eq!(*log.lock().unwrap(), parts);
        // Disk 1 is free; then both are busy, and disk 0 is nearer to the end of the chunk.
        raid.submit(0, 2, read(0, 4096));
        raid.submit(0, 3, read(CHUNK - 8192, 4096));
        raid.submit(0, 4, read(8192, 4096));
        let disks: Vec<usize> = log.lock().unwrap().iter().skip(2).map(|part| part.0).collect();
        assert_eq!(disks, [1, 0, 1]);
    }

    #[test]
    fn each_disk_has_its_part_of_the_span() {
        let (mut raid, log) = array(8);
        raid.set_span(8 * CHUNK);
        let spans: Vec<u64> = log.lock().unwrap().iter().map(|(_, span)| span.offset).collect();
        assert_eq!(spans, [2 * CHUNK; 8]);
    }
}
