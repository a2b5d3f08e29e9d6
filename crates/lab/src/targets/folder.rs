//! The target `folder`: files on a disk, read and written by threads with as many requests in flight as
//! their depth says, without any engine. By itself the page cache is left out (`O_DIRECT`), so that it is
//! the disk that answers.

mod audit;
mod blocks;
mod claims;
mod content;
mod files;
mod levels;
mod medium;
mod open;
mod plain;
mod question;
mod requests;
mod resolved;
mod ring;
mod syncs;
mod writings;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::OnceLock;

use bakeoff_devices::limit::ClientLoad;
use bakeoff_experiment::{Cpus, CutBy, EngineState, Factor, WorkloadNames};
use bakeoff_workloads::{FigureOfMerit, Name, OperationCounts};
use serde_json::Value;

use self::medium::{DataMedium, IN_MEMORY};
use self::open::OpenDataFiles;
use self::resolved::ResolvedFolder;
use super::{
    DataSize, GroupLimit, GroupSetup, PreparedTarget, RunningTarget, Setup, Target, TargetHome,
    Unsynced, WantedLevels, WorkloadDescription,
};
use crate::TrialError;
use crate::machine::available_memory;
use crate::place::TargetPlace;
use crate::place::device::RawDevice;
use crate::place::images::Recipe;
use crate::refusal::Refusal;

/// Its workload.
const WORKLOAD: &str = "fileio";
/// What its clients do.
static OPERATIONS: [Name; 2] = [Name::Borrowed("read"), Name::Borrowed("write")];
/// The group of the processes that use the files, and have the page cache that these fill.
const GROUP: &str = "files";

/// Bytes that a trial's process takes beside its pool of random bytes and its buffers, with room.
const OWN_MEMORY: u64 = 8 << 20;

/// What is said of writes that nothing brings out of the page cache.
const KEPT: &str = "page cache: no write is synced, so that writes show the speed of memory as long as it has room \
                    for them; to measure the disk, take `sync` fdatasync:1 or `access` direct";

/// The target.
pub struct FolderTarget;

impl Target for FolderTarget {
    fn name(&self) -> &'static str {
        "folder"
    }

    fn workloads(&self) -> Vec<WorkloadNames> {
        let own = [
            Factor::MEMORY,
            Factor::DISK,
            Factor::NEIGHBOURS,
            Factor::CLIENTS,
            Factor::RATE,
            Factor::STATE,
        ];
        vec![WorkloadNames {
            name: WORKLOAD.into(),
            scales: Vec::new(),
            operations: OPERATIONS.iter().map(ToString::to_string).collect(),
            factors: own.into_iter().chain(levels::ALL.map(Factor::Declared)).collect(),
            reads_back: false,
            takes_rows: Vec::new(),
            // Each disk promises that what a sync covered is there after a power cut.
            cut_by: Ok(CutBy {
                workload: WORKLOAD.into(),
                promise: [Factor::DISK, Factor::Declared(&levels::SYNC)],
                instead: levels::in_cuts(),
            }),
        }]
    }

    fn about(&self, workload: &str) -> Option<WorkloadDescription> {
        (workload == WORKLOAD).then(|| WorkloadDescription {
            summary: "reads and writes blocks of files, at random or in order, without any engine"
                .into(),
            operations: OPERATIONS.to_vec(),
            figure_of_merit: FigureOfMerit::Operations,
            counts: OperationCounts { rows: false, bytes: true },
            scales: Vec::new(),
        })
    }

    fn question(&self, experiment: &bakeoff_experiment::Experiment) -> Option<String> {
        Some(question::phrase_question(experiment))
    }

    fn resolve(&self, wanted: &WantedLevels<'_>) -> Result<Setup, Refusal> {
        let WantedLevels { experiment, cell, .. } = wanted;
        let resolved = ResolvedFolder::from_cell(cell, experiment.seed)?;
        let of = |factor| cell.base(Factor::Declared(factor));
        let (size, files, data) = (of(&levels::SIZE), of(&levels::FILES), of(&levels::DATA));
        let noun = if resolved.shape.files == 1 { "file" } else { "files" };
        Ok(Setup {
            target: self.name(),
            subject: serde_json::to_value(resolved).expect("it is plain data"),
            recipe: Recipe {
                key: format!("{WORKLOAD} size={size} files={files} data={data}"),
                about: format!("{WORKLOAD} {size} into {files} {noun}"),
                into: WORKLOAD.into(),
            },
            groups: vec![GroupSetup {
                name: GROUP,
                has_server: false,
                files: Some(""),
                limit: GroupLimit { memory: cell.memory(), cpus: Cpus::Unlimited },
            }],
            shared: Vec::new(),
            home: TargetHome::Files,
        })
    }

    fn size(&self, subject: &Value) -> Option<DataSize> {
        let bytes = resolved(subject).ok()?.shape.bytes();
        Some(DataSize { rows: bytes, aged: 0, disk: bytes })
    }

    fn least_memory(&self, subject: &Value, _: &str, clients: usize) -> Option<u64> {
        let resolved = resolved(subject).ok()?;
        let buffers = (clients * resolved.depth * resolved.block) as u64;
        // A limit is a whole number of MiB.
        Some((content::POOL as u64 + buffers + OWN_MEMORY).next_multiple_of(1 << 20))
    }

    fn leaves_files(&self, subject: &Value) -> bool {
        resolved(subject).is_ok_and(|it| it.direct && it.pattern.reads == 100)
    }

    fn fits_device(&self, subject: &Value, device: &RawDevice) -> Result<(), String> {
        resolved(subject).map_err(|error| error.to_string())?.fits(device)
    }

    fn fits_folder(&self, _: &Value, folder: &Path) -> Result<(), String> {
        // Where it can't be asked, that is told when the files are made.
        match medium::is_folder_in_memory(folder) {
            Ok(true) => Err(IN_MEMORY.into()),
            Ok(false) | Err(_) => Ok(()),
        }
    }

    fn device_load(&self, subject: &Value, clients: usize) -> Option<ClientLoad> {
        let ResolvedFolder { shape, block, depth, pattern, .. } = resolved(subject).ok()?;
        Some(ClientLoad {
            clients: clients as u64,
            depth: depth as u64,
            reads: pattern.reads,
            in_order: pattern.in_order,
            block: block as u64,
            span: shape.bytes(),
        })
    }

    fn unsynced(&self, subject: &Value, clients: usize) -> Option<Unsynced> {
        resolved(subject).ok()?.unsynced(clients)
    }

    fn remark(
        &self,
        subject: &Value,
        memory_bytes: Option<u64>,
        state: EngineState,
    ) -> Option<String> {
        let ResolvedFolder { shape, pattern, rule, .. } =
            resolved(subject).ok().filter(|it| !it.direct)?;
        let there = memory_bytes.or_else(free_memory).filter(|_| pattern.reads > 0);
        let is_limit = memory_bytes.is_some();
        let read = there.map(|there| in_page_cache(shape.bytes(), there, is_limit, state));
        let is_kept = pattern.reads < 100 && rule == levels::SyncRule::Never;
        let lines: Vec<String> = read.into_iter().chain(is_kept.then(|| KEPT.to_owned())).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn prepare(&self, subject: &Value) -> Result<Box<dyn PreparedTarget>, TrialError> {
        let wrong = |error| TrialError::process(format!("no subject: {error}"));
        Ok(Box::new(resolved(subject).map_err(wrong)?))
    }
}

fn resolved(subject: &Value) -> Result<ResolvedFolder, serde_json::Error> {
    serde_json::from_value(subject.clone())
}

/// Bytes of memory that were free when it was first asked, so that all lines of a plan have one figure.
fn free_memory() -> Option<u64> {
    static FREE: OnceLock<Option<u64>> = OnceLock::new();
    *FREE.get_or_init(|| available_memory().ok())
}

/// How much of files the page cache can hold, and what follows; `there` is the memory that is free, or its
/// limit. In the state `cold` it is empty at the start.
fn in_page_cache(files: u64, there: u64, is_limit: bool, state: EngineState) -> String {
    let mb = |bytes: u64| bytes / 1_000_000;
    let memory = match is_limit {
        true => format!("{} MB of memory at most", mb(there)),
        // It changes all the time, so that more digits would say nothing.
        false => format!("{:.1} GB of memory free", there as f64 / 1e9),
    };
    let share = 100 * there.min(files) / files;
    let told = match (state, there >= files) {
        (EngineState::Cold, true) => "it is empty at the start (`state` cold), so that the first read of each block comes \
                                from the disk; all of them fit, so that reads of a block that was read before show \
                                the speed of memory and not of a disk"
            .to_owned(),
        (EngineState::Cold, false) => format!(
            "it is empty at the start (`state` cold); once it is full, up to {share} % of the reads need no disk"
        ),
        (_, true) => "all of them fit, so that reads show the speed of memory and not of a disk; take `access` \
                      direct, files larger than the memory (`size`), less memory (`memory`), or `state` cold"
            .to_owned(),
        (_, false) => format!("up to {share} % of the reads need no disk"),
    };
    format!("page cache: {} MB of files, {memory}: {told}", mb(files))
}

impl PreparedTarget for ResolvedFolder {
    fn load(
        &self,
        place: &TargetPlace,
        loaded: &mut dyn FnMut(u64, u64),
    ) -> Result<(), TrialError> {
        let failed = |error| TrialError::place("its files can't be written", error);
        // What is loaded is counted in MiB.
        self.shape
            .make(&DataMedium::from_place(place)?, &mut |bytes| loaded(bytes >> 20, bytes))
            .map_err(failed)
    }

    fn open<'a>(&'a self, place: &TargetPlace) -> Result<Box<dyn RunningTarget + 'a>, TrialError> {
        place.join(GROUP)?;
        Ok(Box::new(OpenDataFiles::new(*self, DataMedium::from_place(place)?)?))
    }

    /// The writes that were durable.
    fn acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64 {
        let blocks_each = self.shape.each / self.block as u64;
        let file = |block: u64| (block / blocks_each) as usize;
        claims::BlockClaims::read(claims, off_at_ns, file).durable()
    }
}
