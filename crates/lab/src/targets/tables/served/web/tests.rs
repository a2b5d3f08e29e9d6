//! The web server with pages that say what they were asked for.

use bakeoff_engines::{Durability, Error, OpenTerms, Result, Schema, Session};
use bakeoff_workloads::site::Visits;

use super::*;

/// Pages that say what they were asked for; `/fails` has none.
struct Echo;

struct Echoes;

impl Site for Echo {
    fn make_worker(&self, _: usize) -> Box<dyn SiteWorker + '_> {
        Box::new(Echoes)
    }

    fn make_visits(&self, _: usize, _: usize, _: u64) -> Box<dyn Visits + '_> {
        unreachable!("the tests ask themselves")
    }

    fn list_missed(&self) -> Vec<String> {
        Vec::new()
    }
}

impl SiteWorker for Echoes {
    fn answer_request(
        &mut self,
        request: &SiteRequest<'_>,
        _: &mut dyn Session,
        tally: &mut OperationTally,
        reply: &mut SiteReply,
    ) -> Result<()> {
        let SiteRequest { posts, target, cookie, agent, address, at_us } = request;
        if *target == "/conflicts" {
            tally.retries += 2;
        }
        if *target == "/fails" {
            return Err(Error::from_engine("the table is gone"));
        }
        assert!(*at_us > 0, "it has a time");
        let cookie_set = cookie.is_empty().then(|| "session=new".to_owned());
        let body = format!("{posts} {target} {cookie} {agent} {address}");
        *reply = SiteReply { status: 200, cookie: cookie_set, body };
        Ok(())
    }
}

/// A database that does nothing, in a folder of its own.
fn database() -> (tempfile::TempDir, Box<dyn Database>) {
    let folder = tempfile::tempdir().unwrap();
    let null = bakeoff_engines::find_level("null").unwrap();
    let (terms, schema) = (OpenTerms::new(Durability::None), Schema { tables: Vec::new() });
    let database = null.open(folder.path(), &terms, &schema, &[]).unwrap();
    (folder, database)
}

/// Has a server of so many workers work while something is done with its socket.
fn serving(workers: usize, connects: bool, work: impl FnOnce(&Path, &Web<'_>)) {
    let (folder, database) = database();
    let at = folder.path().join("web.sock");
    let web = Web::listen(&at, &Echo, (&*database, connects), &[]).unwrap();
    let worked = web.run_workers(workers, || {
        work(&at, &web);
        Ok(())
    });
    worked.unwrap();
}

/// Sends bytes in pieces of so many, and reads until so many bytes have come or the server closes.
fn sent(stream: &mut UnixStream, bytes: &str, piece: usize, answer: usize) -> String {
    for piece in bytes.as_bytes().chunks(piece) {
        stream.write_all(piece).unwrap();
    }
    let mut read = Vec::new();
    stream.take(answer as u64).read_to_end(&mut read).unwrap();
    String::from_utf8(read).unwrap()
}

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\nCookie: s=1\r\nUser-Agent: b\r\n\r\n";
const KEPT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nfalse /a s=1 b ";
const CLOSED: &str = "HTTP/1.1 200 OK\r\nContent-Length: 17\r\nSet-Cookie: session=new; Path=/\r\n\
                      Connection: close\r\n\r\ntrue /b?c=d  e 10";

#[test]
fn requests_are_answered_in_order_in_pieces_and_together() {
    let last = "POST /b?c=d HTTP/1.1\r\nContent-Length: 2\r\nuser-agent: e\r\nX-Forwarded-For: 10\r\n\
                Connection: close\r\n\r\nhi";
    let (both, answers) = (format!("{GET}{last}"), format!("{KEPT}{CLOSED}"));
    for connects in [false, true] {
        serving(2, connects, |at, _| {
            for piece in [1, 7, 10_000] {
                let mut stream = UnixStream::connect(at).unwrap();
                // One more byte than there is: the server closes.
                let read = sent(&mut stream, &both, piece, answers.len() + 1);
                assert_eq!(read, answers, "in pieces of {piece}");
            }
        });
    }
}

#[test]
fn more_connections_are_kept_than_there_are_workers() {
    serving(2, false, |at, web| {
        let mut streams: Vec<_> = (0..50).map(|_| UnixStream::connect(at).unwrap()).collect();
        for _ in 0..3 {
            for stream in &mut streams {
                assert_eq!(sent(stream, GET, 1000, KEPT.len()), KEPT);
            }
        }
        // What was run again is known before the answer has come.
        let request = GET.replace("/a", "/conflicts");
        let answer = KEPT.replace("/a", "/conflicts").replace(": 15", ": 23");
        for number in 1..=100 {
            assert_eq!(sent(&mut streams[0], &request, 1000, answer.len()), answer);
            assert_eq!(web.run_again(), 2 * number);
        }
    });
}

#[test]
fn what_fails_or_is_no_request_is_told() {
    serving(1, false, |at, _| {
        let mut stream = UnixStream::connect(at).unwrap();
        let failed = sent(&mut stream, "GET /fails HTTP/1.0\r\n\r\n", 100, 10_000);
        assert!(failed.starts_with("HTTP/1.1 500 Internal Server Error\r\n"), "{failed}");
        assert!(failed.ends_with("\r\n\r\nthe table is gone"), "{failed}");
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(MOST));
        let huge = "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n";
        for wrong in ["what?\r\n\r\n", &long, huge] {
            let mut stream = UnixStream::connect(at).unwrap();
            // The server may have seen enough before it has read all.
            let _ = stream.write_all(wrong.as_bytes());
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"HTTP/1.1 400");
        }
        // Who goes away keeps nobody else from being served.
        drop(UnixStream::connect(at).unwrap());
        let mut stream = UnixStream::connect(at).unwrap();
        assert_eq!(sent(&mut stream, GET, 1000, KEPT.len()), KEPT);
    });
}

#[test]
fn a_socket_that_somebody_has_is_told_and_workers_end_with_the_work() {
    let (folder, database) = database();
    let at = folder.path().join("web.sock");
    let _theirs = UnixListener::bind(&at).unwrap();
    let error = Web::listen(&at, &Echo, (&*database, false), &[]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    let free = folder.path().join("other.sock");
    let web = Web::listen(&free, &Echo, (&*database, false), &[]).unwrap();
    // It would wait for its workers for ever, if they did not end.
    let failed = web.run_workers(4, || Err(TrialError::Engine("broken".into())));
    assert_eq!(failed, Err(TrialError::Engine("broken".into())));
}
