use std::io::Write;
use std::os::unix::net::UnixListener;
use std::thread;

use super::*;

/// A greeting with a salt of 32 bytes, each its place.
fn greeting() -> [u8; GREETING] {
    let salt: Vec<u8> = (0..32).collect();
    let text = format!("{:<63}\n{:<63}\n", "Tarantool 2.6.0", STANDARD.encode(salt));
    text.as_bytes().try_into().expect("128 bytes")
}

/// Packs a header and a body, each already packed, as a server does.
fn packet(header: &[u8], body: &[u8]) -> Vec<u8> {
    let length = (header.len() + body.len()) as u32;
    [&[FOUR_BYTES][..], &length.to_be_bytes(), header, body].concat()
}

#[test]
fn the_scramble_hides_the_password_behind_the_salt() {
    let scramble = scramble_password(&greeting(), "bakeoff").expect("a greeting");
    // What a server does with it: once more sha1, and it has sha1(sha1(password)).
    let stored = Sha1::digest(Sha1::digest("bakeoff"));
    let salt: Vec<u8> = (0..SCRAMBLE as u8).collect();
    let mixed = Sha1::new().chain_update(salt).chain_update(stored).finalize();
    let once: Vec<u8> = scramble.iter().zip(mixed).map(|(a, b)| a ^ b).collect();
    assert_eq!(Sha1::digest(once), stored);
    let mut other = greeting();
    other[0] = b'X';
    assert!(matches!(
        super::scramble_password(&other, "bakeoff"),
        Err(TarantoolFailure::Garbled(_))
    ));
}

/// A server's end, and a connection to it that has asked so much before.
fn connection(number: u64) -> (UnixStream, TarantoolConnection) {
    let (server, stream) = UnixStream::pair().expect("sockets");
    let (out, inbox) = (Vec::new(), Inbox::new());
    (server, TarantoolConnection { stream, number, out, inbox, unawaited: 0 })
}

#[test]
fn a_request_has_its_length_and_its_number() {
    let (mut server, mut client) = connection(6);
    client
        .tell(&RequestPrefix::find(512), |out| {
            put_array(out, 1);
            put_text(out, b"\xff\0");
        })
        .expect("room");
    let mut sent = [0; 64];
    let length = server.read(&mut sent).expect("a request");
    let header = [0x82, 0x00, SELECT, 0x01, 0xcf, 0, 0, 0, 0, 0, 0, 0, 7];
    let body = [
        0x86, SPACE, 0xcd, 2, 0, INDEX, 0, LIMIT, 1, OFFSET, 0, ITERATOR, 0, KEY, 0x91, 0xa2, 0xff,
        0,
    ];
    assert_eq!(sent[..length], packet(&header, &body));
}

#[test]
fn answers_come_in_pieces_and_those_that_nobody_waits_for_are_passed_over() {
    let (mut server, mut client) = connection(0);
    let call = RequestPrefix::call("f");
    let refused =
        |number| packet(&[0x82, 0, 0xcd, 0x80, 97, 1, number], &[0x81, 0x31, 0xa2, b'n', b'o']);
    let long = vec![b'x'; 48 << 10];
    let mut body = vec![0x82, 0x77, 0x92, 0xc0, 0x81, 1, 0xcb, 0, 0, 0, 0, 0, 0, 0, 0, 0x30, 0x91];
    put_text(&mut body, &long);
    let fine = packet(&[0x83, 0, 0, 1, 2, 5, 80], &body);
    let text = [refused(1), fine, refused(3), refused(3)].concat();
    let writer = thread::spawn(move || {
        for piece in text.chunks(7777) {
            server.write_all(piece).expect("a reader");
        }
        server
    });
    client.tell(&call, |out| put_array(out, 0)).expect("room");
    let mut answer = client.ask(&call, |out| put_array(out, 0)).expect("an answer");
    assert_eq!(answer.take_array().expect("an array"), 1);
    assert_eq!(answer.take_text().expect("a text"), long);
    let failure = client.ask(&call, |out| put_array(out, 0)).expect_err("refused");
    assert!(matches!(failure, TarantoolFailure::Refused { code: 97, .. }), "{failure:?}");
    assert_eq!(failure.to_string(), "no");
    let failure = client.ask(&call, |out| put_array(out, 0)).expect_err("another's");
    assert!(matches!(failure, TarantoolFailure::Garbled("it is another request's")), "{failure:?}");
    drop(writer.join().expect("it has written"));
    let failure = client.ask(&call, |out| put_array(out, 0)).expect_err("gone");
    assert!(matches!(failure, TarantoolFailure::Lost(_)), "{failure:?}");
}

#[test]
fn what_is_no_answer_is_said() {
    for packet in [&[0x93][..], &[0x81, 0], &[0x80, 0x81, 0x30], &[0x80, 0x81, 0x30, 0x92, 1]] {
        assert!(matches!(parse_answer(packet, 1), Err(TarantoolFailure::Garbled(_))), "{packet:?}");
    }
}

#[test]
fn somebody_else_at_the_socket_is_not_taken_for_tarantool() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.write_all(&[b'5'; GREETING]).expect("a reader");
    });
    let failure = TarantoolConnection::connect(&socket, "bakeoff", "").expect_err("no Tarantool");
    assert!(matches!(failure, TarantoolFailure::Garbled(_)), "{failure:?}");
    server.join().expect("it has greeted");
}
