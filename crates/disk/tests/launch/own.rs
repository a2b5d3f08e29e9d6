//! A device model that this program has beside those that are built in.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use bakeoff_devices::device::model::DeviceModel;
use bakeoff_devices::models::Models;
use bakeoff_disk::mount::{Error, Launcher, Mounted};
use bakeoff_testkit::{Since, wait_until};

use super::drum::Drum;
use super::{launcher, options, place, wait_until_gone};

/// The argument that makes this program a daemon without the model.
pub const STANDARD_DAEMON: &str = "standard-disk-daemon";

/// Bytes of a read, and how many are made.
const BLOCK: usize = 4096;
const READS: usize = 5;

/// Drums that panic when they are built, or read.
pub const BROKEN: &str = "drum/fails=when-built";
pub const STUCK: &str = "drum/fails=when-read";

/// The built-in models and the drum.
pub fn models() -> Models {
    let new = || Box::new(Drum::turning(4.0)) as _;
    let drum = DeviceModel::new("drum", "a drum without an arm", new);
    Models::standard().with_models([drum]).expect("it has a name of its own")
}

pub fn it_takes_its_time() {
    for (model, each_ms) in [("drum/each_ms=40", 40), ("raid10:2×drum/each_ms=90", 90)] {
        let place = place();
        std::fs::write(place.path().join("b/file"), [7; READS * BLOCK]).unwrap();
        let mounted = Mounted::start(&launcher(), &options(place.path(), model)).unwrap();
        assert_eq!(mounted.control().stat().unwrap().model, model);
        let since = Since::now();
        read(&mounted.path().join("file"));
        let least = Duration::from_millis(each_ms) * READS as u32;
        assert!(since.at_least(least), "{model}: not even {least:?}");
        // An answer counts when it has ended, a moment after it was heard.
        let modelled = || mounted.control().stat().unwrap().latency.modelled;
        wait_until("the last answer's end", || modelled().count >= READS as u64);
        let modelled = modelled();
        assert_eq!(modelled.count, READS as u64, "{model}");
        let mean_ms = modelled.mean_us / 1e3;
        assert!((mean_ms / each_ms as f64 - 1.0).abs() < 0.05, "{model}: {modelled:?}");
        mounted.unmount().unwrap();
    }
}

/// Reads the file's blocks one after the other, past the page cache: each is a request.
fn read(path: &Path) {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(direct).open(path).unwrap();
    // Direct reads want their memory aligned.
    let mut memory = vec![0; 2 * BLOCK];
    let from = memory.as_ptr().align_offset(BLOCK);
    for block in 0..READS {
        let at = (block * BLOCK) as u64;
        file.read_exact_at(&mut memory[from..from + BLOCK], at).unwrap();
        assert_eq!(memory[from], 7);
    }
}

pub fn without_it_it_is_refused() {
    let place = place();
    let standard = Launcher { arguments: vec![STANDARD_DAEMON.into()], ..launcher() };
    match Mounted::start(&standard, &options(place.path(), "drum")).unwrap_err() {
        Error::Usage(why) => assert!(why.starts_with("there is no disk model `drum`"), "{why}"),
        other => panic!("{other:?}"),
    }
    wait_until_gone(place.path());
}
