use bakeoff_results::{
    Again, AuditResult, Conditioned, Cut, DebtTurnover, DurabilityPromise, FileSystem, JudgedImage,
    PaymentCut, TimedRecovery,
};

/// Cuts of one engine: one with an allowed loss, and one with too much.
pub fn sample_cuts() -> [Cut; 2] {
    let lost = AuditResult {
        lost: 3,
        oldest_lost_s: Some(0.25),
        recovery_s: Some(0.5),
        examples: vec!["client 0: 5 to 7 were acknowledged and are lost".into()],
        ..AuditResult::default()
    };
    let torn = AuditResult { torn: 2, corrupt: Some("a page is torn".into()), ..lost.clone() };
    let again = Some(Again { moment: "within sync 3".into(), in_time: true });
    let cut = |number, verdicts: [AuditResult; 2]| Cut {
        engine: "alpha".into(),
        durability: "relaxed".into(),
        file_system: FileSystem::Ext4,
        promised: DurabilityPromise::Whole { window_s: Some(1.5), most_lost: None },
        clients: 4,
        number,
        conditioned: Some(Conditioned {
            operations: 12_000,
            seconds: 4.5,
            turns: vec![DebtTurnover { name: "log written".into(), done: 11, whole: 10 }],
        }),
        seed: 7,
        moment: "within write 12".into(),
        placed: Some(PaymentCut { payment: "checkpoint".into(), came: number == 0 }),
        ran_s: 0.125,
        acknowledged: 40,
        judged: ["drop-all", "torn"]
            .into_iter()
            .zip(verdicts)
            .map(|(keep, verdict)| JudgedImage {
                keep: keep.into(),
                again: again.clone(),
                verdict,
                image: None,
            })
            .collect(),
        timed: (number == 0).then(|| TimedRecovery {
            keep: "torn".into(),
            disk: "ssd-sata".into(),
            open_s: Some(1.25),
            answer_s: Some(1.5),
            device_s: Some(0.75),
            failed: None,
        }),
        failed: None,
        every: None,
    };
    [cut(0, [AuditResult::default(), lost.clone()]), cut(1, [lost, torn])]
}
