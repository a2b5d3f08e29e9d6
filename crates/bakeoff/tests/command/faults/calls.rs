//! What a call is about, in words that are the same in each run.

use std::fs::{File, read, read_link};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::supervisor::Call;

/// The longest path that is read from a process.
const PATH: usize = 512;

/// Names a call of bakeoff's own processes: the command that makes it, the call, and its file.
/// `None` for a call of an engine's server or of the system's loader, which is not the lab's.
pub fn name(call: &Call, program: &Path, place: &Path) -> Option<String> {
    let of = |entry: &str| format!("/proc/{}/{entry}", call.pid);
    if read_link(of("exe")).ok()? != program {
        return None;
    }
    let line = read(of("cmdline")).ok()?;
    let role = line.split(|byte| *byte == 0).nth(1).unwrap_or_default();
    let about = match call.number {
        libc::SYS_open => text(call, 0)?,
        libc::SYS_openat => text(call, 1)?,
        libc::SYS_mount => text(call, 1)?,
        libc::SYS_fork | libc::SYS_vfork => "process".into(),
        // The flags are the first argument, or the first word of what it points to.
        libc::SYS_clone => thread(call.arguments[0]),
        libc::SYS_clone3 => thread(word(call, call.arguments[0])?),
        libc::SYS_kill | libc::SYS_pidfd_send_signal => format!("signal {}", call.arguments[1]),
        libc::SYS_tgkill => format!("signal {}", call.arguments[2]),
        _ => read_link(of(&format!("fd/{}", call.arguments[0]))).ok()?.to_string_lossy().into(),
    };
    if about.starts_with("/lib/") || about.starts_with("/usr/lib/") || about.starts_with("/etc/ld")
    {
        return None;
    }
    let role = String::from_utf8_lossy(role);
    Some(format!("{role}: {} {}", call.name, alike(&about.replace(&*place.to_string_lossy(), "."))))
}

fn thread(flags: u64) -> String {
    let thread = flags & libc::CLONE_THREAD as u64 != 0;
    if thread { "thread" } else { "process" }.into()
}

fn memory(call: &Call) -> Option<File> {
    File::open(format!("/proc/{}/mem", call.pid)).ok()
}

fn word(call: &Call, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory(call)?.read_exact_at(&mut bytes, address).ok()?;
    Some(u64::from_ne_bytes(bytes))
}

/// The text that an argument points to.
fn text(call: &Call, argument: usize) -> Option<String> {
    let mut bytes = [0; PATH];
    let read = memory(call)?.read_at(&mut bytes, call.arguments[argument]).ok()?;
    let end = bytes[..read].iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// The same for all numbers, and for what is made up to be unique.
fn alike(text: &str) -> String {
    let mut alike = String::new();
    for part in text.split_inclusive('/') {
        let name = part.trim_end_matches('/');
        let unique = name.starts_with(".tmp") || name.starts_with("socket:");
        let part = if unique { part.replace(name, &name[..4]) } else { part.into() };
        for c in part.chars() {
            match c {
                '0'..='9' if alike.ends_with('#') => {}
                '0'..='9' => alike.push('#'),
                c => alike.push(c),
            }
        }
    }
    alike
}
