//! A run whose power was cut.

use bakeoff_analysis::{Document, FoundInCuts, PromiseView, RuleView};
use bakeoff_results::{
    AuditResult, Cut, CutPlan, FileSystem, JudgedImage, PromiseFactors, Promised,
};

use super::Sample;

/// A cut of sqlite at strict that found less than was promised by one of two rules.
fn cut(keep: &str, example: &str) -> Cut {
    let torn = AuditResult {
        lost: 2,
        oldest_lost_s: Some(0.25),
        torn: 1,
        recovery_s: Some(0.004),
        examples: vec![example.into()],
        ..AuditResult::default()
    };
    let judged = [("prefix", AuditResult::default()), (keep, torn)];
    Cut {
        engine: "sqlite".into(),
        durability: "strict".into(),
        file_system: FileSystem::Ext4,
        promised: Promised::Everything,
        clients: 4,
        number: 3,
        conditioned: None,
        seed: 1,
        moment: "within sync 2".into(),
        placed: None,
        ran_s: 0.5,
        acknowledged: 9,
        judged: judged
            .map(|(keep, verdict)| JudgedImage {
                keep: keep.into(),
                again: None,
                verdict,
                image: None,
            })
            .into(),
        timed: None,
        failed: None,
        every: None,
    }
}

/// The sample run, its engines compared at strict, and one of them with a broken promise.
pub fn broken(keep: &str, example: &str) -> Document {
    broken_among(Sample::default(), keep, example)
}

/// The same of a sample with other engines.
pub fn broken_among(sample: Sample, keep: &str, example: &str) -> Document {
    let factors = vec![("durability", vec!["strict", "none"]), ("clients", vec!["1"])];
    let mut document = Sample { factors, ..sample }.document();
    document.cuts = vec![cut(keep, example)];
    let rule = |keep: &str| RuleView { keep: keep.into(), cuts: 1, ..RuleView::default() };
    let torn = RuleView {
        broken: 1,
        lost: FoundInCuts { cuts: 1, most: 2 },
        oldest_lost_s: Some(0.25),
        torn: FoundInCuts { cuts: 1, most: 1 },
        example: Some(example.into()),
        repeat: Some(3),
        ..rule(keep)
    };
    document.promises = vec![PromiseView {
        engine: "sqlite".into(),
        durability: "strict".into(),
        file_system: FileSystem::Ext4,
        promised: Promised::Everything,
        kept: Some(false),
        cuts: 1,
        broken: 1,
        failed: 0,
        recovery_median_s: Some(0.004),
        recovery_max_s: Some(0.004),
        rules: vec![RuleView { intact: 1, ..rule("prefix") }, torn],
    }];
    document.run.run.cuts = Some(CutPlan {
        planned: 1,
        promise: PromiseFactors::default(),
        disk: "ssd-sata".into(),
        clients: 4,
        file_systems: vec![FileSystem::Ext4],
        every: false,
        command: "bakeoff run power-cut --seed 1".into(),
    });
    document
}
