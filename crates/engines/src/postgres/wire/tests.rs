use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use postgres_protocol::message::backend::{
    BIND_COMPLETE_TAG, COPY_DATA_TAG, COPY_DONE_TAG, PARSE_COMPLETE_TAG,
};
use rustix::io::ioctl_fionread;

use super::*;
use crate::Error;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

/// A row of an integer and a text.
fn row(number: i32, text: Option<&str>) -> Vec<u8> {
    let length = text.map_or(-1, |text| text.len() as i32).to_be_bytes();
    let number = [4_i32.to_be_bytes(), number.to_be_bytes()].concat();
    let text = text.unwrap_or_default().as_bytes();
    message(DATA_ROW_TAG, &[&2_u16.to_be_bytes()[..], &number, &length, text].concat())
}

fn error(severity: &str, code: &str) -> Vec<u8> {
    let fields = format!("SFEHLER\0V{severity}\0C{code}\0Mno\0Dwhy\0Pgarbled\0Hdo\0\0");
    message(ERROR_RESPONSE_TAG, fields.as_bytes())
}

fn done(what: &str) -> Vec<u8> {
    message(COMMAND_COMPLETE_TAG, format!("{what}\0").as_bytes())
}

fn ready() -> Vec<u8> {
    message(READY_FOR_QUERY_TAG, b"I")
}

fn bound() -> Vec<u8> {
    message(BIND_COMPLETE_TAG, b"")
}

fn good() -> Vec<u8> {
    [bound(), row(1, Some("hi")), row(-2, None), done("SELECT 2"), ready()].concat()
}

const GOOD: &str = "2: 1 hi -2 null";

fn statement(columns: &[Type]) -> DescribedStatement {
    DescribedStatement {
        form: StatementForm::Named("s7".into()),
        parameters: vec![Type::INT4, Type::UUID],
        columns: columns.into(),
        formats: vec![BINARY],
    }
}

fn wire(socket: UnixStream) -> PostgresWire {
    PostgresWire::new((PostgresLink::Plain(socket.into()), Inbox::new()))
}

/// What a statement is answered, as a line.
fn execute(wire: &mut PostgresWire, statement: &mut DescribedStatement) -> String {
    let (mut rows, width) = (Rows::new(), statement.width());
    rows.reset(width);
    let given = [Value::Int(3), Value::Text("x")];
    let failure = match wire.execute(statement, &given, width, &mut rows) {
        Ok(count) => {
            let cells = (0..rows.len()).flat_map(|row| rows.row(row)).map(|cell| match cell {
                Value::Null => " null".into(),
                Value::Int(int) => format!(" {int}"),
                Value::Text(text) => format!(" {}", &text[..text.len().min(9)]),
                other => format!("{other:?}"),
            });
            return format!("{count}:{}", cells.collect::<String>());
        }
        Err(failure) => failure,
    };
    match (failure.is_lost(), failure.to_error()) {
        (true, _) => format!("lost: {}", failure.explain()),
        (false, Error::Conflict(what)) => format!("conflict: {what}"),
        (false, Error::Duplicate(what)) => format!("duplicate: {what}"),
        (false, other) => format!("error: {other}"),
    }
}

/// Reads a request up to its end.
fn read_request(socket: &mut UnixStream) -> Vec<u8> {
    let mut request = Vec::new();
    loop {
        let mut header = [0; HEADER];
        if socket.read_exact(&mut header).is_err() {
            return request;
        }
        let mut body = vec![0; message_length(&header).expect("a length") - HEADER];
        socket.read_exact(&mut body).expect("a body");
        request.extend_from_slice(&[&header[..], &body].concat());
        if header[0] == b'S' {
            return request;
        }
    }
}

/// Runs `ask` beside a server that gives each request an answer, and returns the requests.
fn talk<T>(answers: &[Vec<u8>], ask: impl FnOnce(&mut PostgresWire) -> T) -> (T, Vec<Vec<u8>>) {
    let (here, mut there) = UnixStream::pair().expect("sockets");
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let answer = |answer: &Vec<u8>| {
                let request = read_request(&mut there);
                // Who asks may be gone before the end.
                let _ = there.write_all(answer);
                request
            };
            answers.iter().map(answer).collect()
        });
        let mut wire = wire(here);
        let told = ask(&mut wire);
        drop(wire);
        (told, server.join().expect("a server"))
    })
}

#[test]
fn an_answer_is_read_to_its_end_whatever_is_in_it() {
    let [notice, status, heard] =
        [NOTICE_RESPONSE_TAG, PARAMETER_STATUS_TAG, NOTIFICATION_RESPONSE_TAG]
            .map(|tag| message(tag, b"anything"));
    let bad = message(DATA_ROW_TAG, &[0, 2, 0, 0, 0, 5, 1, 2, 3, 4, 5, 0xff, 0xff, 0xff, 0xff]);
    let copied = [
        message(COPY_OUT_RESPONSE_TAG, &[0; 3]),
        message(COPY_DATA_TAG, b"1\n"),
        message(COPY_DONE_TAG, b""),
        done("COPY 1"),
    ]
    .concat();
    let unreadable = "error: the answer's column 1 can't be read: invalid buffer size";
    let table: [(&[Vec<u8>], &str); 10] = [
        (&[good()], GOOD),
        (&[notice.clone(), bound(), status, row(1, Some("é")), heard, ready()], "1: 1 é"),
        (&[bound(), done("SELECT 0"), ready(), notice], "0:"),
        (&[bound(), row(1, None), error("ERROR", "40001"), ready()], "conflict: no; why; do"),
        (&[error("ERROR", "40P01"), ready()], "conflict: no; why; do"),
        (&[error("ERROR", "55P03"), ready()], "conflict: no; why; do"),
        (&[error("ERROR", "23505"), ready()], "duplicate: no; why; do"),
        (&[bound(), bad.clone(), row(1, None), done("SELECT 2"), ready()], unreadable),
        // The server's own error says more.
        (&[bound(), bad, error("ERROR", "40001"), ready()], "conflict: no; why; do"),
        (&[bound(), copied, ready()], "error: it answers by COPY"),
    ];
    for (parts, wanted) in table {
        let (told, _) = talk(&[parts.concat(), good()], |wire| {
            let mut statement = statement(&[Type::INT4, Type::TEXT]);
            [execute(wire, &mut statement), execute(wire, &mut statement)]
        });
        assert!(told[0].starts_with(wanted), "{told:?} instead of {wanted}");
        assert_eq!(told[1], GOOD, "behind {wanted}");
    }
    let changed = [bound(), done("INSERT 0 7"), ready()].concat();
    assert_eq!(talk(&[changed], |wire| execute(wire, &mut statement(&[]))).0, "7:");
    // It waits for rows and takes no end of a request for one.
    let copies = [bound(), message(COPY_IN_RESPONSE_TAG, &[0; 3])].concat();
    let failed = [error("ERROR", "57014"), ready()].concat();
    let (told, requests) = talk(&[copies, failed], |wire| execute(wire, &mut statement(&[])));
    assert!(told.starts_with("error: no; why"), "{told}");
    assert_eq!(requests[1][0], b'f');
}

#[test]
fn what_ends_a_connection_is_told_as_its_loss() {
    let mut unknown = row(1, None);
    unknown[0] = b'W';
    let table: [(&[Vec<u8>], &str); 9] = [
        (&[bound(), row(1, Some("hi"))[..9].into()], "unexpected end of file"),
        (&[bound(), row(1, None)], "unexpected end of file"),
        (&[], "unexpected end of file"),
        (&[bound(), error("FATAL", "57P01")], "no; why; do"),
        (&[bound(), unknown], "of no kind that is known"),
        (&[vec![DATA_ROW_TAG, 0, 0, 0, 3]], "no length"),
        (&[vec![DATA_ROW_TAG, 0x7f, 0, 0, 0]], "no length"),
        (&[message(DATA_ROW_TAG, &[0, 1, 0, 0, 0, 0])], "another width"),
        (&[message(DATA_ROW_TAG, &[0, 2, 0, 0, 0, 9, 1])], "too short"),
    ];
    for (parts, wanted) in table {
        let ask =
            |wire: &mut PostgresWire| execute(wire, &mut statement(&[Type::INT4, Type::TEXT]));
        let (told, _) = talk(&[parts.concat()], ask);
        assert!(told.starts_with("lost: ") && told.contains(wanted), "{told} instead of {wanted}");
    }
    // Why it went is read although nothing can be sent.
    let (here, mut there) = UnixStream::pair().expect("sockets");
    there.write_all(&error("FATAL", "57P05")).expect("room");
    drop(there);
    assert_eq!(execute(&mut wire(here), &mut statement(&[])), "lost: no; why; do");
}

#[test]
fn an_answer_may_come_in_any_two_parts() {
    let answer = good();
    for at in 1..answer.len() {
        let (here, mut there) = UnixStream::pair().expect("sockets");
        let watched = here.try_clone().expect("a socket");
        let told = thread::scope(|scope| {
            scope.spawn(|| {
                read_request(&mut there);
                there.write_all(&answer[..at]).expect("room");
                while ioctl_fionread(&watched).expect("a number") > 0 {
                    thread::yield_now();
                }
                there.write_all(&answer[at..]).expect("room");
            });
            execute(&mut wire(here), &mut statement(&[Type::INT4, Type::TEXT]))
        });
        assert_eq!(told, GOOD, "{at}");
    }
}

#[test]
fn a_row_of_a_hundred_megabytes_is_read_and_its_room_is_given_back() {
    let text = "y".repeat(100 << 20);
    let long = [bound(), row(1, Some(&text)), row(2, Some(&text[..5])), ready()].concat();
    let (told, _) = talk(&[long, good()], |wire| {
        let mut statement = statement(&[Type::INT4, Type::TEXT]);
        let told = [execute(wire, &mut statement), execute(wire, &mut statement)];
        (told, wire.inbox.room())
    });
    let (told, room) = told;
    assert_eq!(told, ["2: 1 yyyyyyyyy 2 yyyyy", GOOD]);
    assert!(room < KEPT, "{room}");
}

#[test]
fn columns_of_types_that_are_not_known_are_asked_for_and_read_as_texts() {
    let column = |number: u32, format: u8| {
        let number = number.to_be_bytes();
        [&b"name\0"[..], &[0; 6], &number, &[0xff; 6], &[0, format]].concat()
    };
    let described = |formats: [u8; 2]| {
        let columns = [column(Type::INT4.oid(), formats[0]), column(70_000, formats[1])].concat();
        message(ROW_DESCRIPTION_TAG, &[&[0, 2][..], &columns].concat())
    };
    let parameters = [[0, 1], [0, 0], [0, 23]].concat();
    let prepared = [
        message(PARSE_COMPLETE_TAG, b""),
        message(PARAMETER_DESCRIPTION_TAG, &parameters),
        described([0, 0]),
        ready(),
    ]
    .concat();
    let answer = [message(PARSE_COMPLETE_TAG, b""), bound(), described([1, 0])].concat();
    let answer = [answer, good()[HEADER..].into()].concat();
    for (form, answer) in [
        (StatementForm::Named("s7".into()), good()),
        (StatementForm::Unnamed("SELECT $1".into()), answer),
    ] {
        let is_named = matches!(form, StatementForm::Named(_));
        let (told, requests) = talk(&[prepared.clone(), answer], |wire| {
            let mut statement = wire.prepare("SELECT $1", form).expect("a statement");
            assert_eq!((statement.count_parameters(), statement.width()), (1, 2));
            execute(wire, &mut statement)
        });
        assert_eq!(told, GOOD);
        let bind = [
            if is_named { &b"\0s7\0"[..] } else { b"\0\0" },
            &[0, 1, 0, 1, 0, 1, 0, 0, 0, 4, 0, 0, 0, 3, 0, 2, 0, 1, 0, 0],
        ];
        let first = message(b'P', b"\0SELECT $1\0\0\x01\0\0\0\x17");
        let [before, between] = match is_named {
            true => [Vec::new(), Vec::new()],
            false => [first, message(b'D', b"P\0")],
        };
        let end = [message(b'E', &[0; 5]), message(b'S', b"")].concat();
        assert_eq!(requests[1], [before, message(b'B', &bind.concat()), between, end].concat());
    }
}
