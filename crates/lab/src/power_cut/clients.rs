//! The ledger's clients, until the engine fails: in the process that the power cut ends.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;

use bakeoff_engines::Database;
use bakeoff_workloads::ledger::Books;
use bakeoff_workloads::{Client, Tally};

use super::log::{Clerk, now_ns};
use crate::child::Speaker;
use crate::job::Message;

/// Opens a session and a log for each client, asks `go` whether to begin, and runs them until each
/// has stopped; of each that has, it says when and why.
pub fn run(
    books: &Books,
    database: &dyn Database,
    clients: usize,
    log: &Path,
    speaker: &Speaker<'_>,
    go: &mut dyn FnMut() -> Result<(), String>,
) -> Result<(), String> {
    let (start, given_up) = (&Barrier::new(clients + 1), &AtomicBool::new(false));
    let (opened, hear) = mpsc::channel();
    thread::scope(|scope| {
        for number in 0..clients {
            let opened = opened.clone();
            scope.spawn(move || {
                let prepared = database
                    .session()
                    .map_err(|error| format!("no session: {error}"))
                    .and_then(|session| match Clerk::new(log, number, speaker) {
                        Ok(clerk) => Ok((session, books.bookkeeper(number, Box::new(clerk)))),
                        Err(error) => Err(format!("the log can't be written: {error}")),
                    });
                let (prepared, answer) = match prepared {
                    Ok(prepared) => (Some(prepared), Ok(())),
                    Err(reason) => (None, Err(reason)),
                };
                let _ = opened.send(answer);
                start.wait();
                if let Some((mut session, mut client)) = prepared
                    && !given_up.load(Ordering::Relaxed)
                {
                    let reason = work(&mut client, &mut *session);
                    speaker.say(&Message::Stopped { at_ns: now_ns(), reason });
                }
            });
        }
        drop(opened);
        let ready = hear.iter().take(clients).collect::<Result<(), String>>();
        let going = ready.and_then(|()| go());
        given_up.store(going.is_err(), Ordering::Relaxed);
        start.wait();
        going
    })
}

/// Runs operations until one fails; says how.
fn work(client: &mut dyn Client, session: &mut dyn bakeoff_engines::Session) -> String {
    loop {
        let operation = client.choose();
        if let Err(error) = client.perform(operation, session, &mut Tally::default()) {
            return error.to_string();
        }
    }
}
