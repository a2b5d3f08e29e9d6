//! Pages of a workload that is a web application: what a web server answers, and what visitors ask and hold
//! the answers against. Who carries the requests, and over what, is somebody else's.

use bakeoff_engines::{Result, Session};

use crate::OperationTally;

/// A request, as the web server that took it understood it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteRequest<'a> {
    /// Whether it is to change something: a POST.
    pub posts: bool,
    /// The path, and the query after it.
    pub target: &'a str,
    /// What the visitor's cookies are; empty where there are none.
    pub cookie: &'a str,
    /// The visitor's browser, as it calls itself.
    pub agent: &'a str,
    /// The visitor's address.
    pub address: &'a str,
    /// When it came, in microseconds since 1970.
    pub at_us: i64,
}

/// What is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteReply {
    /// The status of HTTP.
    pub status: u16,
    /// The cookie that the visitor is given, if any: its name and its value.
    pub cookie: Option<String>,
    /// The page, or why there is none.
    pub body: String,
}

/// Pages as a script of PHP. It reads its settings from `settings.php` beside it: an array that has those
/// below and, of who runs it, `dsn`, `user` and `password` for PDO and `first`, the statements that come first
/// on each connection. A `dsn` that begins with `store:` is one of keys and values, which the class `Store` of
/// `store.php` beside it reaches. A GET of `/ready` is answered without a look at the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The script.
    pub text: &'static str,
    /// How much of a page is done: `step`.
    pub step: &'static str,
    /// Whether connections to the database outlive their request: `kept`.
    pub keeps: bool,
}

/// A web application: the two ends of its pages.
pub trait Site: Sync {
    /// One of the web server's workers, by its number from 0. Each is used on one thread.
    fn worker(&self, number: usize) -> Box<dyn SiteWorker + '_>;

    /// Visitors, one after the other, as client `number` of so many; what they do follows from `seed`.
    fn visits(&self, number: usize, clients: usize, seed: u64) -> Box<dyn Visits + '_>;

    /// The same pages as a script that PHP runs for each request, where there is one.
    fn script(&self) -> Option<Script> {
        None
    }

    /// What visitors found wrong in the data that pages showed them, in sentences.
    fn missed(&self) -> Vec<String>;
}

/// Makes pages on a session.
pub trait SiteWorker {
    /// Answers a request, as often as conflicts make it necessary, in place of the last reply.
    ///
    /// # Errors
    /// The engine's error that kept the page from being made; no transaction is left open.
    fn answer(
        &mut self,
        request: &SiteRequest<'_>,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        reply: &mut SiteReply,
    ) -> Result<()>;
}

/// Asks for pages, each after the answer to the one before.
pub trait Visits {
    /// Decides what to ask for next; the number of an operation in
    /// [`Workload::operations`](crate::Workload::operations).
    fn choose(&mut self) -> usize;

    /// Writes the request of an operation, whole and as HTTP/1.1 has it, in place of the last one.
    fn ask(&mut self, operation: usize, request: &mut Vec<u8>);

    /// Holds the body of an answer with the status 200 against what it has to be.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    fn check(&mut self, operation: usize, body: &[u8]) -> std::result::Result<(), String>;
}
