//! The web server's process: it opens the engine, has workers answer requests, and does what the trial's
//! process asks for.

use std::io::BufRead;

use bakeoff_engines::Home;
use serde_json::Value;

use super::super::open::Open;
use super::super::server::{WEB_GROUP, WORKERS};
use super::super::{Ready, written::Written};
use super::Folder;
use super::web::Web;
use super::wire::{Answer, Opened, Question};
use crate::TrialError;
use crate::place::Place;
use crate::process::Output;
use crate::process::job::Message;
use crate::targets::Running;

/// Serves a subject's pages in a place until it is told to stop, or until who started it is gone.
///
/// # Errors
/// The engine can't be opened, or does not do what it is to do; no socket can be had.
pub fn serve(
    ready: &Ready,
    place: &Place,
    input: &mut dyn BufRead,
    output: &Output<'_>,
) -> Result<(), TrialError> {
    let site = ready.site()?;
    if ready.engine.home() == Home::Server {
        place.join(WEB_GROUP)?;
    }
    let folder = Folder::open(ready, place)?;
    let open = Open::new(ready, ready.database(place, ready.resolved.durability)?);
    let connects = ready.prepared.connects_each_time();
    let web = Web::listen(&folder.socket(), site, (open.database(), connects), &ready.writing);
    let web = web.map_err(|error| TrialError::place("a web server can't listen", error))?;
    web.work(WORKERS, || {
        let database = open.database().server();
        let opened = Opened::new(database, open.writes_back(), open.cache_misses());
        output.send(&Message::Served(told(&Answer::Opened(opened))));
        answer(&open, &web, input, output)
    })
}

fn told(answer: &Answer) -> Value {
    serde_json::to_value(answer).expect("it is plain data")
}

/// Does what is asked, one thing after the other.
fn answer(
    open: &Open<'_>,
    web: &Web<'_>,
    input: &mut dyn BufRead,
    output: &Output<'_>,
) -> Result<(), TrialError> {
    let (mut line, mut tallied) = (String::new(), Written::default());
    loop {
        line.clear();
        let wrong = |error: String| TrialError::process(format!("no question: {error}"));
        if input.read_line(&mut line).map_err(|error| wrong(error.to_string()))? == 0 {
            return Ok(());
        }
        let question: Question =
            serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
        let answer = match question {
            Question::Warm => open.warm().map(|()| Answer::Done)?,
            Question::Drain => open.drain().map(|()| Answer::Done)?,
            Question::Check => Answer::Checked(open.check()?),
            Question::Counters => Answer::Counters(open.counters()),
            // What can't be told now may be told later.
            Question::Debt => Answer::Owes(open.debt().ok().flatten().map(Into::into)),
            Question::Tally => {
                let now = web.written();
                let Written { commits, bytes, returned } = now.since(tallied);
                tallied = now;
                Answer::Tally { commits, bytes, returned }
            }
            Question::Stop => return Ok(()),
        };
        output.send(&Message::Served(told(&answer)));
    }
}
