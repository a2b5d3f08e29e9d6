//! TLS to a server that somebody else runs. Its certificate is verified unless a URL says
//! otherwise.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::address::ServerHost;
use super::verifier;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportSecurity {
    /// It does not leave this machine.
    Local,
    /// It crosses a network without TLS.
    Plain,
    /// TLS; the server is not verified.
    Unverified,
    /// TLS; any certificate of the authority will do.
    Authority,
    /// TLS; the certificate has to be for the URL's host.
    Verified,
}

impl TransportSecurity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Plain => "plain",
            Self::Unverified => "TLS, unverified",
            Self::Authority => "TLS, authority verified",
            Self::Verified => "TLS, verified",
        }
    }

    pub(crate) fn default_for(host: &ServerHost) -> Self {
        if is_local(host) { Self::Local } else { Self::Verified }
    }

    pub(crate) fn without_tls(host: &ServerHost) -> Self {
        if is_local(host) { Self::Local } else { Self::Plain }
    }

    pub(crate) fn is_tls(self) -> bool {
        matches!(self, Self::Unverified | Self::Authority | Self::Verified)
    }
}

fn is_local(host: &ServerHost) -> bool {
    match host {
        ServerHost::Folder(_) => true,
        ServerHost::Name(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
    }
}

pub(crate) fn read_certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(file).and_then(|found| found.collect());
    let wrong = match read {
        Ok(found) if found.is_empty() => "it holds none".to_owned(),
        Ok(found) => return Ok(found),
        Err(error) => error.to_string(),
    };
    let file = file.display();
    Err(format!(
        "no certificate can be had from {file}: {wrong}\n\
         give the path of the authority's certificate, in PEM (-----BEGIN CERTIFICATE-----)"
    ))
}

pub(crate) fn system_roots() -> Option<PathBuf> {
    openssl_probe::probe().cert_file
}

pub(crate) fn find_refusal<'e>(failure: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(refusal) = failure.downcast_ref::<rustls::Error>() {
        return Some(refusal);
    }
    let inside = failure.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match inside {
        Some(inside) => find_refusal(inside),
        None => failure.source().and_then(find_refusal),
    }
}

/// A socket whose bytes are encrypted.
pub(crate) type EncryptedSocket = StreamOwned<ClientConnection, TcpStream>;

/// TLS for PostgreSQL's clients. Its files are read at the first connection.
#[derive(Clone)]
pub(crate) struct Tls(Arc<TlsSettings>);

struct TlsSettings {
    transport: TransportSecurity,
    host: String,
    roots: Option<PathBuf>,
    ready: OnceLock<Result<(Arc<ClientConfig>, ServerName<'static>), String>>,
}

impl Tls {
    pub fn new(transport: TransportSecurity, host: &ServerHost, roots: Option<PathBuf>) -> Self {
        let host = match host {
            ServerHost::Name(name) => name.clone(),
            ServerHost::Folder(_) => String::new(),
        };
        Self(Arc::new(TlsSettings { transport, host, roots, ready: OnceLock::new() }))
    }

    /// For connections that don't leave this machine.
    pub fn none() -> Self {
        Self::new(TransportSecurity::Local, &ServerHost::Name(String::new()), None)
    }

    pub fn transport(&self) -> TransportSecurity {
        self.0.transport
    }

    fn ready(&self) -> io::Result<(Arc<ClientConfig>, ServerName<'static>)> {
        let ready = self.0.ready.get_or_init(|| self.0.build_config());
        ready.clone().map_err(io::Error::other)
    }

    fn start_handshake<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> Handshake<S> {
        match self.ready() {
            Ok((config, name)) => {
                let connector = TlsConnector::from(config);
                Handshake::Going(Box::new(connector.connect(name, stream)))
            }
            Err(wrong) => Handshake::Failed(Some(wrong)),
        }
    }

    /// For a thread that waits in its reads.
    pub fn encrypt_socket(&self, mut socket: TcpStream) -> io::Result<EncryptedSocket> {
        let (config, name) = self.ready()?;
        let mut connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(StreamOwned::new(connection, socket))
    }
}

impl TlsSettings {
    fn build_config(&self) -> Result<(Arc<ClientConfig>, ServerName<'static>), String> {
        let name = ServerName::try_from(self.host.clone())
            .map_err(|_| format!("{} is not a name that a certificate can have", self.host))?;
        let config = match self.transport {
            TransportSecurity::Verified => verifier::by_name(self.read_roots()?),
            TransportSecurity::Authority => verifier::by_authority(self.read_roots()?),
            _ => verifier::by_nothing(),
        };
        Ok((Arc::new(config?), name))
    }

    fn read_roots(&self) -> Result<RootCertStore, String> {
        let file = self.roots.clone().or_else(system_roots);
        let file = file.ok_or(
            "this system has no file of certificates that it trusts\n\
                               apt-get install ca-certificates, or give the authority's own",
        )?;
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(read_certificates(&file)?);
        if added == 0 {
            return Err(format!("no certificate in {} can be used", file.display()));
        }
        Ok(roots)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> MakeTlsConnect<S> for Tls {
    type Stream = EncryptedStream<S>;
    type TlsConnect = Self;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _: &str) -> io::Result<Self> {
        Ok(self.clone())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsConnect<S> for Tls {
    type Stream = EncryptedStream<S>;
    type Error = io::Error;
    type Future = Handshake<S>;

    fn connect(self, stream: S) -> Handshake<S> {
        self.start_handshake(stream)
    }
}

pub(crate) enum Handshake<S> {
    Going(Box<tokio_rustls::Connect<S>>),
    Failed(Option<io::Error>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Handshake<S> {
    type Output = io::Result<EncryptedStream<S>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Going(handshake) => {
                Pin::new(handshake).poll(context).map_ok(|stream| EncryptedStream(Box::new(stream)))
            }
            Self::Failed(failure) => {
                Poll::Ready(Err(failure.take().unwrap_or(io::ErrorKind::Other.into())))
            }
        }
    }
}

pub(crate) struct EncryptedStream<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for EncryptedStream<S> {
    /// None: a server that wants it takes a password without it, too.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for EncryptedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for EncryptedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
