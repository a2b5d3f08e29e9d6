//! A trace: the requests of a file system to its device, in order, as bytes.
//!
//! Waits between works are not traced: the other work comes before in the trace. Numbers are in
//! LEB128, so that a request takes about eight bytes.

use crate::device::{DeviceRequest, Nanos, RequestKind};
use crate::ext4::DeviceWork;

const HEAD: &[u8] = b"device requests 1\n";

const FILE: u8 = 1;
const WORK: u8 = 2;
const END: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waits {
    Reader,
    Writer,
    Nobody,
}

const WAITS: [Waits; 3] = [Waits::Reader, Waits::Writer, Waits::Nobody];
const KINDS: [RequestKind; 4] =
    [RequestKind::Read, RequestKind::Write, RequestKind::Flush, RequestKind::WriteThrough];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    pub at: Nanos,
    pub waits: Waits,
    /// Its place in [`Trace::files`]; `None` for several files.
    pub file: Option<usize>,
    /// One step after the other, as in [`DeviceWork`].
    pub steps: Vec<Vec<DeviceRequest>>,
}

#[derive(Debug)]
pub struct Tracer {
    bytes: Vec<u8>,
    files: std::collections::HashMap<u64, usize>,
    last: Nanos,
}

impl Default for Tracer {
    fn default() -> Self {
        Self { bytes: HEAD.to_vec(), files: std::collections::HashMap::new(), last: 0 }
    }
}

impl Tracer {
    /// Adds work of a moment not before the last one's. `name` is asked for when a file comes for
    /// the first time.
    pub fn add_work(
        &mut self,
        at: Nanos,
        waits: Waits,
        file: Option<u64>,
        name: impl FnOnce() -> Vec<u8>,
        work: &DeviceWork,
    ) {
        let file = file.map_or(0, |number| {
            let place = self.files.len();
            *self.files.entry(number).or_insert_with(|| {
                let name = name();
                self.bytes.push(FILE);
                write_number(&mut self.bytes, name.len() as u64);
                self.bytes.extend(name);
                place
            }) as u64
                + 1
        });
        let at = at.max(self.last);
        self.bytes.push(WORK);
        write_number(&mut self.bytes, at - self.last);
        self.last = at;
        self.bytes.push(WAITS.iter().position(|it| *it == waits).expect("one of them") as u8);
        write_number(&mut self.bytes, file);
        write_number(&mut self.bytes, work.steps.len() as u64);
        for step in &work.steps {
            write_number(&mut self.bytes, step.len() as u64);
            for request in step {
                let kind = KINDS.iter().position(|it| *it == request.kind).expect("one of them");
                self.bytes.push(kind as u8);
                write_number(&mut self.bytes, request.offset);
                write_number(&mut self.bytes, request.length);
            }
        }
    }

    pub fn end(&mut self, span: u64) {
        self.bytes.push(END);
        write_number(&mut self.bytes, span);
    }

    pub fn pending_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    #[error("these are no traced requests: they begin in another way")]
    Head,
    #[error("the trace of requests ends too early: whoever wrote it was stopped; trace again")]
    Cut,
    #[error("the trace of requests is damaged at byte {0}; trace again")]
    Damaged(usize),
}

/// A trace that was read through once: all of it is sound.
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    bytes: &'a [u8],
    pub files: Vec<&'a [u8]>,
    pub span: u64,
    pub works: u64,
}

impl<'a> Trace<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Self, TraceError> {
        let bytes = bytes.strip_prefix(HEAD).ok_or(TraceError::Head)?;
        let mut trace = Self { bytes, files: Vec::new(), span: 0, works: 0 };
        let mut reader = TraceReader { bytes, at: 0, time: 0 };
        loop {
            match reader.next()? {
                TraceEntry::File(name) => trace.files.push(name),
                TraceEntry::Work(work) if work.file.is_some_and(|it| it >= trace.files.len()) => {
                    return Err(TraceError::Damaged(reader.at));
                }
                TraceEntry::Work(_) => trace.works += 1,
                TraceEntry::End(span) => {
                    trace.span = span;
                    return Ok(trace);
                }
            }
        }
    }

    pub fn works(&self) -> impl Iterator<Item = Traced> + '_ {
        let mut reader = TraceReader { bytes: self.bytes, at: 0, time: 0 };
        std::iter::from_fn(move || {
            loop {
                match reader.next().ok()? {
                    TraceEntry::File(_) => {}
                    TraceEntry::Work(work) => return Some(work),
                    TraceEntry::End(_) => return None,
                }
            }
        })
    }
}

enum TraceEntry<'a> {
    File(&'a [u8]),
    Work(Traced),
    End(u64),
}

struct TraceReader<'a> {
    bytes: &'a [u8],
    at: usize,
    time: Nanos,
}

impl<'a> TraceReader<'a> {
    fn read_byte(&mut self) -> Result<u8, TraceError> {
        let byte = *self.bytes.get(self.at).ok_or(TraceError::Cut)?;
        self.at += 1;
        Ok(byte)
    }

    fn read_number(&mut self) -> Result<u64, TraceError> {
        let mut number = 0;
        for place in 0..10 {
            let byte = self.read_byte()?;
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(TraceError::Damaged(self.at))
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Result<T, TraceError> {
        let place = self.read_byte()?;
        all.get(usize::from(place)).copied().ok_or(TraceError::Damaged(self.at))
    }

    fn next(&mut self) -> Result<TraceEntry<'a>, TraceError> {
        match self.read_byte()? {
            FILE => {
                let length = self.read_number()? as usize;
                let rest: &'a [u8] = &self.bytes[self.at..];
                let name = rest.get(..length).ok_or(TraceError::Cut)?;
                self.at += length;
                Ok(TraceEntry::File(name))
            }
            WORK => self.read_work().map(TraceEntry::Work),
            END => self.read_number().map(TraceEntry::End),
            _ => Err(TraceError::Damaged(self.at)),
        }
    }

    fn read_work(&mut self) -> Result<Traced, TraceError> {
        self.time = self.time.saturating_add(self.read_number()?);
        let waits = self.one_of(&WAITS)?;
        let file = self.read_number()?.checked_sub(1).map(|place| place as usize);
        let mut steps = Vec::new();
        for _ in 0..self.read_number()? {
            let mut step = Vec::new();
            for _ in 0..self.read_number()? {
                let kind = self.one_of(&KINDS)?;
                let (offset, length) = (self.read_number()?, self.read_number()?);
                if offset.checked_add(length).is_none() {
                    return Err(TraceError::Damaged(self.at));
                }
                step.push(DeviceRequest { kind, offset, length, stream: 0 });
            }
            steps.push(step);
        }
        Ok(Traced { at: self.time, waits, file, steps })
    }
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(requests: &[(RequestKind, u64, u64)]) -> DeviceWork {
        let request = |&(kind, offset, length): &(RequestKind, u64, u64)| DeviceRequest {
            kind,
            offset,
            length,
            stream: 0,
        };
        let steps = requests.iter().map(|it| vec![request(it)]).collect();
        DeviceWork { steps, ..DeviceWork::default() }
    }

    /// Two files, of which one is named once though it comes twice, and work of nobody's.
    fn written() -> (Vec<u8>, Vec<DeviceWork>) {
        let works = vec![
            work(&[(RequestKind::Write, 0, 4096), (RequestKind::Flush, 0, 0)]),
            work(&[(RequestKind::Read, (1 << 63) - 1, 1 << 20)]),
            work(&[(RequestKind::Write, 4096, 1)]),
        ];
        let mut tracer = Tracer::default();
        tracer.add_work(7, Waits::Writer, Some(90), || b"a log".to_vec(), &works[0]);
        let mut bytes = tracer.take_bytes();
        tracer.add_work(9, Waits::Reader, Some(91), || b"\xff".to_vec(), &works[1]);
        tracer.add_work(8, Waits::Nobody, None, || unreachable!(), &works[2]);
        tracer.add_work(300, Waits::Writer, Some(90), || unreachable!(), &works[2]);
        tracer.end(u64::MAX);
        bytes.extend(tracer.take_bytes());
        assert_eq!(tracer.pending_bytes(), 0);
        (bytes, works)
    }

    #[test]
    fn what_was_written_is_read_in_its_order() {
        let (bytes, works) = written();
        let trace = Trace::read(&bytes).unwrap();
        assert_eq!(trace.files, [&b"a log"[..], b"\xff"]);
        assert_eq!((trace.span, trace.works), (u64::MAX, 4));
        let read: Vec<Traced> = trace.works().collect();
        let of = |n: usize| (read[n].at, read[n].waits, read[n].file, &read[n].steps);
        assert_eq!(of(0), (7, Waits::Writer, Some(0), &works[0].steps));
        assert_eq!(of(1), (9, Waits::Reader, Some(1), &works[1].steps));
        assert_eq!(of(2), (9, Waits::Nobody, None, &works[2].steps), "never before another");
        assert_eq!(of(3), (300, Waits::Writer, Some(0), &works[2].steps));
    }

    #[test]
    fn what_is_cut_or_damaged_is_refused_and_never_panics() {
        let (bytes, _) = written();
        for end in 0..bytes.len() {
            let expected = if end < HEAD.len() { TraceError::Head } else { TraceError::Cut };
            assert_eq!(Trace::read(&bytes[..end]).unwrap_err(), expected, "{end}");
        }
        for place in HEAD.len()..bytes.len() {
            for value in [0, 4, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[place] = value;
                if let Ok(trace) = Trace::read(&changed) {
                    assert_eq!(trace.works().count() as u64, trace.works);
                }
            }
        }
    }
}
