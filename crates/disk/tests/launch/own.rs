//! A device model that this program has beside those that are built in.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use bakeoff_devices::device::agenda::Agenda;
use bakeoff_devices::device::model::{DeviceModel, DeviceParameters};
use bakeoff_devices::device::{
    Completion, Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, within, wrongs,
};
use bakeoff_devices::models::Models;
use bakeoff_disk::mount::{Error, Launcher, Mounted};
use bakeoff_testkit::{Since, wait_until};
use serde::{Deserialize, Serialize};

use super::{launcher, options, place, wait_until_gone};

/// The argument that makes this program a daemon without the model.
pub const STANDARD_DAEMON: &str = "standard-disk-daemon";

/// Bytes of a read, and how many are made.
const BLOCK: usize = 4096;
const READS: usize = 5;

/// A model whose devices panic when they are built, and what they say.
pub const BROKEN: &str = "broken-drum";
pub const BREAKS: &str = "the drum does not turn";

/// A model whose devices panic when they are read, and what they say.
pub const STUCK: &str = "stuck-drum";
pub const STICKS: &str = "the drum is stuck";

/// The built-in models and the drums.
pub fn models() -> Models {
    let drum =
        DeviceModel::new("drum", "a drum without an arm", || Box::new(Drum { each_ms: 4.0 }));
    let broken = DeviceModel::new(BROKEN, "a drum that does not turn", || Box::new(Broken {}));
    let stuck = DeviceModel::new(STUCK, "a drum that can't be read", || Box::new(Stuck {}));
    Models::standard().with([drum, broken, stuck]).expect("they have names of their own")
}

/// What a drum is like that does not turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Broken {}

impl DeviceParameters for Broken {
    fn check(&self) -> Vec<ParameterProblem> {
        Vec::new()
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        panic!("{BREAKS}")
    }

    fn cache(&self) -> u64 {
        0
    }
}

/// What a drum is like that can't be read.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stuck {}

impl DeviceParameters for Stuck {
    fn check(&self) -> Vec<ParameterProblem> {
        Vec::new()
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        Box::new(Turning { each: 1, sticks: true, agenda: Agenda::default(), free: 0 })
    }

    fn cache(&self) -> u64 {
        0
    }
}

/// What a drum is like: one request after the other, each in the same time.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Drum {
    each_ms: f64,
}

impl DeviceParameters for Drum {
    fn check(&self) -> Vec<ParameterProblem> {
        wrongs([within("each_ms", self.each_ms, 0.001..=1e4)])
    }

    fn build(&self, _seed: u64) -> Box<dyn Device> {
        let each = (self.each_ms * 1e6) as Nanos;
        Box::new(Turning { each, sticks: false, agenda: Agenda::default(), free: 0 })
    }

    fn cache(&self) -> u64 {
        0
    }
}

struct Turning {
    each: Nanos,
    /// Whether a read is a panic.
    sticks: bool,
    agenda: Agenda,
    free: Nanos,
}

impl Device for Turning {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        assert!(!(self.sticks && request.kind == RequestKind::Read), "{STICKS}");
        self.agenda.enter(now);
        self.free = self.free.max(now) + self.each;
        self.agenda.end(self.free, Some(id));
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.agenda.settle(now);
        self.agenda.take(done);
    }

    fn busy(&self) -> Nanos {
        self.agenda.busy()
    }

    fn unused(&self) -> Box<dyn Device> {
        Box::new(Self { agenda: Agenda::default(), free: 0, ..*self })
    }
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
