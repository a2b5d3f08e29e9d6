//! The target against small servers of its own, each of which does one thing wrong or right.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use bakeoff_load::{ArrivalProcess, DriveOutcome, DrivePlan, DriveProgress, Pace, drive};
use bakeoff_testkit::ClosedPort;

use super::*;

/// What a server does with a request, by its number on the connection and in all, each from 0: the bytes
/// that it answers, and whether it closes the connection after them.
type Serve = dyn Fn(usize, usize) -> (Vec<u8>, bool) + Send + Sync;

/// What a server has seen.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: AtomicUsize,
    /// Requests that said that they were their connection's last.
    last: AtomicUsize,
    /// Bytes of the requests' bodies.
    bodies: AtomicUsize,
}

fn page(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Serves one connection to its end.
fn serve(stream: &mut (impl Read + Write), serve: &Serve, seen: &Seen) {
    seen.connections.fetch_add(1, SeqCst);
    let mut reader = BufReader::new(stream);
    for number in 0.. {
        let (mut line, mut is_last, mut length) = (String::new(), false, 0);
        loop {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            is_last |= line == "Connection: close\r\n";
            if let Some(bytes) = line.strip_prefix("Content-Length: ") {
                length = bytes.trim_end().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        seen.bodies.fetch_add(body.len(), SeqCst);
        let all = seen.requests.fetch_add(1, SeqCst);
        seen.last.fetch_add(is_last.into(), SeqCst);
        let (answer, closes) = serve(number, all);
        if reader.get_mut().write_all(&answer).is_err() || closes || is_last {
            return;
        }
    }
}

/// Serves the connections that come, for the rest of the tests' process; what it sees.
fn serve_all<S: Read + Write + Send + 'static>(
    mut accept: impl FnMut() -> S + Send + 'static,
    answers: impl Fn(usize, usize) -> (Vec<u8>, bool) + Send + Sync + 'static,
) -> Arc<Seen> {
    let (seen, answers) = (Arc::new(Seen::default()), Arc::new(answers));
    let shared = seen.clone();
    std::thread::spawn(move || {
        loop {
            let (mut stream, seen, answers) = (accept(), shared.clone(), answers.clone());
            std::thread::spawn(move || serve(&mut stream, &*answers, &seen));
        }
    });
    seen
}

/// A server on a port of its own: its URL, and what it sees.
fn server(
    answers: impl Fn(usize, usize) -> (Vec<u8>, bool) + Send + Sync + 'static,
) -> (String, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/page", listener.local_addr().unwrap());
    (url, serve_all(move || listener.accept().unwrap().0, answers))
}

fn resolved(url: &str, requests_each: Option<u32>) -> ResolvedPage {
    let url = (URL.canonical)(url).unwrap();
    let source = PageAddress::from_url(&url).unwrap();
    let request = PageRequest::from_levels("GET", "none", "none").unwrap();
    ResolvedPage { url, source, request, requests_each, rtt: Duration::ZERO }
}

fn quietly(_: &DriveProgress) {}

/// No cap ends what is driven: a machine that is busy for seconds would.
const NEVER: Duration = Duration::from_secs(3600);

/// Loads a page for a second, and in a closed loop until 20 requests have ended, at least.
fn driven(resolved: &ResolvedPage, clients: usize, pace: Pace) -> (DriveOutcome, Measures) {
    let running = resolved.open(&TargetPlace::default()).unwrap();
    let plan = DrivePlan {
        pace,
        drivers: running.drivers(clients),
        least: if pace == Pace::Closed { 20 } else { 0 },
        cap: NEVER,
        ..DrivePlan::closed_loop(clients, 1, Duration::from_secs(1))
    };
    let connect = |share: &ClientShare| running.make_driver(share, None);
    let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap();
    (outcome, running.counters())
}

/// How many requests ended, well or not.
fn ended(outcome: &DriveOutcome) -> usize {
    (outcome.kinds[0].count_succeeded() + outcome.kinds[0].errors) as usize
}

/// What each probe asks: the page is asked for twice before it is loaded.
const PROBES: usize = 2;

#[test]
fn a_connection_is_used_for_as_many_requests_as_it_may() {
    for most in [1, 3] {
        let (url, seen) = server(|_, _| (page("hello"), false));
        let (outcome, _) = driven(&resolved(&url, Some(most)), 2, Pace::Closed);
        assert_eq!(outcome.kinds[0].errors, 0, "{:?}", outcome.kinds[0].first_error);
        let (requests, last) = (ended(&outcome), seen.last.load(SeqCst) - PROBES);
        assert_eq!(seen.requests.load(SeqCst), PROBES + requests);
        let connections = seen.connections.load(SeqCst) - PROBES;
        // The last connection of each client may not have been used up.
        assert!((last..=last + 2).contains(&connections), "{most}: {connections}, {last}");
        let each = most as usize;
        assert!(
            (last * each..=last * each + 2 * each).contains(&requests),
            "{most}: {requests}, {last}"
        );
    }
}

/// Each is the page to its end, in as many connections as the server makes of so many requests.
#[test]
fn a_page_is_read_whatever_way_it_comes() {
    let body: String = (0..100_000).map(|number| format!("{number} ")).collect();
    let pieces = body.as_bytes().chunks(10_007).map(|piece| {
        let text = std::str::from_utf8(piece).unwrap();
        format!("{:x}\r\n{text}\r\n", piece.len())
    });
    let pieces: String = pieces.collect();
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = format!("{head}{pieces}0\r\n\r\n");
    let hello = page("hello");
    type Answer = Box<dyn Fn(usize, usize) -> (Vec<u8>, bool) + Send + Sync>;
    type Connections = fn(usize) -> usize;
    let one_each: Connections = |_| 1;
    let cases: [(Answer, Option<usize>, Connections); 5] = [
        // A request that meets a closed connection is sent once more.
        (Box::new(move |at, _| (hello.clone(), at == 4)), Some(5), |all| all.div_ceil(5)),
        // A page that is another one each time is held against its status alone.
        (Box::new(|_, all| (page(&format!("visitor {all}")), false)), None, one_each),
        (
            Box::new({
                let page = page(&body);
                move |_, _| (page.clone(), false)
            }),
            Some(body.len()),
            one_each,
        ),
        (Box::new(move |_, _| (chunked.clone().into(), false)), Some(body.len()), one_each),
        // Of HTTP/1.0 without a length, the end of the connection is the end of the page.
        (Box::new(|_, _| (b"HTTP/1.0 200 OK\r\n\r\nhello".into(), true)), Some(5), |all| all),
    ];
    for (number, (answer, bytes, connections)) in cases.into_iter().enumerate() {
        let (url, seen) = server(answer);
        let (outcome, _) = driven(&resolved(&url, None), 1, Pace::Closed);
        let kind = &outcome.kinds[0];
        assert_eq!(kind.errors, 0, "{number}: {:?}", kind.first_error);
        assert_eq!(kind.retries > 0, number == 0, "{number}");
        let requests = ended(&outcome);
        assert_eq!(seen.requests.load(SeqCst), PROBES + requests, "{number}");
        let seen = seen.connections.load(SeqCst) - PROBES;
        assert_eq!(seen, connections(requests), "{number}: connections of {requests}");
        let read = bytes.map(|bytes| bytes as u64 * kind.count_succeeded());
        assert!(read.is_none_or(|read| read == kind.work_in_all.bytes), "{number}");
    }
}

/// A request that changes something comes with its body, and once: where the connection is closed
/// meanwhile, it is an error and not sent again.
#[test]
fn a_post_has_its_body_and_is_never_sent_twice() {
    for closes in [false, true] {
        let (url, seen) = server(move |at, _| (page("done"), closes && at == 4));
        let request = PageRequest::from_levels("POST", "X-Of: shop", "quantity=5").unwrap();
        let resolved = ResolvedPage { request, ..resolved(&url, None) };
        let (outcome, _) = driven(&resolved, 1, Pace::Closed);
        let kind = &outcome.kinds[0];
        assert_eq!((kind.errors > 0, kind.retries), (closes, 0), "{:?}", kind.first_error);
        let requests = PROBES + kind.count_succeeded() as usize;
        assert_eq!(seen.requests.load(SeqCst), requests);
        assert_eq!(seen.bodies.load(SeqCst), requests * "quantity=5".len());
    }
}

/// The tenth request of a client is answered so, and the connection closed where nothing is answered.
#[test]
fn an_answer_that_is_not_the_page_is_an_error_of_its_kind() {
    // A server may pack its answer although nobody asked for it: the bytes that come are those of the page.
    let packed = |last: u8| {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 14\r\n\r\n";
        [head.as_bytes(), &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, last]].concat()
    };
    let hello = || page("hello");
    type Case = (&'static str, Vec<u8>, Vec<u8>, Option<u32>);
    let cases: [Case; 8] = [
        ("page.wrong_body", hello(), page("HELLO"), None),
        ("page.wrong_body", hello(), page("hello, you"), None),
        ("page.wrong_body", packed(0xc9), packed(0xc8), None),
        (
            "page.wrong_status",
            hello(),
            b"HTTP/1.1 404 x\r\nContent-Length: 5\r\n\r\nhello".into(),
            None,
        ),
        ("page.gateway", hello(), b"HTTP/1.1 503 x\r\nContent-Length: 5\r\n\r\nhello".into(), None),
        ("page.no_http", hello(), b"what?\r\n\r\n".into(), None),
        ("page.no_http", hello(), [hello(), b"and more".into()].concat(), None),
        // A connection that is closed is made anew once, and not where it is new.
        ("page.closed", hello(), Vec::new(), Some(1)),
    ];
    for (kind, right, wrong, requests_each) in cases {
        let (url, _) = server(move |_, all| match all {
            10 => (wrong.clone(), wrong.is_empty()),
            _ => (right.clone(), false),
        });
        let (outcome, measures) = driven(&resolved(&url, requests_each), 1, Pace::Closed);
        let counted = measures.counters().find(|(name, _)| *name == kind).unwrap().1;
        assert_eq!((outcome.kinds[0].errors, counted), (1, 1), "{kind}: {measures:?}");
    }
}

/// One round trip later on a connection that is kept, two where it is made for the request; and the next
/// request of a connection is not sent before.
#[test]
fn no_answer_is_received_before_its_round_trips_are_over() {
    const RTT_NS: u64 = 50_000_000;
    for (requests_each, trips) in [(None, 1), (Some(1), 2)] {
        let (url, seen) = server(|_, _| (page("hello"), false));
        let rtt = Duration::from_nanos(RTT_NS);
        let resolved = ResolvedPage { rtt, ..resolved(&url, requests_each) };
        let (outcome, _) = driven(&resolved, 3, Pace::Closed);
        assert_eq!(outcome.kinds[0].errors, 0, "{:?}", outcome.kinds[0].first_error);
        let (ran, shortest) =
            (outcome.ran.as_nanos() as u64, outcome.kinds[0].merge_latencies().min());
        // A histogram has three digits.
        assert!(shortest >= trips * RTT_NS * 999 / 1000, "{shortest} ns");
        let most = 3 * (ran / (trips * RTT_NS) + 1) as usize;
        let sent = seen.requests.load(SeqCst) - PROBES;
        assert!(sent == ended(&outcome) && sent <= most, "{sent} requests of at most {most}");
    }
}

#[test]
fn in_an_open_loop_what_is_due_starts() {
    let (url, seen) = server(|_, _| (page("hello"), false));
    let pace = Pace::Open { per_second: 400.0, arrivals: &ArrivalProcess::EVEN, seed: 1 };
    let (outcome, _) = driven(&resolved(&url, None), 4, pace);
    let (kept, open) = (outcome.kinds[0].kept.len(), outcome.open.as_ref().unwrap());
    assert_eq!((open.due, outcome.kinds[0].errors), (400, 0));
    assert!(kept <= 400 && kept + open.not_started >= 400, "{kept}, {}", open.not_started);
    assert_eq!(seen.requests.load(SeqCst), PROBES + ended(&outcome));
}

#[test]
fn what_is_no_page_is_told_before_it_is_loaded() {
    let redirect = "HTTP/1.1 301 x\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n";
    for (answer, reason) in [
        (redirect, "sends its readers to /there"),
        ("HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n", "status 404"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "before its answer was whole"),
        ("220 mail ESMTP\r\n", "not HTTP/1"),
    ] {
        let (url, _) = server(move |_, _| (answer.as_bytes().to_vec(), true));
        let problems = resolved(&url, None).check_ready(false).unwrap_err();
        assert!(problems[0].contains(reason), "{problems:?}");
    }
    let nobody = ClosedPort::take();
    let url = format!("http://{}/", nobody.address());
    let problems = resolved(&url, None).check_ready(false).unwrap_err();
    assert!(problems[0].contains("can't be connected to"), "{problems:?}");
}

#[test]
fn a_server_that_is_gone_ends_the_trial() {
    let (url, _) =
        server(|_, all| if all < 6 { (page("hello"), false) } else { (Vec::new(), true) });
    let subject = resolved(&url, Some(1));
    let running = subject.open(&TargetPlace::default()).unwrap();
    let plan = DrivePlan::closed_loop(1, 1, Duration::from_secs(60));
    let connect = |share: &ClientShare| running.make_driver(share, None);
    let error = drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap_err();
    assert!(error.to_string().contains("closed the connection"), "{error}");
}

/// A Unix socket lets in no more than its backlog has room for, and says so at once.
#[test]
fn a_connection_waits_until_the_backlog_has_room() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.sock");
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(path.as_path()).unwrap()).unwrap();
    listen(&listener, 1).unwrap();
    let listener = UnixListener::from(listener);
    let seen = serve_all(move || listener.accept().unwrap().0, |_, _| (page("hello"), false));
    let host = path.to_str().unwrap().replace('/', "%2F");
    let resolved = resolved(&format!("http+unix://{host}/page"), Some(1));
    let (outcome, _) = driven(&resolved, 40, Pace::Closed);
    assert!(outcome.kinds[0].count_succeeded() > 0);
    assert_eq!(outcome.kinds[0].errors, 0, "{:?}", outcome.kinds[0].first_error);
    assert_eq!(seen.requests.load(SeqCst), PROBES + ended(&outcome));
}

#[test]
fn one_thread_asks_where_the_server_has_few_processors() {
    let threads = [(1, 1), (50, 1), (50, 2), (50, 3), (2, 8)];
    assert_eq!(threads.map(|(clients, of)| count_client_threads(clients, of)), [1, 1, 1, 3, 2]);
}
