//! A port that nobody serves.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

/// A port of this machine at which nobody listens, nor can as long as this is there: one that was free a moment
/// ago is soon somebody else's.
pub struct ClosedPort(TcpListener);

impl ClosedPort {
    /// Takes one.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn take() -> Self {
        let cloexec = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, cloexec, None);
        let socket = socket.expect("a socket");
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        // It is not told to listen: the type is there for the address.
        Self(TcpListener::from(socket))
    }

    /// Where it is.
    ///
    /// # Panics
    /// When the system does not say so.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("it is bound")
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn nobody_is_let_in_there_and_nobody_else_can_listen() {
        let port = ClosedPort::take();
        let refused = TcpStream::connect(port.address()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let taken = TcpListener::bind(port.address()).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    }
}
