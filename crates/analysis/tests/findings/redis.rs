//! docs/how-to/run-your-own-program.md: what power cuts left of the sample's promises.

use crate::kept;
use crate::page::{check_page, table};

#[test]
fn the_page_is_of_the_cuts() {
    let document = kept::read("findings/redis");
    let row = |it: &bakeoff_analysis::PromiseView| {
        assert_eq!(it.failed, 0);
        let broken = it.kept.map_or("nothing is promised".into(), |_| it.broken.to_string());
        let corrupt: Vec<u32> = it.rules.iter().map(|rule| rule.corrupt).collect();
        let most = corrupt.iter().max().expect("rules");
        format!("{} | {} | {broken} | {most}", it.durability, it.cuts)
    };
    let columns = "level | cuts | broken | by a rule, Redis does not start";
    let rows = document.promises.iter().map(row);
    check_page("docs/how-to/run-your-own-program.md", &[("redis", table(columns, rows))]);
}
