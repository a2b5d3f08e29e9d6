//! The workload `page`: somebody's web server on this machine in the place of an engine.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use bakeoff_testkit::{ClosedPort, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use super::{Place, trials};

/// A server that answers every request with the same page, for the rest of the tests' process: its URL.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/page", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut lines = BufReader::new(&stream);
                let (mut line, mut is_last) = (String::new(), false);
                while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                    is_last |= line.starts_with("Connection: close");
                    if line == "\r\n" {
                        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                        if (&stream).write_all(answer).is_err() || is_last {
                            return;
                        }
                    }
                    line.clear();
                }
            });
        }
    });
    url
}

#[test]
fn a_page_is_asked_for_on_connections_that_are_kept_and_on_new_ones() {
    let (place, url) = (Place::new(), server());
    let run = ["run", "page", "--url", &url, "--clients", "1,20", "--seconds", "0.5"];
    let more = ["--repetitions", "1", "--out", "r"];
    let done = place.run(&[&run[..], &more].concat()).code(0).says(&["requests_per_connection"]);
    // Of a page nothing is loaded.
    assert!(!done.err().contains("loaded "), "{}", done.err());
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    for trial in trials {
        let operation = &trial["operations"][0];
        assert_eq!((&trial["valid"], &operation["name"]), (&true.into(), &"request".into()));
        assert_eq!((&operation["errors"], &trial["levels"]["url"]), (&0.into(), &(&*url).into()));
        assert!(operation["count"].as_u64().unwrap() > 0, "{trial}");
    }
}

#[test]
fn what_can_not_be_loaded_is_refused_before_anything_begins() {
    let place = Place::new();
    let refused = |more: &[&str], texts: &[&str]| {
        let run = ["run", "page", "--out", "r", "--repetitions", "1"];
        place.run(&[&run[..], more].concat()).code(2).says(texts);
        assert!(!place.path("r").exists(), "nothing was begun");
    };
    let nobody = ClosedPort::take();
    refused(&["--url", &format!("http://{}/", nobody.address())], &["can't be connected to"]);
    refused(
        &["--url", "http://192.0.2.1/"],
        &["192.0.2.1 is another machine", "--i-run-this-server"],
    );
    refused(&["--url", "https://localhost/"], &["needs TLS"]);
    refused(&["--url", "localhost"], &["http://HOST"]);
    refused(&["--factor", "requests_per_connection=0"], &["unlimited, or 1 to"]);
    refused(&["--factor", "rtt=32"], &["no time of a round trip", "as 500us, 1ms or 32ms"]);
    refused(&["--clients", "30000"], &["at most 20000"]);
    refused(&["--engine", "sqlite"], &["`engine`", "page"]);
}

/// No run folder says whose server it loaded: the command that goes on with it does.
#[test]
fn what_is_said_of_the_server_is_in_the_command_that_goes_on() {
    let (place, url) = (Place::new(), server());
    let run = ["run", "page", "--url", &url, "--clients", "1", "--seconds", "2"];
    let more = ["--repetitions", "20", "--out", "r", "--i-run-this-server"];
    let run = place.start(&[&run[..], &more].concat());
    wait_until("the first trial", || trials(&place.path("r")) >= 1);
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let done = super::Done(run.wait_with_output().unwrap()).code(130);
    done.says(&["to go on: bakeoff run --resume r --i-run-this-server"]);
}

/// An answer counts as received a round trip after it came: the plan and the report say so.
#[test]
fn a_round_trip_is_in_every_latency_and_is_told() {
    let (place, url) = (Place::new(), server());
    let run = ["run", "page", "--url", &url, "--clients", "2", "--seconds", "1"];
    let more = ["--repetitions", "1", "--compare", "rtt", "--factor", "rtt=0,40ms"];
    let run = [&run[..], &more, &["--factor", "requests_per_connection=unlimited"]].concat();
    let planned = place.run(&[&run[..], &["--dry-run"]].concat()).code(0);
    planned.says(&["the client keeps each answer for 40 ms before it counts as received"]);
    place.run(&[&run[..], &["--out", "r"]].concat()).code(0);
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    let later = trials.iter().find(|trial| trial["levels"]["rtt"] == "40ms").expect("its trial");
    let (count, mean_s) = (&later["operations"][0]["count"], &later["operations"][0]["mean_s"]);
    assert!(count.as_u64().unwrap() > 0 && mean_s.as_f64().unwrap() >= 0.0399, "{later}");
    let page = place.run(&["report", "r", "--format", "html"]).code(0).out();
    assert!(page.contains("an answer counts as received a round trip"), "{page}");
}

/// The visitors of a vote are as far from the site as they are said to be, whatever it asks its database.
#[test]
fn a_page_of_a_vote_takes_a_round_trip_at_least() {
    let place = Place::new();
    let run = ["run", "vote", "--engine", "lmdb", "--clients", "2", "--seconds", "1"];
    let more = ["--factor", "step=stub", "--factor", "rtt=30ms", "--repetitions", "1"];
    place.run(&[&run[..], &more, &["--out", "r"]].concat()).code(0);
    let document = place.json("r");
    let [trial] = &document["trials"].as_array().unwrap()[..] else { panic!("{document}") };
    let page = &trial["operations"][0];
    assert_eq!((&page["name"], &trial["valid"]), (&"page".into(), &true.into()), "{trial}");
    assert!(page["mean_s"].as_f64().unwrap() >= 0.0299, "{trial}");
}

/// A process that may have few files is told how many its connections take.
#[test]
fn too_few_files_for_the_connections_are_refused_with_what_to_do() {
    let (place, url) = (Place::new(), server());
    let arguments = ["run", "page", "--url", &url, "--clients", "200", "--out", "r"];
    let more = ["--seconds", "0.5", "--repetitions", "1"];
    super::clients::limited(
        &place,
        "ulimit -Sn 128; ulimit -Hn 150",
        &[&arguments[..], &more].concat(),
    )
    .code(5)
    .says(&["200 clients take", "may have 150", "ulimit -n"]);
}
