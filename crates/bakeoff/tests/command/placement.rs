//! Where clients and their server run: what a placement does, and what is refused.

use bakeoff_results::Scope;
use bakeoff_results::measure::TOGETHER;

use super::servers::{installed, trials};
use super::{Place, measured};

const POINT: &str = r#"
workload = "point"
compare = "placement"
durability = "none"
seconds = 0.5
repetitions = 2
"#;

#[test]
fn threads_stay_where_they_were_placed() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 || !installed(&["postgres"])
    {
        return;
    }
    let place = Place::new();
    place.write("mine.toml", POINT);
    let run = "run mine.toml --engine postgres --placement apart,together --out r";
    place.typed(run).code(0);
    let document = place.json("r");
    let shares = trials(&document).into_iter().map(|(_, trial)| {
        let level = trial["levels"]["placement"].as_str().unwrap().to_owned();
        (level, measured(trial).get(&TOGETHER, &Scope::Trial).unwrap())
    });
    let shares: Vec<_> = shares.collect();
    assert_eq!(shares.len(), 4);
    // A first moment may lie before they were placed.
    for (level, share) in shares {
        assert!(if level == "apart" { share < 0.1 } else { share > 0.9 }, "{level}: {share}");
    }
}

#[test]
fn what_has_no_two_sides_is_not_placed_apart() {
    let place = Place::new();
    place.write("mine.toml", POINT);
    let apart = place.typed("run mine.toml --engine sqlite --placement free,apart --dry-run");
    apart.code(2).says(&["in its clients' threads", "`free` or `together`"]);
    place.typed("run fileio --placement together --dry-run").code(2);
    // Without the factor a record has no word of it.
    place.typed("run mine.toml --engine null --compare engine --repetitions 1 --out r").code(0);
    assert!(trials(&place.json("r"))[0].1["levels"].get("placement").is_none());
}
