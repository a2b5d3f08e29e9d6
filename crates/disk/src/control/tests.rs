//! What a client makes of daemons that are none.

use super::*;
use bakeoff_testkit::{NOBODY, PATIENCE, needs_root};
use std::os::unix::net::UnixListener;
use std::sync::mpsc;
use std::thread;

/// How long who says nothing is waited for.
const SHORT: Duration = Duration::from_millis(300);

/// A folder with a `socket`, on which a daemon does with each connection what `serve` says.
fn daemon(serve: impl Fn(UnixStream) + Send + 'static) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(place.path().join("socket")).unwrap();
    thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(serve));
    place
}

/// What is told, after so long at most, of a daemon that does so.
fn told(patience: Duration, serve: impl Fn(UnixStream) + Send + 'static) -> String {
    stat(&daemon(serve).path().join("socket"), patience)
}

fn control(socket: &Path, patience: Duration) -> DiskControl {
    DiskControl { mountpoint: "/m".into(), socket: socket.into(), patience, last_words: None }
}

/// Asks whoever listens, and sees that it ends; how.
fn stat(socket: &Path, patience: Duration) -> String {
    let control = control(socket, patience);
    let (told, heard) = mpsc::channel();
    thread::spawn(move || told.send(control.stat().unwrap_err().to_string()));
    heard.recv_timeout(PATIENCE).expect("it is given up")
}

#[test]
fn a_daemon_that_says_nothing_or_no_end_is_given_up() {
    let said = told(SHORT, std::mem::forget);
    let pid = std::process::id();
    assert!(said.contains(&format!("kill -CONT {pid}")), "{said}");
    // What ends by itself has time for it.
    let longer = PATIENCE / 2;
    let said = told(longer, |mut stream| while stream.write_all(&[b'x'; 4096]).is_ok() {});
    assert!(said.contains("more than 1048576 bytes"), "{said}");
    let said = told(longer, drop);
    assert!(said.contains("does not answer"), "{said}");
    // A byte now and then is no line.
    let said = told(SHORT, |mut stream| {
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    assert!(said.contains("kill -CONT"), "{said}");
}

#[test]
fn an_answer_that_comes_along_with_signs_of_life_is_heard() {
    for said in ["\"done\"\n", "\n\"done\"\n", "\n\n\n\"done\"\n"] {
        let place = daemon(move |mut stream| {
            wire::ConnectionLines::from_stream(&stream)
                .read_line(wire::LONGEST_REQUEST, PATIENCE)
                .unwrap();
            // Whoever is kept from its processor for a while finds all of it at once.
            stream.write_all(said.as_bytes()).unwrap();
        });
        let control = control(&place.path().join("socket"), PATIENCE);
        control.power_off().unwrap_or_else(|error| panic!("{said:?}: {error}"));
    }
}

#[test]
fn a_daemon_to_which_too_many_wait_is_given_up() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("socket");
    let made = rustix::net::socket(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::STREAM,
        None,
    );
    let listener = made.unwrap();
    let address = rustix::net::SocketAddrUnix::new(&socket).unwrap();
    rustix::net::bind(&listener, &address).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let waiting = UnixStream::connect(&socket);
    let said = stat(&socket, SHORT);
    assert!(said.contains("does not answer"), "{said}");
    drop(waiting);
}

#[test]
fn a_stranger_who_listens_is_not_asked() {
    if !needs_root("be somebody else") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("socket");
    std::os::unix::fs::chown(place.path(), Some(NOBODY), None).unwrap();
    let at = socket.clone();
    let bound = thread::spawn(move || {
        // This thread's alone.
        let nobody = rustix::process::Uid::from_raw(NOBODY);
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        UnixListener::bind(at).unwrap()
    });
    let listener = bound.join().unwrap();
    std::os::unix::fs::chown(place.path(), Some(0), None).unwrap();
    let heard = thread::spawn(move || listener.accept().unwrap().0.read(&mut [0]).unwrap());
    let said = stat(&socket, SHORT);
    assert!(said.contains("user 65534 is at the other end"), "{said}");
    assert_eq!(heard.join().unwrap(), 0, "it has heard nothing");
}
