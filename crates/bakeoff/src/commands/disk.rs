//! `bakeoff disk`: mounts and controls virtual disks.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_devices::ext4::Flow;
use bakeoff_devices::models::Models;
use bakeoff_devices::trigger::Trigger;
use bakeoff_disk::control::{DiskControl, Stat};
use bakeoff_disk::daemon;
use bakeoff_disk::executor::Quantiles;
use bakeoff_disk::mount::{self, Error, MountOptions};
use bakeoff_disk::registry::MountNote;
use comfy_table::{ContentArrangement, Table, presets};

use super::disk_daemon;
use crate::Lab;
use crate::cli::{self, Switch};
use crate::exit::{CommandFailure, Exit};
use crate::output::{by_own_name, print, print_data, table_width};

/// Removes the leftovers of killed daemons first.
pub fn run(lab: &Lab, what: &cli::DiskCommand) -> Result<Exit, CommandFailure> {
    disk_daemon::sweep_mounts()?;
    let done = match what {
        cli::DiskCommand::Mount(arguments) => mount_disk(lab, arguments),
        cli::DiskCommand::Stat(arguments) => print_stat(lab, arguments),
        cli::DiskCommand::Set(arguments) => set_rates(arguments),
        cli::DiskCommand::Cut(arguments) => cut_power(arguments),
        cli::DiskCommand::Snapshot(arguments) => take_snapshot(arguments),
        cli::DiskCommand::Arm(arguments) => arm_plug(arguments),
        cli::DiskCommand::Fault(arguments) => inject_fault(arguments),
        cli::DiskCommand::Unmount(arguments) => unmount_disk(arguments),
    };
    done.map(|()| Exit::Done)
}

fn connect_control(mountpoint: &Path) -> Result<DiskControl, CommandFailure> {
    Ok(DiskControl::connect(mountpoint)?)
}

fn mount_disk(lab: &Lab, arguments: &cli::DiskMount) -> Result<(), CommandFailure> {
    let options = MountOptions {
        backing: arguments.backing.clone(),
        mountpoint: arguments.mountpoint.clone(),
        model: arguments.model.clone(),
        neighbours: arguments.neighbours,
        seed: arguments.seed,
        used_fraction: arguments.used_fraction,
        metadata: arguments.metadata,
        timing: arguments.timing == Switch::On,
        uncached: arguments.uncached,
        write_back: arguments.write_back,
    };
    if arguments.foreground {
        return Ok(daemon::serve_disk(lab.registry.models(), &options, say_mounted)?);
    }
    mount::mount_detached(&disk_daemon::own_launcher()?, &options)?;
    let at = arguments.mountpoint.display();
    let text = format!("{at} is a disk now; to unmount it: bakeoff disk unmount {at}\n");
    print(&by_own_name(&text))
}

fn say_mounted(disk: &MountNote) -> io::Result<()> {
    let (backing, mountpoint) = (disk.backing.display(), disk.mountpoint.display());
    let text = format!("mounted {backing} on {mountpoint} as {}\n", disk.model);
    print(&text).map_err(|failure| io::Error::other(failure.to_string()))
}

fn print_stat(lab: &Lab, arguments: &cli::DiskStat) -> Result<(), CommandFailure> {
    let stat = connect_control(&arguments.mountpoint)?.stat()?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&stat).expect("it is plain data");
        return print_data(&format!("{text}\n"));
    }
    print(&format_stat(&stat, lab.registry.models()))
}

fn set_rates(arguments: &cli::DiskSet) -> Result<(), CommandFailure> {
    if arguments.neighbours.is_none() && arguments.timing.is_none() {
        let why = "nothing is to be set: give --neighbours LEVEL, --timing on or off, or both";
        return Err(CommandFailure::new(Exit::Usage, why));
    }
    let disk = connect_control(&arguments.mountpoint)?;
    let mut set = Vec::new();
    if let Some(level) = arguments.neighbours {
        disk.set_neighbours(level)?;
        set.push(format!("neighbours {level}"));
    }
    if let Some(timing) = arguments.timing {
        disk.set_timing(timing == Switch::On)?;
        set.push(format!("timing {}", if timing == Switch::On { "on" } else { "off" }));
    }
    print(&format!("{}: {}\n", arguments.mountpoint.display(), set.join(", ")))
}

fn cut_power(arguments: &cli::DiskCut) -> Result<(), CommandFailure> {
    let disk = connect_control(&arguments.mountpoint)?;
    let image = match &arguments.image {
        Some(image) => image.clone(),
        None => default_image_folder(&disk.stat()?.backing),
    };
    disk.cut(arguments.keep, arguments.seed, &image).map_err(|error| match error {
        Error::Folder(why) => Error::Folder(format!("{why}; name another: --image DIR")),
        other => other,
    })?;
    print(&format!("the power is off; what is left is in {}\n", image.display()))
}

fn take_snapshot(arguments: &cli::DiskSnapshot) -> Result<(), CommandFailure> {
    let disk = connect_control(&arguments.mountpoint)?;
    disk.snapshot(arguments.keep, arguments.seed, &arguments.folder)?;
    let folder = arguments.folder.display();
    print(&format!("what a power cut would have left is in {folder}; the disk runs on\n"))
}

fn arm_plug(arguments: &cli::DiskArm) -> Result<(), CommandFailure> {
    let cli::CutMomentArguments { at_write, at_sync, after_ms } = arguments.moment;
    let trigger = at_write.map(Trigger::Writes).or(at_sync.map(Trigger::Syncs));
    let after = || Trigger::After(Duration::from_millis(after_ms.unwrap_or_default()));
    let trigger = trigger.unwrap_or_else(after);
    connect_control(&arguments.mountpoint)?.arm(trigger)?;
    let when = match trigger {
        Trigger::Writes(nth) => format!("within write number {nth} from now"),
        Trigger::Syncs(nth) => format!("within sync number {nth} from now"),
        Trigger::After(time) => format!("in {} ms", time.as_millis()),
        Trigger::Signature { .. } => unreachable!("no flag asks for one"),
    };
    print(&format!("the power goes {when}\n"))
}

fn inject_fault(arguments: &cli::DiskFault) -> Result<(), CommandFailure> {
    let rule = connect_control(&arguments.mountpoint)?.inject_fault(&arguments.rule)?;
    print(&format!("{}\n", rule.describe()))
}

fn unmount_disk(arguments: &cli::DiskUnmount) -> Result<(), CommandFailure> {
    mount::unmount_disk(&arguments.mountpoint)?;
    print(&format!("{} is unmounted\n", arguments.mountpoint.display()))
}

fn default_image_folder(backing: &Path) -> PathBuf {
    let mut name = backing.file_name().unwrap_or_default().to_owned();
    name.push("-crash");
    backing.with_file_name(name)
}

fn format_stat(stat: &Stat, models: &Models) -> String {
    let (device, files, latency) = (&stat.device, &stat.files, &stat.latency);
    let timing = match (stat.off_at_ns, stat.timing) {
        (Some(_), _) => "the power is off",
        (None, true) => "timing on",
        (None, false) if models.parse(&stat.model).is_ok_and(|spec| spec.is_null()) => {
            "takes no time"
        }
        (None, false) => "timing off",
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(table_width() as u16);
    let mut row = |what: &str, name: &str, text: String| {
        table.add_row([what, name, &text]);
    };
    row("disk", "model", format!("{}, neighbours {}, {timing}", stat.model, stat.neighbours));
    row("", "seed", format!("{}, metadata {}", stat.seed, stat.metadata));
    let faults = if stat.faults.is_empty() { "none".to_owned() } else { stat.faults.join(", ") };
    row("", "faults to come", faults);
    row("", "folder", stat.backing.display().to_string());
    row("", "mounted", format!("for {:.0} s by process {}", stat.seconds, stat.pid));
    row("device", "utilisation", format!("{:.1} %", device.utilisation() * 100.0));
    let queue = format!("{} and {} of neighbours", device.in_queue, device.neighbours_in_queue);
    row("", "in its queue", queue);
    row("", "reads", format_flow(device.reads, device.read_bytes));
    row("", "writes", format_flow(device.writes, device.write_bytes));
    row("", "flushes", device.flushes.to_string());
    row("", "for neighbours", device.neighbour_requests.to_string());
    let all = &files.all;
    row("files", "host reads", format_places(&all.host_reads));
    row("", "host writes", format_places(&all.host_writes));
    row("", "device reads", format_places(&all.device_reads));
    row("", "device writes", format_places(&all.device_writes));
    let commits = if files.commits == 1 { "commit" } else { "commits" };
    row("", "journal", format!("{} in {} {commits}", format_places(&files.journal), files.commits));
    let syncs = [all.full_syncs, all.data_syncs, files.directory_syncs];
    row(
        "",
        "syncs",
        format!("{} fsync, {} fdatasync, {} of folders", syncs[0], syncs[1], syncs[2]),
    );
    row("latency", "modelled", format_quantiles(&latency.modelled));
    row("", "achieved", format_quantiles(&latency.achieved));
    let error = match latency.slow {
        0 => "nothing took 1 ms or more".to_owned(),
        slow => format!(
            "median {:.2} %, 99th percentile {:.2} % (of {slow} that took 1 ms or more)",
            latency.error_median * 100.0,
            latency.error_p99 * 100.0
        ),
    };
    row("", "error", error);
    row("daemon", "round trip", format!("{:.0} µs", stat.round_trip_us));
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let (all, pending) = (megabytes(stat.memory_bytes), megabytes(stat.pending_bytes));
    row("", "memory", format!("{all:.1} MB, {pending:.1} MB of it for what is not durable yet"));
    format!("{table}\n")
}

fn format_flow(requests: u64, bytes: u64) -> String {
    format!("{requests}, {:.1} MB", bytes as f64 / 1e6)
}

fn format_places(flow: &Flow) -> String {
    let Flow { requests, bytes, sequential } = flow;
    let random = flow.random_requests();
    format!("{}, {sequential} sequential, {random} random", self::format_flow(*requests, *bytes))
}

fn format_quantiles(quantiles: &Quantiles) -> String {
    if quantiles.count == 0 {
        return "nothing yet".into();
    }
    let Quantiles { count, mean_us, p50_us, p99_us, max_us } = quantiles;
    let [mean, median, p99, max] = [mean_us, p50_us, p99_us, max_us].map(|micros| micros / 1e3);
    format!(
        "mean {mean:.2} ms, median {median:.2} ms, 99th percentile {p99:.2} ms, longest {max:.2} ms \
         ({count})"
    )
}
