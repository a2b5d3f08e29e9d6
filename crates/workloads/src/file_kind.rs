//! What a file is that is no text, by its first bytes.

/// So many first bytes say it.
pub const HEAD_BYTES: usize = 512;

/// A kind of file that is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// One file, packed: its name, and what unpacks it.
    Packed(&'static str, &'static str),
    /// Several files in one: its name, and what unpacks it.
    Archive(&'static str, &'static str),
    /// Text in another encoding, by the name that `iconv` has for it.
    Encoded(&'static str),
    /// Data of another program.
    Other(&'static str),
}

/// Where the bytes stand, the bytes, and what they say.
const KINDS: [(usize, &[u8], FileKind); 26] = [
    (0, b"\x1f\x8b", FileKind::Packed("gzip", "gzip -d")),
    (0, b"\x28\xb5\x2f\xfd", FileKind::Packed("zstd", "zstd -d")),
    (0, b"\xfd7zXZ\0", FileKind::Packed("xz", "xz -d")),
    (0, b"\x5d\0\0", FileKind::Packed("lzma", "xz -d")),
    // Behind `BZh` and a digit: the first block, or the end of no blocks.
    (4, b"1AY&SY", FileKind::Packed("bzip2", "bzip2 -d")),
    (4, b"\x17\x72\x45\x38\x50\x90", FileKind::Packed("bzip2", "bzip2 -d")),
    (0, b"\x04\x22\x4d\x18", FileKind::Packed("lz4", "lz4 -d")),
    (0, b"LZIP\x01", FileKind::Packed("lzip", "lzip -d")),
    (0, b"\x89LZO\0", FileKind::Packed("lzop", "lzop -d")),
    (0, b"\x1f\x9d", FileKind::Packed("compress", "gzip -d")),
    (0, b"\xff\x06\0\0sNaPpY", FileKind::Packed("snappy", "snzip -d")),
    (257, b"ustar", FileKind::Archive("tar", "tar -xf")),
    (0, b"PK\x03\x04", FileKind::Archive("zip", "unzip")),
    (0, b"PK\x05\x06", FileKind::Archive("zip", "unzip")),
    (0, b"7z\xbc\xaf\x27\x1c", FileKind::Archive("7z", "7z x")),
    (0, b"Rar!\x1a\x07", FileKind::Archive("rar", "unrar x")),
    // Before UTF-16, which begins alike.
    (0, b"\xff\xfe\0\0", FileKind::Encoded("UTF-32")),
    (0, b"\0\0\xfe\xff", FileKind::Encoded("UTF-32")),
    (0, b"\xff\xfe", FileKind::Encoded("UTF-16")),
    (0, b"\xfe\xff", FileKind::Encoded("UTF-16")),
    (0, b"SQLite format 3\0", FileKind::Other("a database of SQLite")),
    (0, b"PAR1\x15", FileKind::Other("a file of Parquet")),
    (0, b"ARROW1\0\0", FileKind::Other("a file of Arrow")),
    (0, b"Obj\x01", FileKind::Other("a file of Avro")),
    (0, b"PGDMP\x01", FileKind::Other("a dump of pg_dump in its own format")),
    (0, b"%PDF-", FileKind::Other("a PDF")),
];

impl FileKind {
    /// By the first bytes of a file, of which 512 suffice; `None` for what can be text.
    pub fn from_head(head: &[u8]) -> Option<Self> {
        let head = &head[..head.len().min(HEAD_BYTES)];
        let stands =
            |at: usize, bytes: &[u8]| head.get(at..).is_some_and(|it| it.starts_with(bytes));
        let known = KINDS.iter().find(|(at, bytes, _)| stands(*at, bytes));
        known.map(|(_, _, kind)| *kind).or_else(|| find_utf16(head))
    }

    /// Says what it is and how text is had of it; `packings` are those that are read as they are.
    pub fn in_words(self, packings: &str) -> String {
        match self {
            Self::Packed(name, unpack) => format!("{name} data; unpack it: `{unpack}`{packings}"),
            Self::Archive(name, unpack) => {
                format!("a {name} archive; unpack it: `{unpack}`, and name a file that was in it")
            }
            Self::Encoded(name) => {
                format!("text in {name}; convert it: `iconv -f {name} -t UTF-8`")
            }
            Self::Other(name) => format!("{name}; name a file of text"),
        }
    }
}

/// Letters of Latin script in UTF-16 have a NUL each, all on the same side.
fn find_utf16(head: &[u8]) -> Option<FileKind> {
    let pairs: Vec<[bool; 2]> = head.chunks_exact(2).map(|it| [it[0] == 0, it[1] == 0]).collect();
    let count = |side: usize| pairs.iter().filter(|pair| pair[side]).count();
    match [count(0), count(1)] {
        [0, low] if low > pairs.len() / 2 => Some(FileKind::Encoded("UTF-16LE")),
        [high, 0] if high > pairs.len() / 2 => Some(FileKind::Encoded("UTF-16BE")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_first_bytes() {
        let mut tar = [b'x'; HEAD_BYTES];
        tar[257..262].copy_from_slice(b"ustar");
        for (head, said) in [
            (&b"\xfd7zXZ\0\0\x04"[..], Some("xz data; unpack it: `xz -d`, or else")),
            (b"BZh91AY&SY\x9a", Some("bzip2 data; unpack it: `bzip2 -d`, or else")),
            (b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0", Some("bzip2 data")),
            (b"PK\x03\x04\x14\0", Some("a zip archive; unpack it: `unzip`, and name a file")),
            (&tar, Some("a tar archive; unpack it: `tar -xf`, and name a file")),
            (b"\xff\xfeA\0", Some("text in UTF-16; convert it: `iconv -f UTF-16 -t UTF-8`")),
            (b"\xff\xfe\0\0A\0\0\0", Some("text in UTF-32")),
            (b"A\0p\0e\0\t\0", Some("text in UTF-16LE")),
            (b"\0A\0p\0e\0\t\x20\xac", Some("text in UTF-16BE")),
            (b"PAR1\x15\x04", Some("a file of Parquet; name a file of text")),
            (b"PAR1\tA format.\n", None),
            (b"PK\tA title.\n", None),
            (b"A\0b\tx\n", None),
            (b"\xef\xbb\xbfApe\tAn ape.\n", None),
            (b"", None),
        ] {
            let told = FileKind::from_head(head).map(|kind| kind.in_words(", or else"));
            let is_right = match (&told, said) {
                (Some(told), Some(said)) => told.starts_with(said),
                (told, said) => told.is_none() && said.is_none(),
            };
            assert!(is_right, "{told:?}, {said:?}");
        }
    }
}
