//! A non-blocking connection to a web server.

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

#[derive(Debug)]
pub struct PageConnection {
    socket: OwnedFd,
    pub is_connecting: bool,
    sent: usize,
    /// Includes the present one.
    pub requests: u32,
    pub answer: IncomingResponse,
}

/// Local addresses of connections. A loopback address has some 28,000 ports, and each is free again
/// only a minute after its connection closed.
#[derive(Debug)]
pub struct LocalAddresses {
    /// The last two bytes; `None` if the system chooses.
    next: Option<u16>,
    driver: u8,
}

impl LocalAddresses {
    /// `many`: connections are made again and again. Then the source address changes, if addresses
    /// stay within 127.0.0.0/8.
    pub fn new(at: &At, many: bool, driver: usize) -> Self {
        let within = matches!(at, At::Tcp(SocketAddr::V4(to)) if to.ip().is_loopback());
        Self { next: (many && within).then_some(0), driver: (driver % 254) as u8 + 1 }
    }

    fn next(&mut self) -> Option<SocketAddr> {
        let number = self.next.as_mut()?;
        *number = (*number + 1) % 0x4000;
        let [high, low] = number.to_be_bytes();
        let address = Ipv4Addr::new(127, self.driver, high, low.max(1));
        Some(SocketAddr::new(IpAddr::V4(address), 0))
    }
}

impl PageConnection {
    pub fn begin_connecting(at: &At, origins: &mut LocalAddresses) -> Result<Self, Fault> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = match at {
            At::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            At::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            At::Unix(_) => AddressFamily::UNIX,
        };
        let socket = socket_with(family, SocketType::STREAM, flags, None)
            .map_err(Fault::from_connect_error)?;
        let connected = match at {
            At::Tcp(address) => {
                sockopt::set_tcp_nodelay(&socket, true).map_err(Fault::from_connect_error)?;
                if let Some(origin) = origins.next() {
                    bind(&socket, &origin).map_err(Fault::from_connect_error)?;
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
            Err(errno) => return Err(Fault::from_connect_error(errno)),
        };
        Ok(Self {
            socket,
            is_connecting,
            sent: 0,
            requests: 0,
            answer: IncomingResponse::default(),
        })
    }

    pub fn finish_connecting(&mut self) -> Result<(), Fault> {
        match sockopt::socket_error(&self.socket) {
            Ok(Ok(())) => {
                self.is_connecting = false;
                Ok(())
            }
            Ok(Err(errno)) | Err(errno) => Err(Fault::from_connect_error(errno)),
        }
    }

    pub fn renew(&mut self) {
        self.sent = 0;
        self.requests += 1;
        self.answer.renew();
    }

    pub fn send_rest(&mut self, request: &[u8]) -> Result<bool, Fault> {
        while self.sent < request.len() {
            match send(&self.socket, &request[self.sent..], SendFlags::NOSIGNAL) {
                Ok(sent) => self.sent += sent,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Fault::from_io_error(errno)),
            }
        }
        Ok(true)
    }

    /// `None` if nothing has come, 0 at the end.
    pub fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        loop {
            match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((_, read)) => return Ok(Some(read)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Fault::from_io_error(errno)),
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
            let mut origins = LocalAddresses::new(&local, true, driver);
            seen.extend((0..1000).map(|_| origins.next().unwrap()));
        }
        assert!(seen.len() > 1900, "{}", seen.len());
        assert!(seen.iter().all(|it| it.ip().is_loopback() && it.port() == 0));
        let other = At::Tcp("[::1]:80".parse().unwrap());
        for (at, many) in [(&local, false), (&other, true), (&At::Unix("/run/x".into()), true)] {
            assert_eq!(LocalAddresses::new(at, many, 0).next(), None, "{at:?}");
        }
    }
}
