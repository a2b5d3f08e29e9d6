//! A connection to a web server: made, written to and read from without waiting.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect,
    recv, send, socket_with, sockopt,
};

use super::answer::IncomingResponse;
use super::fault::Fault;
use super::url::At;

/// An open connection, or one that is being made.
#[derive(Debug)]
pub struct PageConnection {
    socket: OwnedFd,
    /// Whether the other side has not accepted it yet.
    pub is_connecting: bool,
    /// Bytes of the present request that were sent.
    sent: usize,
    /// Requests that were sent on it, with the present one.
    pub requests: u32,
    /// The answer that comes in.
    pub answer: IncomingResponse,
}

/// Where connections come from. A loopback address has some 28,000 ports, and a port is free again a minute
/// after its connection was closed.
#[derive(Debug)]
pub struct Origins {
    /// The next address: its last two bytes; `None` where the system chooses.
    next: Option<u16>,
    /// The second byte, which no other driver has.
    driver: u8,
}

impl Origins {
    /// For the driver of that number: many addresses where connections are made again and again and
    /// stay within 127.0.0.0/8, else the system's choice.
    pub fn new(at: &At, many: bool, driver: usize) -> Self {
        let within = matches!(at, At::Tcp(SocketAddr::V4(to)) if to.ip().is_loopback());
        Self { next: (many && within).then_some(0), driver: (driver % 254) as u8 + 1 }
    }

    /// The next address.
    fn next(&mut self) -> Option<SocketAddr> {
        let number = self.next.as_mut()?;
        *number = (*number + 1) % 0x4000;
        let [high, low] = number.to_be_bytes();
        let address = Ipv4Addr::new(127, self.driver, high, low.max(1));
        Some(SocketAddr::new(IpAddr::V4(address), 0))
    }
}

impl PageConnection {
    /// Begins to connect.
    ///
    /// # Errors
    /// Why it can't be connected, where that is known at once.
    pub fn begin(at: &At, origins: &mut Origins) -> Result<Self, Fault> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = match at {
            At::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            At::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            At::Unix(_) => AddressFamily::UNIX,
        };
        let socket =
            socket_with(family, SocketType::STREAM, flags, None).map_err(Fault::connecting)?;
        let connected = match at {
            At::Tcp(address) => {
                sockopt::set_tcp_nodelay(&socket, true).map_err(Fault::connecting)?;
                if let Some(origin) = origins.next() {
                    bind(&socket, &origin).map_err(Fault::connecting)?;
                }
                connect(&socket, address)
            }
            At::Unix(path) => {
                SocketAddrUnix::new(path.as_path()).and_then(|address| connect(&socket, &address))
            }
        };
        let is_connecting = match connected {
            Ok(()) => false,
            Err(Errno::INPROGRESS) => true,
            Err(errno) => return Err(Fault::connecting(errno)),
        };
        Ok(Self {
            socket,
            is_connecting,
            sent: 0,
            requests: 0,
            answer: IncomingResponse::default(),
        })
    }

    /// The other side has accepted it, or not.
    ///
    /// # Errors
    /// Why not.
    pub fn connected(&mut self) -> Result<(), Fault> {
        match sockopt::socket_error(&self.socket) {
            Ok(Ok(())) => {
                self.is_connecting = false;
                Ok(())
            }
            Ok(Err(errno)) | Err(errno) => Err(Fault::connecting(errno)),
        }
    }

    /// Gets ready for another request.
    pub fn renew(&mut self) {
        self.sent = 0;
        self.requests += 1;
        self.answer.renew();
    }

    /// Sends what is left of a request; whether that was all.
    ///
    /// # Errors
    /// Why it can't be sent.
    pub fn send(&mut self, request: &[u8]) -> Result<bool, Fault> {
        while self.sent < request.len() {
            match send(&self.socket, &request[self.sent..], SendFlags::NOSIGNAL) {
                Ok(sent) => self.sent += sent,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Fault::talking(errno)),
            }
        }
        Ok(true)
    }

    /// Reads what has come; `None` where nothing has, 0 at the end.
    ///
    /// # Errors
    /// Why it can't be read.
    pub fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        loop {
            match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((_, read)) => return Ok(Some(read)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Fault::talking(errno)),
            }
        }
    }
}

impl AsFd for PageConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn connections_that_are_made_again_and_again_come_from_many_addresses() {
        let local = At::Tcp("127.0.0.1:80".parse().unwrap());
        let mut seen = BTreeSet::new();
        for driver in [0, 1] {
            let mut origins = Origins::new(&local, true, driver);
            seen.extend((0..1000).map(|_| origins.next().unwrap()));
        }
        assert!(seen.len() > 1900, "{}", seen.len());
        assert!(seen.iter().all(|it| it.ip().is_loopback() && it.port() == 0));
        let other = At::Tcp("[::1]:80".parse().unwrap());
        for (at, many) in [(&local, false), (&other, true), (&At::Unix("/run/x".into()), true)] {
            assert_eq!(Origins::new(at, many, 0).next(), None, "{at:?}");
        }
    }
}
