//! Models that somebody else describes, registered beside those that are built in.

use bakeoff_devices::device::agenda::Agenda;
use bakeoff_devices::device::model::{DeviceModel, DeviceParameters};
use bakeoff_devices::device::{
    Completion, Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, within, wrongs,
};
use bakeoff_devices::models::{Models, RegisterError};
use bakeoff_devices::spec::Spec;
use serde::{Deserialize, Serialize};

/// What a drum is like: one request after the other, each in the same time.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Drum {
    each_ms: f64,
    flushing: Flushing,
    cache: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Flushing {
    Free,
    AsWritten,
}

const DRUM: DeviceModel =
    DeviceModel::new("drum", "a drum without an arm", || Box::new(Drum::turning(4.0)));
/// Drums that are the slower the larger they are.
const DRUMS: DeviceModel = DeviceModel::of_size("drums", "drums of a size", 2..=50, |gib| {
    Box::new(Drum::turning(gib as f64))
});

impl Drum {
    fn turning(each_ms: f64) -> Self {
        Self { each_ms, flushing: Flushing::Free, cache: 8 << 20 }
    }
}

impl DeviceParameters for Drum {
    fn check(&self) -> Vec<ParameterProblem> {
        wrongs([within("each_ms", self.each_ms, 0.001..=1e4)])
    }

    fn build(&self, seed: u64) -> Box<dyn Device> {
        let parameters = self.clone();
        Box::new(Turning { parameters, seed, agenda: Agenda::default(), free: 0 })
    }

    fn cache(&self) -> u64 {
        self.cache
    }
}

struct Turning {
    parameters: Drum,
    seed: u64,
    agenda: Agenda,
    free: Nanos,
}

impl Device for Turning {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.agenda.enter(now);
        let is_free =
            request.kind == RequestKind::Flush && self.parameters.flushing == Flushing::Free;
        let each = if is_free { 0.0 } else { self.parameters.each_ms };
        self.free = self.free.max(now) + (each * 1e6) as Nanos;
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
        self.parameters.build(self.seed)
    }
}

fn models() -> Models {
    Models::standard().with([DRUM, DRUMS]).expect("they have names of their own")
}

fn spec(text: &str) -> Spec {
    models().parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    models().parse(text).expect_err(text).to_string()
}

/// When each of some requests is done that come at once, in milliseconds.
fn done(text: &str, kinds: &[RequestKind]) -> Vec<u64> {
    let mut device = spec(text).build(1);
    for (id, kind) in (0..).zip(kinds) {
        let length = if *kind == RequestKind::Flush { 0 } else { 4096 };
        device.submit(0, id, DeviceRequest { kind: *kind, offset: 0, length, stream: 0 });
    }
    let mut done = Vec::new();
    while let Some(at) = device.next_completion() {
        device.advance(at, &mut done);
    }
    done.iter().map(|completion| completion.at / 1_000_000).collect()
}

#[test]
fn they_are_listed_after_those_that_are_built_in() {
    let listed = models().listed();
    let names: Vec<&str> = listed.iter().map(|listed| &*listed.name).collect();
    assert_eq!(names[0], "null");
    assert_eq!(names[7..], ["drum", "drums:SIZE", "raid10:N×MODEL"]);
    assert_eq!(listed[7].summary, "a drum without an arm");
    assert!(Models::standard().parse("drum").is_err(), "nobody else has them");
}

#[test]
fn they_are_read_and_written_as_the_others() {
    for text in ["drum", "drum/each_ms=3", "drum/flushing=as-written", "drums:20G/commit=fast"] {
        assert_eq!(spec(text).to_string(), text);
        assert_eq!(spec(text), models().parse(text).unwrap());
    }
    assert_eq!(spec("drums:20G/each_ms=20/cache=4194304").to_string(), "drums:20G/cache=4M");
    assert_ne!(spec("drums:20G"), spec("drums:21G"));
    assert_ne!(spec("drum"), spec("raid10:2×drum"));
    let table = "model = 'raid10:2xdrum'\neach_ms = 2\ncache = '1M'".parse().unwrap();
    let array = models().parse_table(&table).unwrap();
    assert_eq!(array.to_string(), "raid10:2×drum/cache=1M/each_ms=2");
    assert!(!array.is_null());
}

#[test]
fn what_is_wrong_is_told_with_what_is_right() {
    assert!(error("drun").contains("perhaps `drum` was meant; there are null"));
    assert!(error("floppy").contains("drum, drums:SIZE, raid10:N×MODEL"));
    assert!(error("raid10:4×drun").contains("perhaps `drum` was meant"));
    let key = error("drum/each_m=1");
    assert!(
        key.contains("perhaps `each_ms` was meant; it has barrier, cache, commit, data"),
        "{key}"
    );
    assert!(error("drum/each_ms=slow").contains("each_ms is `slow`, and must be a number"));
    assert!(
        error("drum/each_ms=0").contains("this drum is not possible: each_ms is 0, and must be")
    );
    assert!(error("drum/flushing=soon").contains("must be `free` or `as-written`"));
    for size in ["drums", "drums:", "drums:1G", "drums:51G"] {
        let told = "drums needs a size from 2G to 50G, written like `drums:50G`";
        assert_eq!(error(size), told, "{size}");
    }
    assert!(error("drum:20G").contains("there is no disk model `drum:20G`"));
    let used = spec("drum").with_used_fraction(0.5).unwrap_err();
    assert!(used.to_string().contains("drum is not one"), "{used}");
}

#[test]
fn they_take_the_time_that_they_say() {
    use RequestKind::{Flush, Read, Write};
    assert_eq!(done("drum", &[Read, Write, Flush, Read]), [4, 8, 8, 12]);
    assert_eq!(done("drum/each_ms=7/flushing=as-written", &[Write, Flush]), [7, 14]);
    assert_eq!(done("drums:20G", &[Read, Read]), [20, 40]);
    // Of an array, a mirror reads beside the other, and both write.
    assert_eq!(done("raid10:2×drum", &[Read, Read, Read]), [4, 4, 8]);
    assert_eq!(done("raid10:2×drum", &[Write, Read]), [4, 8]);
    assert_eq!((spec("drum").cache(), spec("raid10:4×drum/cache=1M").cache()), (8 << 20, 2 << 20));
}

/// The parameters of a device that has one, of whatever name and type.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Having<T>(T);

impl<T: Clone + std::fmt::Debug + Send + Sync> DeviceParameters for Having<T> {
    fn check(&self) -> Vec<ParameterProblem> {
        Vec::new()
    }

    fn build(&self, seed: u64) -> Box<dyn Device> {
        Drum::turning(1.0).build(seed)
    }

    fn cache(&self) -> u64 {
        0
    }

    fn takes_no_time(&self) -> bool {
        true
    }
}

/// A model `odd` with this parameter, which takes no time.
macro_rules! having {
    ($key:ident: $type:ty = $value:expr) => {{
        #[derive(Clone, Debug, Serialize, Deserialize)]
        struct One {
            $key: $type,
        }
        DeviceModel::new("odd", "", || Box::new(Having(One { $key: $value })))
    }};
}

#[test]
fn a_model_says_whether_it_has_a_stroke_and_takes_time() {
    let models = models().with([having!(used: f64 = 1.0)]).unwrap();
    let spec = models.parse("odd").unwrap();
    assert!(spec.is_null());
    assert_eq!(spec.with_used_fraction(0.5).unwrap().to_string(), "odd/used=0.5");
}

#[test]
fn what_cannot_be_registered_is_refused_with_the_reason() {
    let refused = |model: DeviceModel| models().with([model]).unwrap_err().to_string();
    let named = |name| refused(DeviceModel::new(name, "", || Box::new(Drum::turning(1.0))));
    assert_eq!(models().with([DRUM]).unwrap_err(), RegisterError::Twice("drum"));
    for name in ["hdd-7200", "ebs-gp2", "drums"] {
        let twice = format!("two disk models are registered by the name `{name}`; rename one");
        assert_eq!(named(name), twice);
    }
    assert!(named("host").contains("is the machine's own disk"));
    assert!(named("raid10").contains("an array"));
    for name in ["", "my drum", "a/b", "a:b", "a,b", "drüm"] {
        assert!(named(name).contains("letters, digits"), "{name}");
    }
    for (model, why) in [
        (having!(commit: u32 = 1), "`commit` is one that every disk has"),
        (having!(model: u32 = 1), "`model` is one that every disk has"),
        (having!(quick: bool = true), "`quick` is neither a number nor a word"),
    ] {
        assert!(refused(model).contains(why), "{why}");
    }
    assert!(refused(having!(large: u64 = u64::MAX)).contains("the disk model `odd` can't be had"));
    let slow = DeviceModel::new("slow", "", || Box::new(Drum::turning(1e9)));
    assert!(refused(slow).contains("as it comes, each_ms is 1000000000, and must be"));
}
