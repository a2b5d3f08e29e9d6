//! What every connection to a server that somebody else runs is made of: its URL taken apart, its
//! password, and TLS.

pub(crate) mod address;
pub(crate) mod password;
pub(crate) mod tls;
mod verifier;

pub use password::{Password, Secret};
pub use tls::TransportSecurity;
