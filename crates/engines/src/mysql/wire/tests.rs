use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use mysql::consts::ColumnType;

use super::*;

/// A packet of this number.
fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len().to_le_bytes();
    [&length[..3], &[number], payload].concat()
}

/// An answer of these payloads.
fn answer(payloads: &[&[u8]]) -> Vec<u8> {
    (1..).zip(payloads).flat_map(|(number, payload)| packet(number, payload)).collect()
}

/// The definition of a column without names.
fn column(kind: ColumnType) -> Vec<u8> {
    [&[0; 6][..], &[0x0c, 63, 0, 0, 0, 0, 0, kind as u8, 0, 0, 0, 0, 0]].concat()
}

const END_OF_LIST: &[u8] = &[END, 0, 0, 2, 0];
const DONE: &[u8] = &[OK, 1, 0, 2, 0, 0, 0];

/// A wire with one statement, whose result had two columns when it was prepared.
fn wire(socket: UnixStream) -> MariaDbWire {
    let columns = [column(ColumnType::MYSQL_TYPE_LONG), column(ColumnType::MYSQL_TYPE_BLOB)];
    let columns = columns.iter().map(|column| Fields(column).read_column().expect("a column"));
    MariaDbWire::from_socket(
        socket.into(),
        vec![PreparedStatement { id: 0x0102, columns: columns.collect() }],
    )
}

/// What a statement without parameters makes of these answers, one after the other.
fn hears<T>(
    answers: Vec<Vec<u8>>,
    mut ask: impl FnMut(&mut MariaDbWire) -> Result<T>,
) -> Vec<Result<T>> {
    let (here, mut there) = UnixStream::pair().expect("sockets");
    let count = answers.len();
    let server = thread::spawn(move || {
        for answer in answers {
            let mut command = [0; HEADER + 10];
            there.read_exact(&mut command).expect("a command");
            // Who asks may be gone before the end.
            let _ = there.write_all(&answer);
        }
    });
    let mut wire = wire(here);
    let heard = (0..count).map(|_| ask(&mut wire)).collect();
    drop(wire);
    server.join().expect("a server");
    heard
}

/// The cells of a result of two columns.
fn read(wire: &mut MariaDbWire) -> Result<Vec<String>> {
    let mut rows = Rows::new();
    rows.reset(2);
    wire.execute(0, &[], Some(2), &mut rows)?;
    Ok((0..rows.len())
        .flat_map(|row| rows.row(row).map(|cell| format!("{cell:?}")).collect::<Vec<_>>())
        .collect())
}

/// It may do so in answer to anything.
#[test]
fn a_server_that_asks_for_a_file_is_sent_nothing() {
    let (here, mut there) = UnixStream::pair().expect("sockets");
    there.write_all(&packet(1, b"\xfb/etc/passwd")).expect("room");
    let mut wire = wire(here);
    let answer = wire.execute(0, &[], Some(0), &mut Rows::new());
    assert!(matches!(answer, Err(Failure::IoError(_))), "{answer:?}");
    drop(wire);
    let mut sent = Vec::new();
    there.read_to_end(&mut sent).expect("an end");
    assert_eq!(sent.len(), HEADER + 10, "the command alone");
}

#[test]
fn parameters_are_packed_as_the_protocol_has_it() {
    let (here, mut there) = UnixStream::pair().expect("sockets");
    there.write_all(&answer(&[DONE])).expect("room");
    let mut wire = wire(here);
    let text = "t".repeat(300);
    let parameters = [Value::Int(-2), Value::Null, Value::Text("ab"), Value::Text(&text)];
    let changed = wire.execute(0, &parameters, Some(0), &mut Rows::new()).expect("an answer");
    assert_eq!(changed, Changed { rows: 1, new_key: None });
    let head = [0x17, 2, 1, 0, 0, 0, 1, 0, 0, 0, 0b10, 1, 8, 0, 6, 0, 253, 0, 253, 0];
    let values = [&(-2_i64).to_le_bytes()[..], &[2], b"ab", &[0xfc, 44, 1], text.as_bytes()];
    let wanted = packet(0, &[&head[..], &values.concat()].concat());
    let mut sent = vec![0; wanted.len()];
    there.read_exact(&mut sent).expect("a command");
    assert_eq!(sent, wanted);
}

#[test]
fn cells_are_read_by_the_types_of_their_columns() {
    let columns = [column(ColumnType::MYSQL_TYPE_LONG), column(ColumnType::MYSQL_TYPE_BLOB)];
    let rows = [&[OK, 0, 0xfe, 0xff, 0xff, 0xff, 2, b'h', b'i'][..], &[OK, 0b1000, 5, 0, 0, 0]];
    let parts = [&[2][..], &columns[0], &columns[1], END_OF_LIST, rows[0], rows[1], END_OF_LIST];
    let heard = hears(vec![answer(&parts), answer(&[DONE])], read);
    let [Ok(cells), Ok(none)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!(cells.join(" "), "Int(-2) Text(\"hi\") Int(5) Null");
    assert!(none.is_empty(), "{none:?}");
}

#[test]
fn columns_that_are_not_defined_again_are_those_that_were_defined_last() {
    let row = [OK, 0, 5, 0, 0, 0, 1, b'a'];
    let short = [OK, 0, 7, 0, 1, b'b'];
    let as_before: &[u8] = &[2, AS_BEFORE];
    let columns = [column(ColumnType::MYSQL_TYPE_SHORT), column(ColumnType::MYSQL_TYPE_BLOB)];
    let answers = vec![
        answer(&[as_before, END_OF_LIST, &row, END_OF_LIST]),
        answer(&[&[2, 1], &columns[0], &columns[1], END_OF_LIST, &short, END_OF_LIST]),
        answer(&[DONE]),
        answer(&[as_before, END_OF_LIST, &short, END_OF_LIST]),
        answer(&[&[3, AS_BEFORE], END_OF_LIST, &short, END_OF_LIST]),
    ];
    let heard = hears(answers, read);
    let [Ok(prepared), Ok(defined), Ok(_), Ok(again), Err(Failure::IoError(_))] = &heard[..] else {
        panic!("{heard:?}")
    };
    assert_eq!(prepared.join(" "), "Int(5) Text(\"a\")");
    assert_eq!(defined.join(" "), "Int(7) Text(\"b\")");
    assert_eq!(again, defined);
}

#[test]
fn a_payload_of_the_greatest_length_goes_on_in_the_next_packet() {
    // A row of one text whose length takes four bytes, of 2 and of 0 bytes beyond the first packet.
    for beyond in [2, 0] {
        let length = MOST + beyond - 6;
        let row = [&[OK, 0, 0xfd][..], &length.to_le_bytes()[..3], &vec![b'x'; length]].concat();
        let kind = column(ColumnType::MYSQL_TYPE_MEDIUM_BLOB);
        let mut bytes = answer(&[&[1][..], &kind, END_OF_LIST, &row[..MOST], &row[MOST..]]);
        bytes.extend(packet(6, END_OF_LIST));
        let heard = hears(vec![bytes], |wire| {
            let mut rows = Rows::new();
            rows.reset(1);
            wire.execute(0, &[], Some(1), &mut rows)?;
            Ok((rows.len(), rows.bytes()))
        });
        assert!(matches!(&heard[0], Ok((1, bytes)) if *bytes == length as u64), "{:?}", heard[0]);
    }
    let (here, mut there) = UnixStream::pair().expect("sockets");
    let server = thread::spawn(move || {
        let mut sent = vec![0; HEADER + MOST + HEADER];
        there.read_exact(&mut sent).expect("a command");
        there.write_all(&packet(2, DONE)).expect("room");
        sent
    });
    let text = "y".repeat(MOST - 1);
    wire(here).query(&text).expect("an answer");
    let sent = server.join().expect("a server");
    assert_eq!(sent[..HEADER + 1], [0xff, 0xff, 0xff, 0, 0x03]);
    assert_eq!(sent[HEADER + MOST..], [0, 0, 0, 1]);
}

#[test]
fn errors_are_the_servers_own_and_leave_the_connection() {
    let error = [&[FAILED, 0xbd, 0x04, b'#'][..], b"40001", b"deadlock"].concat();
    let columns = [column(ColumnType::MYSQL_TYPE_LONG), column(ColumnType::MYSQL_TYPE_NEWDECIMAL)];
    let row = [OK, 0, 1, 0, 0, 0, 1, b'5'];
    let no_number = [OK, 0, 1, 0, 0, 0, 1, 0xff];
    let result = |rest: &[&[u8]]| {
        let head = [&[2][..], &columns[0], &columns[1], END_OF_LIST];
        answer(&[&head[..], rest].concat())
    };
    let answers = vec![
        answer(&[&error]),
        result(&[&row, &error]),
        result(&[&no_number, &row, END_OF_LIST]),
        result(&[&row, END_OF_LIST]),
    ];
    let heard = hears(answers, read);
    for failure in &heard[..2] {
        let Err(Failure::MySqlError(told)) = failure else { panic!("{failure:?}") };
        assert_eq!((told.code, &*told.state, &*told.message), (1213, "40001", "deadlock"));
    }
    assert!(matches!(&heard[2], Err(Failure::FromValueError(_))), "{:?}", heard[2]);
    assert!(matches!(&heard[3], Ok(cells) if cells.len() == 2), "{:?}", heard[3]);
}

#[test]
fn what_the_protocol_does_not_have_ends_the_connection() {
    let more: &[u8] = &[OK, 1, 0, 0x0a, 0, 0, 0];
    let kind = column(ColumnType::MYSQL_TYPE_LONG);
    let answers = [
        packet(2, DONE),
        answer(&[more]),
        answer(&[&[OK, 1][..]]),
        answer(&[&[0xfb][..]]),
        answer(&[&[1][..], &kind, DONE]),
        answer(&[&[1][..], &kind[..9]]),
        answer(&[&[2][..], &kind, &kind, END_OF_LIST, &[OK, 0, 1, 0, 0, 0, 1, 0]]),
        // It ends in the middle.
        answer(&[&[2][..], &kind]),
    ];
    for (at, bytes) in answers.into_iter().enumerate() {
        let heard = hears(vec![bytes], read).remove(0);
        // A row that is too short is told behind the rows, which have no end here.
        assert!(matches!(&heard, Err(Failure::IoError(_))), "{at}: {heard:?}");
    }
}
