//! A port without a listener.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

/// A port of this machine without a listener, reserved while this exists: a port that was free a
/// moment ago may be in use soon.
pub struct ClosedPort(TcpListener);

impl ClosedPort {
    #[must_use]
    pub fn take() -> Self {
        let cloexec = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, cloexec, None);
        let socket = socket.expect("a socket");
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        // It does not listen: the type is used for the address.
        Self(TcpListener::from(socket))
    }

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
