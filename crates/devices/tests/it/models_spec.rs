//! How devices are named.

use bakeoff_devices::ext4::{Committing, Ext4Parameters, JournalPlace};
use bakeoff_devices::models::Models;
use bakeoff_devices::spec::Spec;

fn error(text: &str) -> String {
    Models::standard().parse(text).expect_err(text).to_string()
}

fn table(text: &str) -> Result<Spec, String> {
    Models::standard().parse_table(&text.parse().unwrap()).map_err(|error| error.to_string())
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
    ] {
        let spec = Models::standard().parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(spec.to_string(), text);
        assert_eq!(Models::standard().parse(&spec.to_string()).unwrap(), spec);
    }
}

#[test]
fn there_is_one_way_to_write_each() {
    for (text, canonical) in [
        ("raid10:4xhdd-7200", "raid10:4×hdd-7200"),
        ("ebs-gp2:1T", "ebs-gp2:1024G"),
        ("hdd-7200/used=0.5/cache=1048576", "hdd-7200/cache=1M/used=0.5"),
        ("hdd-7200/used=1/rpm=7200", "hdd-7200"),
        ("ebs-gp3/journal=middle/commit=jbd2/barrier=1", "ebs-gp3"),
        ("raid10:4×ssd-sata/cache=1M/barrier=0", "raid10:4×ssd-sata/barrier=0/cache=1M"),
    ] {
        assert_eq!(Models::standard().parse(text).unwrap().to_string(), canonical);
    }
}

#[test]
fn every_listed_device_can_be_had() {
    for listed in Models::standard().listed() {
        let name = listed.name.replace("SIZE", "100G").replace("N×MODEL", "4×hdd-7200");
        let spec =
            Models::standard().parse(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(spec.is_null(), name == "null");
        assert!(!listed.summary.is_empty());
        spec.build(1);
    }
}

#[test]
fn a_table_describes_a_device_of_ones_own() {
    let spec = table("model = 'hdd-7200'\nrpm = 5900\naverage_seek_ms = 9\ncache = '64M'").unwrap();
    assert_eq!(spec.to_string(), "hdd-7200/average_seek_ms=9/cache=64M/rpm=5900");
    let array = table("model = 'raid10:4xhdd-7200'\nused = 0.25").unwrap();
    assert_eq!(array.to_string(), "raid10:4×hdd-7200/used=0.25");
    // What the level changes already, the table changes again, or leaves so.
    for (used, name) in
        [("0.25", "hdd-7200/used=0.25"), ("0.5", "hdd-7200/used=0.5"), ("1", "hdd-7200")]
    {
        let spec = table(&format!("model = 'hdd-7200/used=0.5'\nused = {used}")).unwrap();
        assert_eq!(spec.to_string(), name);
    }
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    assert!(error("hdd-7201").contains("perhaps `hdd-7200` was meant"));
    let unknown = error("floppy");
    assert!(unknown.contains("`floppy`;") && unknown.contains("ebs-gp2:SIZE"), "{unknown}");
    let key = error("hdd-7200/rmp=5400");
    assert!(key.contains("`rmp`, perhaps `rpm` was meant") && key.contains("used"), "{key}");
    assert!(error("null/rpm=1").ends_with("it has barrier, commit, data, journal"));
    assert!(error("hdd-7200/").contains("no parameter ``"));
    for text in
        ["ebs-gp2", "ebs-gp2:", "ebs-gp2:0G", "ebs-gp2:17T", "ebs-gp2:100", "ebs-gp2:99999999999T"]
    {
        assert!(error(text).contains("ebs-gp2:100G"), "{text}");
    }
    for text in [
        "raid10",
        "raid10:4",
        "raid10:3×hdd-7200",
        "raid10:0×hdd-7200",
        "raid10:66×hdd-7200",
        "raid10:-2×hdd-7200",
        "raid10:4×raid10:2×hdd-7200",
    ] {
        assert!(error(text).contains("even number of disks"), "{text}");
    }
    assert!(table("rpm = 7200").unwrap_err().contains("needs `model`"));
    assert!(table("model = 7200").unwrap_err().contains("needs `model`"));
}

#[test]
fn devices_that_cannot_be_are_refused_with_the_reason() {
    for (text, reason) in [
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
    ] {
        let error = error(text);
        assert!(error.contains(reason), "{text}: {error}");
    }
    let error = table("model = 'hdd-7200'\nrpm = [7200]").unwrap_err();
    let negative = table("model = 'hdd-7200'\ncache = -1").unwrap_err();
    assert!(negative.contains("cache has an invalid value: integer `-1`"), "{negative}");
    assert!(error.contains("rpm is `[7200]`, and must be a whole number"), "{error}");
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
fn every_model_has_a_file_system_to_choose() {
    let shipped = Ext4Parameters::default();
    assert_eq!((shipped.commit, shipped.journal), (Committing::Jbd2, JournalPlace::Middle));
    for listed in Models::standard().listed() {
        let name = listed.name.replace("SIZE", "100G").replace("N×MODEL", "4×hdd-7200");
        let chosen =
            |text: &str| Models::standard().parse(&format!("{name}{text}")).unwrap().file_system();
        assert_eq!(chosen(""), shipped, "{name}");
        let (commit, journal) = (Committing::Fast, JournalPlace::Near);
        let other = Ext4Parameters { commit, journal, ..shipped };
        assert_eq!(chosen("/commit=fast/journal=near"), other, "{name}");
    }
    let spec = table("model = 'null'\ncommit = 'fast'").unwrap();
    assert!(spec.is_null() && spec.file_system().commit == Committing::Fast);
}

#[test]
fn a_part_of_the_stroke_is_for_disks_that_have_one() {
    let used = |model: &str, fraction| {
        let spec = Models::standard().parse(model).unwrap().with_used_fraction(fraction);
        spec.map(|spec| spec.to_string()).map_err(|error| error.to_string())
    };
    assert_eq!(used("hdd-7200", 0.5).as_deref(), Ok("hdd-7200/used=0.5"));
    assert_eq!(used("raid10:4×hdd-5400", 1.0).as_deref(), Ok("raid10:4×hdd-5400"));
    assert_eq!(used("ssd-sata", 1.0).as_deref(), Ok("ssd-sata"));
    assert!(used("ssd-sata", 0.5).unwrap_err().contains("the used fraction is for hard disks"));
    assert!(used("hdd-7200/used=0.5", 0.5).unwrap_err().contains("used is given twice"));
    for fraction in [0.0, -1.0, 2.0, f64::NAN] {
        assert!(used("hdd-7200", fraction).unwrap_err().contains("used is "));
    }
}
