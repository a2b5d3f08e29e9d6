use std::fmt;

use bakeoff_devices::size::size_of;
use bakeoff_experiment::{Declared, Factor, LevelSubstitute};
use serde::{Deserialize, Serialize};

use super::content::PAGE;

const DEEPEST: usize = 1024;
/// In bytes.
const LARGEST_BLOCK: u64 = 16 << 20;
/// In bytes, all files together.
const SIZES: std::ops::RangeInclusive<u64> = 1 << 20..=64 << 40;
const MOST_FILES: usize = 1024;
const RAREST_SYNC: u32 = 1_000_000;

pub static PATTERN: Declared = Declared {
    name: "pattern",
    summary: "what clients ask for, and where",
    syntax: "randread, randwrite, randrw:70 (70 % reads), seqread, seqwrite, seqrw:70",
    default: "randread",
    canonical: &|text| canonical(Pattern::parse(text), &PATTERN, text, "a pattern"),
};

pub static BLOCK: Declared = Declared {
    name: "block",
    summary: "bytes that each request reads or writes",
    syntax: "4K to 16M, a multiple of 4K",
    default: "4K",
    canonical: &|text| {
        let bytes = block_bytes(text).map(|bytes| in_units(bytes as u64));
        canonical(bytes, &BLOCK, text, "a size of a block")
    },
};

pub static SIZE: Declared = Declared {
    name: "size",
    summary: "bytes of the files, all together",
    syntax: "1M to 64T",
    default: "64M",
    canonical: &|text| canonical(size_bytes(text).map(in_units), &SIZE, text, "a size of files"),
};

pub static FILES: Declared = Declared {
    name: "files",
    summary: "files that the bytes are spread over",
    syntax: "1 to 1024",
    default: "1",
    canonical: &|text| {
        let number = text.parse().ok().filter(|number| (1..=MOST_FILES).contains(number));
        canonical(number, &FILES, text, "a number of files")
    },
};

pub static SYNC: Declared = Declared {
    name: "sync",
    summary: "when writes are made durable",
    syntax: "never; fdatasync:N or fsync:N, what a client wrote after N writes of it; dsync, each write by \
             O_DSYNC; all:N, every file after N requests of all clients",
    default: "never",
    canonical: &|text| canonical(SyncRule::parse(text), &SYNC, text, "a rule for syncs"),
};

pub static ACCESS: Declared = Declared {
    name: "access",
    summary: "whether requests go through the page cache",
    syntax: "direct (O_DIRECT, around it), buffered",
    default: DIRECT,
    canonical: &|text| parse_word(&ACCESS, text, &[DIRECT, "buffered"]),
};

pub static OFFSETS: Declared = Declared {
    name: "offsets",
    summary: "which blocks random requests are for",
    syntax: "uniform (each is as likely), once (each once, then all again in another order)",
    default: "uniform",
    canonical: &|text| parse_word(&OFFSETS, text, &["uniform", ONCE]),
};

pub static DATA: Declared = Declared {
    name: "data",
    summary: "what the files hold and what is written",
    syntax: "random (nothing can compress it, and it is verified), zeros; the file system's is part of a disk: \
             ssd-sata/data=journal",
    default: "random",
    canonical: &|text| parse_word(&DATA, text, &["random", ZEROS]),
};

pub static DEPTH: Declared = Declared {
    name: "depth",
    summary: "requests that each client has in flight at once",
    syntax: "1 to 1024; above 1 by io_uring",
    default: "1",
    canonical: &|text| match text.parse::<usize>() {
        Ok(depth @ 1..=DEEPEST) => Ok(depth.to_string()),
        Ok(_) => {
            Err(format!("a client can't have {text} requests in flight\nvalid: 1 to {DEEPEST}"))
        }
        Err(_) => Err(not_a(&DEPTH, text, "a depth")),
    },
};

pub static CALLS: Declared = Declared {
    name: "calls",
    summary: "the calls that requests are made by",
    syntax: "auto (plain at depth 1, else io_uring), plain (pread, pwrite), io_uring",
    default: "auto",
    canonical: &|text| parse_word(&CALLS, text, &["auto", PLAIN, IO_URING]),
};

pub static ALL: [&Declared; 10] =
    [&PATTERN, &BLOCK, &SIZE, &FILES, &SYNC, &ACCESS, &OFFSETS, &DATA, &DEPTH, &CALLS];

/// Substitutes in power cuts for levels that write nothing, sync nothing, or can't be verified.
pub fn in_cuts() -> Vec<LevelSubstitute> {
    let of =
        |declared, level, cut| LevelSubstitute { factor: Factor::Declared(declared), level, cut };
    vec![
        of(&PATTERN, "randread", "randwrite"),
        of(&PATTERN, "seqread", "seqwrite"),
        of(&SYNC, "never", "fdatasync:1"),
        of(&DATA, ZEROS, "random"),
    ]
}

pub const DIRECT: &str = "direct";
pub const ONCE: &str = "once";
pub const ZEROS: &str = "zeros";
pub const PLAIN: &str = "plain";
pub const IO_URING: &str = "io_uring";

fn not_a(factor: &Declared, text: &str, what: &str) -> String {
    format!("`{text}` is not {what}\nvalid: {}", factor.syntax)
}

fn parse_word(factor: &Declared, text: &str, valid: &[&str]) -> Result<String, String> {
    match valid.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(not_a(factor, text, &format!("a level of `{}`", factor.name))),
    }
}

fn canonical(
    parsed: Option<impl ToString>,
    factor: &Declared,
    text: &str,
    what: &str,
) -> Result<String, String> {
    parsed.map(|level| level.to_string()).ok_or_else(|| not_a(factor, text, what))
}

fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)))
}

fn in_units(bytes: u64) -> String {
    let units = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];
    let whole = units.iter().find(|(_, shift)| bytes.is_multiple_of(1 << shift));
    whole.map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

pub fn block_bytes(text: &str) -> Option<usize> {
    let bytes = size_of(&text.to_ascii_uppercase())?;
    let valid = bytes.is_multiple_of(PAGE as u64) && (PAGE as u64..=LARGEST_BLOCK).contains(&bytes);
    valid.then_some(bytes as usize)
}

pub fn size_bytes(text: &str) -> Option<u64> {
    let bytes = size_of(&text.to_ascii_uppercase())?;
    (bytes.is_multiple_of(PAGE as u64) && SIZES.contains(&bytes)).then_some(bytes)
}

/// A window of buffered writes must hold this many rounds of syncs.
const SYNC_ROUNDS: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    pub in_order: bool,
    /// Percent.
    pub reads: u8,
}

impl Pattern {
    pub fn parse(text: &str) -> Option<Self> {
        let (name, share) = split(text);
        let of = |start: &str| name.strip_prefix(start).map(|what| (start == "seq", what));
        let (in_order, what) = of("rand").or_else(|| of("seq"))?;
        let reads = match (what, share) {
            ("read", None) => 100,
            ("write", None) => 0,
            ("rw", None) => 50,
            ("rw", Some(share)) => share.parse::<u8>().ok().filter(|it| (1..100).contains(it))?,
            _ => return None,
        };
        Some(Self { in_order, reads })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.in_order { "seq" } else { "rand" })?;
        match self.reads {
            100 => f.write_str("read"),
            0 => f.write_str("write"),
            reads => write!(f, "rw:{reads}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SyncRule {
    /// Nothing is synced before the drain.
    Never,
    /// Each write is durable when it returns.
    Dsync,
    /// A client syncs after its own writes.
    After { writes: u32, data_only: bool },
    /// All files are synced after this many requests of all clients, if something was written.
    All { requests: u32 },
}

impl SyncRule {
    /// Operations of the rarer kind in five rounds of syncs. Between two rounds buffered writes go
    /// to memory, so a shorter window measures memory rather than the disk.
    pub fn least_of_each_kind(self, pattern: Pattern, clients: usize) -> u64 {
        let (reads, writes) = (u64::from(pattern.reads), u64::from(100 - pattern.reads));
        if writes == 0 {
            return 0;
        }
        let fewer = if reads == 0 { writes } else { reads.min(writes) };
        match self {
            Self::Never | Self::Dsync | Self::After { writes: 1, .. } => 0,
            Self::All { requests } => SYNC_ROUNDS * u64::from(requests) * fewer / 100,
            Self::After { writes: each, .. } => {
                SYNC_ROUNDS * u64::from(each) * clients as u64 * fewer / writes
            }
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let (name, number) = split(text);
        let number = match number {
            Some(number) => {
                Some(number.parse::<u32>().ok().filter(|n| (1..=RAREST_SYNC).contains(n))?)
            }
            None => None,
        };
        let after = |data_only| Self::After { writes: number.unwrap_or(1), data_only };
        match (name, number) {
            ("never", None) => Some(Self::Never),
            ("dsync", None) => Some(Self::Dsync),
            ("fdatasync", _) => Some(after(true)),
            ("fsync", _) => Some(after(false)),
            ("all", Some(requests)) => Some(Self::All { requests }),
            _ => None,
        }
    }
}

impl fmt::Display for SyncRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Dsync => f.write_str("dsync"),
            Self::After { writes, data_only: true } => write!(f, "fdatasync:{writes}"),
            Self::After { writes, data_only: false } => write!(f, "fsync:{writes}"),
            Self::All { requests } => write!(f, "all:{requests}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_buffered_writes_holds_five_rounds_of_syncs() {
        for (sync, shape, clients, least) in [
            ("all:100", "randwrite", 16, 500),
            // 500 requests, of which 200 write.
            ("all:100", "randrw:60", 16, 200),
            // Each of 4 clients syncs after 32 writes of its own.
            ("fdatasync:32", "randwrite", 4, 640),
            // No write stays in memory.
            ("fdatasync:1", "randwrite", 4, 0),
            ("all:100", "randread", 16, 0),
            ("never", "randwrite", 16, 0),
        ] {
            let (rule, pattern) = (SyncRule::parse(sync).unwrap(), Pattern::parse(shape).unwrap());
            assert_eq!(rule.least_of_each_kind(pattern, clients), least, "{sync} {shape}");
        }
        assert_eq!(Pattern::parse("seqrw:30"), Some(Pattern { in_order: true, reads: 30 }));
    }

    #[test]
    fn levels_are_written_in_one_way_and_bounded() {
        // Pairs of what is written and its canonical form, and what is refused.
        for (factor, forms, refused) in [
            (
                &BLOCK,
                "16k 16K 1024K 1M 4096 4K 16M 16M",
                &[
                    "",
                    "K",
                    "4",
                    "16KK",
                    "3K",
                    "6K",
                    "17M",
                    "0K",
                    "4KB",
                    "99999999999999999999K",
                    "é",
                ][..],
            ),
            (&SIZE, "16384M 16G 1m 1M", &["4K", "1.5G", "65T"]),
            (&FILES, "1 1 0128 128", &["0", "1025", "-1"]),
            (&DEPTH, "1 1", &["0", "1025", "x"]),
            (&ACCESS, "direct direct buffered buffered", &["mmap"]),
            // The names that fio has, and a share of reads.
            (
                &PATTERN,
                "randread randread randwrite randwrite randrw randrw:50 randrw:070 randrw:70 \
                 seqrw:1 seqrw:1 seqwrite seqwrite",
                &["read", "randread:70", "randrw:0", "randrw:100", "randrw:", "rand"],
            ),
            // How often, and by which call.
            (
                &SYNC,
                "never never fdatasync fdatasync:1 fsync:016 fsync:16 dsync dsync all:100 all:100",
                &["all", "fsync:0", "never:1", "fsync:-1", "fsync:1000001"],
            ),
        ] {
            let words: Vec<&str> = forms.split(' ').collect();
            for pair in words.chunks(2) {
                assert_eq!((factor.canonical)(pair[0]).as_deref(), Ok(pair[1]), "{}", factor.name);
            }
            for text in refused {
                assert!((factor.canonical)(text).is_err(), "{}={text}", factor.name);
            }
        }
    }
}
