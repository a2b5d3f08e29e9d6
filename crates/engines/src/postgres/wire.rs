//! A session's own connection, driven by the thread that waits for its answers.
//!
//! The client library leaves its socket to an executor. The usual one asks the system what is ready
//! before each read, which costs about as much as the reads, and on a small machine a client's
//! processor time is taken from the server. Here the waiting thread sleeps in the read itself.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, Connection, Error};

use crate::external::tls::{EncryptedStream, Tls};

const PORT: u16 = 5432;

/// Dropping it closes the socket, which ends the server's side of it.
pub(super) struct PostgresWire {
    client: Client,
    connection: Option<Connection<Socket, EncryptedStream<Socket>>>,
    may_read: Rc<Cell<bool>>,
    woken: Arc<WakeFlag>,
}

impl PostgresWire {
    pub(super) fn connect(config: &Config, tls: &Tls) -> Result<Self, Error> {
        let may_read = Rc::new(Cell::new(true));
        let socket = Socket { address: config.clone(), file: None, may_read: may_read.clone() };
        let mut context = Context::from_waker(Waker::noop());
        let mut connecting = pin!(config.connect_raw(socket, tls.clone()));
        loop {
            if let Poll::Ready(connected) = connecting.as_mut().poll(&mut context) {
                let (client, connection) = connected?;
                let woken = Arc::new(WakeFlag(AtomicBool::new(false)));
                return Ok(Self { client, connection: Some(connection), may_read, woken });
            }
            may_read.set(true);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.connection.is_none()
    }

    pub(super) fn wait_for<'a, T, F>(
        &'a mut self,
        ask: impl FnOnce(&'a Client) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut context = Context::from_waker(&waker);
        let mut answer = pin!(ask(&self.client));
        self.woken.0.store(true, Relaxed);
        loop {
            if let Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
                return answer;
            }
            // Only when nothing is left to be sent or passed on: a read may take long.
            self.may_read.set(!self.woken.0.swap(false, Relaxed));
            if let Some(connection) = &mut self.connection
                && let Poll::Ready(ended) = Pin::new(connection).poll(&mut context)
            {
                self.connection = None;
                // The server's last message says more than that it is gone.
                ended?;
            }
        }
    }
}

struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// Reads once each time that it may, and then as long as it takes.
struct Socket {
    address: Config,
    file: Option<File>,
    may_read: Rc<Cell<bool>>,
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.may_read.replace(false) {
            return Poll::Pending;
        }
        let Some(file) = &mut self.file else { return Poll::Ready(Ok(())) };
        let read = retry_interrupted(|| file.read(buffer.initialize_unfilled()))?;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { address, file, .. } = self.get_mut();
        let file = match file {
            Some(file) => file,
            empty => empty.insert(File::from(open_socket(address)?)),
        };
        Poll::Ready(retry_interrupted(|| file.write(bytes)))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn retry_interrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn open_socket(config: &Config) -> io::Result<OwnedFd> {
    let ports = config.get_ports();
    let mut opened = Err(ErrorKind::NotFound.into());
    for (number, host) in config.get_hosts().iter().enumerate() {
        let port = ports.get(number).or(ports.first()).copied().unwrap_or(PORT);
        opened = match host {
            Host::Unix(folder) => {
                UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).map(Into::into)
            }
            Host::Tcp(name) => open_tcp(name, port, config),
        };
        if opened.is_ok() {
            break;
        }
    }
    opened
}

fn open_tcp(name: &str, port: u16, config: &Config) -> io::Result<OwnedFd> {
    let mut opened = Err(ErrorKind::NotFound.into());
    for address in (name, port).to_socket_addrs()? {
        opened = match config.get_connect_timeout() {
            Some(limit) => TcpStream::connect_timeout(&address, *limit),
            None => TcpStream::connect(address),
        };
        if opened.is_ok() {
            break;
        }
    }
    let stream: TcpStream = opened?;
    stream.set_nodelay(true)?;
    Ok(stream.into())
}
