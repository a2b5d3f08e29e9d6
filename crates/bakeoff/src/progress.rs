//! Shows the progress of a run: two live lines on a terminal, plain lines elsewhere.

mod so_far;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use bakeoff_experiment::{Experiment, Factor, TrialPlan};
use bakeoff_lab::{RunEvent, RunObserver};
use bakeoff_results::{Answers, Calibration, Cut, FileSystem, TrialSummary};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use self::so_far::InterimRatios;
use crate::output;

pub struct ProgressDisplay {
    show: Show,
    /// The factors that vary and so tell trials apart; one of all if none varies.
    shown: Vec<Factor>,
    said: Option<Instant>,
    so_far: InterimRatios,
}

/// How many power cuts, and how much judging of images, one plain line stands for.
const CUTS_A_LINE: usize = 25;
const IMAGES_A_LINE: Duration = Duration::from_secs(30);

enum Show {
    Nothing,
    Lines,
    Live { all: MultiProgress, run: ProgressBar, trial: ProgressBar, stand: ProgressBar },
}

/// The width of the run's bar, and the text before it and before a trial's bar.
const BAR: usize = 20;
const BEFORE_TRIAL: usize = 2;

/// Seconds in words: `40 s`, `3 min 20 s`, `2 h 5 min`.
pub fn format_span(seconds: f64) -> String {
    let seconds = seconds.round().max(0.0) as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn format_latency(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} µs", s * 1e6),
    }
}

impl ProgressDisplay {
    /// Shows only failures if `quiet`, live lines on a terminal, plain ones elsewhere.
    pub fn new(quiet: bool, experiment: &Experiment, plan: &TrialPlan) -> Self {
        let several = |factor: &Factor| experiment.run_levels(*factor).len() > 1;
        let factors = experiment.factors.keys().copied();
        let mut shown: Vec<Factor> = factors.clone().filter(several).collect();
        if shown.is_empty() {
            // The engine comes first, if there is one.
            shown.extend(factors.take(1));
        }
        let terminal = io::stderr().is_terminal()
            && std::env::var("TERM").is_ok_and(|name| name != "dumb" && !name.is_empty());
        let show = match (quiet, terminal) {
            (true, _) => Show::Nothing,
            (false, false) => Show::Lines,
            (false, true) => live_display(),
        };
        let so_far = InterimRatios::new(experiment, plan);
        Self { show, shown, said: None, so_far }
    }

    pub fn resume(&mut self, trials: &[TrialSummary]) {
        self.so_far.resume(trials);
    }

    pub fn finish(&self) {
        if let Show::Live { run, trial, stand, .. } = &self.show {
            stand.finish_and_clear();
            trial.finish_and_clear();
            run.finish_and_clear();
        }
    }

    fn format_cell<'a>(&self, level: impl Fn(Factor) -> &'a str) -> String {
        let levels: Vec<String> =
            self.shown.iter().map(|factor| factor.in_words(level(*factor))).collect();
        levels.join(", ")
    }

    fn say(&self, text: &str) {
        match &self.show {
            Show::Nothing => {}
            Show::Lines => output::say(text),
            Show::Live { all, .. } => drop(all.println(output::fit_terminal(text))),
        }
    }

    /// Also shown with `--quiet`.
    fn complain(&self, text: &str) {
        match &self.show {
            Show::Nothing => output::say(text),
            Show::Lines | Show::Live { .. } => self.say(text),
        }
    }

    /// Shows the present step, if the output is live.
    fn show_now(&self, text: String) {
        if let Show::Live { trial, .. } = &self.show {
            trial.set_message(on_a_line(
                &output::fit_terminal(&text),
                terminal_columns().saturating_sub(BEFORE_TRIAL),
            ));
        }
    }

    fn show_begin(&self, number: usize, of: usize, cell: &str, left_s: f64) {
        match &self.show {
            Show::Nothing => {}
            Show::Lines => {
                self.say(&format!("trial {number} of {of}: {cell}; {} left", format_span(left_s)))
            }
            Show::Live { run, trial, .. } => {
                run.set_length(of as u64);
                run.set_position(number as u64 - 1);
                run.set_message(format!("trial {number} of {of}, {} left", format_span(left_s)));
                trial.set_prefix(output::fit_terminal(cell));
                self.show_now(cell.to_owned());
            }
        }
    }
}

impl ProgressDisplay {
    /// Reports at once if an image's answers differ from another's.
    fn show_answers(&self, answers: &Answers) {
        if let Some(why) = &answers.failed {
            self.complain(&format!("{} answered nothing: {why}", answers.engine));
        }
        if let Some(difference) = &answers.difference {
            self.complain(&format!("answers differ: {}", difference.in_words(&answers.engine)));
        }
    }

    fn show_calibration(&self, what: &str, learnt: &Calibration) {
        let Calibration { operations, seconds, turned_over } = learnt;
        let did = format!("{what}: {operations} operations in {}", format_span(*seconds));
        match turned_over {
            true => self.say(&format!("{did} are one cycle of its deferred work")),
            false => self.complain(&format!("{did} are less than one cycle of its deferred work")),
        }
    }

    /// Shows progress while images of every moment are drawn or judged, which may take minutes.
    fn show_images(&mut self, text: String) {
        match self.show {
            Show::Lines if self.said.is_none_or(|said| said.elapsed() >= IMAGES_A_LINE) => {
                self.said = Some(Instant::now());
                self.say(&text);
            }
            Show::Lines | Show::Nothing => {}
            Show::Live { .. } => self.show_now(text),
        }
    }

    /// Shows a finished power cut; one worth a line of its own stays.
    fn show_cut(&self, made: usize, of: usize, cut: &Cut, left_s: f64) {
        let (number, whose) = (cut.number, describe_cut(cut));
        if let Some(reason) = &cut.failed {
            let what = format!("power cut number {number} failed ({whose})");
            self.complain(&format!("{what}: {reason}"));
        }
        for judged in cut.broken_images() {
            let verdict = &judged.verdict;
            let what = verdict.corrupt.as_ref().or(verdict.examples.first());
            let what = what.map_or("", |text| text.lines().next().unwrap_or_default());
            let keep = &judged.keep;
            self.complain(&format!(
                "promise broken ({whose}, cut number {number}, {keep}): {what}"
            ));
        }
        let text = format!("{made} of {of} power cuts made, {} left", format_span(left_s));
        match &self.show {
            Show::Nothing => {}
            // A line for each would be too many.
            Show::Lines if made == of || made.is_multiple_of(CUTS_A_LINE) => self.say(&text),
            Show::Lines => {}
            Show::Live { run, .. } => {
                run.set_length(of as u64);
                run.set_position(made as u64);
                run.set_message(text);
                self.show_now(whose);
            }
        }
    }
}

/// Example: `fjall, strict on posix`.
fn describe_cut(cut: &Cut) -> String {
    let on = match cut.file_system {
        FileSystem::Ext4 => "",
        FileSystem::Posix => " on posix",
    };
    format!("{}, {}{on}", cut.engine, cut.durability)
}

fn live_display() -> Show {
    let all = MultiProgress::new();
    let style = |template: &str| {
        let style = ProgressStyle::with_template(template).expect("the template is a constant");
        match output::shows_unicode() {
            true => style.progress_chars("━╸─"),
            false => style.progress_chars("=>-").tick_chars("|/-\\ "),
        }
    };
    let run = all.add(ProgressBar::new(1));
    run.set_style(style(&format!("{{bar:{BAR}}} {{wide_msg}}")));
    let trial = all.add(ProgressBar::new_spinner());
    trial.set_style(style("{spinner} {wide_msg}"));
    trial.enable_steady_tick(Duration::from_millis(100));
    let stand = all.add(ProgressBar::new_spinner());
    stand.set_style(style("{msg}"));
    run.tick();
    Show::Live { all, run, trial, stand }
}

fn terminal_columns() -> usize {
    output::columns_of(io::stderr()).unwrap_or(output::WIDTH)
}

/// As many whole words as fit a line.
fn on_a_line(text: &str, width: usize) -> String {
    let more = output::fit_locale(" …");
    let lines = output::wrap_text(text, ["", ""], width.saturating_sub(more.chars().count()));
    match text.chars().count() <= width {
        true => text.to_owned(),
        false => lines.lines().next().unwrap_or_default().to_owned() + &more,
    }
}

impl RunObserver for ProgressDisplay {
    fn on_event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Swept(path) => {
                self.say(&format!("removed what a killed run had left: {}", path.display()));
            }
            RunEvent::MeasuringNeighbour => {
                self.show_now("measuring one stream of background I/O alone".into())
            }
            RunEvent::Loading { data, rows: 0 } => self.show_now(format!("loading {}", data.about)),
            RunEvent::Loading { data, rows } => {
                self.show_now(format!("loading {}: {rows} rows", data.about));
            }
            RunEvent::Loaded { data, seconds, failure: None } => {
                self.say(&format!("loaded {} in {seconds:.1} s", data.about));
            }
            RunEvent::Loaded { data, failure: Some(reason), .. } => {
                self.complain(&format!("could not load {}: {reason}", data.about));
            }
            RunEvent::Asking(data) => {
                self.show_now(format!("comparing what is answered: {}", data.about))
            }
            RunEvent::Answered(answers) => self.show_answers(answers),
            RunEvent::Unsettled(text) => {
                self.show_now(format!("waiting for the machine to settle: {text}"));
            }
            RunEvent::Begins { number, of, cell, left_s } => {
                let name = self.format_cell(|factor| cell.aliased_level(factor));
                self.show_begin(number, of, &name, left_s);
            }
            RunEvent::Calibrating { what } => {
                self.show_now(format!(
                    "learning how long a cycle of the deferred work of {what} is"
                ));
            }
            RunEvent::Calibrated { what, learnt } => self.show_calibration(what, learnt),
            RunEvent::Conditioning { done, of } => {
                let of = of.map_or(String::new(), |of| format!(" of {of}"));
                self.show_now(format!("preconditioning: {done}{of} operations"));
            }
            RunEvent::Progress { per_second, mean_s } => {
                // Before the first operation has ended there is no rate and no latency.
                if let (Show::Live { trial, .. }, true) = (&self.show, per_second > 0.0) {
                    let (cell, latency) = (trial.prefix(), format_latency(mean_s));
                    self.show_now(format!("{cell}: {per_second:.0} operations/s, {latency} each"));
                }
            }
            RunEvent::Planned(news) => self.say(news),
            RunEvent::Drawing { cut, images, different } => {
                self.show_images(format!(
                    "{}: {images} images drawn, {different} differ",
                    describe_cut(cut)
                ));
            }
            RunEvent::Judging { cut, judged, of, broken } => {
                let seem =
                    if broken > 0 { format!(", {broken} seem broken") } else { String::new() };
                self.show_images(format!(
                    "{}: {judged} of {of} images judged{seem}",
                    describe_cut(cut)
                ));
            }
            RunEvent::Cut { made, of, cut, left_s } => self.show_cut(made, of, cut, left_s),
            RunEvent::Ends(trial) => {
                if let Some(told) = self.so_far.take_trial(trial) {
                    match &self.show {
                        Show::Nothing => {}
                        Show::Lines => self.say(&told),
                        Show::Live { stand, .. } => {
                            let lines = output::wrap_text(
                                &output::fit_terminal(&told),
                                ["", ""],
                                terminal_columns(),
                            );
                            stand.set_message(lines.trim_end().to_owned());
                        }
                    }
                }
                if let (false, Some(reason)) = (trial.valid, &trial.reason) {
                    let level = |factor: Factor| trial.levels.get(factor.name());
                    let cell = self.format_cell(|factor| level(factor).map_or("", String::as_str));
                    self.complain(&format!("a trial failed ({cell}): {reason}"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_well() {
        let spans = [0.4, 59.6, 200.0, 7500.0].map(format_span);
        assert_eq!(spans, ["0 s", "1 min", "3 min 20 s", "2 h 5 min"]);
    }
}
