//! The URL of a database, parsed once and strictly. Its name is the URL without the password.

use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::password::Secret;

/// All but what RFC 3986 calls unreserved is escaped.
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const IN_VALUES: AsciiSet = RESERVED.remove(b'/').remove(b':');

const ESCAPES: &str = "write a character that has a meaning in URLs, a quote, a brace, a space or a \
                       letter that is not ASCII as `%` and two digits for each of its bytes: %2F \
                       for /, %3F for ?, %23 for #, %40 for @, %25 for %, %27 for ', %22 for \", \
                       %7B and %7D for { and }, %5C for \\, %60 for `, %2C for a comma, %20 for a \
                       space";

pub(crate) struct UrlSyntax {
    pub scheme: &'static str,
    pub example: &'static str,
    pub parameters: &'static [&'static str],
    pub has_engine: bool,
    pub passwords: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerHost {
    Name(String),
    Folder(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerUrl {
    pub user: String,
    pub password: Option<Secret>,
    pub host: ServerHost,
    pub port: Option<u16>,
    pub database: String,
    pub parameters: Vec<(&'static str, String)>,
    pub engine: Option<String>,
}

/// It never quotes a part that could be a password.
type UrlProblem = String;

impl ServerUrl {
    pub fn from_url(url: &str, form: &UrlSyntax) -> Result<Self, String> {
        let (_, rest) = url.split_once("://").unwrap_or(("", url));
        take_apart(rest, form)
            .map_err(|wrong| format!("the URL {wrong}\na database is {}\n{ESCAPES}", form.example))
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }

    /// The canonical URL without its password.
    pub fn to_name(&self, form: &UrlSyntax) -> String {
        let encode = |text: &str| utf8_percent_encode(text, &RESERVED).to_string();
        let host = match &self.host {
            ServerHost::Name(name) if name.contains(':') => format!("[{name}]"),
            ServerHost::Name(name) => encode(name),
            ServerHost::Folder(folder) => encode(&folder.to_string_lossy()),
        };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        let parameter = |(name, value): &(&str, String)| {
            format!("{name}={}", utf8_percent_encode(value, &IN_VALUES))
        };
        let parameters: Vec<String> = self.parameters.iter().map(parameter).collect();
        let parameters = match parameters.is_empty() {
            true => String::new(),
            false => format!("?{}", parameters.join("&")),
        };
        let engine = self.engine.as_ref().map(|engine| format!("#{engine}")).unwrap_or_default();
        let (user, database) = (encode(&self.user), encode(&self.database));
        format!("{}://{user}@{host}{port}/{database}{parameters}{engine}", form.scheme)
    }
}

fn take_apart(rest: &str, form: &UrlSyntax) -> Result<ServerUrl, UrlProblem> {
    if !rest.bytes().all(|byte| byte.is_ascii_graphic() && !b"'\"{}\\`<>^|".contains(&byte)) {
        return Err("has a character that can't stand in one as it is".into());
    }
    if rest.matches('@').count() > 1 {
        return Err("has more than one @: write only the one before the host as it is".into());
    }
    let (rest, engine) = match rest.split_once('#') {
        Some((rest, engine)) => (rest, Some(engine)),
        None => (rest, None),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = match rest.split_once('/') {
        Some((authority, database)) => (authority, Some(database)),
        None => (rest, None),
    };
    if authority.contains(',') {
        return Err("has a comma before its database: it names one host".into());
    }
    let Some((user, host)) = authority.split_once('@') else {
        let inside =
            [database, Some(query), engine].into_iter().flatten().any(|it| it.contains('@'));
        return Err(match inside {
            true => "has a /, ? or # before its @".into(),
            false => "names no user".into(),
        });
    };
    let (user, password) = match user.split_once(':') {
        Some((user, password)) => (user, decode_part("a password", password)?),
        None => (user, String::new()),
    };
    let (host, port) = host_and_port(host)?;
    Ok(ServerUrl {
        user: require_text("no user", decode_part("a user", user)?)?,
        password: (!password.is_empty()).then(|| Secret::new(password)),
        host,
        port,
        database: match database.unwrap_or_default() {
            several if several.contains('/') => return Err("has a / behind its database".into()),
            one => require_text("no database", decode_part("a database", one)?)?,
        },
        parameters: parse_parameters(query, form)?,
        engine: match engine {
            Some(_) if !form.has_engine => {
                return Err("has a #, which the URL of such a database can't have".into());
            }
            Some(engine) if !engine.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                return Err("has more than a storage engine behind its #".into());
            }
            engine => engine.map(Into::into),
        },
    })
}

fn require_text(missing: &str, text: String) -> Result<String, UrlProblem> {
    if text.is_empty() { Err(format!("names {missing}")) } else { Ok(text) }
}

fn decode_part(what: &str, text: &str) -> Result<String, UrlProblem> {
    let hex = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|it| it.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(hex) {
        return Err(format!("has {what} with a % without two hexadecimal digits after it"));
    }
    let text = percent_decode_str(text).decode_utf8();
    match text {
        Ok(text) if !text.contains('\0') => Ok(text.into_owned()),
        _ => Err(format!("has {what} that is not UTF-8 text")),
    }
}

/// `name`, `name:port`, `[::1]:port`, or `%2Ffolder`.
fn host_and_port(text: &str) -> Result<(ServerHost, Option<u16>), UrlProblem> {
    let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((address, rest))) => {
            let address = address.parse::<std::net::Ipv6Addr>();
            let address = address.map_err(|_| "has no IPv6 address between [ and ]")?;
            (ServerHost::Name(address.to_string()), rest.strip_prefix(':').or(non_empty(rest)))
        }
        Some(None) => return Err("has a [ without a ]".into()),
        None => {
            let (host, port) = match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            };
            let host = require_text("no host", decode_part("a host", host)?)?;
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            let host = match host {
                folder if folder.starts_with('/') => ServerHost::Folder(folder.into()),
                name if name.bytes().all(is_name) => ServerHost::Name(name.to_ascii_lowercase()),
                _ => return Err("has a host that is neither a name nor an address".into()),
            };
            (host, port)
        }
    };
    let number = |port: &str| match port.parse::<u16>() {
        Ok(number) if number > 0 && port.bytes().all(|byte| byte.is_ascii_digit()) => Ok(number),
        _ => Err("has a port that is not a number from 1 to 65535".to_owned()),
    };
    Ok((host, port.map(number).transpose()?))
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn parse_parameters(
    query: &str,
    form: &UrlSyntax,
) -> Result<Vec<(&'static str, String)>, UrlProblem> {
    let mut found = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            return Err("has a parameter without a value: a parameter is name=value".into());
        };
        let known = form.parameters.iter().find(|known| **known == name);
        let name = *known.ok_or_else(|| refuse_unknown_parameter(name, form))?;
        if found.iter().any(|(other, _)| *other == name) {
            return Err(format!("has the parameter {name} twice"));
        }
        let value = require_text("nothing by a parameter", decode_part("a parameter", value)?)?;
        found.push((name, value));
    }
    let place = |name: &str| form.parameters.iter().position(|known| *known == name);
    found.sort_by_key(|(name, _)| place(name));
    Ok(found)
}

/// Never quotes the value: it may be a password.
fn refuse_unknown_parameter(name: &str, form: &UrlSyntax) -> UrlProblem {
    let lower = name.to_ascii_lowercase();
    if ["pass", "pwd", "secret", "token"].iter().any(|part| lower.contains(part)) {
        return format!("has a password among its parameters: it belongs {}", form.passwords);
    }
    if lower == "user" {
        return "names a user among its parameters: a user stands before the host".into();
    }
    let valid = form.parameters.join(", ");
    if name.is_empty()
        || name.len() > 40
        || !name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it))
    {
        return format!("has an unknown parameter; valid: {valid}");
    }
    let distance = |known: &str| strsim::osa_distance(&lower, known);
    let nearest = form.parameters.iter().min_by_key(|known| distance(known));
    let nearest = nearest.filter(|known| distance(known) <= known.len().max(3) / 3);
    let meant = nearest.map(|known| format!("; did you mean {known}?")).unwrap_or_default();
    format!("has the unknown parameter {name}{meant}; valid: {valid}")
}
