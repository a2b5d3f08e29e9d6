//! The process that serves: it opens the engine, has requests answered, and does what the trial's process
//! asks for.

use std::io::BufRead;

use bakeoff_engines::{Database, EngineHome};
use bakeoff_results::Measures;
use serde_json::Value;

use super::super::open::OpenDatabase;
use super::super::ready::Ready;
use super::super::resolved::terms;
use super::super::server::{PageServer, WEB_GROUP, WORKERS, WithPhp};
use super::super::written::StatementTotals;
use super::SocketFolder;
use super::php::{Stack, StackPlace, source};
use super::web::Web;
use super::wire::{OpenedWebServer, Question, WebProcessReply};
use crate::TrialError;
use crate::place::TargetPlace;
use crate::process::MessageOutput;
use crate::process::job::Message;
use crate::targets::RunningTarget;

/// What counts how many of PHP's workers have died.
const DIED: &str = "php.workers_died";
/// What counts transactions that bakeoff's own web server has run again after a conflict.
const RUN_AGAIN: &str = "web.transactions_run_again";

/// Serves a subject's pages in a place until it is told to stop, or until who started it is gone.
///
/// # Errors
/// The engine can't be opened, or does not do what it is to do; no socket can be had; nginx or php-fpm does
/// not start.
pub fn serve(
    ready: &Ready,
    place: &TargetPlace,
    input: &mut dyn BufRead,
    output: &MessageOutput<'_>,
) -> Result<(), TrialError> {
    let is_php = ready.resolved.server == PageServer::Php;
    if !is_php && ready.engine.home() == EngineHome::Server {
        place.join(WEB_GROUP)?;
    }
    let folder = SocketFolder::open(ready, place)?;
    let open = OpenDatabase::new(ready, ready.database(place, ready.resolved.durability)?);
    let connects = ready.prepared.connects_each_time();
    // An embedded engine counts a session's misses when that ends: PHP's are not its own, and those that are
    // kept end after the account.
    let is_counted = ready.engine.home() != EngineHome::Process || (connects && !is_php);
    let (misses, uncounted): (&[&str], &[&str]) = match is_counted {
        true => (open.cache_misses(), &[]),
        false => (&[], open.cache_misses()),
    };
    let opened = OpenedWebServer::new(open.database().server(), open.writes_back(), misses);
    if is_php {
        let stack = stack(ready, place, &folder, open.database())?;
        let opened = opened.with_php(stack.nginx(), stack.php());
        output.send(&Message::Served(told(&WebProcessReply::Opened(opened))));
        return answer((&open, uncounted), &Pages::Php(&stack), input, output);
    }
    let database = (open.database(), connects);
    let web = Web::listen(&folder.socket(), ready.site()?, database, &ready.writing);
    let web = web.map_err(|error| TrialError::place("a web server can't listen", error))?;
    web.work(WORKERS, || {
        output.send(&Message::Served(told(&WebProcessReply::Opened(opened))));
        answer((&open, uncounted), &Pages::Web(&web), input, output)
    })
}

/// Starts nginx and php-fpm before a database.
fn stack(
    ready: &Ready,
    place: &TargetPlace,
    folder: &SocketFolder,
    database: &dyn Database,
) -> Result<Stack, TrialError> {
    let none = |what: &str| TrialError::User(format!("{what} has no page in PHP"));
    let script = ready.site()?.script().ok_or_else(|| none(&ready.resolved.workload))?;
    let with = WithPhp::from_engine(ready.engine).ok_or_else(|| none(&ready.resolved.engine))?;
    let address = database.address().ok_or_else(|| none(&ready.resolved.engine))?;
    let groups = |name: &str| place.group(name).map_or(&[][..], |group| &group.cgroups[..]);
    let short = folder.short();
    let room = StackPlace {
        folder: &folder.path,
        short: &short,
        nginx: groups(WEB_GROUP),
        php: groups(PageServer::Php.page_group(ready.engine)),
    };
    let first = first(ready, place, with);
    let source = source(with, &address, first)?;
    Stack::start(&room, &script, &source, ready.resolved.gzip)
}

/// The statements that come first on each of PHP's connections: what the engine sets on its own.
fn first(ready: &Ready, place: &TargetPlace, with: WithPhp) -> Vec<String> {
    if with != WithPhp::Sqlite {
        return Vec::new();
    }
    let terms = terms(&ready.resolved, place);
    let settings = ready.engine.settings(&terms);
    let synchronous = settings.iter().find(|it| it.name == "synchronous");
    let synchronous = synchronous.map_or("FULL", |it| it.value.as_str());
    let cache = ready.engine.cache(&terms).map(|cache| cache.bytes / WORKERS as u64 / 1024);
    let cache = cache.map(|kib| format!("PRAGMA cache_size = -{kib}"));
    [format!("PRAGMA synchronous = {synchronous}")].into_iter().chain(cache).collect()
}

fn told(answer: &WebProcessReply) -> Value {
    serde_json::to_value(answer).expect("it is plain data")
}

/// What makes the pages.
enum Pages<'a> {
    /// A web server of bakeoff's own.
    Web(&'a Web<'a>),
    /// nginx with php-fpm.
    Php(&'a Stack),
}

impl Pages<'_> {
    /// What workers have written and read so far, where that is known.
    fn written(&self) -> Option<StatementTotals> {
        match self {
            Self::Web(web) => Some(web.written()),
            Self::Php(_) => None,
        }
    }

    /// What is counted beside the engine's own counters.
    fn count(&self, measures: &mut Measures) {
        match self {
            Self::Web(web) => measures.count(RUN_AGAIN, web.run_again()),
            Self::Php(stack) => measures.count(DIED, stack.died()),
        }
    }
}

/// Does what is asked, one thing after the other; the engine's counters that are `uncounted` are not told.
fn answer(
    (open, uncounted): (&OpenDatabase<'_>, &[&str]),
    pages: &Pages<'_>,
    input: &mut dyn BufRead,
    output: &MessageOutput<'_>,
) -> Result<(), TrialError> {
    let (mut line, mut tallied) = (String::new(), StatementTotals::default());
    loop {
        line.clear();
        let wrong = |error: String| TrialError::process(format!("no question: {error}"));
        if input.read_line(&mut line).map_err(|error| wrong(error.to_string()))? == 0 {
            return Ok(());
        }
        let question: Question =
            serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
        let answer = match question {
            Question::Warm => open.warm().map(|()| WebProcessReply::Done)?,
            Question::Drain => open.drain().map(|()| WebProcessReply::Done)?,
            Question::Check => WebProcessReply::Checked(open.check()?),
            Question::Counters => {
                let mut measures = Measures::default();
                let counters = open.database().counters().into_iter();
                for (name, count) in counters.filter(|(name, _)| !uncounted.contains(name)) {
                    measures.count(name, count);
                }
                pages.count(&mut measures);
                WebProcessReply::Counters(measures)
            }
            // What can't be told now may be told later.
            Question::Debt => WebProcessReply::Owes(open.debt().ok().flatten().map(Into::into)),
            Question::Tally => match pages.written() {
                Some(now) => {
                    let StatementTotals { commits, bytes, returned } = now.since(tallied);
                    tallied = now;
                    WebProcessReply::Tally { commits, bytes, returned }
                }
                None => WebProcessReply::Done,
            },
            Question::Stop => return Ok(()),
        };
        output.send(&Message::Served(told(&answer)));
    }
}
