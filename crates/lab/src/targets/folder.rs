//! The target `folder`: files on a disk without any engine. Threads read and write them with as
//! many requests in flight as the depth says. The default bypasses the page cache (`O_DIRECT`), so
//! that the disk answers.

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
use std::sync::{Arc, OnceLock};

use bakeoff_devices::limit::ClientLoad;
use bakeoff_experiment::{Cpus, CutBy, EngineState, Factor, WorkloadNames};
use bakeoff_workloads::{FigureOfMerit, Name, OperationCounts};
use serde_json::Value;

pub(crate) use self::files::AlignedBuffers;
use self::medium::{DataMedium, IN_MEMORY};
use self::open::OpenDataFiles;
use self::resolved::ResolvedFolder;
use super::{
    DataSize, GroupLimit, GroupSetup, PreparedTarget, RunningTarget, Setup, Subject, Target,
    TargetHome, UnsyncedData, WantedLevels, WorkloadDescription, describe_image,
};
use crate::TrialError;
use crate::machine::available_memory;
use crate::place::TargetPlace;
use crate::place::device::RawDevice;
use crate::place::images::Recipe;
use crate::refusal::Refusal;

const WORKLOAD: &str = "fileio";
static OPERATIONS: [Name; 2] = [Name::Borrowed("read"), Name::Borrowed("write")];
/// The group whose memory holds the page cache of the files.
const GROUP: &str = "files";

/// Memory of a trial's process besides its random pool and buffers, with room to spare.
const OWN_MEMORY: u64 = 8 << 20;

const KEPT: &str = "page cache: no write is synced, so that writes show the speed of memory as long as it has room \
                    for them; to measure the disk, take `sync` fdatasync:1 or `access` direct";

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
            // After a power cut, every disk has to keep what a sync covered.
            cut_by: Ok(CutBy {
                workload: WORKLOAD.into(),
                promise: [Factor::DISK, Factor::Declared(&levels::SYNC)],
                instead: levels::in_cuts(),
            }),
        }]
    }

    fn describe_workload(&self, workload: &str) -> Option<WorkloadDescription> {
        (workload == WORKLOAD).then(|| WorkloadDescription {
            summary: "reads and writes blocks of files, at random or in order, without any engine"
                .into(),
            operations: OPERATIONS.to_vec(),
            rows: None,
            figure_of_merit: FigureOfMerit::Operations,
            counts: OperationCounts { rows: false, bytes: true },
            scales: Vec::new(),
        })
    }

    fn question(&self, experiment: &bakeoff_experiment::Experiment) -> Option<String> {
        Some(question::phrase_question(experiment))
    }

    fn resolve(&self, wanted: &WantedLevels<'_>) -> Result<Setup, Refusal> {
        let WantedLevels { experiment, cell, image, .. } = *wanted;
        let resolved = ResolvedFolder::from_cell(cell, experiment.row_seed(image))?;
        let of = |factor| cell.base(Factor::Declared(factor));
        let (size, files, data) = (of(&levels::SIZE), of(&levels::FILES), of(&levels::DATA));
        let image = describe_image(image);
        let noun = if resolved.shape.files == 1 { "file" } else { "files" };
        Ok(Setup {
            target: self.name(),
            subject: Arc::new(resolved),
            recipe: Recipe {
                key: format!("{WORKLOAD} size={size} files={files} data={data}{image}"),
                about: format!("{WORKLOAD} {size}{image} into {files} {noun}"),
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

    fn read_subject(&self, json: &Value) -> Result<Box<dyn Subject>, TrialError> {
        let wrong = |error| TrialError::process_error(format!("no subject: {error}"));
        Ok(Box::new(serde_json::from_value::<ResolvedFolder>(json.clone()).map_err(wrong)?))
    }
}

impl Subject for ResolvedFolder {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("it is plain data")
    }

    fn size(&self) -> Option<DataSize> {
        let bytes = self.shape.total_bytes();
        Some(DataSize { rows: bytes, aged: 0, disk: bytes })
    }

    fn least_memory(&self, _: &str, clients: usize) -> Option<u64> {
        let buffers = (clients * self.depth * self.block) as u64;
        // A limit is a whole number of MiB.
        Some((content::POOL as u64 + buffers + OWN_MEMORY).next_multiple_of(1 << 20))
    }

    fn leaves_files(&self) -> bool {
        self.direct && self.pattern.reads == 100
    }

    fn fits_device(&self, device: &RawDevice) -> Result<(), String> {
        self.check_device(device)
    }

    fn fits_folder(&self, folder: &Path) -> Result<(), String> {
        // If it can't be asked here, the refusal comes when the files are made.
        match medium::is_folder_in_memory(folder) {
            Ok(true) => Err(IN_MEMORY.into()),
            Ok(false) | Err(_) => Ok(()),
        }
    }

    fn device_load(&self, clients: usize) -> Option<ClientLoad> {
        let Self { shape, block, depth, pattern, .. } = *self;
        Some(ClientLoad {
            clients: clients as u64,
            depth: depth as u64,
            reads: pattern.reads,
            in_order: pattern.in_order,
            block: block as u64,
            span: shape.total_bytes(),
        })
    }

    fn unsynced_writes(&self, clients: usize) -> Option<UnsyncedData> {
        self.unsynced_writes(clients)
    }

    fn plan_remark(&self, memory_bytes: Option<u64>, state: EngineState) -> Option<String> {
        let Self { shape, pattern, rule, .. } = Some(self).filter(|it| !it.direct)?;
        let there = memory_bytes.or_else(free_memory).filter(|_| pattern.reads > 0);
        let is_limit = memory_bytes.is_some();
        let read = there.map(|there| in_page_cache(shape.total_bytes(), there, is_limit, state));
        let is_kept = pattern.reads < 100 && *rule == levels::SyncRule::Never;
        let lines: Vec<String> = read.into_iter().chain(is_kept.then(|| KEPT.to_owned())).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn prepare(&self) -> Result<Box<dyn PreparedTarget>, TrialError> {
        Ok(Box::new(*self))
    }
}

/// The free memory in bytes when first asked, so that all lines of a plan show one figure.
fn free_memory() -> Option<u64> {
    static FREE: OnceLock<Option<u64>> = OnceLock::new();
    *FREE.get_or_init(|| available_memory().ok())
}

/// How much of the files fits into the page cache, and what follows. `there` is free memory, or its
/// limit. `cold` starts with an empty cache.
fn in_page_cache(files: u64, there: u64, is_limit: bool, state: EngineState) -> String {
    let mb = |bytes: u64| bytes / 1_000_000;
    let memory = match is_limit {
        true => format!("{} MB of memory at most", mb(there)),
        // It changes all the time: more digits would say nothing.
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
        let failed = |error| TrialError::place_error("its files can't be written", error);
        // Loaded data are counted in MiB.
        self.shape
            .make(&DataMedium::from_place(place)?, &mut |bytes| loaded(bytes >> 20, bytes))
            .map_err(failed)
    }

    fn open<'a>(&'a self, place: &TargetPlace) -> Result<Box<dyn RunningTarget + 'a>, TrialError> {
        place.join_group(GROUP)?;
        Ok(Box::new(OpenDataFiles::new(*self, DataMedium::from_place(place)?)?))
    }

    fn count_acknowledged(&self, claims: &[Vec<u8>], off_at_ns: u64) -> u64 {
        let blocks_each = self.shape.each / self.block as u64;
        let file = |block: u64| (block / blocks_each) as usize;
        claims::BlockClaims::from_records(claims, off_at_ns, file).count_durable()
    }
}
