//! What the disk of a folder takes for a write, a flush and a read, and which model it is like.

use std::path::Path;

use bakeoff_devices::models::Models;
use bakeoff_experiment::LIKE;
use bakeoff_lab::disk_likeness::{DiskLikeness, format_two_digits};
use bakeoff_lab::disk_timing::{TimingPlan, time_disk};
use bakeoff_results::{DiskTiming, FlushTiming};

use super::{DoctorFindings, Needed};
use crate::exit::CommandFailure;
use crate::output::{print, quote};

pub fn print_cost(
    found: &mut DoctorFindings,
    models: &Models,
    folder: &Path,
) -> Result<(), CommandFailure> {
    found.print_question("What does this disk cost? (20 s)")?;
    let timed = time_disk(folder, &TimingPlan::WHOLE).map_err(|error| error.to_string());
    let timing = match timed {
        Ok(timing) => timing,
        Err(why) => return found.print_finding(Needed::No, "this disk", Err(why)),
    };
    let likeness = DiskLikeness::find(models, &timing).map_err(|error| error.to_string());
    let like = likeness.as_ref().map(DiskLikeness::describe).map_err(Clone::clone);
    found.print_finding(Needed::No, "this disk", like)?;
    for (what, text) in describe_timing(&timing) {
        found.print_finding(Needed::No, what, Ok(text))?;
    }
    if let Ok(DiskLikeness { model, .. }) = likeness {
        let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let like = quote(&format!("{LIKE}{}", path.display()));
        let text = format!("--disk {like}, or --disk {}", quote(&model.to_string()));
        found.print_finding(Needed::No, "to run on such a disk", Ok(text))?;
    }
    timing.doubts.iter().try_for_each(|doubt| print(&format!("doubt    this disk: {doubt}\n")))
}

fn describe_timing(timing: &DiskTiming) -> [(&'static str, String); 4] {
    let FlushTiming { write_s, median_s, mean_s, p99_s, humps_s, .. } = &timing.flush;
    let written = write_s.map_or_else(String::new, |seconds| format!("in {}, ", format_s(seconds)));
    let humps = humps_s.map_or_else(String::new, |[short, long]| {
        format!(", in two groups around {} and {}", format_s(short), format_s(long))
    });
    let flushed = format!(
        "{written}with its flush in {} (median {}, p99 {}{humps}), written through in {}; a flush of nothing \
         takes {}",
        format_s(*mean_s),
        format_s(*median_s),
        format_s(*p99_s),
        format_s(timing.write_through_s),
        format_s(timing.clean_flush_s)
    );
    let appends = timing.appends.iter().map(|(writers, rate)| {
        let noun = if *writers == 1 { "writer" } else { "writers" };
        format!("{} by {writers} {noun}", format_two_digits(*rate))
    });
    let reads = match (timing.read_s, timing.reads_at_once) {
        (Some(read_s), Some(at_once)) => {
            format!("{} each, {} at once", format_s(read_s), format_two_digits(at_once))
        }
        _ => "not timed".into(),
    };
    let written = format!("{} MB/s written", format_two_digits(timing.write_mb_s));
    let in_order = timing.read_mb_s.map_or_else(
        || written.clone(),
        |rate| format!("{} MB/s read, {written}", format_two_digits(rate)),
    );
    [
        ("4 KiB overwritten", flushed),
        ("flushed appends of 4 KiB, a second", appends.collect::<Vec<_>>().join(", ")),
        ("random reads of 4 KiB", reads),
        ("1 MiB after the other", in_order),
    ]
}

fn format_s(seconds: f64) -> String {
    match seconds < 100e-6 {
        true => format!("{} µs", format_two_digits(seconds * 1e6)),
        false => format!("{} ms", format_two_digits(seconds * 1e3)),
    }
}
