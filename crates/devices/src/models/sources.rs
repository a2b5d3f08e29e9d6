//! Where the constants of the models come from. What stands in no list is our own.

use crate::device::model::ConstantSource;

const fn from(
    parameters: &'static [&'static str],
    spread: &'static str,
    source: &'static str,
) -> ConstantSource {
    ConstantSource { parameters, spread, source }
}

const FREUND: &str = "A. Freund, one fio job on eleven drives, gist.github.com/anarazel/b527e5317bb7d58483a9858f5f2435ca";

pub const HDD_7200: &[ConstantSource] = &[from(
    &["average_seek_ms", "rpm", "track_to_track_ms", "full_stroke_ms", "outer_mb_s", "inner_mb_s"],
    "8.5 to 8.9 ms a seek",
    "data sheets of Hitachi Deskstar 7K1000.C, WD Caviar Black, Seagate Barracuda 7200.12",
)];

pub const HDD_5400: &[ConstantSource] = &[from(
    &["rpm", "track_to_track_ms", "average_seek_ms", "full_stroke_ms"],
    "",
    "specification of the Hitachi Travelstar 5K160",
)];

pub const SSD_SATA: &[ConstantSource] = &[
    from(
        &[
            "read_us",
            "reads_at_once",
            "read_mb_s",
            "write_us",
            "writes_at_once",
            "write_mb_s",
            "buffer",
            "sustained_mb_s",
        ],
        "",
        "data sheet of the Samsung 870 EVO of 250 GB, 2021",
    ),
    from(
        &["flush_us"],
        "330 to 2,350",
        "median of twelve consumer SATA drives, less the write: github.com/TheJJ/ceph-diskbench (2021), \
         github.com/d-uzlov/k8s-homelab (2023), gist.github.com/pklaus/1e90d57d6c03dbfdee1da1fd0cc4758e (2018)",
    ),
    from(
        &["fua_us"],
        "",
        "libata leaves FUA off (Linux, libata.fua=0); a SanDisk Ultra II takes 659 µs with O_DSYNC, 646 with \
         fdatasync: the same gist",
    ),
];

pub const SSD_NVME: &[ConstantSource] = &[
    from(&["write_us", "flush_us", "fua_us"], "flush 220 to 450 among quick drives", FREUND),
    from(
        &["reads_at_once", "writes_at_once", "read_mb_s", "write_mb_s"],
        "",
        "1,000,000 reads, 710,000 writes, 7,000 and 5,100 MB/s: specification of the WD Black SN850 of 2 TB, \
         by kitguru.net's review (2021)",
    ),
];

pub const SSD_NVME_SLOW: &[ConstantSource] = &[
    from(
        &["flush_us", "fua_us"],
        "flush 1,225 to 2,783, FUA 4,007 to 5,844",
        "Samsung 990 PRO by T. Poder, tanelpoder.com/posts/using-pg-test-fsync-for-testing-low-latency-writes \
         (2025); the spread by A. Freund and M. Callaghan, smalldatum.blogspot.com (2026)",
    ),
    from(
        &["flush_mb_s"],
        "one drive",
        "fsync after 16 KB and 2 MB, 2,974 and 5,397 µs: M. Callaghan, smalldatum.blogspot.com (2026)",
    ),
    from(&["write_us"], "", FREUND),
    from(
        &["reads_at_once", "writes_at_once", "read_mb_s", "write_mb_s"],
        "",
        "1,400,000 reads, 1,550,000 writes, 6,900 MB/s: data sheet of the Samsung 990 PRO of 2 TB; 7,246 MB/s: \
         pastebin.com/X8K6bqep",
    ),
];

pub const SSD_NVME_PLP: &[ConstantSource] = &[
    from(
        &["read_us", "reads_at_once", "read_mb_s", "write_us", "writes_at_once", "write_mb_s"],
        "",
        "Samsung PM963 of 1.92 TB, gist.github.com/tana3n/73ea2b7d9a23bcbd12d3f7d38c26c243 (2021)",
    ),
    from(
        &["flush_us", "flush_floor_us", "fua_us", "cache"],
        "a flush below 6",
        "a drive without a volatile cache gets no flush: Linux, \
         Documentation/block/writeback_cache_control.rst; 34,090 writes with fdatasync a second on a PM963: \
         github.com/TheJJ/ceph-diskbench (2021)",
    ),
];

pub const EBS: &[ConstantSource] = &[from(
    &["iops", "burst_iops", "credits", "throughput_mib_s", "operation"],
    "",
    "Amazon EBS volume types; Amazon EBS I/O characteristics and monitoring (docs.aws.amazon.com/ebs)",
)];
