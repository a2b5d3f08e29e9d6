//! Numbers that the server's functions return.

use super::client::{RequestPrefix, TarantoolConnection};
use super::failure::{self, TarantoolFailure};
use super::pack::{MessagePackReader, put_array};
use crate::{Error, Result};

pub(super) struct ReturnedCounts(Vec<u64>);

impl ReturnedCounts {
    pub fn to_numbers<const N: usize>(&self) -> Result<[u64; N]> {
        let numbers = self.0.as_slice().try_into();
        numbers.map_err(|_| {
            Error::from_engine(TarantoolFailure::Garbled("not as many numbers as were asked for"))
        })
    }
}

pub(super) fn call_for_counts(
    client: &mut TarantoolConnection,
    function: &str,
) -> failure::Result<ReturnedCounts> {
    let mut answer: MessagePackReader<'_> =
        client.ask(&RequestPrefix::call(function), |out| put_array(out, 0))?;
    answer.take_array()?;
    let count = answer.take_array()?;
    (0..count).map(|_| answer.take_int()).collect::<std::result::Result<_, _>>().map(ReturnedCounts)
}
