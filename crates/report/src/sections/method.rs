//! Describes the method and the machine.

use std::collections::BTreeSet;

use bakeoff_analysis::layout::{self, DocumentLayout};
use bakeoff_analysis::{Comparison, ImagesView};
use bakeoff_results::{
    Answers, ENOUGH_OPERATIONS, FigureOfMerit, Run, Takeover, TimedDisk, find_commit,
    is_of_changed_files,
};

use crate::block::{ReportBlock, StyledText};
use crate::words;

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let run = &layout.document.run.run;
    let mut prose = vec![describe_program(run)];
    match layout::is_timed(layout.document) {
        true => prose.extend(
            [
                Some(describe_trials(layout)),
                describe_images(layout),
                describe_network(run),
                describe_answers(run),
                Some(explain_figures(run)),
                Some(explain_verdicts(layout)),
            ]
            .into_iter()
            .flatten(),
        ),
        false => prose.push("Nothing was timed: the power was cut, as told above.".into()),
    }
    prose.push("Sizes are decimal: 1 MB is 10⁶ bytes.".into());
    let mut blocks: Vec<ReportBlock> = prose.into_iter().map(ReportBlock::Prose).collect();
    blocks.extend([
        ReportBlock::Heading("The machine".into()),
        list_machine(run),
        ReportBlock::Heading("The experiment".into()),
        list_experiment(layout),
    ]);
    blocks
}

fn describe_program(run: &Run) -> StyledText {
    let from = match find_commit(&run.version) {
        _ if is_of_changed_files(&run.version) => {
            "This program was built from a tree with uncommitted changes: nobody else can build it."
        }
        Some(_) => "The version names the source revision that it was built from.",
        None => "The source revision that it was built from is not known.",
    };
    let sum = match &run.program_sha256 {
        Some(sum) => format!(" The SHA-256 of its program is {sum}."),
        None => String::new(),
    };
    let later = run.takeovers.iter().map(|it| {
        let Takeover { by, trials, cuts } = it;
        let cuts = match cuts {
            0 => String::new(),
            cuts => format!(" and {}", words::count_nouns(*cuts as usize, "power cut")),
        };
        let sum = by.program_sha256.as_deref().map(|sum| format!(", SHA-256 {sum},"));
        format!(
            " After {}{cuts} bakeoff {}{} went on with the run, under the kernel {}.",
            words::count_nouns(*trials as usize, "trial"),
            by.version,
            sum.unwrap_or_default(),
            by.kernel
        )
    });
    let later: String = later.collect();
    StyledText::default().plain(format!("Measured by bakeoff {}. {from}{sum}{later}", run.version))
}

fn describe_trials(layout: &DocumentLayout<'_>) -> StyledText {
    let run = &layout.document.run.run;
    let loops = match (layout.has_both_loops(), layout.is_open()) {
        (true, _) => {
            "Where there is a rate, operations are due at it, whether or not those before them \
             have ended, and times count from when they were due; elsewhere clients wait for each \
             operation before they send the next, and times count from when it was sent. The two \
             answer different questions: only the times from when an operation was due contain \
             the wait for a free client."
        }
        (_, true) => {
            "Its operations are due at a rate, whether or not those before them have ended; times count \
             from when they were due."
        }
        _ => "Its clients wait for each operation before they send the next.",
    };
    StyledText::default()
        .marked("A *trial* runs the workload ")
        .stressed(&run.workload)
        .plain(format!(
            " once, in a process of its own, {}, from a fresh copy of {}. {loops}",
            words::trial_lasts(run),
            if run.images > 1 { "an image of the data" } else { "the same data" }
        ))
        .marked(" A *block* holds one trial for each ")
        .plain(format!(
            "{}, all else equal, back to back in a shuffled order; all blocks are run {}.",
            layout.compare,
            describe_times(run)
        ))
        .marked(
            " What is compared is always compared inside a block, so that a machine that drifts can’t \
             favour anybody.",
        )
}

/// How images of the data differ, for the two levels where they differ most.
fn describe_images(layout: &DocumentLayout<'_>) -> Option<StyledText> {
    let run = &layout.document.run.run;
    if run.images < 2 {
        return None;
    }
    let loaded = format!(
        "Each engine’s data were loaded {}, with rows of seeds of their own, and the blocks of a condition took turns \
         on these images; an alias has another image than its base.",
        words::count_nouns(run.images as usize, "time")
    );
    let known = || layout.contending_comparisons().filter_map(|it| Some((it, it.images?)));
    let spread = |(_, view): &(&Comparison, ImagesView)| view.between_images;
    let worst = known().max_by(|one, other| spread(one).total_cmp(&spread(other)));
    let Some((comparison, view)) = worst else {
        let told = format!(
            "{loaded} No image had two blocks of a condition, so that intervals hold what images differ by."
        );
        return Some(StyledText::default().plain(told));
    };
    let rule = match known().any(|(_, view)| view.counts_images) {
        true => {
            "Where images differ by more than the trials of an image (F test at 25 %), an interval is over the \
             means of images (Kalibera and Jones)."
        }
        false => {
            "They differ by no more than the trials of an image (F test at 25 %), so that each block counts by \
             itself."
        }
    };
    let share = |share: f64| format!("{:.1} %", 100.0 * share);
    Some(StyledText::default().plain(format!(
        "{loaded} The ratios of {} to {} spread most (standard deviation): between images {}, between trials {}. {rule}",
        comparison.level,
        comparison.baseline,
        share(view.between_images),
        share(view.between_trials)
    )))
}

fn describe_network(run: &Run) -> Option<StyledText> {
    let is_there = |level: &String| run.resolve_alias("rtt", level).unwrap_or(level) != "0";
    run.levels_of("rtt").iter().any(is_there).then(|| {
        StyledText::default().plain(
            "Where there is a time of round trips, an answer counts as received a round trip (rtt) after it \
             came, and its client asks for nothing before that. It is two where a server was asked for the page on \
             a new connection; where clients asked the engine itself, it is one. The clients keep that time: no \
             byte is delayed or lost, and the server sees each request at once.",
        )
    })
}

fn describe_answers(run: &Run) -> Option<StyledText> {
    let first = run.answers.first()?;
    let engines: BTreeSet<&str> = run.answers.iter().map(|it| it.engine.as_str()).collect();
    let alike = |it: &Answers| run.answers.iter().all(|other| !it.is_unlike(other));
    let answered = match (engines.len(), run.answers.iter().all(alike)) {
        (_, false) => "the answers are not the same: see the warnings".to_owned(),
        (1, true) => {
            format!("the answers of {} alone, with nothing to hold them against", first.engine)
        }
        (number, true) => format!("the same answers from {number} engines"),
    };
    let left_out = run.engines.iter().filter(|it| it.stores && !engines.contains(&*it.name));
    let left_out: Vec<&str> = left_out.map(|it| it.name.as_str()).collect();
    let left_out = match left_out.len() {
        0 => String::new(),
        1 => format!("; {} was not asked", left_out[0]),
        _ => format!("; {} were not asked", words::join_list(&left_out)),
    };
    let (operations, statements) = (first.operations, words::format_count(first.statements));
    let asked = format!(
        "Before its first trial each engine’s data were asked, untimed, what one client’s {} ask in \
         {statements} statements: {answered}{left_out}.",
        words::count_nouns(operations as usize, "operation")
    );
    Some(StyledText::default().plain(asked).marked(
        " A comparison of two that did not answer alike, or of which one left something broken or broke its promise of durability, is *void*.",
    ))
}

fn describe_times(run: &Run) -> String {
    let times = words::count_nouns(run.repetitions as usize, "time");
    match run.sequential {
        Some(_) => format!("until the comparisons of their condition are decided, {times} at most"),
        None => times,
    }
}

fn explain_figures(run: &Run) -> StyledText {
    let words = StyledText::default().marked(
        "The first tenth of a trial’s time is its warm-up. Every operation that starts after it counts \
         and is followed to its end, and the trial goes on until the time is over and ",
    );
    let words = words.plain(ENOUGH_OPERATIONS.to_string()).marked(
        " of each \
         operation have ended; what still runs when ten times its time is over is cut off there, and its \
         time is a lower bound. A mean is the geometric mean of a cell’s trials, so that the ratio of two \
         means is the ratio of their pairs; the bar of a mean in the first chart is its 95 % interval by the \
         spread of its own trials. A quantile is the median of the trials’ own quantiles, \
         and is given only where in each trial at least 10 operations lie beyond it. A ratio is the geometric mean of the \
         ratios inside the blocks; its 95 % interval comes from their spread (Student’s t on their \
         logarithms). An interval is called *wide* where it reaches more than tenfold to either side: \
         only more repetitions narrow it.",
    );
    match run.operations_each {
        None => words,
        Some(each) => words.plain(format!(
            " A trial’s time is over, too, as soon as {each} of each operation are known to have ended, but \
             for a steady one."
        )),
    }
}

fn explain_verdicts(layout: &DocumentLayout<'_>) -> StyledText {
    let run = &layout.document.run.run;
    StyledText::default()
        .marked(
            "*Faster* and *slower* mean that the whole interval lies beyond 5 % (above 1.05, or \
             below 1 / 1.05), *same* that it lies within, *undecided* neither. ",
        )
        .plain(explain_family(layout))
        .marked(
            " *Too few* means that some trial has fewer than 20 of the operation, *spiky* that two ways of \
             estimating the ratio disagree, so that the interval can’t be trusted, *no pair* that \
             no block has a figure of ",
        )
        .plain(&run.baseline)
        .marked(
            " beside it. A level that was entered twice is held against itself (A/A check): of five \
             blocks or more, a difference of it from another level that is smaller than that is *within \
             noise*. *Short of processors* means that threads waited for a processor for so long that \
             the word could be another without it, *never steady* that a trial which was to be steady was \
             not, *void* that the two did not do the same work or left something broken. Where operations were still \
             running when a trial was cut off, they count with the time that they had taken by then: > \
             stands before such times, ≥ or ≤ before ratios; there is no ratio where both levels were cut \
             off. The verdict goes by ",
        )
        .plain(judged_by(run))
        .marked("; two levels other than ")
        .plain(&run.baseline)
        .marked(" are held against each other by their own pairs of trials.")
}

fn judged_by(run: &Run) -> String {
    match run.figure_of_merit {
        FigureOfMerit::Time => "mean times".into(),
        rate => format!(
            "{}, all operations together and those that failed left out; above 1 is faster, and < stands \
             before a rate that was cut off. Where operations are due at a rate, that is given, and the \
             verdict goes by mean times",
            rate.in_words()
        ),
    }
}

fn explain_family(layout: &DocumentLayout<'_>) -> String {
    let all = || layout.contending_comparisons();
    match &layout.document.run.run.sequential {
        None => {
            let borrowed = match all().any(Comparison::borrows_variance) {
                true => {
                    " Each interval borrows from what all comparisons of the run tell of its noise \
                         (moderated variances, Smyth)."
                }
                false => "",
            };
            let family = match all().any(Comparison::is_judged_by_false_discovery_rate) {
                true => {
                    "Of the words faster and slower on this page about one in twenty may be wrong \
                         (false discovery rate, Benjamini and Hochberg)."
                }
                false => {
                    "All comparisons are adjusted for their number (Holm’s method): the more is \
                          compared, the clearer a difference must be."
                }
            };
            format!("{family}{borrowed}")
        }
        Some(it) => format!(
            "The intervals are repeated confidence intervals (Jennison and Turnbull): each has {:.2} %, such \
             that those of all {} interim analyses of {} together hold the true ratios with 95 %, whenever the run \
             ends; there is no other adjustment. The verdicts are read from them, and from the blocks of a \
             condition’s last interim analysis alone.",
            100.0 * it.confidence,
            it.looks.len(),
            words::count_nouns(it.comparisons as usize, "comparison"),
        ),
    }
}

fn collect_facts<const N: usize>(facts: [(&str, String); N]) -> Vec<(String, String)> {
    facts.map(|(name, fact)| (name.to_owned(), fact)).into()
}

fn list_machine(run: &Run) -> ReportBlock {
    let machine = &run.machine;
    let mut all = collect_facts([
        ("processor", format!("{}, {} usable", machine.processor, machine.processors)),
        ("memory", words::format_bytes(machine.memory_bytes)),
        ("system", format!("{}, kernel {}", machine.system, machine.kernel)),
        ("disk", format!("{}, {}", machine.device, machine.file_system)),
    ]);
    let settings = machine.settings().into_iter();
    all.extend(settings.map(|(what, value)| (what.to_owned(), value)));
    ReportBlock::Facts(all)
}

fn describe_timed(timed: &TimedDisk) -> String {
    let after = match &timed.after {
        Some(after) => format!("in {} after it", words::format_seconds(after.flush_s)),
        None => "not timed after it".to_owned(),
    };
    format!(
        "{}, of a disk that flushed in {} before the run, {after}",
        timed.model,
        words::format_seconds(timed.before.flush.flush_s)
    )
}

fn list_experiment(layout: &DocumentLayout<'_>) -> ReportBlock {
    let run = &layout.document.run.run;
    let factors = run.factors.iter().map(|(name, levels)| (name.clone(), levels.join(", ")));
    let harness = format!(
        "{} of processor time to time and record an operation",
        words::format_seconds(run.harness_s)
    );
    let mut all: Vec<(String, String)> = factors.collect();
    all.extend(
        run.disks
            .iter()
            .filter_map(|disk| Some((disk.level.clone(), describe_timed(disk.timed.as_ref()?)))),
    );
    all.extend(collect_facts([
        ("text", run.text.clone()),
        ("harness", harness),
        ("began", words::format_date(run.started_s)),
    ]));
    all.extend(layout.document.run.ended_s.map(|at| ("ended".to_owned(), words::format_date(at))));
    all.extend(collect_facts([("seed", run.seed.to_string())]));
    ReportBlock::Facts(all)
}
