//! Where a page is: its URL, the addresses that this stands for, and whether they are this machine's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

/// How it is written.
pub const SYNTAX: &str =
    "http://HOST[:PORT]/PATH, or http+unix://SOCKET/PATH with the socket's path written with %2F";

/// How long it is tried whether somebody listens at one of several addresses.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where a page is, and how it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageAddress {
    /// What to connect to.
    pub at: At,
    /// The value of the header `Host`.
    pub host: String,
    /// The path, and the query after it.
    pub path: String,
}

/// What to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum At {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// The URL in its canonical form.
///
/// # Errors
/// What is wrong with it, and how it is written.
pub fn canonical(text: &str) -> Result<String, String> {
    let wrong = |why: &str| Err(format!("`{text}` {why}\nvalid: {SYNTAX}"));
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => return wrong(&format!("is no URL: {error}")),
    };
    match url.scheme() {
        "http" | "http+unix" => {}
        "https" => {
            return wrong("needs TLS, which bakeoff does not load: give the page's http URL");
        }
        _ => return wrong("is not of HTTP"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("has a user name, which HTTP does not send like this");
    }
    if url.fragment().is_some() {
        return wrong("has a #, which a server never sees");
    }
    if url.scheme() == "http+unix" && socket(&url).is_none() {
        return wrong("names no socket by its whole path");
    }
    // A level of a factor has neither of these.
    Ok(url.as_str().replace(',', "%2C").replace('@', "%40"))
}

/// The path of a Unix socket.
fn socket(url: &Url) -> Option<PathBuf> {
    let path = percent_decode_str(url.host_str()?).decode_utf8().ok()?;
    path.starts_with('/').then(|| PathBuf::from(path.into_owned()))
}

impl PageAddress {
    /// Of a URL in its canonical form.
    ///
    /// # Errors
    /// The host has no address, or is another machine.
    pub fn from_url(canonical: &str) -> Result<Self, String> {
        Self::found(canonical, is_local)
    }

    /// The same on any machine.
    ///
    /// # Errors
    /// The host has no address.
    pub fn anywhere(canonical: &str) -> Result<Self, String> {
        Self::found(canonical, |_| true)
    }

    /// Of a URL all of whose addresses may be loaded.
    fn found(canonical: &str, may_be: fn(IpAddr) -> bool) -> Result<Self, String> {
        let url = Url::parse(canonical).map_err(|error| error.to_string())?;
        let path = match url.query() {
            Some(query) => format!("{}?{query}", path(&url)),
            None => path(&url).to_owned(),
        };
        if let ("http+unix", Some(socket)) = (url.scheme(), socket(&url)) {
            return Ok(Self { at: At::Unix(socket), host: "localhost".into(), path });
        }
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(80);
        let found = url.socket_addrs(|| Some(port));
        let addresses = found.map_err(|error| format!("{host} has no address: {error}"))?;
        let elsewhere = |address: &&SocketAddr| !may_be(address.ip());
        if let Some(other) = addresses.iter().find(elsewhere) {
            return Err(format!(
                "{} is another machine; bakeoff loads this machine's own addresses alone: run it where \
                 the server is, or, if you run that server and may load it, add --i-run-this-server",
                other.ip()
            ));
        }
        let at = chosen(addresses, listens).ok_or_else(|| format!("{host} has no address"))?;
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.into(),
        };
        Ok(Self { at: At::Tcp(at), host, path })
    }
}

/// The one of a host's addresses that is loaded: the first where somebody listens, and those of IPv4 are tried
/// before those of IPv6; where nobody does, the first. A single one is not tried.
fn chosen(
    mut addresses: Vec<SocketAddr>,
    listens: impl Fn(&SocketAddr) -> bool,
) -> Option<SocketAddr> {
    addresses.sort_by_key(SocketAddr::is_ipv6);
    let first = *addresses.first()?;
    if addresses.len() == 1 {
        return Some(first);
    }
    Some(addresses.into_iter().find(listens).unwrap_or(first))
}

/// Whether somebody takes connections there.
fn listens(address: &SocketAddr) -> bool {
    TcpStream::connect_timeout(address, PATIENCE).is_ok()
}

/// The path as it is sent.
fn path(url: &Url) -> &str {
    if url.path().is_empty() { "/" } else { url.path() }
}

/// Whether an address is this machine's own. The kernel answers to its own address from that same one;
/// nothing is sent to find out.
fn is_local(address: IpAddr) -> bool {
    if address.is_loopback() || address.is_unspecified() {
        return true;
    }
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_one_form() {
        for (text, form) in [
            ("http://localhost", "http://localhost/"),
            ("HTTP://LOCALHOST:80/a?b=c,d", "http://localhost/a?b=c%2Cd"),
            ("http://127.1:8080/x@y", "http://127.0.0.1:8080/x%40y"),
            ("http://[::1]:81/", "http://[::1]:81/"),
            ("http+unix://%2Frun%2Fweb.sock/page", "http+unix://%2Frun%2Fweb.sock/page"),
        ] {
            assert_eq!(canonical(text).as_deref(), Ok(form), "{text}");
            assert_eq!(canonical(form).as_deref(), Ok(form), "{form} once more");
        }
    }

    #[test]
    fn what_is_no_page_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "no URL"),
            ("localhost:8080", "not of HTTP"),
            ("ftp://localhost/", "not of HTTP"),
            ("https://localhost/", "TLS"),
            ("http://", "no URL"),
            ("http://me:secret@localhost/", "user name"),
            ("http://localhost/#part", "never sees"),
            ("http://localhost:99999/", "no URL"),
            ("http+unix:///page", "no socket"),
            ("http+unix://web.sock/page", "no socket"),
        ] {
            let error = canonical(text).unwrap_err();
            assert!(error.contains(reason) && error.contains("\nvalid: "), "{text}: {error}");
        }
    }

    #[test]
    fn a_page_is_asked_for_by_its_path_and_host() {
        let source = PageAddress::from_url("http://127.0.0.1:8080/a%20b?c=d").unwrap();
        assert_eq!((&*source.host, &*source.path), ("127.0.0.1:8080", "/a%20b?c=d"));
        assert_eq!(source.at, At::Tcp("127.0.0.1:8080".parse().unwrap()));
        let source = PageAddress::from_url("http+unix://%2Frun%2Fweb.sock").unwrap();
        assert_eq!((&*source.host, &*source.path), ("localhost", "/"));
        assert_eq!(source.at, At::Unix("/run/web.sock".into()));
    }

    #[test]
    fn of_several_addresses_the_one_is_loaded_where_somebody_listens() {
        let all = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let both = || all(&["[::1]:80", "127.0.0.1:80"]);
        for (there, loaded) in [
            (&["127.0.0.1:80"][..], "127.0.0.1:80"),
            (&["[::1]:80"][..], "[::1]:80"),
            (&["127.0.0.1:80", "[::1]:80"][..], "127.0.0.1:80"),
            (&[][..], "127.0.0.1:80"),
        ] {
            let there = all(there);
            let found = chosen(both(), |address| there.contains(address));
            assert_eq!(found, loaded.parse::<SocketAddr>().ok(), "{there:?}");
        }
        let single = chosen(all(&["[::1]:80"]), |_| panic!("a single one is not tried"));
        assert_eq!(single, "[::1]:80".parse::<SocketAddr>().ok());
        assert_eq!(chosen(Vec::new(), |_| true), None);
    }

    #[test]
    fn another_machine_is_not_loaded() {
        for address in ["192.0.2.1", "8.8.8.8", "[2001:db8::1]"] {
            let error = PageAddress::from_url(&format!("http://{address}/")).unwrap_err();
            assert!(error.contains("another machine"), "{error}");
        }
        assert!(PageAddress::from_url("http://127.9.8.7/").is_ok());
        let theirs = PageAddress::anywhere("http://192.0.2.1:81/x").unwrap();
        assert_eq!(theirs.at, At::Tcp("192.0.2.1:81".parse().unwrap()));
    }
}
