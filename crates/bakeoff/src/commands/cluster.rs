//! `bakeoff cluster`: job files that spread a run over machines. They are printed, and nothing is run.
//!
//! Each asks for whole machines and for their own disks, runs no bakeoff but this very one, and collects
//! the shards' run folders. What a user has given stands in them as one word of a shell, or as a string of
//! JSON.

mod kubernetes;
mod named;
mod slurm;
mod ssh;

use std::path::Path;

use bakeoff_experiment::{Experiment, Factor, FlagOverrides, Vocabulary, deal};

use self::named::{Brought, MachineDemands};
use super::checksum;
use super::run::{SHARDS, instead, is_job_file, plan_is_known, text};
use crate::Lab;
use crate::cli::{Cli, Cluster, Command, RunArguments};
use crate::exit::{CommandFailure, Exit};
use crate::output::{print, quote, say};

/// Flags of a run that no job file takes, and why.
const REFUSED: [(&str, &str); 4] = [
    ("--shard", "the job file gives each run its own --shard"),
    (
        "--out",
        "the job file gives each run its own --out; where shards are collected is said before the --",
    ),
    (
        "--resume",
        "a job file begins each shard anew; go on with one by bakeoff run --resume on its machine",
    ),
    ("--dry-run", "a job file measures; the plan is shown by bakeoff run --dry-run here"),
];

/// What all job files are made of.
struct ClusterJob {
    experiment: ClusterExperiment,
    /// The experiment's name, as schedulers take it: lower-case letters, digits and hyphens.
    name: String,
    /// Into how many parts the plan is dealt.
    shards: u32,
    /// The path of this program.
    program: String,
    /// Its SHA-256, in hexadecimal digits.
    sha256: String,
    /// More flags of `bakeoff run`.
    flags: Vec<String>,
}

/// What is to be run.
enum ClusterExperiment {
    /// A preset, by its name.
    Preset(String),
    /// A file, by its whole path.
    File(String),
}

/// Prints the job file of a scheduler.
///
/// # Errors
/// An experiment that can't be loaded, and what can't stand in a job file.
pub fn run(lab: &Lab, what: &Cluster) -> Result<Exit, CommandFailure> {
    let text = match what {
        Cluster::Slurm(asked) => {
            let job =
                ClusterJob::read(lab, &asked.experiment, asked.shards, &asked.flags, Brought::All)?;
            let out = job.out(asked.out.as_deref())?;
            slurm::script(&job, &out)
        }
        Cluster::Kubernetes(asked) => {
            let brought = Brought::Experiment;
            let job =
                ClusterJob::read(lab, &asked.experiment, asked.shards, &asked.flags, brought)?;
            let given = [("--image", &asked.image), ("--claim", &asked.claim)];
            given.into_iter().try_for_each(|(what, text)| plain(what, text))?;
            kubernetes::check_image(&asked.image)?;
            kubernetes::check_claim(&asked.claim)?;
            plain("--program", &asked.program)?;
            kubernetes::check_program(&asked.program)?;
            let pod = kubernetes::Pod {
                image: &asked.image,
                claim: &asked.claim,
                program: &asked.program,
            };
            kubernetes::manifest(&job, &pod)?
        }
        Cluster::Ssh(asked) => {
            let shards = ssh::shards(&asked.hosts, asked.shards)?;
            let brought = Brought::Experiment;
            let job = ClusterJob::read(lab, &asked.experiment, shards, &asked.flags, brought)?;
            let out = job.out(asked.out.as_deref())?;
            ssh::script(&job, &asked.hosts, &out)
        }
    };
    print(&text)?;
    Ok(Exit::Done)
}

impl ClusterJob {
    fn read(
        lab: &Lab,
        name: &str,
        shards: u32,
        flags: &[String],
        brought: Brought,
    ) -> Result<Self, CommandFailure> {
        plain("the experiment", name)?;
        for flag in flags {
            plain("a flag", flag)?;
            let name = flag.split('=').next().unwrap_or_default();
            if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
                return Err(usage(format!("leave out {flag}: {why}")));
            }
        }
        if is_job_file(name) {
            return Err(usage(format!(
                "a job file of fio can't be run in parts: run {name} here, and name the experiment.toml in \
                 its run folder"
            )));
        }
        let (loaded, arguments) = loaded(lab, name, flags)?;
        let experiment = match lab.registry.presets().iter().any(|preset| preset.name == name) {
            true => ClusterExperiment::Preset(name.to_owned()),
            false => ClusterExperiment::File(whole(Path::new(name))?),
        };
        let home = match &experiment {
            ClusterExperiment::Preset(_) => None,
            ClusterExperiment::File(path) => Path::new(path).parent(),
        };
        MachineDemands { experiment: &loaded, home, flags: &arguments }
            .check(&lab.registry, brought)?;
        check_parts(&loaded, shards)?;
        let program = std::env::current_exe().map_err(|error| system("this program", &error))?;
        let sha256 = checksum::of_file(&program);
        Ok(Self {
            experiment,
            name: scheduler_name(&loaded.name),
            shards,
            program: whole(&program)?,
            sha256: sha256.map_err(|error| system("this program", &error))?,
            flags: flags.to_vec(),
        })
    }

    /// Where the run folders are collected, as a whole path.
    fn out(&self, given: Option<&Path>) -> Result<String, CommandFailure> {
        let default = format!("{}-shards", self.name);
        whole(given.unwrap_or_else(|| Path::new(&default)))
    }

    /// The words of the run after its program, for a shell: `shard` and `out` as they are, since they may
    /// hold variables; the experiment at a path of its own where it was copied there.
    fn command(&self, experiment: Option<&str>, shard: &str, out: &str) -> String {
        let own = match &self.experiment {
            ClusterExperiment::Preset(name) => name,
            ClusterExperiment::File(path) => path,
        };
        let flags = self.flags.iter().map(|flag| format!(" {}", quote(flag)));
        let flags: String = flags.collect();
        let experiment = quote(experiment.unwrap_or(own));
        format!("run {experiment} --shard {shard} --out {out}{flags}")
    }

    /// Lines of a shell that end with 2 where the file is another bakeoff than this one.
    fn check(&self, program: &str) -> String {
        let sha256 = &self.sha256;
        format!(
            "found=$(sha256sum < {program})\n\
             # Beside the sum it names what it read, which has no name here.\n\
             found=${{found%% *}}\n\
             if [ \"$found\" != {sha256} ]; then\n    \
             echo {program} \"is another bakeoff than the one that made this job: its SHA-256 is $found\" >&2\n    \
             exit 2\n\
             fi\n"
        )
    }
}

/// The experiment as the flags of its run change it, and the flags as they were read.
fn loaded(
    lab: &Lab,
    name: &str,
    flags: &[String],
) -> Result<(Experiment, Box<RunArguments>), CommandFailure> {
    let own = ["bakeoff", "run", name, "--shard", "1/1"].map(str::to_owned);
    let cli = Cli::read_for(lab, &[&own[..], flags].concat());
    let Command::Run(arguments) = cli.map_err(|error| usage(error.to_string()))?.command else {
        return Err(usage(format!("what follows -- are no flags of a run of {name}")));
    };
    if arguments.i_know_this_destroys_data {
        return Err(usage(
            "a job file writes over no device: a path may be another machine's precious disk. Leave out \
             --i-know-this-destroys-data, and run it by hand on the machine whose device is to be measured"
                .to_owned(),
        ));
    }
    let (mut changes, trusts) = (arguments.changes(), arguments.trust_experiment);
    let load = |changes: &FlagOverrides, trusts| {
        let vocabulary = Vocabulary { trusts, ..lab.registry.vocabulary() };
        Experiment::load(name, changes, &vocabulary)
    };
    let experiment = load(&changes, trusts).map_err(|error| {
        let needs_trust = !trusts && load(&changes, true).is_ok();
        let where_to = if needs_trust { "\nhere it follows --: -- --trust-experiment" } else { "" };
        usage(format!("{error}{where_to}"))
    })?;
    // What a server elsewhere gives is asked by the machines of the job: it may be out of reach from here.
    let engines = experiment.levels(Factor::ENGINE);
    let asks_nobody = engines.iter().all(|level| !level.contains("://"));
    let levels = asks_nobody.then(|| instead(&lab.registry, name, &experiment, &changes)).flatten();
    let Some(levels) = levels else { return Ok((experiment, arguments)) };
    // As each shard does.
    say(&levels.line);
    changes.factors.push((Factor::DURABILITY, levels.levels));
    let experiment = load(&changes, trusts).map_err(|error| usage(error.to_string()))?;
    Ok((experiment, arguments))
}

/// Refuses what no shard would run: a plan that is not known before, or that has fewer parts.
fn check_parts(experiment: &Experiment, shards: u32) -> Result<(), CommandFailure> {
    plan_is_known(experiment)?;
    let plan = experiment.plan();
    // Power cuts alone are dealt by what is cut.
    if plan.blocks.is_empty() && experiment.cut_cells().len() >= shards as usize {
        return Ok(());
    }
    deal(&plan, shards).map(drop).map_err(|error| usage(error.to_string()))
}

/// A line of a shell that says where a shard is from now on: what its run has said names a folder that is gone.
/// `target` and `shards` are words of the shell's between double quotes.
fn collected(target: &str, shards: &str) -> String {
    format!(
        "echo \"collected to {target}, and the folder that the run names is removed; when all shards are there: \
         bakeoff merge all {shards}\"\n"
    )
}

/// Lines of a shell that run a command and hand on to it that it is to stop, so that what it has by then can
/// be collected. Its exit code is in `status` afterwards.
fn stoppable(command: &str) -> String {
    format!(
        "stopped= child=\n\
         trap 'stopped=yes; [ -z \"$child\" ] || kill -TERM \"$child\" 2>/dev/null || :' TERM INT\n\
         {command} &\n\
         child=$!\n\
         [ -z \"$stopped\" ] || kill -TERM \"$child\" 2>/dev/null || :\n\
         # A signal ends the wait, not the run.\n\
         while :; do\n    \
         stopped= status=0\n    \
         wait \"$child\" || status=$?\n    \
         [ -n \"$stopped\" ] || break\n\
         done\n"
    )
}

/// A name that every scheduler takes: at most 40 lower-case letters, digits and hyphens.
fn scheduler_name(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = format!("bakeoff-{name}").chars().map(letter).take(40).collect();
    name.trim_end_matches('-').to_owned()
}

/// A path from the root, as text.
fn whole(path: &Path) -> Result<String, CommandFailure> {
    let path = std::path::absolute(path).map_err(|error| system("a path", &error))?;
    match path.to_str() {
        Some(text) => plain("a path", text).map(|()| text.to_owned()),
        None => Err(usage(format!(
            "{} is not UTF-8, which a job file has to be; give it another name",
            path.display()
        ))),
    }
}

/// Refuses what could begin a line of its own in a job file.
fn plain(what: &str, text: &str) -> Result<(), CommandFailure> {
    match text.chars().any(char::is_control) {
        true => Err(usage(format!(
            "{what} holds a control character, which can't stand in a job file: {}",
            bakeoff_results::visible(&text.replace(['\n', '\t'], "\u{fffd}"))
        ))),
        false => Ok(()),
    }
}

fn usage(message: String) -> CommandFailure {
    CommandFailure::new(Exit::Usage, message)
}

fn system(what: &str, error: &std::io::Error) -> CommandFailure {
    CommandFailure::new(Exit::Failed, format!("{what} can't be read: {error}"))
}

#[cfg(test)]
mod tests;
