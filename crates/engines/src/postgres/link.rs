//! The way to a server: a socket, or TLS on one.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use rustix::net::sockopt::set_socket_keepalive;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::external::PORT;
use crate::external::tls::{EncryptedSocket, Tls};
use crate::socket::{ByteSource, send_all};

/// Dropping it closes the socket, which ends the server's side of it.
#[derive(Debug)]
pub(super) enum PostgresLink {
    Plain(OwnedFd),
    Encrypted(Box<EncryptedSocket>),
}

impl PostgresLink {
    pub fn open(config: &Config, tls: &Tls) -> io::Result<Self> {
        let socket = open_socket(config)?;
        if !tls.transport().is_tls() {
            return Ok(Self::Plain(socket));
        }
        let mut socket = TcpStream::from(socket);
        request_tls(&mut socket)?;
        Ok(Self::Encrypted(Box::new(tls.encrypt_socket(socket)?)))
    }

    pub fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(socket) => send_all(socket, bytes),
            Self::Encrypted(socket) => {
                socket.write_all(bytes)?;
                socket.flush()
            }
        }
    }
}

impl ByteSource for &mut PostgresLink {
    fn await_bytes(&mut self) -> io::Result<()> {
        match self {
            PostgresLink::Plain(socket) => socket.await_bytes(),
            // Some may be decrypted already.
            PostgresLink::Encrypted(_) => Ok(()),
        }
    }

    fn receive_bytes(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            PostgresLink::Plain(socket) => socket.receive_bytes(into),
            PostgresLink::Encrypted(socket) => loop {
                match socket.read(into) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    done => return done,
                }
            },
        }
    }
}

fn request_tls(socket: &mut TcpStream) -> io::Result<()> {
    let (mut request, mut answer) = (BytesMut::new(), [0]);
    frontend::ssl_request(&mut request);
    socket.write_all(&request)?;
    socket.read_exact(&mut answer)?;
    match answer {
        [b'S'] => Ok(()),
        _ => Err(io::Error::other("server does not support TLS")),
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
    set_socket_keepalive(&stream, true)?;
    Ok(stream.into())
}
