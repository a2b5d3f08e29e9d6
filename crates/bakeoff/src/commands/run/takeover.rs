//! Checks that a run resumes with the program and the kernel that ran it last.

use bakeoff_results::{Platform, Run, RunFolder};

use crate::exit::{CommandFailure, Exit};

const FLAG: &str = "--another-binary";

/// `None` for a shard, which notes its machines itself.
pub fn check_platform(
    folder: &RunFolder,
    began: &Run,
    now: &Run,
    is_allowed: bool,
) -> Result<Option<Platform>, CommandFailure> {
    let now = now.platform();
    if began.shard.is_some() || began.merged.is_some() {
        return check_part(folder, began, &now).map(|()| None);
    }
    let then = folder.last_platform().map_err(CommandFailure::from_folder_error)?;
    let told = list_differences(&then, &now);
    if told.is_empty() || is_allowed { Ok(Some(now)) } else { Err(takeover_failure(folder, &told)) }
}

/// A shard has one program and one kernel: `bakeoff merge` relies on each shard's record.
fn check_part(folder: &RunFolder, began: &Run, now: &Platform) -> Result<(), CommandFailure> {
    let dir = folder.dir().display();
    let shard = began.shard.as_ref().and_then(|it| it.program_sha256.clone());
    let merged = began.merged.as_ref().and_then(|it| it.program_sha256.clone());
    let then = Platform { program_sha256: shard.or(merged), ..began.platform() };
    if !then.has_program_of(now) {
        let [then, now] = [&then, now].map(|it| it.program_sha256.as_deref().unwrap_or_default());
        return Err(CommandFailure::new(
            Exit::Folder,
            format!(
                "the SHA-256 of bakeoff's program changed after the run in {dir} began: it was {then}, and is \
                 {now} now. Parts of a plan are of one program: start a new run with --out, or bring back that \
                 program ({FLAG} is for a run that is no part of a plan)"
            ),
        ));
    }
    // A merged run has several kernels already: a resuming machine is a new member.
    if began.shard.is_some() && !then.has_kernel_of(now) {
        return Err(CommandFailure::new(
            Exit::Folder,
            format!(
                "the kernel changed after the shard in {dir} began: it was {}, and is {} now. Boot that kernel; or \
                 merge the shards (bakeoff merge ALL {dir} ...) and run the rest with bakeoff run --resume ALL, \
                 which records the kernel of each machine ({FLAG} is for a run that is no part of a plan)",
                describe_kernel(&then),
                describe_kernel(now)
            ),
        ));
    }
    Ok(())
}

fn list_differences(then: &Platform, now: &Platform) -> Vec<String> {
    let line = |what: &str, told: fn(&Platform) -> String| {
        format!("{what}: it was {}, and is {} now", told(then), told(now))
    };
    let program = (!then.has_program_of(now)).then(|| line("bakeoff's program", describe_program));
    let kernel = (!then.has_kernel_of(now)).then(|| line("the kernel", describe_kernel));
    program.into_iter().chain(kernel).collect()
}

fn describe_program(platform: &Platform) -> String {
    let sum = platform.program_sha256.as_deref().unwrap_or("not known");
    format!("{} with the SHA-256 {sum}", platform.version)
}

fn describe_kernel(platform: &Platform) -> String {
    match &platform.kernel_version {
        Some(version) => format!("{} ({version})", platform.kernel),
        None => platform.kernel.clone(),
    }
}

fn takeover_failure(folder: &RunFolder, told: &[String]) -> CommandFailure {
    let lines: String = told.iter().map(|line| format!("\n  {line}")).collect();
    let text = format!(
        "the run in {} was run last by another program or under another kernel:{lines}\nBring back what it was, or \
         start a new run with --out. To go on all the same, add {FLAG}: the report then warns that the figures \
         are of both",
        folder.dir().display()
    );
    CommandFailure::new(Exit::Folder, text)
}
