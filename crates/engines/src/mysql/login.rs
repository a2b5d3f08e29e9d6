//! Connections, and the ways to log in that the client does not know.

use std::io::{self, ErrorKind};

use mysql::{Conn, DriverError, Error as Failure, Opts};

use crate::external::panics::catch_panic;

/// Ways for which the library panics, since it was built without them.
const NOT_BUILT: [&str; 2] = ["ed25519", "parsec"];

/// What the library would panic on is a failure, too.
pub(super) fn connect(opts: impl Into<Opts>) -> Result<Conn, Failure> {
    let opts = opts.into();
    catch_panic(|| Conn::new(opts)).unwrap_or_else(|words| {
        let unknown = NOT_BUILT.iter().find(|way| words.contains(**way));
        Err(match unknown {
            Some(way) => Failure::DriverError(DriverError::UnknownAuthPlugin((*way).into())),
            None => Failure::IoError(io::Error::new(
                ErrorKind::InvalidData,
                "the server's answer breaks the protocol of MySQL",
            )),
        })
    })
}

/// Why this user can't log in at all, and what would let it.
pub(super) fn explain_unknown_way(failure: &Failure) -> Option<String> {
    let Failure::DriverError(failure) = failure else { return None };
    let way = match failure {
        DriverError::UnknownAuthPlugin(way) => way,
        DriverError::CleartextPluginDisabled => "mysql_clear_password",
        DriverError::OldMysqlPasswordDisabled => "mysql_old_password",
        DriverError::InvalidParsecSalt => "parsec",
        _ => return None,
    };
    Some(format!(
        "the user logs in by `{way}`, which bakeoff does not know: give it a password of the \
         server's own (ALTER USER … IDENTIFIED BY '…'), or name another user; mysql_native_password \
         and caching_sha2_password will do"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_that_the_library_gives_up_at_is_named_with_what_will_do() {
        let unknown = |way: &str| DriverError::UnknownAuthPlugin(way.into());
        for (failure, way) in [
            (unknown("dialog"), "`dialog`"),
            (unknown("auth_gssapi_client"), "`auth_gssapi_client`"),
            (unknown("ed25519"), "`ed25519`"),
            (DriverError::CleartextPluginDisabled, "`mysql_clear_password`"),
            (DriverError::OldMysqlPasswordDisabled, "`mysql_old_password`"),
        ] {
            let told = explain_unknown_way(&Failure::DriverError(failure)).expect(way);
            assert!(told.contains(way) && told.contains("ALTER USER"), "{told}");
        }
        assert_eq!(explain_unknown_way(&Failure::DriverError(DriverError::SetupError)), None);
    }
}
