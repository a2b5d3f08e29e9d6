//! A small web server: HTTP/1.1 on a Unix socket, a fixed number of workers, each with one request
//! at a time. Connections are kept as long as their clients want, and wait for any free worker.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bakeoff_engines::Database;
use bakeoff_workloads::OperationTally;
use bakeoff_workloads::site::{Site, SiteReply, SiteRequest, SiteWorker};
use httparse::{EMPTY_HEADER, Status};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};

use super::super::meter::MeteredSession;
use super::super::statement_totals::StatementTotals;
use crate::TrialError;

const BACKLOG: i32 = 4096;
const BUFFER: usize = 8 << 10;
const MOST: usize = 64 << 10;
const MOST_HEADERS: usize = 64;
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);

/// Event numbers of the listener and of the stop; connections come after these.
const LISTENER: u64 = 0;
const STOP: u64 = 1;

pub struct Web<'a> {
    site: &'a dyn Site,
    database: &'a dyn Database,
    connects: bool,
    writing: &'a [bool],
    epoll: OwnedFd,
    listener: UnixListener,
    /// While this end is open, the workers go on.
    stop: (UnixStream, Mutex<Option<UnixStream>>),
    connections: Mutex<Connections>,
    did: Mutex<BTreeMap<usize, WorkerTotals>>,
}

#[derive(Clone, Copy, Default)]
struct WorkerTotals {
    written: StatementTotals,
    run_again: u64,
}

#[derive(Default)]
struct Connections {
    waiting: BTreeMap<u64, WebConnection>,
    made: u64,
}

struct WebConnection {
    stream: UnixStream,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestOutcome {
    Part,
    Whole { length: usize, keeps: bool },
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Web<'a> {
    /// `connects`: each request connects to the database, else each worker once. `writing` tells
    /// for each statement whether it writes.
    pub fn listen(
        at: &Path,
        site: &'a dyn Site,
        (database, connects): (&'a dyn Database, bool),
        writing: &'a [bool],
    ) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&socket, &SocketAddrUnix::new(at)?)?;
        listen(&socket, BACKLOG)?;
        let (listener, epoll) = (UnixListener::from(socket), epoll::create(CreateFlags::CLOEXEC)?);
        let (stopped, held) = UnixStream::pair()?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), once_readable())?;
        epoll::add(&epoll, &stopped, EventData::new_u64(STOP), EventFlags::IN)?;
        Ok(Self {
            site,
            database,
            connects,
            writing,
            epoll,
            listener,
            stop: (stopped, Mutex::new(Some(held))),
            connections: Mutex::default(),
            did: Mutex::default(),
        })
    }

    /// `meanwhile` begins when all workers are ready; they stop after it.
    pub fn run_workers(
        &self,
        workers: usize,
        meanwhile: impl FnOnce() -> Result<(), TrialError>,
    ) -> Result<(), TrialError> {
        std::thread::scope(|scope| {
            let _ends = WorkersStopGuard(self);
            let (sender, ready) = mpsc::channel();
            for number in 0..workers {
                let sender = sender.clone();
                let worker = std::thread::Builder::new().name(format!("web-{number}"));
                let started = worker.spawn_scoped(scope, move || self.run_worker(number, sender));
                started
                    .map_err(|error| TrialError::place_error("a worker can't be started", error))?;
            }
            drop(sender);
            let all: Result<(), String> = ready.iter().collect();
            all.map_err(|why| TrialError::Engine(format!("no worker could connect: {why}")))?;
            meanwhile()
        })
    }

    pub fn statement_totals(&self) -> StatementTotals {
        lock_mutex(&self.did)
            .values()
            .fold(StatementTotals::default(), |sum, it| sum.plus(it.written))
    }

    pub fn run_again(&self) -> u64 {
        lock_mutex(&self.did).values().map(|it| it.run_again).sum()
    }

    fn run_worker(&self, number: usize, ready: Sender<Result<(), String>>) {
        let session = match MeteredSession::open(self.database, self.connects, self.writing) {
            Ok(session) => session,
            Err(error) => {
                let _ = ready.send(Err(error.to_string()));
                return;
            }
        };
        let _ = ready.send(Ok(()));
        drop(ready);
        let mut clerk = WebWorker {
            worker: self.site.make_worker(number),
            session,
            tally: OperationTally::default(),
            reply: SiteReply::default(),
            answer: Vec::new(),
            number,
            did: &self.did,
        };
        let (mut events, mut buffer) = (Vec::<Event>::with_capacity(1), vec![0; BUFFER]);
        loop {
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, room, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                match event.data.u64() {
                    STOP => return,
                    LISTENER => self.accept(),
                    number => self.serve_connection(number, &mut clerk, &mut buffer),
                }
            }
        }
    }

    fn accept(&self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.took(stream),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // No room now: they are taken at the next look, which comes at once.
                Err(_) => {
                    std::thread::sleep(PAUSE);
                    break;
                }
            }
        }
        let data = EventData::new_u64(LISTENER);
        // Fails only for what is not registered.
        let _ = epoll::modify(&self.epoll, &self.listener, data, once_readable());
    }

    fn took(&self, stream: UnixStream) {
        if stream.set_write_timeout(Some(WRITE_TIMEOUT)).is_err() {
            return;
        }
        let mut connections = lock_mutex(&self.connections);
        connections.made += 1;
        let number = STOP + connections.made;
        if epoll::add(&self.epoll, &stream, EventData::new_u64(number), once_readable()).is_ok() {
            connections.waiting.insert(number, WebConnection { stream, bytes: Vec::new() });
        }
    }

    fn serve_connection(&self, number: u64, clerk: &mut WebWorker<'_>, buffer: &mut [u8]) {
        let taken = lock_mutex(&self.connections).waiting.remove(&number);
        let Some(mut connection) = taken else { return };
        if !connection.go_on(clerk, buffer) {
            return;
        }
        // It must be back before another worker can get an event of it.
        let mut connections = lock_mutex(&self.connections);
        let armed = {
            let data = EventData::new_u64(number);
            epoll::modify(&self.epoll, &connection.stream, data, once_readable())
        };
        if armed.is_ok() {
            connections.waiting.insert(number, connection);
        }
    }
}

/// One event, then disarmed: no two workers have the same connection.
fn once_readable() -> EventFlags {
    EventFlags::IN | EventFlags::RDHUP | EventFlags::ONESHOT
}

struct WorkersStopGuard<'a, 'b>(&'a Web<'b>);

impl Drop for WorkersStopGuard<'_, '_> {
    fn drop(&mut self) {
        *lock_mutex(&self.0.stop.1) = None;
    }
}

impl WebConnection {
    fn go_on(&mut self, clerk: &mut WebWorker<'_>, buffer: &mut [u8]) -> bool {
        match self.stream.read(buffer) {
            Ok(0) | Err(_) => return false,
            Ok(read) => self.bytes.extend_from_slice(&buffer[..read]),
        }
        loop {
            let Ok(taken) = clerk.take_request(&self.bytes) else {
                let _ =
                    self.stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                return false;
            };
            let RequestOutcome::Whole { length, keeps } = taken else { return true };
            if self.stream.write_all(&clerk.answer).is_err() || !keeps {
                return false;
            }
            self.bytes.drain(..length);
            if self.bytes.is_empty() {
                return true;
            }
        }
    }
}

struct WebWorker<'a> {
    worker: Box<dyn SiteWorker + 'a>,
    session: MeteredSession<'a>,
    tally: OperationTally,
    reply: SiteReply,
    answer: Vec<u8>,
    number: usize,
    did: &'a Mutex<BTreeMap<usize, WorkerTotals>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MalformedRequest;

impl WebWorker<'_> {
    fn take_request(&mut self, bytes: &[u8]) -> Result<RequestOutcome, MalformedRequest> {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let length = match head.parse(bytes) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) if bytes.len() < MOST => return Ok(RequestOutcome::Part),
            Ok(Status::Partial) | Err(_) => return Err(MalformedRequest),
        };
        let value = |name: &str| {
            let found = head.headers.iter().find(|it| it.name.eq_ignore_ascii_case(name));
            found.and_then(|it| std::str::from_utf8(it.value).ok()).unwrap_or_default().trim()
        };
        let body = match value("Content-Length") {
            "" => 0,
            text => text.parse::<usize>().ok().filter(|it| *it <= MOST).ok_or(MalformedRequest)?,
        };
        let length = length + body;
        if bytes.len() < length {
            return Ok(RequestOutcome::Part);
        }
        let says = value("Connection");
        let keeps = match head.version {
            Some(1) => !says.eq_ignore_ascii_case("close"),
            _ => says.eq_ignore_ascii_case("keep-alive"),
        };
        let request = SiteRequest {
            posts: head.method == Some("POST"),
            target: head.path.unwrap_or_default(),
            cookie: value("Cookie"),
            agent: value("User-Agent"),
            address: value("X-Forwarded-For"),
            at_us: now_us(),
        };
        self.answer(&request, keeps);
        Ok(RequestOutcome::Whole { length, keeps })
    }

    fn answer(&mut self, request: &SiteRequest<'_>, keeps: bool) {
        let Self { worker, session, tally, reply, answer, number, did } = self;
        let answered =
            session.run_operation(|session| worker.answer_request(request, session, tally, reply));
        // Before the visitor has the answer.
        let done = WorkerTotals { written: session.statement_totals(), run_again: tally.retries };
        lock_mutex(did).insert(*number, done);
        if let Err(error) = answered {
            *reply = SiteReply { status: 500, cookie: None, body: error.to_string() };
        }
        let reason = match reply.status {
            200 => "OK",
            404 => "Not Found",
            _ => "Internal Server Error",
        };
        answer.clear();
        let (status, length) = (reply.status, reply.body.len());
        let written = write!(answer, "HTTP/1.1 {status} {reason}\r\nContent-Length: {length}\r\n");
        written.expect("a vector takes all");
        if let Some(cookie) = &reply.cookie {
            write!(answer, "Set-Cookie: {cookie}; Path=/\r\n").expect("a vector takes all");
        }
        if !keeps {
            answer.extend_from_slice(b"Connection: close\r\n");
        }
        answer.extend_from_slice(b"\r\n");
        answer.extend_from_slice(reply.body.as_bytes());
    }
}

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
