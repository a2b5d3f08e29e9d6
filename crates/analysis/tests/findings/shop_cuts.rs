//! docs/findings/shop-cuts.md: what power cuts left of a shop's own rows.

use bakeoff_results::{AuditResult, Cut};

use crate::kept;
use crate::page::{check_page, table};

/// The cuts of one engine at one level.
fn row(cuts: &[Cut]) -> String {
    assert!(cuts.iter().all(|cut| cut.failed.is_none()), "a cut failed: {cuts:?}");
    let Cut { engine, durability, .. } = &cuts[0];
    let images: Vec<&AuditResult> =
        cuts.iter().flat_map(|cut| &cut.judged).map(|it| &it.verdict).collect();
    let acknowledged: u64 = cuts.iter().map(|cut| cut.acknowledged).sum();
    let damaged = images.iter().filter(|it| !it.is_whole()).count();
    let losing = images.iter().filter(|it| it.lost > 0).count();
    let most = images.iter().map(|it| it.lost).max().filter(|most| *most > 0);
    let most = most.map_or("–".to_owned(), |most| most.to_string());
    let oldest = images.iter().filter_map(|it| it.oldest_lost_s).max_by(f64::total_cmp);
    let oldest = oldest.map_or("–".to_owned(), |oldest| format!("{:.0} ms", oldest * 1e3));
    let broken = cuts.iter().filter(|cut| cut.broken_images().next().is_some()).count();
    let (number, images) = (cuts.len(), images.len());
    format!(
        "`{engine}` | {durability} | {number} | {acknowledged} | {images} | {damaged} | {losing} | {most} | {oldest} | {broken}"
    )
}

#[test]
fn the_page_is_of_the_cuts() {
    let cuts = kept::open("findings/shop-cuts", |folder| folder.read_cuts().expect("cuts"));
    let level = |cut: &Cut| (cut.engine.clone(), cut.durability.clone());
    let columns = "engine | level | cuts | acknowledged | images | damaged | with losses | most lost | oldest loss | promise broken";
    let levels = cuts.chunk_by(|one, other| level(one) == level(other));
    check_page("docs/findings/shop-cuts.md", &[("left", table(columns, levels.map(row)))]);
}
