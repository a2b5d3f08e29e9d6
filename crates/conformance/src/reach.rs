//! Others reach what an engine holds by the address that it tells.

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::{DatabaseAddress, Engine, EngineHome, Listens, Schema, ServerAddress};

use crate::{folder, terms};

/// Opens an engine, and looks whether its address leads to its own files or to its own server, as long as
/// it is open.
pub fn tells_where_it_is(engine: &dyn Engine) {
    let folder = folder::of(engine);
    let notes = Table::new("notes").key_column("id", Type::Int).column("text", Type::STRING);
    let schema = Schema { tables: vec![notes] };
    let database = engine.open(folder.path(), &terms(engine), &schema, &[]).expect("a database");
    let address = database.address().expect("an engine that stores something is somewhere");
    match (engine.about().home, &address) {
        (EngineHome::Process, DatabaseAddress::Files(files)) => {
            assert!(files.starts_with(folder.path()) && files.exists(), "{address:?}");
        }
        (EngineHome::Server | EngineHome::External, DatabaseAddress::Server(server)) => {
            let ServerAddress { listens, user, database, .. } = server;
            assert!(!user.is_empty() && !database.is_empty(), "{address:?}");
            if let Listens::Socket(socket) = listens {
                assert!(socket.exists(), "{address:?}");
            }
        }
        (home, _) => panic!("{home:?}, but {address:?}"),
    }
}
