//! How devices are named, those that are built in and those that somebody else describes.

use bakeoff_devices::device::model::{DeviceModel, DeviceParameters};
use bakeoff_devices::device::{Device, DeviceRequest, ParameterProblem, RequestKind};
use bakeoff_devices::ext4::{Committing, Ext4Parameters, JournalPlace};
use bakeoff_devices::models::{Models, RegisterError};
use bakeoff_devices::spec::Spec;
use serde::{Deserialize, Serialize};

use crate::drum::Drum;

const DRUM: DeviceModel =
    DeviceModel::new("drum", "a drum without an arm", || Box::new(Drum::turning(4.0)));
/// Drums that are the slower the larger they are.
const DRUMS: DeviceModel = DeviceModel::of_size("drums", "drums of a size", 2..=50, |gib| {
    Box::new(Drum::turning(gib as f64))
});

/// The built-in models and the drums.
fn models() -> Models {
    Models::standard().with_models([DRUM, DRUMS]).expect("they have names of their own")
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

fn table(text: &str) -> Result<Spec, String> {
    models().parse_table(&text.parse().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn devices_are_read_as_they_are_written() {
    for text in [
        "null",
        "hdd-7200",
        "hdd-7200/cache=64M/used=0.02",
        "hdd-5400/order=first-come",
        "ssd-sata/flush_us=500",
        "ebs-magnetic",
        "ebs-gp2:100G",
        "ebs-gp2:100G/credits=27000",
        "ebs-gp3/burst_iops=6000/iops=6000/throughput_mib_s=250",
        "raid10:4×hdd-7200",
        "raid10:8×ebs-gp2:10G",
        "raid10:2×hdd-7200/rpm=5900",
        "null/commit=fast",
        "ssd-sata/commit=fast/flush_us=500/journal=near",
        "raid10:4×hdd-7200/journal=near",
        "drum",
        "drum/each_ms=3",
        "drum/flushing=as-written",
        "drums:20G/commit=fast",
    ] {
        assert_eq!(spec(text).to_string(), text);
        assert_eq!(spec(text), spec(text));
    }
    for (text, canonical) in [
        ("raid10:4xhdd-7200", "raid10:4×hdd-7200"),
        ("ebs-gp2:1T", "ebs-gp2:1024G"),
        ("ebs-gp2:100G/credits=5400000", "ebs-gp2:100G"),
        ("hdd-7200/used=0.5/cache=1048576", "hdd-7200/cache=1M/used=0.5"),
        ("hdd-7200/used=1/rpm=7200", "hdd-7200"),
        ("ebs-gp3/journal=middle/commit=jbd2/barrier=1", "ebs-gp3"),
        ("raid10:4×ssd-sata/cache=1M/barrier=0", "raid10:4×ssd-sata/barrier=0/cache=1M"),
        ("drums:20G/each_ms=20/cache=4194304", "drums:20G/cache=4M"),
    ] {
        assert_eq!(spec(text).to_string(), canonical);
    }
    assert_ne!(spec("drums:20G"), spec("drums:21G"));
    assert_ne!(spec("drum"), spec("raid10:2×drum"));
}

#[test]
fn a_table_describes_a_device_of_ones_own() {
    for (text, name) in [
        (
            "model = 'hdd-7200'\nrpm = 5900\naverage_seek_ms = 9\ncache = '64M'",
            "hdd-7200/average_seek_ms=9/cache=64M/rpm=5900",
        ),
        ("model = 'raid10:4xhdd-7200'\nused = 0.25", "raid10:4×hdd-7200/used=0.25"),
        ("model = 'raid10:2xdrum'\neach_ms = 2\ncache = '1M'", "raid10:2×drum/cache=1M/each_ms=2"),
        // What the level changes already, the table changes again, or leaves so.
        ("model = 'hdd-7200/used=0.5'\nused = 0.25", "hdd-7200/used=0.25"),
        ("model = 'hdd-7200/used=0.5'\nused = 0.5", "hdd-7200/used=0.5"),
        ("model = 'hdd-7200/used=0.5'\nused = 1", "hdd-7200"),
        ("model = 'null'\ncommit = 'fast'", "null/commit=fast"),
    ] {
        assert_eq!(table(text).unwrap().to_string(), name);
    }
}

#[test]
fn every_listed_device_can_be_had_with_a_file_system_to_choose() {
    let listed = models().list_models();
    let names: Vec<&str> = listed.iter().map(|listed| &*listed.name).collect();
    assert_eq!((names[0], &names[10..]), ("null", &["drum", "drums:SIZE", "raid10:N×MODEL"][..]));
    assert_eq!(listed[10].summary, "a drum without an arm");
    assert!(Models::standard().parse("drum").is_err(), "nobody else has them");
    let shipped = Ext4Parameters::default();
    assert_eq!((shipped.commit, shipped.journal), (Committing::Jbd2, JournalPlace::Middle));
    for listed in listed {
        let name = listed.name.replace("SIZE", "20G").replace("N×MODEL", "4×hdd-7200");
        assert_eq!(spec(&name).is_null(), name == "null");
        assert!(!listed.summary.is_empty());
        spec(&name).build(1);
        assert_eq!(spec(&name).file_system(), shipped, "{name}");
        let (commit, journal) = (Committing::Fast, JournalPlace::Near);
        let other = Ext4Parameters { commit, journal, ..shipped };
        assert_eq!(spec(&format!("{name}/commit=fast/journal=near")).file_system(), other);
    }
}

#[test]
fn what_is_wrong_is_told_with_what_is_right() {
    let size = "like `ebs-gp2:100G`";
    let array = "even number of disks";
    let drums = "drums needs a size from 2G to 50G, written like `drums:50G`";
    for (text, reason) in [
        ("hdd-7201", "perhaps `hdd-7200` was meant"),
        ("floppy", "`floppy`; there are null"),
        ("floppy", "ebs-gp2:SIZE, ebs-gp3, drum, drums:SIZE, raid10:N×MODEL"),
        ("drun", "perhaps `drum` was meant; there are null"),
        ("raid10:4×drun", "perhaps `drum` was meant"),
        ("hdd-7200/rmp=5400", "`rmp`, perhaps `rpm` was meant; it has "),
        ("drum/each_m=1", "perhaps `each_ms` was meant; it has barrier, cache, commit, data"),
        ("null/rpm=1", "it has barrier, commit, data, journal"),
        ("hdd-7200/", "no parameter ``"),
        ("drum:20G", "there is no disk model `drum:20G`"),
        ("ebs-gp2", size),
        ("ebs-gp2:", size),
        ("ebs-gp2:0G", size),
        ("ebs-gp2:17T", size),
        ("ebs-gp2:100", size),
        ("ebs-gp2:99999999999T", size),
        ("drums", drums),
        ("drums:", drums),
        ("drums:1G", drums),
        ("drums:51G", drums),
        ("raid10", array),
        ("raid10:4", array),
        ("raid10:3×hdd-7200", array),
        ("raid10:0×hdd-7200", array),
        ("raid10:66×hdd-7200", array),
        ("raid10:-2×hdd-7200", array),
        ("raid10:4×raid10:2×hdd-7200", array),
        ("hdd-7200/rpm=0", "rpm is 0"),
        ("hdd-7200/rpm=-7200", "rpm"),
        ("hdd-7200/rpm=fast", "rpm is `fast`, and must be a whole number"),
        ("hdd-7200/average_seek_ms=-1", "average_seek_ms is -1"),
        ("hdd-7200/track_to_track_ms=-0.1", "track_to_track_ms is -0.1"),
        ("hdd-7200/average_seek_ms=17.9", "average_seek_ms 17.9 does not go with"),
        ("hdd-7200/average_seek_ms=100", "average_seek_ms 100 does not go with"),
        ("hdd-7200/full_stroke_ms=8", "full_stroke_ms 8: such an arm averages from"),
        ("hdd-7200/inner_mb_s=160", "outer_mb_s 150 is below inner_mb_s 160"),
        ("hdd-7200/inner_mb_s=0", "inner_mb_s is 0"),
        ("hdd-7200/used=0", "used is 0"),
        ("hdd-7200/used=1.5", "used is 1.5"),
        ("hdd-7200/used=nan", "used is NaN"),
        ("hdd-7200/used=", "must be a number"),
        ("hdd-7200/tags=0", "tags is 0"),
        ("hdd-7200/order=random", "order is `random`, and must be `shortest` or `first-come`"),
        ("hdd-7200/cache=-1", "cache"),
        ("ssd-sata/read_us=-1", "read_us is -1"),
        ("ssd-sata/sustained_mb_s=600", "write_mb_s 530 is below sustained_mb_s 600"),
        ("ebs-gp3/iops=0", "iops is 0"),
        ("ebs-gp3/iops=4000", "burst_iops 3000 is below iops 4000"),
        ("ebs-gp3/at_once=0", "at_once is 0"),
        ("ebs-gp3/jitter=2", "jitter is 2"),
        ("null/commit=5", "commit is `5`, and must be `jbd2` or `fast`"),
        ("hdd-7200/journal=far", "journal is `far`, and must be `middle` or `near`"),
        ("hdd-7200/data=none", "data is `none`, and must be `ordered`, `writeback` or `journal`"),
        ("hdd-7200/barrier=2", "barrier has an invalid value, expected 0 or 1"),
        ("hdd-7200/barrier=no", "barrier is `no`"),
        ("drum/each_ms=slow", "each_ms is `slow`, and must be a number"),
        ("drum/each_ms=0", "this drum is not possible: each_ms is 0, and must be"),
        ("drum/flushing=soon", "must be `free` or `as-written`"),
    ] {
        let error = error(text);
        assert!(error.contains(reason), "{text}: {error}");
    }
    for (text, reason) in [
        ("rpm = 7200", "needs `model`"),
        ("model = 7200", "needs `model`"),
        ("model = 'hdd-7200'\nrpm = [7200]", "rpm is `[7200]`, and must be a whole number"),
        ("model = 'hdd-7200'\ncache = -1", "cache has an invalid value: integer `-1`"),
    ] {
        let error = table(text).unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn all_that_is_wrong_is_told_with_the_parameter_that_was_written() {
    let text = "model = 'hdd-7200'\nrpm = 0\nrmp = 1\ntags = 'many'\naverage_seek_ms = 100\n\
                inner_mb_s = 160\norder = 'random'";
    let error = Models::standard().parse_table(&text.parse().unwrap()).unwrap_err();
    let mut told: Vec<_> = error.0.iter().map(|problem| problem.parameter().unwrap()).collect();
    told.sort_unstable();
    assert_eq!(told, ["average_seek_ms", "inner_mb_s", "order", "rmp", "rpm", "tags"], "{error}");
    let both = error.to_string();
    assert!(both.contains("rpm is 0") && both.contains("; "), "{both}");
    // Of two that do not go together, the one that was changed.
    let error = Models::standard().parse("hdd-7200/outer_mb_s=100").unwrap_err();
    assert_eq!(error.0[0].parameter(), Some("outer_mb_s"), "{error}");
    // A value that is wrong by itself says nothing of what goes with it.
    let error = Models::standard().parse("ebs-gp3/iops=fast/burst_iops=0").unwrap_err();
    assert_eq!(error.0.len(), 2, "{error}");
    assert!(self::error("hdd-7200/used=0.5/used=1.0").contains("used is given twice"));
}

#[test]
fn a_part_of_the_stroke_is_for_disks_that_have_one() {
    let used = |model: &str, fraction| {
        let spec = models().parse(model).unwrap().with_used_fraction(fraction);
        spec.map(|spec| spec.to_string()).map_err(|error| error.to_string())
    };
    assert_eq!(used("hdd-7200", 0.5).as_deref(), Ok("hdd-7200/used=0.5"));
    assert_eq!(used("raid10:4×hdd-5400", 1.0).as_deref(), Ok("raid10:4×hdd-5400"));
    assert_eq!(used("ssd-sata", 1.0).as_deref(), Ok("ssd-sata"));
    assert!(used("drum", 0.5).unwrap_err().contains("drum is not one"));
    assert!(used("ssd-sata", 0.5).unwrap_err().contains("the used fraction is for hard disks"));
    assert!(used("hdd-7200/used=0.5", 0.5).unwrap_err().contains("used is given twice"));
    for fraction in [0.0, -1.0, 2.0, f64::NAN] {
        assert!(used("hdd-7200", fraction).unwrap_err().contains("used is "));
    }
}

#[test]
fn a_model_of_ones_own_takes_its_time() {
    use RequestKind::{Flush, Read, Write};
    assert_eq!(done("drum", &[Read, Write, Flush, Read]), [4, 8, 8, 12]);
    assert_eq!(done("drum/each_ms=7/flushing=as-written", &[Write, Flush]), [7, 14]);
    assert_eq!(done("drums:20G", &[Read, Read]), [20, 40]);
    // Of an array, a mirror reads beside the other, and both write.
    assert_eq!(done("raid10:2×drum", &[Read, Read, Read]), [4, 4, 8]);
    assert_eq!(done("raid10:2×drum", &[Write, Read]), [4, 8]);
    assert_eq!(
        (spec("drum").cache_bytes(), spec("raid10:4×drum/cache=1M").cache_bytes()),
        (8 << 20, 2 << 20)
    );
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

    fn cache_bytes(&self) -> u64 {
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
    let models = models().with_models([having!(used: f64 = 1.0)]).unwrap();
    let spec = models.parse("odd").unwrap();
    assert!(spec.is_null());
    assert_eq!(spec.with_used_fraction(0.5).unwrap().to_string(), "odd/used=0.5");
}

#[test]
fn what_cannot_be_registered_is_refused_with_the_reason() {
    let refused = |model: DeviceModel| models().with_models([model]).unwrap_err().to_string();
    let named = |name| refused(DeviceModel::new(name, "", || Box::new(Drum::turning(1.0))));
    assert_eq!(models().with_models([DRUM]).unwrap_err(), RegisterError::Twice("drum"));
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
