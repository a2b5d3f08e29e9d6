//! What a merged run tells of the machines that it was made on.

use bakeoff_testkit::Tmpfs;
use serde_json::Value;

use super::{changed, cut_short, describe, half, place};

/// A machine whose clock is months ahead, and one whose clock was set back while it ran.
#[test]
fn times_that_can_not_be_are_told_and_change_no_ratio() {
    let place = place();
    half(&place, 1, "one");
    half(&place, 2, "two");
    changed(&place, "two", "ahead", |run| {
        let later =
            "UPDATE trial SET started_s = started_s + 1e7; UPDATE run SET ended_s = ended_s + 1e7";
        run.execute_batch(later).unwrap();
        describe(run, |it| it["started_s"] = (it["started_s"].as_f64().unwrap() + 1e7).into());
    });
    changed(&place, "two", "back", |run| {
        run.execute("UPDATE run SET ended_s = ended_s - 1e7", []).unwrap();
    });
    let clocks = |document: &Value| -> Vec<String> {
        let warnings = document["warnings"].as_array().unwrap().iter();
        let clocks = warnings.filter(|it| it["code"] == "clocks-differ");
        clocks.map(|it| it["text"].as_str().unwrap().to_owned()).collect()
    };
    place.run(&["merge", "all", "one", "two"]).code(0);
    let right = place.json("all");
    assert_eq!(clocks(&right), [""; 0]);
    for (other, said) in [
        ("ahead", "has times 116 days after it was merged"),
        ("back", "has times before its own start"),
    ] {
        let out = format!("all-{other}");
        place.run(&["merge", &out, "one", other]).code(0);
        let document = place.json(&out);
        let told = clocks(&document).concat();
        assert!(told.contains("1 of 2 parts") && told.contains("shard 2 on "), "{told}");
        assert!(told.contains(said), "{told}");
        assert_eq!(document["comparisons"], right["comparisons"]);
    }
}

/// In memory, and then on the shards' own disk again: a part for each.
#[test]
fn a_merged_run_that_goes_on_on_another_disk_says_so() {
    let place = place();
    half(&place, 1, "one");
    let memory = place.path("memory");
    let Some(_disk) = Tmpfs::mount(&memory, "400m") else { return };
    place.run(&["merge", "all", "one"]).code(0);
    let told = |document: &Value| -> String {
        let warnings = document["warnings"].as_array().unwrap().iter();
        let disks = warnings.filter(|it| it["code"] == "disks-differ");
        disks.map(|it| it["text"].as_str().unwrap()).collect()
    };
    assert_eq!(told(&place.json("all")), "");
    place.run(&["run", "--resume", "all", "--quiet", "--path", "memory"]).code(0);
    let document = place.json("all");
    let said = told(&document);
    assert!(said.contains("4 of 8 trials stand on another disk"), "{said}");
    assert!(said.contains("what --resume ran on ") && said.contains("tmpfs"), "{said}");
    let file_systems = |folder: &str| -> Vec<String> {
        let document = place.json(folder);
        let members = document["run"]["merged"]["members"].as_array().unwrap().iter();
        members.map(|it| it["machine"]["file_system"].as_str().unwrap().to_owned()).collect()
    };
    let of_shard = file_systems("all")[0].clone();
    assert_eq!(file_systems("all"), [of_shard.as_str(), "tmpfs"]);
    let page = place.run(&["report", "all", "--format", "md"]).code(0);
    page.says(&["and on which disk", "tmpfs (2 blocks)"]);

    changed(&place, "all", "again", cut_short);
    place.run(&["run", "--resume", "again", "--quiet"]).code(0);
    assert_eq!(file_systems("again"), [of_shard.as_str(), "tmpfs", of_shard.as_str()]);
    let said = told(&place.json("again"));
    assert!(said.contains("2 of 8 trials stand on another disk"), "{said}");
}
