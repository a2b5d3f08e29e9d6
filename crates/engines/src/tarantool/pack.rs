//! MessagePack, as far as requests and answers have it.

use rmp::{decode, encode};

use super::failure::{Result, TarantoolFailure};

pub(super) fn put_array(bytes: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("a request of fewer than 2^32 values");
    encode::write_array_len(bytes, length).expect("room in memory");
}

pub(super) fn put_int(bytes: &mut Vec<u8>, value: i64) {
    encode::write_sint(bytes, value).expect("room in memory");
}

/// It need not be text: Tarantool doesn't check.
pub(super) fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    let length = u32::try_from(text.len()).expect("a text of less than 4 GiB");
    encode::write_str_len(bytes, length).expect("room in memory");
    bytes.extend_from_slice(text);
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MessagePackReader<'a>(pub &'a [u8]);

impl<'a> MessagePackReader<'a> {
    pub fn take_array(&mut self) -> Result<usize> {
        let length = decode::read_array_len(&mut self.0);
        length
            .map(|it| it as usize)
            .map_err(|_| TarantoolFailure::Garbled("no array where one should be"))
    }

    pub fn take_map(&mut self) -> Result<usize> {
        let length = decode::read_map_len(&mut self.0);
        length
            .map(|it| it as usize)
            .map_err(|_| TarantoolFailure::Garbled("no map where one should be"))
    }

    pub fn take_int(&mut self) -> Result<u64> {
        decode::read_int(&mut self.0)
            .map_err(|_| TarantoolFailure::Garbled("no number where one should be"))
    }

    pub fn take_bool(&mut self) -> Result<bool> {
        decode::read_bool(&mut self.0)
            .map_err(|_| TarantoolFailure::Garbled("no truth where one should be"))
    }

    pub fn take_text(&mut self) -> Result<&'a [u8]> {
        let failure = TarantoolFailure::Garbled("no string where one should be");
        let Ok(length) = decode::read_str_len(&mut self.0) else { return Err(failure) };
        self.take_bytes(length as usize)
    }

    fn take_bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.0.split_at_checked(length).ok_or(TarantoolFailure::Garbled("it is cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn skip_value(&mut self) -> Result<()> {
        use rmp::Marker::*;
        let mut left = 1_usize;
        while left > 0 {
            left -= 1;
            let marker = decode::read_marker(&mut self.0)
                .map_err(|_| TarantoolFailure::Garbled("its end"))?;
            let mut size = |bytes: usize| -> Result<usize> {
                Ok(self
                    .take_bytes(bytes)?
                    .iter()
                    .fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
            };
            let bytes = match marker {
                FixPos(_) | FixNeg(_) | Null | Reserved | True | False => 0,
                U8 | I8 => 1,
                U16 | I16 | FixExt1 => 2,
                FixExt2 => 3,
                U32 | I32 | F32 => 4,
                FixExt4 => 5,
                U64 | I64 | F64 => 8,
                FixExt8 => 9,
                FixExt16 => 17,
                FixStr(length) => length.into(),
                Str8 | Bin8 => size(1)?,
                Str16 | Bin16 => size(2)?,
                Str32 | Bin32 => size(4)?,
                Ext8 => size(1)? + 1,
                Ext16 => size(2)? + 1,
                Ext32 => size(4)? + 1,
                FixArray(length) => {
                    left += usize::from(length);
                    0
                }
                Array16 => {
                    left += size(2)?;
                    0
                }
                Array32 => {
                    left += size(4)?;
                    0
                }
                FixMap(length) => {
                    left += 2 * usize::from(length);
                    0
                }
                Map16 => {
                    left += 2 * size(2)?;
                    0
                }
                Map32 => {
                    left += 2 * size(4)?;
                    0
                }
            };
            self.take_bytes(bytes)?;
        }
        Ok(())
    }
}
