//! A small web server: HTTP/1.1 on a Unix socket, a fixed number of workers, each with one request at a time.
//! Connections are kept as long as their clients want, and wait for any worker that is free.

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

use super::super::meter::Metered;
use super::super::written::StatementTotals;
use crate::TrialError;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// Bytes that are read at once.
const BUFFER: usize = 8 << 10;
/// The most bytes of a request.
const MOST: usize = 64 << 10;
/// The most headers of a request.
const MOST_HEADERS: usize = 64;
/// How long a client may take to take its answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it is waited until there may be room for another connection.
const PAUSE: Duration = Duration::from_millis(10);

/// What the events of what is no connection carry; connections are numbered after these.
const LISTENER: u64 = 0;
const STOP: u64 = 1;

/// A web server.
pub struct Web<'a> {
    site: &'a dyn Site,
    database: &'a dyn Database,
    /// Whether each request connects to the database.
    connects: bool,
    /// Which statements write.
    writing: &'a [bool],
    epoll: OwnedFd,
    listener: UnixListener,
    /// The end of it that is held keeps the workers at work.
    stop: (UnixStream, Mutex<Option<UnixStream>>),
    connections: Mutex<Connections>,
    /// What each worker has done.
    did: Mutex<BTreeMap<usize, WorkerTotals>>,
}

/// What a worker has done so far.
#[derive(Clone, Copy, Default)]
struct WorkerTotals {
    written: StatementTotals,
    /// Transactions that it has run again after a conflict.
    run_again: u64,
}

/// Those that no worker has in hand.
#[derive(Default)]
struct Connections {
    waiting: BTreeMap<u64, WebConnection>,
    /// How many there ever were.
    made: u64,
}

/// A connection, and what has come of its next request.
struct WebConnection {
    stream: UnixStream,
    bytes: Vec<u8>,
}

/// What became of the bytes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestOutcome {
    /// More has to come.
    Part,
    /// It was answered: its bytes, and whether the connection is kept.
    Whole { length: usize, keeps: bool },
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Web<'a> {
    /// A server at a socket, over a database that each request connects to, or each worker once. `writing`
    /// says of each statement whether it writes.
    ///
    /// # Errors
    /// What the system said: somebody may have the socket.
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
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), once())?;
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

    /// Has so many workers answer requests while `meanwhile` is done, which begins when all are ready.
    ///
    /// # Errors
    /// A worker has no session; what `meanwhile` says.
    pub fn work(
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
                let started = worker.spawn_scoped(scope, move || self.worker(number, sender));
                started.map_err(|error| TrialError::place("a worker can't be started", error))?;
            }
            drop(sender);
            let all: Result<(), String> = ready.iter().collect();
            all.map_err(|why| TrialError::Engine(format!("no worker could connect: {why}")))?;
            meanwhile()
        })
    }

    /// What all workers have written and read so far.
    pub fn written(&self) -> StatementTotals {
        locked(&self.did).values().fold(StatementTotals::default(), |sum, it| sum.plus(it.written))
    }

    /// How many transactions all workers have run again so far, after conflicts.
    pub fn run_again(&self) -> u64 {
        locked(&self.did).values().map(|it| it.run_again).sum()
    }

    /// Answers requests until the server stops; says first whether it can.
    fn worker(&self, number: usize, ready: Sender<Result<(), String>>) {
        let session = match self.connects {
            true => Ok(Metered::each(self.database, self.writing)),
            false => self.database.session().map(|session| Metered::new(session, self.writing)),
        };
        let session = match session {
            Ok(session) => session,
            Err(error) => {
                let _ = ready.send(Err(error.to_string()));
                return;
            }
        };
        let _ = ready.send(Ok(()));
        drop(ready);
        let mut clerk = WebWorker {
            worker: self.site.worker(number),
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
                    number => self.ready(number, &mut clerk, &mut buffer),
                }
            }
        }
    }

    /// Takes those who have come in.
    fn accept(&self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.took(stream),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // No room for now: those who wait are taken at the next look, which comes at once.
                Err(_) => {
                    std::thread::sleep(PAUSE);
                    break;
                }
            }
        }
        let data = EventData::new_u64(LISTENER);
        // It fails only for what is not registered.
        let _ = epoll::modify(&self.epoll, &self.listener, data, once());
    }

    /// Waits for the first request of a connection.
    fn took(&self, stream: UnixStream) {
        if stream.set_write_timeout(Some(PATIENCE)).is_err() {
            return;
        }
        let mut connections = locked(&self.connections);
        connections.made += 1;
        let number = STOP + connections.made;
        if epoll::add(&self.epoll, &stream, EventData::new_u64(number), once()).is_ok() {
            connections.waiting.insert(number, WebConnection { stream, bytes: Vec::new() });
        }
    }

    /// Goes on with a connection that something has come on; it is closed where it is not kept.
    fn ready(&self, number: u64, clerk: &mut WebWorker<'_>, buffer: &mut [u8]) {
        let taken = locked(&self.connections).waiting.remove(&number);
        let Some(mut connection) = taken else { return };
        if !connection.go_on(clerk, buffer) {
            return;
        }
        // It is among those that wait before another worker can hear of it.
        let mut connections = locked(&self.connections);
        let armed = {
            let data = EventData::new_u64(number);
            epoll::modify(&self.epoll, &connection.stream, data, once())
        };
        if armed.is_ok() {
            connections.waiting.insert(number, connection);
        }
    }
}

/// One event, after which it is armed again: no two workers have one connection in hand.
fn once() -> EventFlags {
    EventFlags::IN | EventFlags::RDHUP | EventFlags::ONESHOT
}

/// Has the workers end when it goes.
struct WorkersStopGuard<'a, 'b>(&'a Web<'b>);

impl Drop for WorkersStopGuard<'_, '_> {
    fn drop(&mut self) {
        *locked(&self.0.stop.1) = None;
    }
}

impl WebConnection {
    /// Reads what has come and answers what is whole; whether the connection is kept.
    fn go_on(&mut self, clerk: &mut WebWorker<'_>, buffer: &mut [u8]) -> bool {
        match self.stream.read(buffer) {
            Ok(0) | Err(_) => return false,
            Ok(read) => self.bytes.extend_from_slice(&buffer[..read]),
        }
        loop {
            let Ok(taken) = clerk.take(&self.bytes) else {
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

/// A worker with its session.
struct WebWorker<'a> {
    worker: Box<dyn SiteWorker + 'a>,
    session: Metered<'a>,
    /// What all its operations did.
    tally: OperationTally,
    reply: SiteReply,
    /// The bytes of the last answer.
    answer: Vec<u8>,
    /// The worker's number, and where what each has done is known to others.
    number: usize,
    did: &'a Mutex<BTreeMap<usize, WorkerTotals>>,
}

/// What is no request of HTTP/1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoRequest;

impl WebWorker<'_> {
    /// Answers the request that these bytes begin with, if it is whole.
    fn take(&mut self, bytes: &[u8]) -> Result<RequestOutcome, NoRequest> {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let length = match head.parse(bytes) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) if bytes.len() < MOST => return Ok(RequestOutcome::Part),
            Ok(Status::Partial) | Err(_) => return Err(NoRequest),
        };
        let value = |name: &str| {
            let found = head.headers.iter().find(|it| it.name.eq_ignore_ascii_case(name));
            found.and_then(|it| std::str::from_utf8(it.value).ok()).unwrap_or_default().trim()
        };
        let body = match value("Content-Length") {
            "" => 0,
            text => text.parse::<usize>().ok().filter(|it| *it <= MOST).ok_or(NoRequest)?,
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

    /// Makes the answer to a request.
    fn answer(&mut self, request: &SiteRequest<'_>, keeps: bool) {
        let Self { worker, session, tally, reply, answer, number, did } = self;
        let answered = session.operation(|session| worker.answer(request, session, tally, reply));
        // Before the visitor has the answer.
        let done = WorkerTotals { written: session.written(), run_again: tally.retries };
        locked(did).insert(*number, done);
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

/// Now, in microseconds since 1970.
fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
