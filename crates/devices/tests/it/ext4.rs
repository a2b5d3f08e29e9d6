//! The file system in virtual time: what its operations ask of the device, and when.

mod journal;
mod layout;
mod operations;
mod waits;
mod write_back;

use bakeoff_devices::device::{DeviceRequest, Nanos, RequestKind};
use bakeoff_devices::ext4::{
    Background, DeviceWork, Durable, Ext4, Ext4MountOptions, Mode, SyncScope,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const SECOND: Nanos = 1_000_000_000;
const FILE: u64 = 7;

fn ext4() -> Ext4 {
    Ext4::new(Ext4MountOptions::default())
}

/// One with much on it, so that its groups are large.
fn full() -> Ext4 {
    let mut ext4 = ext4();
    ext4.adopt(99, 1 << 30);
    ext4
}

/// A sync that is done at once.
fn sync(ext4: &mut Ext4, now: Nanos, file: u64, sync: SyncScope) -> DeviceWork {
    done(ext4, |ext4| ext4.sync(now, file, sync))
}

/// Work that is done at once.
fn done(ext4: &mut Ext4, work: impl FnOnce(&mut Ext4) -> DeviceWork) -> DeviceWork {
    let work = work(ext4);
    ext4.done(work.ticket);
    work
}

/// A buffered write without a sync, which has to cost nothing.
fn write(ext4: &mut Ext4, now: Nanos, file: u64, offset: u64, length: u64) {
    let work = ext4.write(now, file, offset, length, Mode::Buffered, None);
    assert!(work.is_empty(), "{work:?}");
}

/// The steps as letters and KiB: `w40 w12 f`.
fn shape(work: &DeviceWork) -> String {
    let letter = |request: &DeviceRequest| match request.kind {
        RequestKind::Read => format!("r{}", request.length / KIB),
        RequestKind::Write => format!("w{}", request.length / KIB),
        RequestKind::Flush => "f".to_owned(),
    };
    let step = |step: &Vec<DeviceRequest>| step.iter().map(letter).collect::<Vec<_>>().join("+");
    work.steps.iter().map(step).collect::<Vec<_>>().join(" ")
}

/// Everything due by `until`, each done at once: moments, works and what they make durable.
fn background(ext4: &mut Ext4, until: Nanos) -> Vec<(Nanos, DeviceWork, Vec<Durable>)> {
    let mut all = Vec::new();
    while let Some(at) = ext4.next_tick().filter(|at| *at <= until) {
        if let Some(Background { work, durable }) = ext4.tick(at) {
            ext4.done(work.ticket);
            all.push((at, work, durable));
        }
    }
    all
}
