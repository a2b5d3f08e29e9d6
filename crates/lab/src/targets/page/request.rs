//! The request that a page is asked with: its method, headers and body.
//!
//! Levels hold text by percent-encoding: `,` and `@` separate levels, and a line ends a header.

use bakeoff_experiment::Declared;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

const NONE: &str = "none";
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// The level is in every record and report of the run.
const LONGEST: usize = 2_000;
const ENCODED: &AsciiSet = &CONTROLS.add(b'%').add(b',').add(b'@');
/// Headers that the client itself needs.
const OWN: [&str; 7] =
    ["connection", "content-length", "expect", "te", "trailer", "transfer-encoding", "upgrade"];
/// A header whose name has one of these is taken for a secret.
const SECRET: [&str; 8] =
    ["authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "x-auth"];

pub static METHOD: Declared = Declared {
    name: "method",
    summary: "the method of the request",
    syntax: "GET, POST, PUT, PATCH, DELETE or OPTIONS",
    default: "GET",
    canonical: &|text| {
        let method = text.to_ascii_uppercase();
        match METHODS.contains(&&*method) {
            true => Ok(method),
            false => Err(format!("`{text}` is no method\nvalid: {}", METHODS.join(", "))),
        }
    },
};

pub static HEADER: Declared = Declared {
    name: "header",
    summary: "headers of the request, beside those that bakeoff sends",
    syntax: "none, or Name: value, with %0A between two; $NAME in a value is a variable of the environment",
    default: NONE,
    canonical: &|text| match text {
        NONE => Ok(NONE.into()),
        text => {
            let lines = decode_level(text)?;
            parse_headers(&lines)?;
            Ok(encode_level(&lines))
        }
    },
};

pub static BODY: Declared = Declared {
    name: "body",
    summary: "the body of the request",
    syntax: "none, or a text of 2000 bytes at most",
    default: NONE,
    canonical: &|text| match text {
        NONE => Ok(NONE.into()),
        text => Ok(encode_level(&decode_level(text)?)),
    },
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRequest {
    method: String,
    /// `$NAME` in a value stands for a variable of the environment.
    headers: Vec<(String, String)>,
    body: String,
}

/// Fails for a header that is refused. The reason has none of its value.
pub fn check_header(line: &str) -> Result<(), String> {
    parse_header(line).map(drop)
}

/// Writes a text as a level.
pub fn encode_level(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

fn decode_level(level: &str) -> Result<String, String> {
    let text = percent_decode_str(level).decode_utf8().map_err(|_| "it is not UTF-8")?;
    match text.len() <= LONGEST {
        true => Ok(text.into_owned()),
        false => Err(format!("it has {} bytes; at most {LONGEST} are sent", text.len())),
    }
}

fn parse_headers(lines: &str) -> Result<Vec<(String, String)>, String> {
    lines.lines().map(parse_header).collect()
}

fn parse_header(line: &str) -> Result<(String, String), String> {
    let Some((name, value)) = line.split_once(':') else {
        return Err(format!("a header has no colon\nvalid: {}", HEADER.syntax));
    };
    let wrong = |why: &str| Err(format!("`{name}` {why}\nvalid: {}", HEADER.syntax));
    let value = value.trim();
    let is_token = |it: char| it.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(it);
    if name.is_empty() || !name.chars().all(is_token) {
        return wrong("is no name of a header");
    }
    if value.chars().any(|it| it.is_control() || !it.is_ascii()) {
        return wrong("has a value that is not printable ASCII");
    }
    if value.contains("${") {
        return wrong("has `${` in its value: write a variable as $NAME");
    }
    let lower = name.to_ascii_lowercase();
    if OWN.contains(&&*lower) {
        return wrong("is a header that bakeoff sets itself");
    }
    if SECRET.iter().any(|part| lower.contains(part)) && !value.contains('$') {
        return wrong(
            "would be in every record and report: put the secret into a variable of the environment, and write it \
             as '$NAME', in single quotes",
        );
    }
    Ok((name.to_owned(), value.to_owned()))
}

impl PageRequest {
    /// From canonical levels.
    pub fn from_levels(method: &str, headers: &str, body: &str) -> Result<Self, String> {
        let text = |level: &str| match level {
            NONE => Ok(String::new()),
            level => decode_level(level),
        };
        let (headers, body) = (parse_headers(&text(headers)?)?, text(body)?);
        Ok(Self { method: method.to_owned(), headers, body })
    }

    /// Whether the effect of two is that of one (RFC 9110, 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        !matches!(self.method.as_str(), "POST" | "PATCH")
    }

    pub fn method(&self) -> &str {
        &self.method
    }

    /// `is_last` adds the header that ends the connection. Fails if a variable is not set.
    pub fn write(&self, host: &str, path: &str, is_last: bool) -> Result<Vec<u8>, String> {
        self.write_with(host, path, is_last, &|name| std::env::var(name).ok())
    }

    fn write_with(
        &self,
        host: &str,
        path: &str,
        is_last: bool,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<u8>, String> {
        let agent = concat!("bakeoff/", env!("CARGO_PKG_VERSION"));
        let mut text = format!("{} {path} HTTP/1.1\r\n", self.method);
        for (name, value) in [("Host", host), ("User-Agent", agent), ("Accept", "*/*")] {
            if !self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                text += &format!("{name}: {value}\r\n");
            }
        }
        for (name, value) in &self.headers {
            text += &format!("{name}: {}\r\n", put_variables(value, variable)?);
        }
        if !self.body.is_empty() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") {
            text += &format!("Content-Length: {}\r\n", self.body.len());
        }
        if is_last {
            text += "Connection: close\r\n";
        }
        Ok((text + "\r\n" + &self.body).into_bytes())
    }
}

/// Puts the values of variables in the place of `$NAME`. A `$` before anything else stays.
fn put_variables(value: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut parts = value.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let (name, rest) = part.split_at(part.find(|it| !is_name(it)).unwrap_or(part.len()));
        if name.is_empty() {
            text += "$";
        } else {
            let found =
                variable(name).ok_or_else(|| format!("the header's variable {name} is not set"))?;
            if found.chars().any(|it| it.is_control() || !it.is_ascii()) {
                return Err(format!("the variable {name} has more than printable ASCII in it"));
            }
            text += &found;
        }
        text += rest;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(method: &str, headers: &str, body: &str) -> Result<String, String> {
        let header = (HEADER.canonical)(&encode_level(headers))?;
        let body = (BODY.canonical)(&encode_level(body))?;
        let levels = [&header, &body].map(|it| if it.is_empty() { NONE } else { it.as_str() });
        let request = PageRequest::from_levels(&(METHOD.canonical)(method)?, levels[0], levels[1])?;
        let variable = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        let bytes = request.write_with("shop", "/buy?n=1", false, &variable)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_request_is_what_was_asked_for() {
        let agent = concat!("User-Agent: bakeoff/", env!("CARGO_PKG_VERSION"));
        let plain =
            format!("GET /buy?n=1 HTTP/1.1\r\nHost: shop\r\n{agent}\r\nAccept: */*\r\n\r\n");
        assert_eq!(write("GET", "", "").unwrap(), plain);
        let json = "{\"mail\": \"a@b\", \"share\": \"100%2C\"}";
        let headers = "accept: application/json\nAuthorization: Bearer $TOKEN, $ 5\nX-A: 1,2";
        assert_eq!(
            write("post", headers, json).unwrap(),
            format!(
                "POST /buy?n=1 HTTP/1.1\r\nHost: shop\r\n{agent}\r\naccept: application/json\r\n\
                 Authorization: Bearer s3cret, $ 5\r\nX-A: 1,2\r\nContent-Length: {}\r\n\r\n{json}",
                json.len()
            )
        );
        assert!(write("PUT", "", "").unwrap().contains("\r\nContent-Length: 0\r\n\r\n"));
    }

    #[test]
    fn a_level_of_a_level_is_itself() {
        for text in ["a,b@c%2C", "100%", "{\"x\": \"é\"}\n", "%zz"] {
            let level = (BODY.canonical)(&encode_level(text)).unwrap();
            assert_eq!((BODY.canonical)(&level).unwrap(), level);
            assert!(!level.contains([',', '@', '\n']), "{level}");
            assert_eq!(decode_level(&level).unwrap(), text);
        }
    }

    #[test]
    fn what_no_request_can_hold_is_refused() {
        for (headers, why) in [
            ("s3cret", "a header has no colon"),
            ("Accept: a\nA B: c", "`A B` is no name of a header"),
            (": x", "is no name of a header"),
            ("X: ${HOME}", "write a variable as $NAME"),
            ("X-Api-Key: s3cret", "put the secret into a variable"),
            ("X: \u{7}", "not printable ASCII"),
            ("content-LENGTH: 5", "is a header that bakeoff sets itself"),
            ("Cookie: session=1", "put the secret into a variable"),
            ("Authorization: $MISSING", "the header's variable MISSING is not set"),
        ] {
            let refused = write("GET", headers, "").unwrap_err();
            assert!(refused.contains(why) && !refused.contains("s3cret"), "{headers}: {refused}");
        }
        assert!(write("HEAD", "", "").unwrap_err().contains("is no method"));
        assert!(write("POST", "", &"x".repeat(2_001)).unwrap_err().contains("2001 bytes"));
    }
}
