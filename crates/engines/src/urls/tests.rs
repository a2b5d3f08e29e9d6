//! URLs: what they say, what is refused of them, and that no name has a password.

use std::io::ErrorKind;
use std::net::TcpListener;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;

use super::*;
use crate::EngineHome;

/// A password as a URL has it.
fn escaped(password: &str) -> String {
    utf8_percent_encode(password, NON_ALPHANUMERIC).to_string()
}

#[test]
fn where_it_works_is_known_without_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a listener");
    let address = listener.local_addr().expect("an address");
    for scheme in ["mysql", "postgres"] {
        let engine = find_database(&format!("{scheme}://me@{address}/db")).expect("a database");
        assert_eq!(engine.home(), EngineHome::External);
        let nobody = listener.accept().expect_err("nobody came");
        assert_eq!(nobody.kind(), ErrorKind::WouldBlock, "{scheme}");
    }
}

#[test]
fn a_url_is_found_once_and_then_by_its_name_without_its_password() {
    let cases = [
        ("mysql://me:hidden@localhost/db", "mysql://me@localhost/db#InnoDB"),
        ("postgres://me:hidden@localhost/db", "postgres://me@localhost/db"),
    ];
    let shown_url = |name: &str| find_url(name).map(Secret::reveal);
    for (with, shown) in cases {
        let without = find_database(shown).expect("a database");
        assert_eq!((find_name(shown), shown_url(shown)), (Ok(shown), Some(shown)));
        assert_eq!(find_password(shown), Some(Password::Missing));
        let engine = find_database(with).expect("a database");
        assert!(!std::ptr::addr_eq(engine, without), "{with}");
        assert_eq!((find_name(with), shown_url(shown)), (Ok(shown), Some(with)));
        assert_eq!(find_password(shown), Some(Password::Url));
        assert!(std::ptr::addr_eq(engine, find_database(with).expect("the same")), "{with}");
        assert!(std::ptr::addr_eq(engine, find_database(shown).expect("the same")), "{with}");
    }
    find_database("mysql://me@localhost/db").expect("another way to write it");
    assert_eq!(shown_url(cases[0].1), Some(cases[0].0));
    assert!(
        find_database("ftp://me:hidden@localhost/db").is_err_and(|what| !what.contains("hidden"))
    );
    assert_eq!(find_url("mysql://nobody@nowhere/db#InnoDB"), None);
}

#[test]
fn every_way_to_write_a_url_has_one_name() {
    for (url, shown) in [
        ("mariadb://m%65:x@LOCALHOST:3306/d%62#innodb", "mysql://me@localhost/db#InnoDB"),
        ("mysql://a%40b:x@[::1]:3307/d%2Fb", "mysql://a%40b@[::1]:3307/d%2Fb#InnoDB"),
        (
            "mysql://me:x@localhost/db?ssl-mode=disabled&socket=/run/my%20sql",
            "mysql://me@localhost/db?socket=/run/my%20sql&ssl-mode=DISABLED#InnoDB",
        ),
        ("mariadb://me:x@127.0.0.1:9/db#Aria", "mysql://me@127.0.0.1:9/db#Aria"),
        ("postgresql://me:x@db:5432/db", "postgres://me@db/db"),
        ("postgres://me:a:b@%2frun%2Fpg/db", "postgres://me@%2Frun%2Fpg/db"),
        ("postgres://me:@db/db?sslmode=require", "postgres://me@db/db?sslmode=require"),
    ] {
        assert_eq!(find_name(url), Ok(shown), "{url}");
        assert_eq!(find_name(shown), Ok(shown), "a name is a URL");
    }
}

#[test]
fn what_is_not_plain_is_refused_without_the_password() {
    let wrong = [
        ("me:hid/den@h/db", "before its @"),
        ("me:hid?den@h/db", "before its @"),
        ("me:hid#den@h/db", "before its @"),
        ("me:hid@den@h/db", "more than one @"),
        ("me:hid'den@h/db", "a character"),
        ("me:hid\"den@h/db", "a character"),
        ("me:hid}den@h/db", "a character"),
        ("me:hid{den@h/db", "a character"),
        ("me:hid\\den@h/db", "a character"),
        ("me:hid`den@h/db", "a character"),
        ("me:hid den@h/db", "a character"),
        ("me:hidüden@h/db", "a character"),
        ("me:hid%-den@h/db", "hexadecimal"),
        ("me:hid%ffden@h/db", "UTF-8"),
        ("me:hid%00den@h/db", "UTF-8"),
        ("me@h/db?password=hidden", "it belongs before the host"),
        ("me@h/db?sslpassword=hidden", "it belongs before the host"),
        ("me@h/db?user=hidden", "before the host"),
        ("me@h/db?hidden", "without a value"),
        ("me@h/db?ssl_mode=hidden", "did you mean ssl"),
        ("me@h/db?frobnicate=hidden", "valid: "),
        ("me@h/db?hid%2Fden=hidden", "valid: "),
        ("me:hidden@h:port/db", "1 to 65535"),
        ("me:hidden@h:0/db", "1 to 65535"),
        ("me:hidden@h:+5/db", "1 to 65535"),
        ("me:hidden@h,hidden/db", "a comma"),
        ("me:hid,den@h/db", "a comma"),
        ("me:hidden@h*/db", "neither a name"),
        ("me:hidden@/db", "no host"),
        ("me:hidden@h/db/hidden", "behind its database"),
        ("me:hidden@h/", "no database"),
        ("me:hidden@[hidden]/db", "IPv6"),
        ("h/db", "no user"),
    ];
    for (rest, why) in wrong {
        for scheme in ["mysql", "postgres"] {
            let refused = find_name(&format!("{scheme}://{rest}")).expect_err(rest);
            assert!(refused.contains(why), "{rest}: {refused}");
            assert!(refused.lines().count() > 1, "{rest}: how to mend it: {refused}");
            for piece in ["hid", "den"] {
                assert!(!refused.contains(piece), "{rest}: {refused}");
            }
        }
    }
}

#[test]
fn how_a_server_is_spoken_to_stands_in_its_url() {
    use TransportSecurity::{Local, Plain, Unverified, Verified};
    let certificate = concat!(env!("CARGO_MANIFEST_DIR"), "/src/urls/tests/authority.pem");
    let transport = |url: &str| find_database(url).expect(url).transport();
    for (url, how) in [
        ("mysql://me@localhost/db", Local),
        ("mysql://me@127.1.2.3/db", Local),
        ("mysql://me@[::1]/db", Local),
        ("mysql://me@db1/db", Verified),
        ("mysql://me@db1/db?ssl-mode=VERIFY_IDENTITY", Verified),
        ("mysql://me@db1/db?ssl-mode=REQUIRED", Unverified),
        ("mysql://me@db1/db?ssl-mode=DISABLED", Plain),
        ("mysql://me@localhost/db?ssl-mode=REQUIRED", Unverified),
        ("mysql://me@localhost/db?ssl-mode=DISABLED", Local),
        ("mysql://me@db1/db?socket=/run/s", Local),
        ("postgres://me@localhost/db", Local),
        ("postgres://me@%2Frun/db", Local),
        ("postgres://me@10.0.0.1/db", Verified),
        ("postgres://me@db1/db?sslrootcert=system", Verified),
        ("postgres://me@db1/db?sslmode=require", Unverified),
        ("postgres://me@db1/db?sslmode=disable", Plain),
        ("postgres://me@localhost/db?sslmode=disable", Local),
    ] {
        assert_eq!(transport(url), Some(how), "{url}");
    }
    for (url, how) in [
        (format!("mysql://me@localhost/db?ssl-ca={certificate}"), Verified),
        (format!("postgres://me@localhost/db?sslrootcert={certificate}"), Verified),
        (
            format!("postgres://me@db1/db?sslmode=verify-ca&sslrootcert={certificate}"),
            TransportSecurity::Authority,
        ),
    ] {
        assert_eq!(transport(&url), Some(how), "{url}");
    }
    for (url, why) in [
        ("mysql://me@db1/db?ssl-mode=PREFERRED", "REQUIRED"),
        ("mysql://me@db1/db?ssl-mode=VERIFY_CA", "VERIFY_IDENTITY"),
        ("mysql://me@db1/db?ssl-mode=on", "valid: DISABLED"),
        ("mysql://me@db1/db?ssl-ca=/nowhere", "no certificate"),
        ("mysql://me@db1/db?ssl-mode=REQUIRED&socket=/run/s", "a socket"),
        ("postgres://me@db1/db?sslmode=prefer", "sslmode=require"),
        ("postgres://me@db1/db?sslmode=verify-ca", "sslrootcert=FILE"),
        ("postgres://me@db1/db?sslmode=on", "valid: disable"),
        ("postgres://me@db1/db?sslrootcert=/nowhere", "no certificate"),
        ("postgres://me@%2Frun/db?sslmode=require", "a socket"),
    ] {
        let refused = find_name(url).expect_err(url);
        assert!(refused.contains(why), "{url}: {refused}");
    }
}

proptest! {
    #[test]
    fn a_name_never_has_the_password(password in "\\PC{4,40}", user in "[a-c]{1,3}") {
        for scheme in ["mysql", "postgres"] {
            let with = format!("{scheme}://{user}:{}@h/db", escaped(&password));
            let without = format!("{scheme}://{user}@h/db");
            prop_assert_eq!(find_name(&with), find_name(&without));
            prop_assert_eq!(find_url(find_name(&with).unwrap()).map(Secret::reveal), Some(&*with));
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_a_piece_of_the_password(
        before in "[0-9]{6}",
        between in "[/?#@'\"{}\\\\` <>^|%ü]",
        after in "[0-9]{6}",
    ) {
        for scheme in ["mysql", "postgres"] {
            let refused = find_name(&format!("{scheme}://me:{before}{between}{after}@h/db"));
            // Two digits behind a % are a byte, which may be one of UTF-8.
            prop_assume!(between != "%" || refused.is_err());
            let said = refused.expect_err("it is not escaped");
            prop_assert!(!said.contains(&before) && !said.contains(&after), "{}", said);
        }
    }
}
