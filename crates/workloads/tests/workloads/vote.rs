//! What a page of `vote` sends at each step, and that a vote which is not shown is told.

use std::collections::HashSet;

use bakeoff_engines::{Result, Session, Value};
use bakeoff_workloads::site::{SiteReply, SiteRequest, SiteWorker, Visits};
use bakeoff_workloads::{OperationTally, PreparedWorkload, WorkloadParameters};

use crate::recorder::Recorder;
use crate::{each_row, load, open, prepare_at, text};

pub fn at(scale: &str, levels: &[(&str, &str)]) -> Box<dyn PreparedWorkload> {
    prepare_at("vote", scale, levels)
}

/// What the first operations of a client send, each in a line with its name.
fn sent(prepared: &dyn PreparedWorkload, operations: usize) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let database = load("sqlite", folder.path(), prepared, Vec::new());
    let mut session = Recorder::new(prepared, database.session().unwrap());
    let mut client = prepared.make_client(0, 1, 1);
    let operations = (0..operations).map(|_| {
        let chosen = client.choose_operation();
        let (sent, tally) = session.record(&mut *client, chosen);
        assert!(tally.bytes > 400, "a page of {} bytes", tally.bytes);
        format!("{}: {}", ["page", "vote"][chosen], sent.join(", "))
    });
    operations.collect()
}

#[test]
fn each_step_sends_what_it_says_and_prepares_no_more() {
    for (step, statements, wanted) in [
        ("stub", 0, vec!["page: "]),
        ("connect", 0, vec!["page: "]),
        ("read", 2, vec!["page: session by uuid, the best nine"]),
        (
            "read+write",
            9,
            vec![
                "page: add session, the best nine",
                "page: session by uuid, renew session, the best nine",
                "vote: BEGIN Write, vote for entry, rating of entry, count vote of session, COMMIT, the best nine",
            ],
        ),
    ] {
        let prepared = at("small", &[("step", step)]);
        assert_eq!(prepared.statements().len(), statements, "{step}");
        let mut seen = sent(&*prepared, 200);
        seen.sort();
        seen.dedup();
        assert_eq!(seen, wanted, "{step}");
        assert_eq!(prepared.has_operation(1), step == "read+write", "{step}");
    }
}

#[test]
fn a_page_connects_unless_its_connection_is_kept_or_it_is_a_stub() {
    for (step, connection, connects) in [
        ("stub", "request", false),
        ("connect", "request", true),
        ("read", "request", true),
        ("read+write", "request", true),
        ("read+write", "kept", false),
    ] {
        let prepared = at("small", &[("step", step), ("connection", connection)]);
        assert_eq!(prepared.connects_each_time(), connects, "{step} {connection}");
    }
}

#[test]
fn a_vote_that_the_next_page_does_not_show_is_an_error_and_a_fault() {
    let prepared = at("small", &[]);
    let folder = tempfile::tempdir().unwrap();
    let database = load("sqlite", folder.path(), &*prepared, Vec::new());
    let mut session = Recorder::new(&*prepared, database.session().unwrap());
    session.frozen = Some("the best nine");
    let mut client = prepared.make_client(0, 1, 1);
    let mut errors = 0;
    for _ in 0..200 {
        let chosen = client.choose_operation();
        errors += usize::from(
            client.run_operation(chosen, &mut session, &mut OperationTally::default()).is_err(),
        );
    }
    drop(session);
    let broken = prepared.find_violations(&*database).unwrap();
    assert!(errors > 0 && broken.len() == errors, "{errors} errors, {broken:?}");
    assert!(broken.iter().all(|it| it.contains("a vote gave entry ")), "{broken:?}");
}

#[test]
fn visitors_have_the_cookies_of_sessions_that_are_loaded() {
    let prepared = at("large", &[("step", "read")]);
    let folder = tempfile::tempdir().unwrap();
    let database = open("null", folder.path(), &*prepared, Vec::new());
    let mut asked = Recorder::new(&*prepared, database.session().unwrap());
    let mut client = prepared.make_client(0, 1, 1);
    for _ in 0..20 {
        let _ = client.run_operation(0, &mut asked, &mut OperationTally::default());
    }
    let keys: HashSet<&String> = asked.runs.iter().flat_map(|run| &run.texts).collect();
    let (mut rows, mut found) = (0, 0);
    each_row(&*prepared, prepared.schema().table_number("sessions"), |row| {
        let Value::Text(uuid) = row[0] else { panic!("{row:?}") };
        rows += 1;
        found += usize::from(keys.contains(&uuid.to_owned()));
    });
    assert_eq!((rows, found, keys.len()), (1_500_000, 20, 20));
}

#[test]
fn a_workload_has_pages_where_it_says_so() {
    for workload in bakeoff_workloads::WORKLOADS {
        let scale = workload.scales()[0].name.clone();
        let prepared = workload.prepare(&WorkloadParameters::new(&scale, 1, text()));
        assert_eq!(prepared.site().is_some(), workload.is_site(), "{}", workload.name());
    }
}

/// A request as a web server takes it apart.
pub fn taken(request: &[u8]) -> SiteRequest<'_> {
    let text = std::str::from_utf8(request).unwrap();
    let head = text.strip_suffix("\r\n\r\n").expect("a whole request without a body");
    let mut lines = head.split("\r\n");
    let mut line = lines.next().unwrap().split(' ');
    let (method, target) = (line.next().unwrap(), line.next().unwrap());
    assert_eq!((line.next(), line.next()), (Some("HTTP/1.1"), None), "{text}");
    let header = |name: &str| {
        let mut of = head.split("\r\n").filter_map(|line| line.split_once(": "));
        of.find_map(|(it, value)| (it == name).then_some(value)).unwrap_or_default()
    };
    assert!(method == "GET" || header("Content-Length") == "0", "{text}");
    SiteRequest {
        posts: method == "POST",
        target,
        cookie: header("Cookie"),
        agent: header("User-Agent"),
        address: header("X-Forwarded-For"),
        at_us: 1_500_000_000_000_000,
    }
}

/// One request and its answer: the operation, the reply, and what is wrong with it.
fn exchange(
    visits: &mut dyn Visits,
    worker: &mut dyn SiteWorker,
    session: &mut dyn Session,
) -> (usize, SiteReply, std::result::Result<(), String>) {
    let (mut request, mut reply) = (Vec::new(), SiteReply::default());
    let operation = visits.choose_operation();
    visits.write_request(operation, &mut request);
    let taken = taken(&request);
    worker.answer_request(&taken, session, &mut OperationTally::default(), &mut reply).unwrap();
    assert_eq!(reply.status, 200);
    let checked = visits.check_answer(operation, reply.body.as_bytes());
    (operation, reply, checked)
}

#[test]
fn visitors_over_http_get_sessions_vote_and_see_their_votes() {
    let prepared = at("small", &[]);
    let folder = tempfile::tempdir().unwrap();
    let database = load("sqlite", folder.path(), &*prepared, Vec::new());
    let mut session = database.session().unwrap();
    let site = prepared.site().unwrap();
    // Two workers serve one visitor after the other in turns, as a web server's do.
    let mut workers = [site.make_worker(0), site.make_worker(1)];
    let mut visits = site.make_visits(0, 1, 1);
    let (mut votes, mut cookies) = (0, HashSet::new());
    for number in 0..400 {
        let worker = &mut *workers[number % 2];
        let (operation, reply, checked) = exchange(&mut *visits, worker, &mut *session);
        assert_eq!(checked, Ok(()));
        votes += usize::from(operation == 1);
        if let Some(cookie) = reply.cookie {
            assert!(cookies.insert(cookie), "a session that was there");
        }
    }
    assert!(votes > 10 && cookies.len() > 100, "{votes} votes, {} sessions", cookies.len());
    drop(session);
    assert_eq!(prepared.find_violations(&*database).unwrap(), Vec::<String>::new());
}

#[test]
fn each_step_is_served_as_far_as_it_goes() {
    for step in ["stub", "connect", "read"] {
        let prepared = at("small", &[("step", step)]);
        let folder = tempfile::tempdir().unwrap();
        let database = load("sqlite", folder.path(), &*prepared, Vec::new());
        let mut session = database.session().unwrap();
        let site = prepared.site().unwrap();
        let (mut worker, mut visits) = (site.make_worker(0), site.make_visits(0, 1, 1));
        for _ in 0..20 {
            let (operation, reply, checked) = exchange(&mut *visits, &mut *worker, &mut *session);
            assert_eq!((operation, reply.cookie, checked), (0, None, Ok(())), "{step}");
            assert!(reply.body.contains("No session"), "{}", reply.body);
        }
        let nothing = SiteRequest { posts: true, target: "/vote?id=1", ..SiteRequest::default() };
        let (mut tally, mut reply) = (OperationTally::default(), SiteReply::default());
        worker.answer_request(&nothing, &mut *session, &mut tally, &mut reply).unwrap();
        assert_eq!(reply.status, 404, "{step}: nobody votes");
    }
}

#[test]
fn a_vote_that_no_page_shows_and_a_session_that_is_gone_are_told_over_http() {
    let prepared = at("small", &[]);
    let folder = tempfile::tempdir().unwrap();
    let database = load("sqlite", folder.path(), &*prepared, Vec::new());
    let mut session = Recorder::new(&*prepared, database.session().unwrap());
    session.frozen = Some("the best nine");
    let site = prepared.site().unwrap();
    let (mut worker, mut visits) = (site.make_worker(0), site.make_visits(0, 1, 1));
    let mut wrong = 0;
    for _ in 0..200 {
        wrong += usize::from(exchange(&mut *visits, &mut *worker, &mut session).2.is_err());
    }
    assert!(wrong > 0 && site.list_missed().len() == wrong, "{wrong}: {:?}", site.list_missed());
    // Without a cookie the next page makes a session of another name.
    let mut forgets = Forgets { worker };
    let told = (0..200).map(|_| exchange(&mut *visits, &mut forgets, &mut session).2);
    let told: Vec<String> = told.filter_map(std::result::Result::err).collect();
    assert!(told.iter().any(|why| why.ends_with("is missing")), "{told:?}");
}

/// A worker that loses the cookies of those who ask for a page.
struct Forgets<'a> {
    worker: Box<dyn SiteWorker + 'a>,
}

impl SiteWorker for Forgets<'_> {
    fn answer_request(
        &mut self,
        request: &SiteRequest<'_>,
        session: &mut dyn Session,
        tally: &mut OperationTally,
        reply: &mut SiteReply,
    ) -> Result<()> {
        let cookie = if request.posts { request.cookie } else { "" };
        self.worker.answer_request(&SiteRequest { cookie, ..*request }, session, tally, reply)
    }
}
