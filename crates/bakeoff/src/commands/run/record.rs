//! Records what is known of a run before its first trial.

use std::path::{Path, PathBuf};

use bakeoff_analysis::FIRST_LOOK;
use bakeoff_engines::Engine;
use bakeoff_experiment::{
    Bounds, EngineState, Factor, LIKE, Shard, TrialPlan, without_alias, without_passwords,
};
use bakeoff_lab::machine::NO_FILE_SYSTEM;
use bakeoff_lab::plan::describe_left_out;
use bakeoff_lab::{Plan, RunEstimate, now_s};
use bakeoff_results::{
    CutPlan, EngineFact, Error, Machine, PromiseFactors, Run, RunFolder, Status,
};

use super::path::{self, DESTROYS, DataLocation};
use super::request::{ResumedRun, describe_text};
use super::terms::RunTerms;
use super::{machines, shard, takeover, time_limit, usage_failure};
use crate::cli;
use crate::commands::{checksum, external};
use crate::exit::{CommandFailure, Exit};
use crate::output::{program_name, quote, say};

pub struct OpenRun {
    pub folder: RunFolder,
    /// How many trials and power cuts had ended; `None` for a new run.
    pub before: Option<(usize, usize)>,
}

/// Makes the folder of a new run, or opens the folder of an old one, under the terms that it
/// started with.
pub fn open_folder(
    arguments: &cli::RunArguments,
    resumed: Option<ResumedRun>,
    plan: &Plan<'_>,
    terms: &RunTerms,
) -> Result<OpenRun, CommandFailure> {
    let data = terms.data.as_ref();
    let Some(resumed) = resumed else {
        let short = time_limit::check_time(plan, DataLocation::medium(data))?;
        short.filter(|_| !arguments.quiet).into_iter().for_each(say);
        let folder = create_folder(arguments, plan, terms)?;
        return Ok(OpenRun { folder, before: None });
    };
    external::check_passwords(&resumed.folder, &resumed.began.engines)?;
    let now = check_terms(&resumed, plan, data)?;
    let ResumedRun { mut folder, began } = resumed;
    let by = takeover::check_platform(&folder, &began, &now, arguments.another_binary)?;
    by.map_or(Ok(()), |by| folder.note_platform(by)).map_err(CommandFailure::from_folder_error)?;
    machines::go_on(&mut folder, began, &now, plan)?;
    folder.set_status(Status::Unfinished, None).map_err(CommandFailure::from_folder_error)?;
    let before = Some(count_ended(&folder)?);
    Ok(OpenRun { folder, before })
}

pub fn count_ended(folder: &RunFolder) -> Result<(usize, usize), CommandFailure> {
    let done = folder.read_ended_trials().map_err(CommandFailure::from_folder_error)?;
    Ok((done.len(), folder.read_cuts().map_err(CommandFailure::from_folder_error)?.len()))
}

fn create_folder(
    arguments: &cli::RunArguments,
    plan: &Plan<'_>,
    RunTerms { data, shard, timed, .. }: &RunTerms,
) -> Result<RunFolder, CommandFailure> {
    let program = running_program(shard.is_some())?;
    let create = |dir: &Path| -> Result<_, CommandFailure> {
        let mut run = describe_run(dir, plan, data.as_ref())?;
        run.program_sha256.clone_from(&program);
        run.shard = shard::record_shard(plan, &run.text, *shard, program.clone());
        run.command = command_line(*shard);
        for disk in &mut run.disks {
            let found = timed.iter().find(|(level, _)| *level == disk.level);
            disk.timed = found.map(|(_, timed)| timed.clone());
        }
        run.cuts = cut_plan(arguments, plan);
        Ok(RunFolder::create(dir, &run, &plan.experiment.to_toml()))
    };
    if let Some(dir) = &arguments.out {
        return create(dir)?.map_err(CommandFailure::from_folder_error);
    }
    // Tries `bakeoff-NAME-1` and further numbers; another run may take one meanwhile.
    for number in 1.. {
        let dir = PathBuf::from(format!("bakeoff-{}-{number}", plan.experiment.name));
        match create(&dir)? {
            Err(Error::Exists(_) | Error::Busy(_)) => {}
            created => return created.map_err(CommandFailure::from_folder_error),
        }
    }
    unreachable!("numbers do not run out")
}

/// The SHA-256 of the running program. If it can't be read: `None`, or an error if it
/// `must_be_known`.
fn running_program(must_be_known: bool) -> Result<Option<String>, CommandFailure> {
    let sum = checksum::of_running_program();
    if must_be_known { sum.map(Some) } else { Ok(sum.ok()) }
}

/// Refuses to resume with other engines, another text or another machine. Returns the present
/// facts.
fn check_terms(
    ResumedRun { folder, began }: &ResumedRun,
    plan: &Plan<'_>,
    data: Option<&DataLocation>,
) -> Result<Run, CommandFailure> {
    if began.merged.is_some() && data.is_some_and(|data| data.device().is_some()) {
        let dir = folder.dir().display();
        return Err(usage_failure(format!(
            "the run in {dir} is merged of several, so that nobody can tell whether a raw device is one of theirs: \
             go on with each shard by itself"
        )));
    }
    let is_part = began.shard.is_some() || began.merged.is_some();
    let mut now = describe_run(folder.dir(), plan, data)?;
    now.program_sha256 = running_program(is_part)?;
    let differs = |what: &str, then: &str, now: &str| {
        Err(CommandFailure::new(
            Exit::Folder,
            format!(
                "{what} changed after the run in {} began: it was {then}, and is {now} now. One \
                 run can't hold trials of both: start a new run with --out, or bring back what it \
                 was",
                folder.dir().display()
            ),
        ))
    };
    if began.text != now.text {
        return differs("the text", &began.text, &now.text);
    }
    for then in &began.engines {
        let Some(now) = now.engines.iter().find(|now| now.name == then.name) else {
            return differs("what is run", &then.name, "without it");
        };
        // The password's source may change, and the kind of connection is in the name.
        let told = |fact: &EngineFact| (fact.version.clone(), fact.settings.clone(), fact.stores);
        if told(then) != told(now) {
            let told = |fact: &EngineFact| match then.version == now.version {
                true => fact.settings.iter().map(|(level, it)| format!("{level}: {it}")).collect(),
                false => vec![fact.version.clone()],
            };
            return differs(&then.name, &told(then).join("; "), &told(now).join("; "));
        }
    }
    if began.left_out != now.left_out {
        let cells = |run: &Run| {
            let cells: Vec<String> = run.left_out.iter().map(describe_left_out).collect();
            if cells.is_empty() { "all cells".into() } else { cells.join("; ") }
        };
        return differs("what can be run", &cells(began), &cells(&now));
    }
    let lay = lay_elsewhere(&began.machine, &now.machine).filter(|_| began.merged.is_none());
    if let (Some(lay), None) = (lay, data) {
        let dir = folder.dir().display();
        let how = match began.machine.file_system == NO_FILE_SYSTEM {
            true => format!("name the same device with --path, and {DESTROYS}"),
            false => {
                "name the same folder with --path, or bring the run folder back to that disk".into()
            }
        };
        let text = format!("the run in {dir} can't go on so, since {lay}: {how}");
        return Err(CommandFailure::new(Exit::Folder, text));
    }
    let machine = |run: &Run| {
        let machine = &run.machine;
        let (disk, kind) = (&machine.device, &machine.file_system);
        format!("{}, {} processors, {disk}, {kind}", machine.processor, machine.processors)
    };
    // A merged run has several machines already.
    if began.merged.is_none() && !began.machine.has_hardware_of(&now.machine) {
        return differs("the machine", &machine(began), &machine(&now));
    }
    // Machines of one kind differ: a shard is measured on one.
    let host = bakeoff_lab::machine::identify_host().name;
    if let Some(own) = began.shard.as_ref().filter(|own| own.host.name != host) {
        return differs("the machine", &own.host.name, &host);
    }
    check_order(folder, &plan.trials)?;
    Ok(now)
}

/// Where the data of a run lay, if the machine is the same but for the disk or file system.
fn lay_elsewhere(then: &Machine, now: &Machine) -> Option<String> {
    let lay = || format!("its data lay on {} ({})", then.device, then.file_system);
    (then.has_processors_of(now) && !then.has_disk_of(now)).then(lay)
}

/// Refuses a bakeoff that orders blocks differently: it would confuse the trials.
fn check_order(folder: &RunFolder, plan: &TrialPlan) -> Result<(), CommandFailure> {
    for trial in folder.read_trials().map_err(CommandFailure::from_folder_error)? {
        let block = plan.blocks.iter().find(|block| block.number == trial.block);
        let planned = block.and_then(|it| it.trials.iter().find(|it| it.order == trial.order));
        if planned.is_some_and(|planned| planned.cell.to_map() != trial.levels) {
            let (dir, block) = (folder.dir().display(), trial.block);
            let text = format!(
                "the run in {dir} was begun by a bakeoff that runs blocks in another order: its block \
                 {block} is another one here. Go on with the one that began it, or start a new run \
                 with --out"
            );
            return Err(CommandFailure::new(Exit::Folder, text));
        }
    }
    Ok(())
}

fn describe_run(
    dir: &Path,
    plan: &Plan<'_>,
    data: Option<&DataLocation>,
) -> Result<Run, CommandFailure> {
    let Plan { registry, experiment, .. } = *plan;
    let text = describe_text(registry, experiment)?;
    let machine = path::describe_data_machine(data, dir)?;
    let target = registry.target_of(&experiment.workload).map_err(usage_failure)?;
    let about = target.describe_workload(&experiment.workload).expect("the target that runs it");
    let estimate = RunEstimate::from_plan(DataLocation::medium(data), plan);
    let mut run = Run {
        name: experiment.name.clone(),
        title: registry.experiment_title(experiment),
        workload: experiment.workload.clone(),
        operations: about.operations.into_iter().map(Into::into).collect(),
        figure_of_merit: about.figure_of_merit,
        compare: experiment.compare.name().into(),
        baseline: experiment.factors[&experiment.compare][0].clone(),
        factors: experiment
            .factors
            .keys()
            .map(|factor| (factor.name().into(), experiment.run_levels(*factor)))
            .collect(),
        seconds: experiment.seconds,
        operations_each: experiment.operations,
        repetitions: experiment.most_repetitions(),
        images: experiment.images,
        seed: experiment.seed,
        planner: Some(experiment.planner.clone()),
        planned: plan.trials.count_trials() as u32,
        command: command_line(None),
        version: env!("BAKEOFF_VERSION").into(),
        program_sha256: None,
        takeovers: Vec::new(),
        debug_build: cfg!(debug_assertions),
        started_s: now_s(),
        machine,
        engines: engine_facts(plan),
        harness_s: bakeoff_lab::harness_cost().as_secs_f64(),
        load: bakeoff_lab::machine::load_average(),
        disks: bakeoff_lab::disk_facts(registry, experiment),
        neighbour_alone_per_second: None,
        text,
        applied: Vec::new(),
        cuts: None,
        estimated_s: Some(estimate.total_s()),
        left_out: plan.left_out.clone(),
        sequential: None,
        answers: Vec::new(),
        published: experiment.published.as_ref().map(|article| article.published.clone()),
        limit: experiment.limit,
        shard: None,
        merged: None,
    };
    if let Some(Bounds { max_repetitions, max_time, .. }) = experiment.bounds {
        let max_time_s = max_time.map(|time| time.as_secs_f64());
        run.sequential =
            bakeoff_analysis::schedule_looks(&run, FIRST_LOOK..=max_repetitions, max_time_s);
    }
    Ok(run)
}

/// The power cuts of a run, and the command that repeats one of them.
fn cut_plan(arguments: &cli::RunArguments, plan: &Plan<'_>) -> Option<CutPlan> {
    let experiment = plan.experiment;
    let cuts = experiment.cuts.as_ref()?;
    let disk = experiment.cut_disk()?;
    let clients = experiment.cut_clients();
    let mut command = vec![program_name(), "run".into()];
    command.push(quote(arguments.experiment.as_deref().unwrap_or_default()));
    if arguments.keys.quick {
        command.push("--quick".into());
    }
    if let Some(text) = &arguments.keys.text {
        command.extend(["--text".into(), quote(&text.to_string_lossy())]);
    }
    if let Some(file) = &arguments.keys.rows_from {
        command.extend(["--rows-from".into(), quote(&without_passwords(&file.to_string_lossy()))]);
    }
    if arguments.keys.rows_strict == Some(true) {
        command.push("--rows-strict".into());
    }
    let (clients_text, seed) = (clients.to_string(), experiment.seed.to_string());
    let scale = experiment.run_levels(Factor::SCALE);
    let [who, what] = cuts.by.promise;
    let mut flags = vec![("clients", &*clients_text)];
    if who != Factor::DISK {
        // A disk that was timed: the cut is repeated on the same model.
        let table = experiment.disks.get(disk).filter(|_| disk.starts_with(LIKE));
        let model = table.and_then(|table| table.get("model")?.as_str());
        flags.insert(0, ("disk", model.unwrap_or(disk)));
    }
    flags.extend(scale.first().map(|scale| ("scale", without_alias(scale))));
    let states = experiment.run_levels(Factor::STATE);
    let given = arguments.own.0.iter().any(|(factor, _)| *factor == Factor::STATE);
    let state = states
        .first()
        .map(|it| without_alias(it))
        .filter(|it| given || *it != EngineState::Warm.name());
    flags.extend(state.map(|state| ("state", state)));
    flags.push(("seed", &*seed));
    for (flag, value) in flags {
        command.extend([format!("--{flag}"), quote(value)]);
    }
    // Factors of a workload apply to cuts only if its own clients work in them.
    let own_clients = cuts.by.workload == experiment.workload;
    for (factor, levels) in &experiment.factors {
        let is_given = match factor {
            Factor::Option(_) => true,
            Factor::Declared(_) => own_clients && *factor != what,
            Factor::Own(_) => false,
        };
        if let (true, [level, ..]) = (is_given, &levels[..]) {
            let given = format!("{factor}={}", without_alias(level));
            command.extend(["--factor".into(), quote(&given)]);
        }
    }
    match arguments.keys.cut_recovery {
        _ if cuts.recovery => command.push("--cut-recovery".into()),
        Some(false) => command.push("--cut-recovery=false".into()),
        _ => {}
    }
    Some(CutPlan {
        planned: plan.planned_cuts() as u32,
        promise: PromiseFactors { who: who.name().into(), what: what.name().into() },
        disk: disk.into(),
        clients: clients as u32,
        file_systems: bakeoff_lab::file_systems(cuts),
        every: cuts.every.is_some(),
        command: command.join(" "),
    })
}

fn engine_facts(plan: &Plan<'_>) -> Vec<EngineFact> {
    let Plan { registry, experiment, .. } = *plan;
    let levels = experiment.run_levels(Factor::ENGINE);
    let entered_once = |level: &&String| without_alias(level) == level.as_str();
    let named = levels.iter().filter(entered_once).filter_map(|level| registry.engine(level));
    let staged = plan.resolved().filter(|trial| trial.cell.options().next().is_some());
    let staged = staged.filter_map(|trial| trial.engine);
    let mut engines: Vec<&dyn Engine> = Vec::new();
    for engine in named.chain(staged) {
        if engines.iter().all(|known| known.about().name != engine.about().name) {
            engines.push(engine);
        }
    }
    let durabilities = experiment.run_levels(Factor::DURABILITY);
    let fact = |engine: &dyn Engine| {
        let about = engine.about();
        let settings = about.promises.iter().filter(|promise| {
            durabilities.iter().any(|level| without_alias(level) == promise.durability.name())
        });
        EngineFact {
            name: about.name.into(),
            version: engine.version(),
            stores: about.stores,
            transport: external::recorded_transport(engine),
            password_in_url: external::password_in_url(about.name),
            settings: settings
                .map(|promise| {
                    let settings = promise.settings.unwrap_or("can't be had");
                    (promise.durability.name().into(), settings.into())
                })
                .collect(),
        }
    };
    engines.into_iter().map(fact).collect()
}

/// Without the folder, which is taken by now, and with the shard as numbers.
fn command_line(shard: Option<Shard>) -> String {
    let arguments = std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned());
    let arguments = with_shard(without_folder(arguments), shard);
    let arguments = arguments.iter().map(|it| quote(&without_passwords(it)));
    std::iter::once(program_name()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Drops `--out DIR`, and the consent to lose a device's contents.
fn without_folder(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut arguments = arguments;
    let mut kept = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--out" => drop(arguments.next()),
            it if it.starts_with("--out=") => {}
            DESTROYS => {}
            _ => kept.push(argument),
        }
    }
    kept
}

fn with_shard(mut arguments: Vec<String>, shard: Option<Shard>) -> Vec<String> {
    let Some(shard) = shard else { return arguments };
    let mut follows = false;
    for argument in &mut arguments {
        match argument.as_str() {
            "auto" if follows => *argument = shard.to_string(),
            "--shard=auto" => *argument = format!("--shard={shard}"),
            _ => {}
        }
        follows = argument.as_str() == "--shard";
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_whose_data_lay_on_another_disk_of_the_machine_is_told_from_one_of_another_machine() {
        let machine = |processors, device: &str, file_system: &str| {
            let (device, file_system) = (device.to_owned(), file_system.to_owned());
            Machine { processors, device, file_system, ..Machine::default() }
        };
        let began = machine(8, "/dev/md0", "xfs");
        let of = |now| lay_elsewhere(&began, &now);
        let lay = Some("its data lay on /dev/md0 (xfs)".to_owned());
        assert_eq!(of(machine(8, "/dev/sda1", "xfs")), lay);
        assert_eq!(of(machine(8, "/dev/md0", "ext4")), lay);
        assert_eq!(of(machine(8, "/dev/md0", "xfs")), None);
        assert_eq!(of(machine(2, "/dev/sda1", "xfs")), None, "the machine is another one");
        // Numbers of older records tell nothing.
        let numbered = machine(8, "0:39", "nfs4");
        assert_eq!(lay_elsewhere(&numbered, &machine(8, "host:/data", "nfs4")), None);
        let lay = Some("its data lay on 0:39 (nfs4)".to_owned());
        assert_eq!(lay_elsewhere(&numbered, &machine(8, "sda", "ext4")), lay);
    }

    #[test]
    fn the_command_that_repeats_a_shard_names_it() {
        let of = |arguments: &[&str]| {
            let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
            with_shard(arguments, Shard::new(2, 8).ok()).join(" ")
        };
        assert_eq!(of(&["run", "a", "--shard", "auto"]), "run a --shard 2/8");
        assert_eq!(of(&["run", "auto", "--shard=auto"]), "run auto --shard=2/8");
    }

    #[test]
    fn the_command_that_repeats_a_run_names_no_folder_that_is_taken() {
        let of = |arguments: &[&str]| {
            without_folder(arguments.iter().map(|it| (*it).to_owned())).join(" ")
        };
        assert_eq!(of(&["run", "redmine", "--out", "a b", "--quick"]), "run redmine --quick");
        assert_eq!(of(&["run", "--out=x", "redmine"]), "run redmine");
        assert_eq!(of(&["run", "redmine", "--quick"]), "run redmine --quick");
        let device = ["run", "fileio", "--path", "/dev/sdz", DESTROYS, "--out", "r"];
        assert_eq!(of(&device), "run fileio --path /dev/sdz", "its contents are given up anew");
    }
}
