//! What was asked for: the experiment, as its file and the flags say it, or as a run folder has it.

use std::path::Path;

use bakeoff_experiment::{Count, Experiment, Factor, FlagOverrides, HOST, Vocabulary, base};
use bakeoff_lab::Registry;
use bakeoff_lab::targets::tables::rows::survey;
use bakeoff_report::Reports;
use bakeoff_workloads::TextSource;

use super::{durability, fio, usage};
use crate::cli;
use crate::exit::CommandFailure;
use crate::output::say;

/// The command line, and what is registered.
#[derive(Clone, Copy)]
pub struct RunInvocation<'a> {
    pub registry: &'a Registry,
    pub reports: &'a Reports,
    pub arguments: &'a cli::RunArguments,
}

impl RunInvocation<'_> {
    /// The experiment that is named, with what the flags change in it.
    pub fn new_experiment(&self) -> Result<Experiment, CommandFailure> {
        let Some(name) = &self.arguments.experiment else {
            return Err(usage(
                "say what to run: PRESET|FILE.toml, which is a preset (see `bakeoff list \
                 presets`) or a file of your own; or go on with a run: --resume DIR",
            ));
        };
        let experiment =
            self.load(name, &self.arguments.changes(), self.arguments.trust_experiment)?;
        let experiment = self.on_equal_terms(name, experiment)?;
        let text = text(self.registry, &experiment)?;
        if experiment.rows_from.is_some() {
            say(text);
        }
        Ok(experiment)
    }

    /// A preset whose level of durability nobody chose has one that every chosen engine gives, and says so.
    fn on_equal_terms(
        &self,
        name: &str,
        experiment: Experiment,
    ) -> Result<Experiment, CommandFailure> {
        let mut changes = self.arguments.changes();
        let Some(instead) = durability::instead(self.registry, name, &experiment, &changes) else {
            return Ok(experiment);
        };
        say(&instead.line);
        changes.factors.push((Factor::DURABILITY, instead.levels));
        self.load(name, &changes, self.arguments.trust_experiment)
    }

    /// Loads an experiment.
    fn load(
        &self,
        name: &str,
        changes: &FlagOverrides,
        trusts: bool,
    ) -> Result<Experiment, CommandFailure> {
        let mut vocabulary = Vocabulary { trusts, ..self.registry.vocabulary() };
        if fio::is_job_file(name) {
            vocabulary.presets.push(fio::experiment(name).map_err(usage)?);
        }
        Experiment::load(name, changes, &vocabulary).map_err(usage)
    }

    /// The experiment of a run folder; neither another one nor flags can change it any more.
    pub fn resumed_experiment(&self, dir: &Path) -> Result<Experiment, CommandFailure> {
        let refuse = |what: &str| {
            Err(usage(format!(
                "--resume goes on with the experiment in {} as it is: leave out {what}, or start \
                 a new run without --resume",
                dir.display()
            )))
        };
        if let Some(name) = &self.arguments.experiment {
            return refuse(&format!("`{name}`"));
        }
        let arguments = self.arguments;
        let path = dir.join("experiment.toml");
        let load =
            |changes: &FlagOverrides, trusts| self.load(&path.to_string_lossy(), changes, trusts);
        // Trusted only to be compared: whether it is, is said anew, since the folder may be anybody's.
        let recorded = load(&FlagOverrides::default(), true)?;
        let changes = arguments.changes();
        // `--engine` may say the same once more, with the passwords that the folder does not keep.
        let same = |again: Experiment| again.to_toml() == recorded.to_toml();
        if changes == FlagOverrides::default() || load(&changes, true).is_ok_and(same) {
            return load(&changes, arguments.trust_experiment);
        }
        refuse(&changes.flags().join(", "))
    }

    /// A preset whose disk nobody chose runs on the host's where no virtual one can be had, and says so.
    pub fn on_disks_that_work(
        &self,
        experiment: Experiment,
        works: impl FnOnce() -> Result<(), String>,
    ) -> Result<Experiment, CommandFailure> {
        let Some(levels) = virtual_disks(&experiment) else { return Ok(experiment) };
        let Err(reason) = works() else { return Ok(experiment) };
        let arguments = self.arguments;
        let name = arguments.experiment.as_deref().unwrap_or_default();
        let is_preset = self.registry.presets().iter().any(|preset| preset.name == name);
        // Power cuts are the question of some presets; those of other presets can be left out.
        let cuts = experiment.cuts.as_ref();
        let given = arguments.keys.cuts.is_some();
        let asked = cuts.is_some_and(|it| given || it.by.workload == experiment.workload);
        if asked || !is_preset || arguments.changes().gives(Factor::DISK) {
            // It is told with all else that keeps the run from beginning.
            return Ok(experiment);
        }
        let without = if cuts.is_some() { " and without power cuts" } else { "" };
        say(format_args!(
            "on the disk {HOST} instead of {levels}{without}, since no virtual disk can be had: {reason}"
        ));
        let mut changes = arguments.changes();
        changes.factors.push((Factor::DISK, HOST.into()));
        // The levels of durability may be others than the preset's by now.
        let levels = experiment.factors.get(&Factor::DURABILITY);
        if let Some(levels) = levels.filter(|_| !changes.gives(Factor::DURABILITY)) {
            changes.factors.push((Factor::DURABILITY, levels.join(",")));
        }
        changes.cuts = cuts.map(|_| Count::Times(0));
        self.load(name, &changes, arguments.trust_experiment)
    }

    /// Refuses to keep the images of power cuts where none are made.
    pub fn check_keep_images(&self, experiment: &Experiment) -> Result<(), CommandFailure> {
        if !self.arguments.keep_images || experiment.cuts.is_some() {
            return Ok(());
        }
        Err(usage(
            "--keep-images is for power cuts, and this run makes none: add --cuts N, or leave \
             --keep-images out",
        ))
    }
}

/// The levels of the disk, if one of them is virtual.
fn virtual_disks(experiment: &Experiment) -> Option<String> {
    let levels = experiment.levels(Factor::DISK);
    let real = levels.iter().all(|level| base(level) == HOST);
    (!real).then(|| levels.join(", "))
}

/// The experiment's scales, and how many rows its workload takes at each.
fn counts(registry: &Registry, experiment: &Experiment) -> Vec<(String, u64)> {
    let vocabulary = registry.vocabulary();
    let Some(workload) = vocabulary.workload(&experiment.workload) else { return Vec::new() };
    let all = || workload.scales.iter().zip(&workload.takes_rows);
    let levels = experiment.levels(Factor::SCALE);
    let counted = levels.iter().filter_map(|level| all().find(|(scale, _)| *scale == base(level)));
    counted.map(|(scale, count)| (scale.clone(), *count)).collect()
}

/// Where the experiment's texts come from, as a report says it: a file of rows or of text, or made up.
pub fn text(registry: &Registry, experiment: &Experiment) -> Result<String, CommandFailure> {
    if let Some(from) = &experiment.rows_from {
        let Some(file) = survey(from).map_err(usage)? else {
            return Ok(format!(
                "rows of made-up text, from the built-in generator (seed {})",
                experiment.seed
            ));
        };
        if experiment.rows_strict {
            file.whole().map_err(usage)?;
        }
        let scales = counts(registry, experiment);
        let scales: Vec<(&str, u64)> = scales.iter().map(|(it, count)| (&**it, *count)).collect();
        return Ok(file.describe(&scales));
    }
    let text = match &experiment.text {
        Some(path) => TextSource::from_file(path).map_err(usage)?,
        None => TextSource::generated(experiment.seed),
    };
    Ok(text.describe())
}
