//! `bakeoff disk`: what is done with a disk, and what each command needs to know.

use std::path::PathBuf;

use bakeoff_devices::neighbour::NeighbourLevel as Neighbours;
use bakeoff_devices::plug::{Keep, Metadata};
use clap::{Args, Subcommand, ValueEnum};

use super::{parse_count, parse_milliseconds, parse_seed};

/// `bakeoff disk`.
#[derive(Debug, Subcommand)]
pub enum DiskCommand {
    /// Mount a folder as a disk that behaves like a device of another kind
    Mount(DiskMount),
    /// Show a mounted disk's model and counters
    Stat(DiskStat),
    /// Change a mounted disk's background I/O, or turn its timing on or off
    Set(DiskSet),
    /// Cut a disk's power: all calls fail from then on, and what a real disk would hold is written to
    /// a crash image. Cut again for another image of the same moment
    Cut(DiskCut),
    /// Write what a disk would hold if its power went now, and let it run on
    Snapshot(DiskSnapshot),
    /// Cut a disk's power later: at a coming write or sync, or after a time
    Arm(DiskArm),
    /// Make the n-th read, write or sync of a file fail, or make the disk full; or stop that
    Fault(DiskFault),
    /// Unmount a disk
    Unmount(DiskUnmount),
}

/// `bakeoff disk mount`.
#[derive(Debug, Args)]
pub struct DiskMount {
    /// The folder that holds the files; it is made where it is missing
    pub backing: PathBuf,
    /// The empty folder to mount them on; where it is missing it is made, and removed when it is unmounted
    pub mountpoint: PathBuf,
    /// The device (see `bakeoff list disks`)
    #[arg(long, value_name = "LEVEL")]
    pub model: String,
    /// Background I/O on the device: 0, 25%, x1, x2, x4 …
    #[arg(long, value_name = "LEVEL", default_value = "0", allow_hyphen_values = true)]
    pub neighbours: Neighbours,
    /// The seed of the device and its neighbours
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true, value_parser = parse_seed)]
    pub seed: u64,
    /// How much of a hard disk's stroke is in use (1.0)
    #[arg(long, value_name = "FRACTION", allow_hyphen_values = true)]
    pub used_fraction: Option<f64>,
    /// What makes file names durable: any commit of the one journal, in the order of their changes
    /// (ordered), or only a sync of their folder (posix)
    #[arg(long, value_name = "MODE", default_value_t)]
    pub metadata: Metadata,
    /// Whether calls take as long as on the modelled device
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub timing: Switch,
    /// Keep the backing files out of the page cache, so that only the mounted files take memory
    #[arg(long)]
    pub uncached: bool,
    /// Let the kernel gather buffered writes for up to a second, so that calls are as cheap as on a
    /// real disk; faults and power cuts then miss what it holds
    #[arg(long)]
    pub write_back: bool,
    /// Stay in the foreground until it is unmounted; Ctrl-C unmounts it, too
    #[arg(long)]
    pub foreground: bool,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// It does.
    On,
    /// It does not.
    Off,
}

/// `bakeoff disk stat`.
#[derive(Debug, Args)]
pub struct DiskStat {
    /// Where the disk is mounted
    pub mountpoint: PathBuf,
    /// Print JSON, with all figures
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff disk set`.
#[derive(Debug, Args)]
pub struct DiskSet {
    /// Where the disk is mounted
    pub mountpoint: PathBuf,
    /// Background I/O on the device: 0, 25%, x1, x2, x4 …
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true)]
    pub neighbours: Option<Neighbours>,
    /// Whether calls take as long as on the modelled device
    #[arg(long, value_enum)]
    pub timing: Option<Switch>,
}

/// `bakeoff disk cut`.
#[derive(Debug, Args)]
pub struct DiskCut {
    /// Where the disk is mounted
    pub mountpoint: PathBuf,
    /// What survives of unsynced writes: drop-all, prefix, subset, torn
    #[arg(long, value_name = "RULE")]
    pub keep: Keep,
    /// The seed, which chooses one of the possible outcomes
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true, value_parser = parse_seed)]
    pub seed: u64,
    /// An empty or new folder for the crash image (by default beside the backing folder, under its
    /// name with -crash)
    #[arg(long, value_name = "DIR")]
    pub image: Option<PathBuf>,
}

/// `bakeoff disk snapshot`.
#[derive(Debug, Args)]
pub struct DiskSnapshot {
    /// Where the disk is mounted
    pub mountpoint: PathBuf,
    /// An empty or new folder for the image
    pub folder: PathBuf,
    /// What survives of unsynced writes: drop-all, prefix, subset, torn
    #[arg(long, value_name = "RULE", default_value_t = Keep::DropAll)]
    pub keep: Keep,
    /// The seed, which chooses one of the possible outcomes
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true, value_parser = parse_seed)]
    pub seed: u64,
}

/// `bakeoff disk arm`.
#[derive(Debug, Args)]
pub struct DiskArm {
    /// Where the disk is mounted
    pub mountpoint: PathBuf,
    #[command(flatten)]
    pub moment: CutMomentArguments,
}

/// When the power is cut, counted from now: one of them.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct CutMomentArguments {
    /// During the N-th write, to any file
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_count)]
    pub at_write: Option<u64>,
    /// During the N-th sync, of any file or folder; that sync fails
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_count)]
    pub at_sync: Option<u64>,
    /// After this many milliseconds
    #[arg(long, value_name = "MS", allow_hyphen_values = true, value_parser = parse_milliseconds)]
    pub after_ms: Option<u64>,
}

/// `bakeoff disk fault`.
#[derive(Debug, Args)]
pub struct DiskFault {
    /// Where the disk is mounted
    pub mountpoint: PathBuf,
    /// What is to fail. read:N:EIO:PATH: the N-th read from now on of a file that matches PATH, a path in
    /// the disk that may have * and ?; write and fsync stand for read, ENOSPC for EIO. full:BYTES: the disk
    /// holds no more than so many bytes; full:off: as many as it has room for. off: nothing fails any more
    pub rule: String,
}

/// `bakeoff disk unmount`.
#[derive(Debug, Args)]
pub struct DiskUnmount {
    /// Where the disk is mounted
    pub mountpoint: PathBuf,
}
