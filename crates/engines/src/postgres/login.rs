//! A session's login. The library does it, on a socket that a session keeps.
//!
//! The library is made for sockets that may not be ready. This one waits in its calls, so that it is
//! always ready.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, Error, NoTls};

use super::link::PostgresLink;
use super::wire::{HEADER, message_length};
use crate::external::tls::Tls;
use crate::socket::Inbox;

/// A connection that is logged in, and what came behind the login.
pub(super) fn log_in(config: &Config, tls: &Tls) -> Result<(PostgresLink, Inbox), Error> {
    let mut stream = LoginStream { config, tls, link: None, inbox: Inbox::new(), left: 0 };
    let mut plain = config.clone();
    // The stream has TLS below what the library sees.
    plain.ssl_mode(SslMode::Disable);
    {
        let mut connecting = pin!(plain.connect_raw(&mut stream, NoTls));
        let mut context = Context::from_waker(Waker::noop());
        while connecting.as_mut().poll(&mut context).map_ok(drop)?.is_pending() {}
    }
    let LoginStream { link, inbox, .. } = stream;
    Ok((link.expect("a login has been sent on it"), inbox))
}

/// Opens its link with the first bytes that are written, and reads no more than whole messages.
struct LoginStream<'a> {
    config: &'a Config,
    tls: &'a Tls,
    link: Option<PostgresLink>,
    inbox: Inbox,
    /// Bytes of a message that are still to be read.
    left: usize,
}

impl AsyncRead for LoginStream<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { link, inbox, left, .. } = self.get_mut();
        let Some(link) = link else { return Poll::Ready(Ok(())) };
        if *left == 0 {
            inbox.fill_up_to(&mut *link, HEADER)?;
            *left = message_length(inbox.unused_bytes())?;
        }
        let count = buffer.remaining().min(*left);
        inbox.fill_up_to(link, count)?;
        let taken = inbox.use_up(count);
        buffer.put_slice(inbox.used_bytes(taken));
        *left -= count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for LoginStream<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { config, tls, link, .. } = self.get_mut();
        let link = match link {
            Some(link) => link,
            empty => empty.insert(PostgresLink::open(config, tls)?),
        };
        Poll::Ready(link.send_all(bytes).map(|()| bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
