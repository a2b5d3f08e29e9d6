//! Lets the kernel schedule a thread as batch work.

use std::io;

/// For the calling thread alone. When it is woken, it doesn't take the processor from a thread that
/// runs: a server on the same processors answers what it has first, and wakes the client once for
/// several answers.
///
/// Source: sched(7), SCHED_BATCH. The call itself, since musl's function for it always fails.
pub(crate) fn schedule_as_batch() -> io::Result<()> {
    const THIS_THREAD: libc::pid_t = 0;
    let priority = 0_i32;
    // SAFETY: `sched_param` is one integer on Linux, and the kernel only reads it.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            THIS_THREAD,
            libc::SCHED_BATCH,
            &raw const priority,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
