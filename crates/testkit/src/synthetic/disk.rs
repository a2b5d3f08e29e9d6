use bakeoff_results::{DiskTiming, FlushTiming};

/// What a disk took that needs so many microseconds for a write, a flush and a read.
pub fn sample_timing([write, flush, read]: [f64; 3]) -> DiskTiming {
    let [write_s, flush_s, read_s] = [write, flush, read].map(|it| it * 1e-6);
    DiskTiming {
        at_s: 1.7e9,
        flush: FlushTiming {
            write_s: Some(write_s),
            flush_s,
            halves_s: [flush_s; 2],
            median_s: write_s + flush_s,
            mean_s: write_s + flush_s,
            p99_s: 2.0 * (write_s + flush_s),
            humps_s: None,
        },
        write_through_s: write_s + flush_s,
        has_fua: Some(true),
        clean_flush_s: 3.0,
        flush_mb_s: 0.0,
        appends: vec![(1, 300.0), (4, 900.0)],
        read_s: Some(read_s),
        reads_at_once: Some(7.5),
        read_mb_s: Some(560.0),
        write_mb_s: 530.0,
        doubts: vec!["a host may lie".to_owned()],
    }
}
