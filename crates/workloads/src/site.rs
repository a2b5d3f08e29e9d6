//! The pages of a workload that is a web application: answers, and visitors that check them.

use bakeoff_engines::{Result, Session};

use crate::OperationTally;

/// A parsed HTTP request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteRequest<'a> {
    /// Whether it is a POST.
    pub posts: bool,
    /// The path with its query.
    pub target: &'a str,
    /// The cookies; may be empty.
    pub cookie: &'a str,
    /// The user agent.
    pub agent: &'a str,
    /// The visitor's address.
    pub address: &'a str,
    /// Arrival, in microseconds since 1970.
    pub at_us: i64,
}

/// The answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteReply {
    /// The HTTP status.
    pub status: u16,
    /// A new cookie: name and value.
    pub cookie: Option<String>,
    /// The page, or an error text.
    pub body: String,
}

/// Pages as a PHP script. It reads `settings.php` beside it: an array of the settings below, and
/// `dsn`, `user`, `password` for PDO and `first`, the first statements of each connection. A `dsn`
/// that begins with `store:` is for the class `Store` of `store.php`. GET `/ready` is answered
/// without the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The source.
    pub text: &'static str,
    /// The setting `step`.
    pub step: &'static str,
    /// The setting `kept`: whether connections outlive their request.
    pub keeps: bool,
}

/// A web application: its workers and its visitors.
pub trait Site: Sync {
    /// Worker `number` of the web server, for one thread.
    fn make_worker(&self, number: usize) -> Box<dyn SiteWorker + '_>;

    /// The visitors of client `number`.
    fn make_visits(&self, number: usize, clients: usize, seed: u64) -> Box<dyn Visits + '_>;

    /// The same pages as a PHP script, if there is one.
    fn script(&self) -> Option<Script> {
        None
    }

    /// Sentences on what visitors found wrong in the pages' data.
    fn list_missed(&self) -> Vec<String>;
}

/// Makes pages on a session.
pub trait SiteWorker {
    /// Answers a request into `reply`. After an error no transaction is open.
    fn answer_request(
        &mut self,
        request: &SiteRequest<'_>,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        reply: &mut SiteReply,
    ) -> Result<()>;
}

/// Asks for pages, one after the other.
pub trait Visits {
    /// Chooses the next of [`Workload::operations`](crate::Workload::operations).
    fn choose_operation(&mut self) -> usize;

    /// Replaces `request` by a whole HTTP/1.1 request.
    fn write_request(&mut self, operation: usize, request: &mut Vec<u8>);

    /// Checks the body of a 200 answer; an error says what is wrong.
    fn check_answer(&mut self, operation: usize, body: &[u8]) -> std::result::Result<(), String>;
}
