//! Numbers that the server's functions tell.

use super::client::{RequestPrefix, TarantoolConnection};
use super::failure::{self, TarantoolFailure};
use super::pack::{Unpack, put_array};
use crate::{Error, Result};

/// Numbers that the server has given back.
pub(super) struct ReturnedCounts(Vec<u64>);

impl ReturnedCounts {
    /// As they are named, in the order of their function.
    pub fn numbers<const N: usize>(&self) -> Result<[u64; N]> {
        let numbers = self.0.as_slice().try_into();
        numbers.map_err(|_| {
            Error::engine(TarantoolFailure::Garbled("not as many numbers as were asked for"))
        })
    }
}

/// Calls a function that gives back an array of numbers.
///
/// # Errors
/// The connection's, or the server's.
pub(super) fn counts(
    client: &mut TarantoolConnection,
    function: &str,
) -> failure::Result<ReturnedCounts> {
    let mut answer: Unpack<'_> =
        client.ask(&RequestPrefix::call(function), |out| put_array(out, 0))?;
    answer.array()?;
    let count = answer.array()?;
    (0..count).map(|_| answer.int()).collect::<std::result::Result<_, _>>().map(ReturnedCounts)
}
