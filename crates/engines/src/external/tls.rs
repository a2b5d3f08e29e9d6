//! How a connection to a server that somebody else runs is protected on its way: TLS, with a
//! certificate that is verified unless a URL says otherwise.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::address::ServerHost;
use super::verifier;

/// How a connection to a server is protected from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportSecurity {
    /// It does not leave this machine.
    Local,
    /// It crosses a network as it is.
    Plain,
    /// By TLS, whoever it is that answers.
    Unverified,
    /// By TLS, of anybody who has a certificate of the authority.
    Authority,
    /// By TLS, of the server with the URL's name or address.
    Verified,
}

impl TransportSecurity {
    /// In a word, for a record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Plain => "plain",
            Self::Unverified => "TLS, unverified",
            Self::Authority => "TLS, authority verified",
            Self::Verified => "TLS, verified",
        }
    }

    /// How a server there is spoken to where its URL does not say.
    pub(crate) fn usual(host: &ServerHost) -> Self {
        if is_local(host) { Self::Local } else { Self::Verified }
    }

    /// Without TLS.
    pub(crate) fn without_tls(host: &ServerHost) -> Self {
        if is_local(host) { Self::Local } else { Self::Plain }
    }

    pub(crate) fn is_tls(self) -> bool {
        matches!(self, Self::Unverified | Self::Authority | Self::Verified)
    }
}

/// Whether it is this machine, by what every machine calls itself.
fn is_local(host: &ServerHost) -> bool {
    match host {
        ServerHost::Folder(_) => true,
        ServerHost::Name(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
    }
}

/// The certificates in a file; there is at least one.
///
/// # Errors
/// When it can't be read or has none: what is wrong in a line, and what to do in the next.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
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

/// The file with the certificates that this system trusts: that of `SSL_CERT_FILE`, or the
/// system's usual one.
pub(crate) fn system_roots() -> Option<PathBuf> {
    openssl_probe::probe().cert_file
}

/// rustls's reason to refuse a server, found among the causes of a failure.
pub(crate) fn refusal<'e>(failure: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(refusal) = failure.downcast_ref::<rustls::Error>() {
        return Some(refusal);
    }
    let inside = failure.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match inside {
        Some(inside) => refusal(inside),
        None => failure.source().and_then(refusal),
    }
}

/// TLS for PostgreSQL's client; what it needs is read when it first connects.
#[derive(Clone)]
pub(crate) struct Tls(Arc<TlsTerms>);

struct TlsTerms {
    transport: TransportSecurity,
    host: String,
    /// The authority's certificates; the system's without it.
    roots: Option<PathBuf>,
    ready: OnceLock<Result<(Arc<ClientConfig>, ServerName<'static>), String>>,
}

impl Tls {
    /// To that host, under that protection.
    pub fn new(transport: TransportSecurity, host: &ServerHost, roots: Option<PathBuf>) -> Self {
        let host = match host {
            ServerHost::Name(name) => name.clone(),
            ServerHost::Folder(_) => String::new(),
        };
        Self(Arc::new(TlsTerms { transport, host, roots, ready: OnceLock::new() }))
    }

    /// None at all: for what does not leave this machine.
    pub fn none() -> Self {
        Self::new(TransportSecurity::Local, &ServerHost::Name(String::new()), None)
    }

    pub fn transport(&self) -> TransportSecurity {
        self.0.transport
    }

    fn start<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> Handshake<S> {
        match self.0.ready.get_or_init(|| self.0.prepare()) {
            Ok((config, name)) => {
                let connector = TlsConnector::from(Arc::clone(config));
                Handshake::Going(Box::new(connector.connect(name.clone(), stream)))
            }
            Err(wrong) => Handshake::Failed(Some(io::Error::other(wrong.as_str()))),
        }
    }
}

impl TlsTerms {
    fn prepare(&self) -> Result<(Arc<ClientConfig>, ServerName<'static>), String> {
        let name = ServerName::try_from(self.host.clone())
            .map_err(|_| format!("{} is not a name that a certificate can have", self.host))?;
        let config = match self.transport {
            TransportSecurity::Verified => verifier::by_name(self.roots()?),
            TransportSecurity::Authority => verifier::by_authority(self.roots()?),
            _ => verifier::by_nothing(),
        };
        Ok((Arc::new(config?), name))
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let file = self.roots.clone().or_else(system_roots);
        let file = file.ok_or(
            "this system has no file of certificates that it trusts\n\
                               apt-get install ca-certificates, or give the authority's own",
        )?;
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(certificates(&file)?);
        if added == 0 {
            return Err(format!("no certificate in {} can be used", file.display()));
        }
        Ok(roots)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> MakeTlsConnect<S> for Tls {
    type Stream = Encrypted<S>;
    type TlsConnect = Self;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _: &str) -> io::Result<Self> {
        Ok(self.clone())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsConnect<S> for Tls {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Handshake<S>;

    fn connect(self, stream: S) -> Handshake<S> {
        self.start(stream)
    }
}

/// A handshake under way.
pub(crate) enum Handshake<S> {
    Going(Box<tokio_rustls::Connect<S>>),
    Failed(Option<io::Error>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Handshake<S> {
    type Output = io::Result<Encrypted<S>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Going(handshake) => {
                Pin::new(handshake).poll(context).map_ok(|stream| Encrypted(Box::new(stream)))
            }
            Self::Failed(failure) => {
                Poll::Ready(Err(failure.take().unwrap_or(io::ErrorKind::Other.into())))
            }
        }
    }
}

/// A stream inside TLS.
pub(crate) struct Encrypted<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    /// None: a server that would have it takes a password without it, too.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
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
