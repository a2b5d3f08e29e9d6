//! Whether a plan tells what it can tell apart.

use bakeoff_stats::detectable::PlannedFamily;
use bakeoff_stats::family::Adjustment;

use crate::moderated::{MadeUpRun, tally};

/// Of the ratio that a plan announces, 70 to 92 % are found; 80 % was announced.
#[test]
fn what_a_plan_announces_is_found() {
    println!("| comparisons, blocks, noise | announced | found |\n|---|---|---|");
    for (comparisons, blocks, noise) in
        [(4, 3, 0.05), (12, 3, 0.05), (12, 5, 0.05), (12, 10, 0.05), (48, 3, 0.03), (48, 5, 0.1)]
    {
        let adjustment = Adjustment::FalseDiscovery;
        let plan = PlannedFamily { noise, blocks, comparisons, adjustment };
        let ratio = plan.find_detectable_ratio().unwrap();
        let run = MadeUpRun { comparisons, blocks, noise, spread: 0.2, ratio, outliers: 0.0 };
        let [_, now] = tally(run, 400, 60);
        let found = now.share(now.found);
        println!(
            "| {comparisons}, {blocks}, {:.0} % | {ratio:.2} | {:.0} % |",
            100.0 * noise,
            100.0 * found
        );
        assert!((0.70..0.92).contains(&found), "{plan:?}: {ratio}, {found}");
    }
}
