//! The address of a page: its URL, its IP addresses, and whether they belong to this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

pub const SYNTAX: &str =
    "http://HOST[:PORT]/PATH, or http+unix://SOCKET/PATH with the socket's path written with %2F";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageAddress {
    pub at: At,
    pub host: String,
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum At {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl At {
    pub fn is_on_this_machine(&self) -> bool {
        match self {
            Self::Tcp(address) => is_local(address.ip()),
            Self::Unix(_) => true,
        }
    }
}

pub fn to_canonical_url(text: &str) -> Result<String, String> {
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
    if url.scheme() == "http+unix" && socket_path(&url).is_none() {
        return wrong("names no socket by its whole path");
    }
    // These two characters separate levels, so a level can't hold them.
    Ok(url.as_str().replace(',', "%2C").replace('@', "%40"))
}

fn socket_path(url: &Url) -> Option<PathBuf> {
    let path = percent_decode_str(url.host_str()?).decode_utf8().ok()?;
    path.starts_with('/').then(|| PathBuf::from(path.into_owned()))
}

impl PageAddress {
    pub fn from_url(canonical: &str) -> Result<Self, String> {
        Self::from_url_within(canonical, is_local)
    }

    pub fn from_url_anywhere(canonical: &str) -> Result<Self, String> {
        Self::from_url_within(canonical, |_| true)
    }

    /// `may_be` says which addresses are allowed; all addresses of the host must be.
    fn from_url_within(canonical: &str, may_be: fn(IpAddr) -> bool) -> Result<Self, String> {
        let url = Url::parse(canonical).map_err(|error| error.to_string())?;
        let path = match url.query() {
            Some(query) => format!("{}?{query}", request_path(&url)),
            None => request_path(&url).to_owned(),
        };
        if let ("http+unix", Some(socket)) = (url.scheme(), socket_path(&url)) {
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
        let at = choose_address(addresses, has_listener)
            .ok_or_else(|| format!("{host} has no address"))?;
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.into(),
        };
        Ok(Self { at: At::Tcp(at), host, path })
    }
}

/// Takes the first address that listens, IPv4 before IPv6; else the first one. A single address is
/// not tried.
fn choose_address(
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

fn has_listener(address: &SocketAddr) -> bool {
    TcpStream::connect_timeout(address, CONNECT_TIMEOUT).is_ok()
}

fn request_path(url: &Url) -> &str {
    if url.path().is_empty() { "/" } else { url.path() }
}

/// The kernel talks to its own address from that same address. Connecting a UDP socket shows it, and
/// sends nothing.
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
            assert_eq!(to_canonical_url(text).as_deref(), Ok(form), "{text}");
            assert_eq!(to_canonical_url(form).as_deref(), Ok(form), "{form} once more");
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
            let error = to_canonical_url(text).unwrap_err();
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
            let found = choose_address(both(), |address| there.contains(address));
            assert_eq!(found, loaded.parse::<SocketAddr>().ok(), "{there:?}");
        }
        let single = choose_address(all(&["[::1]:80"]), |_| panic!("a single one is not tried"));
        assert_eq!(single, "[::1]:80".parse::<SocketAddr>().ok());
        assert_eq!(choose_address(Vec::new(), |_| true), None);
    }

    #[test]
    fn another_machine_is_not_loaded() {
        for address in ["192.0.2.1", "8.8.8.8", "[2001:db8::1]"] {
            let error = PageAddress::from_url(&format!("http://{address}/")).unwrap_err();
            assert!(error.contains("another machine"), "{error}");
        }
        assert!(PageAddress::from_url("http://127.9.8.7/").is_ok());
        let theirs = PageAddress::from_url_anywhere("http://192.0.2.1:81/x").unwrap();
        assert_eq!(theirs.at, At::Tcp("192.0.2.1:81".parse().unwrap()));
    }
}
