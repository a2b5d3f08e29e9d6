//! Connections to servers that somebody else runs: URL, password, TLS.

#![allow(missing_docs)]

pub(crate) mod address;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod local_server;
pub(crate) mod panics;
pub(crate) mod password;
pub(crate) mod tls;
mod verifier;

pub use password::{Password, Secret};
pub use tls::TransportSecurity;
