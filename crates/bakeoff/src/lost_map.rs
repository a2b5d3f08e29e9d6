//! Ends in words where a file that is mapped into memory is cut short, or its disk fails: the system
//! says so by a signal.

use rustix::stdio::stderr;
use signal_hook::consts::SIGBUS;
use signal_hook::low_level;

use crate::exit::Exit;

/// A line may have been begun, as that of the progress.
const MESSAGE: &[u8] = b"\nerror: a file in the run folder was cut short by another program, or its disk \
    failed; every trial committed so far is kept. Look whether the disk is full or broken, then go on \
    with bakeoff run --resume FOLDER\n";

pub fn tell_lost_maps() {
    let tell = || {
        let _ = rustix::io::write(stderr(), MESSAGE);
        low_level::exit(Exit::Folder.to_code().into());
    };
    // SAFETY: both calls are system calls alone, and so may be made in a handler.
    let told = unsafe { low_level::register(SIGBUS, tell) };
    // Without it the system ends the process, as it does by itself.
    drop(told);
}
