//! The process that serves pages: it opens the engine, answers requests, and obeys the trial's
//! process.

use std::io::BufRead;

use bakeoff_engines::{Database, EngineHome};
use bakeoff_results::Measures;
use serde_json::Value;

use super::super::open::OpenDatabase;
use super::super::ready::Ready;
use super::super::resolved::open_terms;
use super::super::server::{PageServer, PhpDatabase, WEB_GROUP, WORKERS};
use super::super::statement_totals::StatementTotals;
use super::SocketFolder;
use super::php::{Stack, StackPlace, data_source};
use super::web::Web;
use super::wire::{OpenedWebServer, WebProcessReply, WebProcessRequest};
use crate::TrialError;
use crate::place::TargetPlace;
use crate::process::MessageOutput;
use crate::process::job::Message;
use crate::targets::RunningTarget;

const DIED: &str = "php.workers_died";
/// Transactions that bakeoff's own web server repeated after a conflict.
const RUN_AGAIN: &str = "web.transactions_run_again";

/// Runs until it gets the word to stop, or its starter is gone.
pub fn serve_pages(
    ready: &Ready,
    place: &TargetPlace,
    input: &mut dyn BufRead,
    output: &MessageOutput<'_>,
) -> Result<(), TrialError> {
    let is_php = ready.resolved.server == PageServer::Php;
    if !is_php && ready.engine.home() == EngineHome::Server {
        place.join_group(WEB_GROUP)?;
    }
    let folder = SocketFolder::open(ready, place)?;
    let open = OpenDatabase::new(ready, ready.open_database(place, ready.resolved.durability)?);
    let connects = ready.prepared.connects_each_time();
    // An embedded engine counts a session's cache misses when the session ends. PHP's sessions are
    // in other processes, and kept ones end after the account.
    let is_counted = ready.engine.home() != EngineHome::Process || (connects && !is_php);
    let (misses, uncounted) = match is_counted {
        true => (open.cache_misses(), Vec::new()),
        false => (Vec::new(), open.cache_misses()),
    };
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    let mut opened = OpenedWebServer {
        database: open.database().server(),
        php: None,
        writes_back: owned(open.writes_back()),
        cache_misses: owned(misses),
    };
    if is_php {
        let stack = start_stack(ready, place, &folder, open.database())?;
        opened.php = Some([stack.nginx(), stack.php()]);
        output.send(&Message::Served(describe_reply(&WebProcessReply::Opened(opened))));
        return answer_questions((&open, &uncounted), &Pages::Php(&stack), input, output);
    }
    let database = (open.database(), connects);
    let web = Web::listen(&folder.socket_path(), ready.site()?, database, &ready.writing);
    let web = web.map_err(|error| TrialError::place_error("a web server can't listen", error))?;
    web.run_workers(WORKERS, || {
        output.send(&Message::Served(describe_reply(&WebProcessReply::Opened(opened))));
        answer_questions((&open, &uncounted), &Pages::Web(&web), input, output)
    })
}

fn start_stack(
    ready: &Ready,
    place: &TargetPlace,
    folder: &SocketFolder,
    database: &dyn Database,
) -> Result<Stack, TrialError> {
    let none = |what: &str| TrialError::User(format!("{what} has no page in PHP"));
    let script = ready.site()?.script().ok_or_else(|| none(&ready.resolved.workload))?;
    let with =
        PhpDatabase::from_engine(ready.engine).ok_or_else(|| none(&ready.resolved.engine))?;
    let address = database.address().ok_or_else(|| none(&ready.resolved.engine))?;
    let groups = |name: &str| place.find_group(name).map_or(&[][..], |group| &group.cgroups[..]);
    let short = folder.short_path();
    let room = StackPlace {
        folder: &folder.path,
        short: &short,
        nginx: groups(WEB_GROUP),
        php: groups(PageServer::Php.page_group(ready.engine)),
    };
    let first = first_statements(ready, place, with);
    let source = data_source(with, &address, first)?;
    Stack::start(&room, &script, &source, ready.resolved.gzip)
}

/// The statements that the engine runs first on its own connections.
fn first_statements(ready: &Ready, place: &TargetPlace, with: PhpDatabase) -> Vec<String> {
    if with != PhpDatabase::Sqlite {
        return Vec::new();
    }
    let terms = open_terms(&ready.resolved, place);
    let settings = ready.engine.settings(&terms);
    let synchronous = settings.iter().find(|it| it.name == "synchronous");
    let synchronous = synchronous.map_or("FULL", |it| it.value.as_str());
    let cache = ready.engine.cache(&terms).map(|cache| cache.bytes / WORKERS as u64 / 1024);
    let cache = cache.map(|kib| format!("PRAGMA cache_size = -{kib}"));
    [format!("PRAGMA synchronous = {synchronous}")].into_iter().chain(cache).collect()
}

fn describe_reply(answer: &WebProcessReply) -> Value {
    serde_json::to_value(answer).expect("it is plain data")
}

enum Pages<'a> {
    Web(&'a Web<'a>),
    Php(&'a Stack),
}

impl Pages<'_> {
    fn statement_totals(&self) -> Option<StatementTotals> {
        match self {
            Self::Web(web) => Some(web.statement_totals()),
            Self::Php(_) => None,
        }
    }

    fn count_into(&self, measures: &mut Measures) {
        match self {
            Self::Web(web) => measures.set_counter(RUN_AGAIN, web.run_again()),
            Self::Php(stack) => measures.set_counter(DIED, stack.count_dead_workers()),
        }
    }
}

fn answer_questions(
    (open, uncounted): (&OpenDatabase<'_>, &[&str]),
    pages: &Pages<'_>,
    input: &mut dyn BufRead,
    output: &MessageOutput<'_>,
) -> Result<(), TrialError> {
    let (mut line, mut tallied) = (String::new(), StatementTotals::default());
    loop {
        line.clear();
        let wrong = |error: String| TrialError::process_error(format!("no question: {error}"));
        if input.read_line(&mut line).map_err(|error| wrong(error.to_string()))? == 0 {
            return Ok(());
        }
        let question: WebProcessRequest =
            serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
        let answer = match question {
            WebProcessRequest::Warm => open.warm().map(|()| WebProcessReply::Done)?,
            WebProcessRequest::Drain => open.drain().map(|()| WebProcessReply::Done)?,
            WebProcessRequest::Check => WebProcessReply::Checked(open.check()?),
            WebProcessRequest::FindUnchecked => WebProcessReply::Unchecked(open.find_unchecked()?),
            WebProcessRequest::Counters => {
                let mut measures = Measures::default();
                let counters = open.database().counters().into_iter();
                for (name, count) in counters.filter(|(name, _)| !uncounted.contains(name)) {
                    measures.set_counter(name, count);
                }
                pages.count_into(&mut measures);
                WebProcessReply::Counters(measures)
            }
            // The debt may be known later.
            WebProcessRequest::Debt => {
                WebProcessReply::Owes(open.debt().ok().flatten().map(Into::into))
            }
            WebProcessRequest::Tally => match pages.statement_totals() {
                Some(now) => {
                    let earlier = std::mem::replace(&mut tallied, now);
                    WebProcessReply::Tally(now.since(earlier))
                }
                None => WebProcessReply::Done,
            },
            WebProcessRequest::Stop => return Ok(()),
        };
        output.send(&Message::Served(describe_reply(&answer)));
    }
}
