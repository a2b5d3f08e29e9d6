//! The models beside published figures, most of which did not go into them:
//! docs/disks/published.csv.

use bakeoff_devices::device::{DeviceRequest, RequestKind};
use bakeoff_devices::ext4::{Ext4, Ext4MountOptions, Mode, SyncScope};
use bakeoff_devices::models::Models;

use super::flush::{FLUSH, request, rounds_a_second};

/// How an application makes 4 KiB durable.
#[derive(Clone, Copy, Debug)]
enum Durably {
    /// Overwrites with fdatasync, and so many writers.
    Fdatasync(u64),
    /// Overwrites with `fsync`, which commits the file's times.
    Fsync,
    /// Direct overwrites with `O_DSYNC`.
    Dsync,
}

impl Durably {
    fn describe(self) -> String {
        match self {
            Self::Fdatasync(1) => "overwrite, fdatasync".into(),
            Self::Fdatasync(writers) => format!("overwrite, fdatasync, {writers} writers"),
            Self::Fsync => "overwrite, fsync".into(),
            Self::Dsync => "overwrite, O_DSYNC".into(),
        }
    }

    /// Microseconds of one, by the model of the disk and of ext4.
    fn predict_us(self, spec: &str) -> f64 {
        let (writers, steps) = match self {
            Self::Fdatasync(writers) => (writers, vec![request(RequestKind::Write, 4096), FLUSH]),
            Self::Fsync => (1, steps(spec, Mode::Buffered, SyncScope::All)),
            Self::Dsync => (1, steps(spec, Mode::Direct, SyncScope::Data)),
        };
        1e6 / rounds_a_second(spec, writers, &steps)
    }
}

/// The requests of an overwrite and its sync. Each step of one writer is one request.
fn steps(spec: &str, mode: Mode, scope: SyncScope) -> Vec<DeviceRequest> {
    let has_fua = Models::standard().parse(spec).expect(spec).has_fua();
    let mut ext4 = Ext4::new(Ext4MountOptions { has_fua, ..Ext4MountOptions::default() });
    ext4.adopt_file(1, 8 << 20);
    let work = match mode {
        Mode::Direct => ext4.write(0, 1, 0, 4096, mode, Some(scope)),
        Mode::Buffered => {
            ext4.write(0, 1, 0, 4096, mode, None);
            ext4.sync_file(0, 1, scope)
        }
    };
    work.steps.into_iter().flatten().collect()
}

/// A drive; the model; what it does; published microseconds of one.
const PUBLISHED: &[(&str, &str, Durably, f64)] = {
    use Durably::{Dsync, Fdatasync, Fsync};
    &[
        // With the write time, the flush and, where there is one, the FUA of that drive.
        ("Samsung 990 PRO 2 TB (Poder)", "ssd-nvme-slow", Fsync, 5636.0),
        (
            "Samsung 970 EVO Plus (pklaus)",
            "ssd-nvme/write_us=10/flush_us=696/fua_us=0",
            Fsync,
            1456.0,
        ),
        ("the same", "ssd-nvme/write_us=10/flush_us=696/fua_us=0", Dsync, 697.0),
        ("SanDisk Ultra II (pklaus)", "ssd-sata/flush_us=618", Dsync, 659.0),
        ("PM981, 384 a second alone (TheJJ)", "ssd-nvme/flush_us=2589", Fdatasync(10), 859.0),
        ("860 EVO, 490 a second alone (TheJJ)", "ssd-sata/flush_us=2013", Fdatasync(14), 578.7),
        ("860 PRO, 1,033 a second alone (TheJJ)", "ssd-sata/flush_us=940", Fdatasync(15), 169.1),
        // The models as they are, and drives that did not go into them.
        ("Intel P41 Plus (Freund)", "ssd-nvme", Fdatasync(1), 296.7),
        ("the same", "ssd-nvme", Dsync, 233.7),
        ("ADATA SX8200 Pro (Freund)", "ssd-nvme", Fdatasync(1), 361.4),
        ("WD SN750 (Freund)", "ssd-nvme", Fdatasync(1), 372.0),
        ("the same", "ssd-nvme", Dsync, 330.0),
        ("Sabrent Rocket 4.0 (Freund)", "ssd-nvme", Fdatasync(1), 451.5),
        ("the same", "ssd-nvme", Dsync, 430.1),
        ("Samsung 990 PRO 4 TB (Freund)", "ssd-nvme-slow", Fdatasync(1), 1246.3),
        ("the same", "ssd-nvme-slow", Dsync, 5844.0),
        ("SK hynix, Framework (Freund)", "ssd-nvme-slow", Fdatasync(1), 1418.7),
        ("Samsung 980 PRO 2 TB (Freund)", "ssd-nvme-slow", Fdatasync(1), 1915.3),
        ("the same", "ssd-nvme-slow", Dsync, 4470.3),
        ("Samsung 970 EVO Plus 2 TB (Freund)", "ssd-nvme-slow", Fdatasync(1), 2243.7),
        ("the same", "ssd-nvme-slow", Dsync, 4644.5),
        ("Intel 545s (TheJJ)", "ssd-sata", Fdatasync(1), 666.7),
        ("Samsung 860 PRO (TheJJ)", "ssd-sata", Fdatasync(1), 968.1),
        ("Samsung PM963 (TheJJ)", "ssd-nvme-plp", Fdatasync(1), 29.3),
        (
            "WD1001FALS, RAID-10 of 4 (pastebin)",
            "raid10:4×hdd-7200/cache=64M",
            Fdatasync(1),
            12_116.7,
        ),
        ("the same", "raid10:4×hdd-7200/cache=64M", Fsync, 37_600.0),
    ]
};

#[test]
fn the_file_has_each_published_figure_beside_what_the_model_says() {
    let row = |&(drive, spec, durably, published): &(&str, &str, Durably, f64)| {
        let predicted = durably.predict_us(spec);
        let factor = predicted.max(published) / predicted.min(published);
        let off = if predicted < published { "less" } else { "more" };
        let off = if factor < 1.005 { "the same".into() } else { format!("{factor:.2} × {off}") };
        let operation = durably.describe();
        format!("\"{drive}\",{spec},\"{operation}\",{published:.0},{predicted:.0},{off}\n")
    };
    let columns = "drive,model,operation,published us,predicted us,off by\n";
    let rows: String = PUBLISHED.iter().map(row).collect();
    let file = include_str!("../../../../docs/disks/published.csv");
    assert_eq!(file, format!("{columns}{rows}"), "docs/disks/published.csv");
}
