use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

use super::wire::{self, LONGEST_REQUEST};
use super::{Ask, BEAT, ControlAnswer};
use crate::error::Error;
use crate::patience::PATIENCE;

/// How many are heard at a time. If more connect, the oldest connection without a request is
/// closed; if all have asked, the new ones wait.
const AT_A_TIME: usize = 16;
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct ControlListener {
    answering: Arc<RwLock<()>>,
}

impl ControlListener {
    pub(crate) fn start(
        socket: &Path,
        answer: impl Fn(Ask) -> ControlAnswer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = wire::listen(socket)?;
        let answer = Arc::new(answer);
        let answering = Arc::new(RwLock::new(()));
        let busy = Arc::clone(&answering);
        let accept = move || {
            let places = Arc::new(ListenerSeats::default());
            loop {
                let Some((stream, seat)) = next(&listener, &places) else {
                    thread::sleep(PAUSE);
                    continue;
                };
                let (answer, busy) = (Arc::clone(&answer), Arc::clone(&busy));
                // A request that is cut short gets no answer, and neither does one for which there
                // is no thread.
                let hear = move || drop(answer_request(&stream, &seat, &*answer, &busy));
                let _ = thread::Builder::new().spawn(hear);
            }
        };
        thread::Builder::new().name("disk-control".into()).spawn(accept)?;
        Ok(Self { answering })
    }

    /// Waits for the answers to all requests so far. Later ones are not answered while the guard
    /// lives.
    pub(crate) fn wait_for_answers(&self) -> RwLockWriteGuard<'_, ()> {
        self.answering.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn next(listener: &UnixListener, places: &Arc<ListenerSeats>) -> Option<(UnixStream, Seat)> {
    let (stream, _) = listener.accept().ok()?;
    let seat = ListenerSeats::take_seat(places, &stream).ok()?;
    Some((stream, seat))
}

/// Hears one request and answers it. The client has [`PATIENCE`] to ask, and to take the answer.
fn answer_request(
    mut stream: &UnixStream,
    seat: &Seat,
    answer: &(dyn Fn(Ask) -> ControlAnswer + Sync),
    answering: &RwLock<()>,
) -> io::Result<()> {
    wire::trusted_peer(stream)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let line = wire::ConnectionLines::from_stream(stream).read_line(LONGEST_REQUEST, PATIENCE)?;
    seat.has_asked();
    let asked = serde_json::from_slice::<Ask>(&line);
    let leaves = matches!(asked, Ok(Ask::Unmount));
    {
        let _answering = answering.read().unwrap_or_else(PoisonError::into_inner);
        if wire::is_gone(stream) {
            // The client was told that the request failed.
            return Ok(());
        }
        let answer = match asked {
            Ok(ask) => with_signs_of_life(stream, || answer(ask)),
            Err(error) => ControlAnswer::Refused(Error::Usage(format!("no request: {error}"))),
        };
        let mut text = serde_json::to_vec(&answer).expect("an answer is plain data");
        text.push(b'\n');
        stream.write_all(&text)?;
        if !leaves || answer != ControlAnswer::Done {
            return Ok(());
        }
    }
    // A client that has the disk unmounted waits for the end of the connection, which is the end of
    // this process.
    stream.set_read_timeout(None)?;
    io::copy(&mut { stream }, &mut io::sink()).map(drop)
}

/// Runs work that may take long. Empty lines tell the client that it goes on.
fn with_signs_of_life(
    mut stream: &UnixStream,
    work: impl FnOnce() -> ControlAnswer,
) -> ControlAnswer {
    thread::scope(|scope| {
        let (done, working) = mpsc::channel::<()>();
        let beat = move || {
            while working.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout)
                && stream.write_all(b"\n").is_ok()
            {}
        };
        let _ = thread::Builder::new().spawn_scoped(scope, beat);
        let answer = work();
        drop(done);
        answer
    })
}

#[derive(Default)]
struct ListenerSeats {
    heard: Mutex<OpenConnections>,
    left: Condvar,
}

#[derive(Default)]
struct OpenConnections {
    count: usize,
    ever: u64,
    /// Connections without a request, by seat number, the oldest first.
    silent: VecDeque<(u64, UnixStream)>,
}

struct Seat {
    places: Arc<ListenerSeats>,
    number: u64,
}

impl ListenerSeats {
    fn take_seat(places: &Arc<Self>, stream: &UnixStream) -> io::Result<Seat> {
        let stream = stream.try_clone()?;
        let mut heard = places.lock();
        while heard.count >= AT_A_TIME {
            if let Some((_, first)) = heard.silent.pop_front() {
                let _ = first.shutdown(Shutdown::Both);
            }
            heard = places.left.wait(heard).unwrap_or_else(PoisonError::into_inner);
        }
        heard.count += 1;
        heard.ever += 1;
        let number = heard.ever;
        heard.silent.push_back((number, stream));
        Ok(Seat { places: Arc::clone(places), number })
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    fn has_asked(&self) {
        self.places.lock().silent.retain(|(number, _)| *number != self.number);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.has_asked();
        self.places.lock().count -= 1;
        self.places.left.notify_one();
    }
}
