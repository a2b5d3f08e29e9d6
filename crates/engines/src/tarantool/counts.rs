//! Numbers that the server's functions tell.

use super::client::{Client, Request};
use super::failure::{self, Failure};
use super::pack::{Unpack, put_array};
use crate::{Error, Result};

/// Numbers that the server has given back.
pub(super) struct Counts(Vec<u64>);

impl Counts {
    /// As they are named, in the order of their function.
    pub fn numbers<const N: usize>(&self) -> Result<[u64; N]> {
        let numbers = self.0.as_slice().try_into();
        numbers
            .map_err(|_| Error::engine(Failure::Garbled("not as many numbers as were asked for")))
    }
}

/// Calls a function that gives back an array of numbers.
///
/// # Errors
/// The connection's, or the server's.
pub(super) fn counts(client: &mut Client, function: &str) -> failure::Result<Counts> {
    let mut answer: Unpack<'_> = client.ask(&Request::call(function), |out| put_array(out, 0))?;
    answer.array()?;
    let count = answer.array()?;
    (0..count).map(|_| answer.int()).collect::<std::result::Result<_, _>>().map(Counts)
}
