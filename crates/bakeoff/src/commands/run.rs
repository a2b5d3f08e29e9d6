//! `bakeoff run`: an experiment, from its file to its report.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bakeoff_analysis::{Attempts, Document};
use bakeoff_disk::mount::Launcher;
use bakeoff_experiment::{Changes, Experiment, Factor, HOST, Vocabulary, base, without_passwords};
use bakeoff_lab::possible::line;
use bakeoff_lab::{Ending, Estimate, Lab, LabError, Possible, Preflight, Registry};
use bakeoff_results::{CutPlan, EngineFact, Error, Run, RunFolder, Status, visible};
use bakeoff_workloads::Text;

use super::{disk_daemon, external, plan, report, trial};
use crate::cli;
use crate::exit::{Exit, Failure};
use crate::output::{print, quote, say, write_here};
use crate::progress::Progress;
use crate::stop;

/// Runs an experiment, or goes on with one.
pub fn run(arguments: &cli::Run) -> Result<Exit, Failure> {
    let (experiment, resumed) = match &arguments.resume {
        Some(dir) => {
            let folder = RunFolder::resume(dir).map_err(Failure::folder)?;
            (resumed_experiment(dir, arguments)?, Some(folder))
        }
        None => (new_experiment(arguments)?, None),
    };
    check_cut_flags(arguments, &experiment)?;
    if !arguments.quiet {
        name_unused_settings(&experiment);
        for warning in external::unprotected(&experiment) {
            say(format_args!("{warning}"));
        }
    }
    if arguments.dry_run {
        // Nothing is mounted to find out more.
        let mountable = || bakeoff_disk::daemon::can_mount().map_err(|error| error.to_string());
        return dry_run(&on_disks_that_work(experiment, arguments, mountable)?, arguments);
    }
    let (program, launcher) = (trial::program()?, disk_daemon::launcher()?);
    let experiment = on_disks_that_work(experiment, arguments, || mounts(&launcher))?;
    let registry = &Registry::standard();
    let possible = Possible::of(registry, &experiment);
    possible.suffices().map_err(usage)?;
    // Also for those who want the verdict alone: what is not run is not in it.
    possible.left_out.iter().for_each(|it| say(format_args!("{}", line(it))));
    let mut folder = match resumed {
        Some(mut folder) => {
            let began = folder.run().map_err(Failure::folder)?;
            external::check_passwords(&folder, &began.engines)?;
            check_terms(&folder, &began, &experiment, &possible)?;
            folder.set_status(Status::Unfinished, None).map_err(Failure::folder)?;
            folder
        }
        None => create_folder(arguments, &experiment, &possible)?,
    };
    let stop = stop::flag()?;
    let mut progress = Progress::new(arguments.quiet, &experiment);
    let ended = Lab {
        registry,
        program: &program,
        launcher: &launcher,
        experiment: &experiment,
        possible: &possible,
        folder: &mut folder,
        stop: &stop,
        reuse: arguments.reuse,
        keep_images: arguments.keep_images,
    }
    .run(&mut progress);
    progress.finish();
    let empty = folder.done().is_ok_and(|done| done.is_empty())
        && folder.cuts().is_ok_and(|cuts| cuts.is_empty());
    if ended.is_err() && arguments.resume.is_none() && empty {
        // Nothing was measured: the same command, mended, must find its place free.
        folder.remove().map_err(Failure::folder)?;
        return Err(Failure::lab(ended.expect_err("it was looked at"), None));
    }
    conclude(&mut folder, ended, arguments.quiet)
}

/// Shows the plan, and what would keep the run from beginning on this machine. Nothing is mounted,
/// and nothing is changed on any server, to find out.
fn dry_run(experiment: &Experiment, arguments: &cli::Run) -> Result<Exit, Failure> {
    let registry = &Registry::standard();
    let possible = &Possible::of(registry, experiment);
    print(&visible(&plan::describe(registry, experiment, possible)))?;
    possible.suffices().map_err(usage)?;
    let out = arguments.out.as_deref().or(arguments.resume.as_deref()).unwrap_or(Path::new("."));
    let folder = above(out);
    let reuse = arguments.reuse;
    let preflight = Preflight { registry, experiment, possible, folder, launcher: None, reuse };
    if let Err(problems) = preflight.check(possible.plan.blocks.iter()) {
        say(format_args!("it would not begin here: {problems}"));
    }
    Ok(Exit::Done)
}

/// What there is of a folder that is still to be made.
fn above(dir: &Path) -> &Path {
    let there = |path: &&Path| !path.as_os_str().is_empty() && path.exists();
    dir.ancestors().find(there).unwrap_or(Path::new("."))
}

/// Notes how the run ended, and shows what it found.
fn conclude(
    folder: &mut RunFolder,
    ended: Result<Ending, LabError>,
    quiet: bool,
) -> Result<Exit, Failure> {
    let status = match &ended {
        Ok(Ending::Finished { .. }) => Status::Finished,
        Ok(Ending::Interrupted) => Status::Interrupted,
        Err(_) => Status::Unfinished,
    };
    let noted = folder.set_status(status, Some(now_s())).map_err(Failure::folder);
    let ending = ended.map_err(|error| Failure::lab(error, Some(folder.dir())))?;
    noted?;
    let document = bakeoff_analysis::document(folder).map_err(Failure::folder)?;
    if !document.trials.is_empty() || !document.cuts.is_empty() {
        show(folder, &document, quiet)?;
    }
    match ending {
        Ending::Finished { .. } if any_broken(&document) => Ok(Exit::Promise),
        Ending::Finished { .. } if any_failed(&document) => Ok(Exit::Trials),
        Ending::Finished { .. } => Ok(Exit::Done),
        Ending::Interrupted => {
            let (path, run) = (folder.dir().display(), folder.run().map_err(Failure::folder)?);
            let external = external::again(&run);
            say(format_args!("interrupted; to go on: bakeoff run --resume {path}{external}"));
            Ok(Exit::Interrupted)
        }
    }
}

/// Whether a power cut has shown a broken promise.
fn any_broken(document: &Document) -> bool {
    document.promises.iter().any(|promise| promise.kept == Some(false))
}

/// Whether a trial failed, rather than being set aside and run again, or a power cut did.
fn any_failed(document: &Document) -> bool {
    let attempts = Attempts::of(&document.trials);
    document.trials.iter().any(|trial| !trial.valid && !attempts.set_aside(trial))
        || document.promises.iter().any(|promise| promise.failed > 0)
}

/// Writes the HTML report and prints the tables, or only the verdict.
fn show(folder: &RunFolder, document: &Document, quiet: bool) -> Result<(), Failure> {
    let path = folder.dir().join("report.html");
    write_here(&path, &report::render(document, ("html", None), false)?)?;
    if quiet {
        return print(&format!("{}\n", bakeoff_report::verdict(document)));
    }
    print(&report::render(document, ("term", None), true)?)?;
    print(&format!("\nThe report: {}\n", path.display()))
}

fn new_experiment(arguments: &cli::Run) -> Result<Experiment, Failure> {
    let Some(name) = &arguments.experiment else {
        return Err(usage(
            "nothing is named that is to be run: give PRESET|FILE.toml, a preset (see `bakeoff \
             list presets`) or a file of your own, or go on with a run: --resume DIR",
        ));
    };
    let experiment = load(name, &arguments.changes(), arguments.trust_experiment)?;
    text(&experiment)?;
    Ok(experiment)
}

fn load(name: &str, changes: &Changes, trusts: bool) -> Result<Experiment, Failure> {
    let vocabulary = Vocabulary { trusts, ..Registry::standard().vocabulary() };
    Experiment::load(name, changes, &vocabulary).map_err(usage)
}

/// The levels of the disk, if one of them is virtual.
fn virtual_disks(experiment: &Experiment) -> Option<String> {
    let levels = experiment.levels(Factor::Disk);
    let real = levels.iter().all(|level| base(level) == HOST);
    (!real).then(|| levels.join(", "))
}

/// A preset whose disk nobody chose runs on the host's where no virtual one can be had, and says so.
fn on_disks_that_work(
    experiment: Experiment,
    arguments: &cli::Run,
    works: impl FnOnce() -> Result<(), String>,
) -> Result<Experiment, Failure> {
    let Some(levels) = virtual_disks(&experiment) else { return Ok(experiment) };
    let Err(reason) = works() else { return Ok(experiment) };
    let name = arguments.experiment.as_deref().unwrap_or_default();
    let is_preset = bakeoff_experiment::presets().iter().any(|preset| preset.name == name);
    if experiment.cuts.is_some() || !is_preset || arguments.changes().gives(Factor::Disk) {
        // It is told with all else that keeps the run from beginning.
        return Ok(experiment);
    }
    say(format_args!(
        "on the disk {HOST} instead of {levels}, since no virtual disk can be had: {reason}"
    ));
    let mut changes = arguments.changes();
    changes.factors.push((Factor::Disk, HOST.into()));
    load(name, &changes, arguments.trust_experiment)
}

/// Whether a virtual disk can be mounted, found out by doing it.
fn mounts(launcher: &Launcher) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    bakeoff_lab::try_virtual_disk(launcher, place.path())
}

/// The text that the experiment names, or makes up.
fn text(experiment: &Experiment) -> Result<Text, Failure> {
    match &experiment.text {
        Some(path) => Text::from_file(path).map_err(usage),
        None => Ok(Text::generated(experiment.seed)),
    }
}

/// Refuses what flags say of power cuts where none are made.
fn check_cut_flags(arguments: &cli::Run, experiment: &Experiment) -> Result<(), Failure> {
    let given = [
        ("--keep", arguments.keep.is_some()),
        ("--file-system", arguments.file_system.is_some()),
        ("--cut-recovery", arguments.cut_recovery == Some(true)),
        ("--keep-images", arguments.keep_images),
    ];
    match given.into_iter().find(|(_, given)| *given && experiment.cuts.is_none()) {
        Some((flag, _)) => Err(usage(format!(
            "{flag} is of power cuts, and no power is cut: add --cuts N, or leave {flag} out"
        ))),
        None => Ok(()),
    }
}

/// Says which settings in the file are of engines that are not run.
fn name_unused_settings(experiment: &Experiment) {
    let engines = experiment.levels(Factor::Engine);
    for engine in experiment.settings.keys() {
        if engines.iter().all(|level| base(level) != engine) {
            say(format_args!("the settings of {engine} are not used, since it is not run"));
        }
    }
}

/// The experiment of a run folder; neither another one nor flags can change it any more.
fn resumed_experiment(dir: &Path, arguments: &cli::Run) -> Result<Experiment, Failure> {
    let refuse = |what: &str| {
        Err(usage(format!(
            "--resume goes on with the experiment in {}; leave out {what}, or start a new run \
             without --resume",
            dir.display()
        )))
    };
    if let Some(name) = &arguments.experiment {
        return refuse(&format!("`{name}`"));
    }
    let path = dir.join("experiment.toml");
    let load = |changes: &Changes, trusts| load(&path.to_string_lossy(), changes, trusts);
    // Trusted only to be compared: whether it is, is said anew, since the folder may be anybody's.
    let recorded = load(&Changes::default(), true)?;
    let changes = arguments.changes();
    // `--engine` may say the same once more, with the passwords that the folder does not keep.
    let same = |again: Experiment| again.to_toml() == recorded.to_toml();
    if changes == Changes::default() || load(&changes, true).is_ok_and(same) {
        return load(&changes, arguments.trust_experiment);
    }
    refuse("the flags that change it")
}

/// Refuses to go on with a run under other terms than it began with: other engines, another text,
/// another machine.
fn check_terms(
    folder: &RunFolder,
    began: &Run,
    experiment: &Experiment,
    possible: &Possible,
) -> Result<(), Failure> {
    let now = describe_run(folder.dir(), experiment, possible)?;
    let differs = |what: &str, then: &str, now: &str| {
        Err(Failure::new(
            Exit::Folder,
            format!(
                "the run in {} began with {what} {then}, and this is {now}; trials of both can't \
                 stand in one run: start a new one with --out, or bring back what it began with",
                folder.dir().display()
            ),
        ))
    };
    if began.text != now.text {
        return differs("the text", &began.text, &now.text);
    }
    for (then, now) in began.engines.iter().zip(&now.engines) {
        // Where a password comes from may change, and how a server is spoken to is in its name.
        let told = |fact: &EngineFact| (fact.version.clone(), fact.settings.clone(), fact.stores);
        if then.name != now.name || told(then) != told(now) {
            return differs(&then.name, &then.version, &now.version);
        }
    }
    if began.left_out != now.left_out {
        let cells = |run: &Run| {
            let cells: Vec<String> = run.left_out.iter().map(line).collect();
            if cells.is_empty() { "all of its cells".into() } else { cells.join("; ") }
        };
        return differs("this", &cells(began), &cells(&now));
    }
    let machine = |run: &Run| {
        let machine = &run.machine;
        let (disk, kind) = (&machine.device, &machine.file_system);
        format!("{}, {} processors, {disk}, {kind}", machine.processor, machine.processors)
    };
    if machine(began) != machine(&now) {
        return differs("the machine", &machine(began), &machine(&now));
    }
    Ok(())
}

fn create_folder(
    arguments: &cli::Run,
    experiment: &Experiment,
    possible: &Possible,
) -> Result<RunFolder, Failure> {
    let create = |dir: &Path| -> Result<_, Failure> {
        let mut run = describe_run(dir, experiment, possible)?;
        run.cuts = cut_plan(arguments, experiment, possible);
        Ok(RunFolder::create(dir, &run, &experiment.to_toml()))
    };
    if let Some(dir) = &arguments.out {
        return create(dir)?.map_err(Failure::folder);
    }
    // `bakeoff-NAME-1`, or the next number that is free; another run may take it meanwhile.
    for number in 1.. {
        let dir = PathBuf::from(format!("bakeoff-{}-{number}", experiment.name));
        match create(&dir)? {
            Err(Error::Exists(_) | Error::Busy(_)) => {}
            created => return created.map_err(Failure::folder),
        }
    }
    unreachable!("numbers do not run out")
}

/// What is known of a run in `dir` before its first trial.
fn describe_run(dir: &Path, experiment: &Experiment, possible: &Possible) -> Result<Run, Failure> {
    let text = text(experiment)?;
    // The machine is described by the folder's disk, so what is above it must be there.
    let above = above(dir);
    let machine = bakeoff_lab::describe_machine(above)
        .map_err(|error| Failure::new(Exit::Folder, format!("{}: {error}", above.display())))?;
    let registry = Registry::standard();
    let target = registry.target_of(&experiment.workload).map_err(usage)?;
    let about = target.about(&experiment.workload).expect("the target that runs it");
    Ok(Run {
        name: experiment.name.clone(),
        title: experiment.title.clone(),
        workload: experiment.workload.clone(),
        operations: about.operations.into_iter().map(Into::into).collect(),
        compare: experiment.compare.name().into(),
        baseline: experiment.factors[&experiment.compare][0].clone(),
        factors: experiment
            .factors
            .keys()
            .map(|factor| (factor.name().into(), experiment.levels(*factor)))
            .collect(),
        seconds: experiment.seconds,
        repetitions: experiment.repetitions,
        seed: experiment.seed,
        planned: possible.plan.trials() as u32,
        command: command_line(),
        version: env!("CARGO_PKG_VERSION").into(),
        started_s: now_s(),
        machine,
        engines: engine_facts(experiment),
        harness_s: bakeoff_lab::harness_cost().as_secs_f64(),
        load: bakeoff_lab::machine::load(),
        neighbour_alone_per_second: None,
        text: text.describe(),
        applied: Vec::new(),
        cuts: None,
        estimated_s: Some(Estimate::of(&registry, experiment, possible).total_s()),
        left_out: possible.left_out.clone(),
    })
}

/// The power cuts of a run, and the command that repeats one of them.
fn cut_plan(arguments: &cli::Run, experiment: &Experiment, possible: &Possible) -> Option<CutPlan> {
    let cuts = experiment.cuts.as_ref()?;
    let disk = experiment.cut_disk()?;
    let clients = experiment.cut_clients();
    let mut command = vec!["bakeoff".into(), "run".into()];
    command.push(quote(arguments.experiment.as_deref().unwrap_or_default()));
    if arguments.quick {
        command.push("--quick".into());
    }
    if let Some(text) = &arguments.text {
        command.extend(["--text".into(), quote(&text.to_string_lossy())]);
    }
    let (clients_text, seed) = (clients.to_string(), experiment.seed.to_string());
    let scale = experiment.levels(Factor::Scale);
    let mut flags = vec![("disk", disk), ("clients", &*clients_text)];
    flags.extend(scale.first().map(|scale| ("scale", base(scale))));
    flags.push(("seed", &*seed));
    for (flag, value) in flags {
        command.extend([format!("--{flag}"), quote(value)]);
    }
    match arguments.cut_recovery {
        _ if cuts.recovery => command.push("--cut-recovery".into()),
        Some(false) => command.push("--cut-recovery=false".into()),
        _ => {}
    }
    Some(CutPlan {
        planned: possible.planned_cuts(experiment) as u32,
        disk: disk.into(),
        clients: clients as u32,
        file_systems: bakeoff_lab::file_systems(cuts),
        command: command.join(" "),
    })
}

fn engine_facts(experiment: &Experiment) -> Vec<EngineFact> {
    let engines = experiment.levels(Factor::Engine);
    let durabilities = experiment.levels(Factor::Durability);
    let fact = |level: &String| {
        let engine = bakeoff_engines::find(base(level))?;
        let about = engine.about();
        let settings = about.promises.iter().filter(|promise| {
            durabilities.iter().any(|level| base(level) == promise.durability.name())
        });
        Some(EngineFact {
            name: about.name.into(),
            version: engine.version(),
            stores: about.stores,
            transport: external::transport(engine),
            password_in_url: external::password_in_url(about.name),
            settings: settings
                .map(|promise| {
                    let settings = promise.settings.unwrap_or("can't be had");
                    (promise.durability.name().into(), settings.into())
                })
                .collect(),
        })
    };
    let entered_once = |level: &&String| base(level) == level.as_str();
    engines.iter().filter(entered_once).filter_map(fact).collect()
}

/// The command as it was given, quoted for a shell.
fn command_line() -> String {
    let arguments = std::env::args().skip(1).map(|it| quote(&without_passwords(&it)));
    std::iter::once("bakeoff".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn now_s() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs_f64()
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Usage, error)
}
