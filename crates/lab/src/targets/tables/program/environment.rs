//! What an application's programs are told of the database, in variables of their environment.

use std::ffi::OsString;
use std::path::Path;

use bakeoff_engines::servers::ServerUser;
use bakeoff_engines::{
    Database, DatabaseAddress, DeclaredLevels, Engine, EngineHome, ListenAddress, OpenTerms,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::TrialError;

/// An open database, and what programs have to know of it.
pub struct DatabaseTerms<'a> {
    pub engine: &'a dyn Engine,
    pub terms: OpenTerms,
    pub database: &'a dyn Database,
    /// What the scale's name stands for.
    pub scale: i64,
    pub levels: &'a DeclaredLevels,
}

/// The variables of all processes.
pub fn list_variables(
    opened: &DatabaseTerms<'_>,
    user: Option<&ServerUser>,
) -> Result<Vec<(String, OsString)>, TrialError> {
    let engine = opened.engine.about().name;
    let address = opened.database.address();
    let address =
        address.ok_or_else(|| TrialError::process_error("the database is nowhere for programs"))?;
    let mut variables = vec![
        ("BAKEOFF_ENGINE".to_owned(), OsString::from(engine)),
        ("BAKEOFF_DURABILITY".to_owned(), opened.terms.durability.name().into()),
        ("BAKEOFF_SCALE".to_owned(), opened.scale.to_string().into()),
    ];
    let levels = opened.levels.iter().map(|(name, level)| {
        let name = name.to_uppercase().replace(|letter: char| !letter.is_alphanumeric(), "_");
        (format!("BAKEOFF_FACTOR_{name}"), OsString::from(level))
    });
    variables.extend(levels);
    variables.extend(describe_address(engine, &address, user)?);
    let first = match opened.engine.home() {
        EngineHome::Process => list_first_statements(opened),
        EngineHome::Server | EngineHome::External => String::new(),
    };
    variables.push(("BAKEOFF_FIRST".into(), first.into()));
    Ok(variables)
}

fn describe_address(
    engine: &str,
    address: &DatabaseAddress,
    user: Option<&ServerUser>,
) -> Result<Vec<(String, OsString)>, TrialError> {
    let variable = |name: &str, value: &dyn AsRef<std::ffi::OsStr>| {
        (format!("BAKEOFF_{name}"), value.as_ref().to_owned())
    };
    let server = match address {
        DatabaseAddress::Files(path) => {
            let path = &std::path::absolute(path)
                .map_err(|error| TrialError::place_error("the database's file", error))?;
            return Ok(vec![
                variable("URL", &format!("sqlite://{}", path.display())),
                variable("DATABASE", path),
                variable("DIR", &path.parent().unwrap_or(path)),
            ]);
        }
        DatabaseAddress::Server(server) => server,
    };
    let ListenAddress::Socket(socket) = &server.listens else {
        return Err(TrialError::process_error("the database has no socket for programs"));
    };
    let socket = user.map_or_else(|| socket.clone(), |user| user.find_socket(socket));
    let folder = socket.parent().unwrap_or(Path::new("/"));
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let encode_path = |path: &Path| encode(&path.to_string_lossy());
    let password = server.password.as_ref().map(|password| password.reveal());
    let login = match password {
        Some(password) => format!("{}:{}", encode(&server.user), encode(password)),
        None => encode(&server.user),
    };
    let database = encode(&server.database);
    let url = match engine.split(':').next() {
        Some("postgres") => {
            Some(format!("postgresql://{login}@/{database}?host={}&port=5432", encode_path(folder)))
        }
        Some("mariadb" | "mysql") => Some(format!(
            "mysql://{login}@localhost/{database}?unix_socket={}",
            encode_path(&socket)
        )),
        _ => None,
    };
    let own = [
        variable("SOCKET", &socket),
        variable("USER", &server.user),
        variable("DATABASE", &server.database),
        variable("DIR", &folder),
    ];
    let url = url.map(|url| variable("URL", &url));
    let password = password.map(|password| variable("PASSWORD", &password));
    Ok(own.into_iter().chain(url).chain(password).collect())
}

/// What a connection has to begin with, so that it keeps the level's promise: SQLite forgets it with
/// each connection.
fn list_first_statements(opened: &DatabaseTerms<'_>) -> String {
    let settings = opened.engine.settings(&opened.terms);
    let is_own = |name: &str| opened.terms.settings.iter().any(|(own, _)| own == name);
    // In the engine's own sessions it is the default.
    let full = ("synchronous", "FULL");
    let set = settings.iter().map(|it| (&*it.name, &*it.value));
    let set = set.filter(|(name, _)| *name == full.0 || is_own(name));
    let first = std::iter::once(full).chain(set);
    first.map(|(name, value)| format!("PRAGMA {name} = {value};")).collect::<Vec<_>>().join(" ")
}
