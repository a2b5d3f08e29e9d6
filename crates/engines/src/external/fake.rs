//! Servers of tests, which say the same to everybody.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// Answers each login, after its first message, with these bytes; returns the port.
pub(crate) fn answer_logins(answer: &[u8]) -> u16 {
    serve_bytes(Vec::new(), answer.to_owned())
}

/// Greets everybody, and gives the same answer to each message.
pub(crate) fn serve_bytes(greeting: Vec<u8>, answer: Vec<u8>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (greeting, answer) = (greeting.clone(), answer.clone());
            thread::spawn(move || {
                let mut message = [0; 4096];
                stream.write_all(&greeting)?;
                while stream.read(&mut message)? > 0 {
                    stream.write_all(&answer)?;
                }
                std::io::Result::Ok(())
            });
        }
    });
    port
}
