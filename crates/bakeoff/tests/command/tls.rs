//! TLS to servers that somebody else runs: with a certificate that is verified, unless it is said
//! otherwise. The servers and their authority are the tests' own.

use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use bakeoff_engines::postgres;
use bakeoff_engines::servers::{Launch, PrivateServer};
use bakeoff_testkit::{comes_while, folder_for_all, in_time, is_root, wait_until};

use super::Place;
use super::elsewhere::{SHORT, Theirs};
use super::servers::{installed, trials};

const PASSWORD: &str = "word-of-tls";
/// What is said of a certificate that nobody has looked at.
const UNVERIFIED: &str = "is not verified";

/// A folder with an authority's certificate, another one's, and the certificate of `localhost`,
/// which the first has signed.
struct Certificates(tempfile::TempDir);

impl Certificates {
    fn new() -> Self {
        const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        let certificates = Self(folder_for_all());
        for name in ["authority", "other"] {
            let subject = format!("/CN={name} -out {name}.pem -keyout {name}.key");
            certificates.openssl(&format!("req -x509 -days 2 -subj {subject} {KEY}"));
        }
        certificates
            .openssl(&format!("req -subj /CN=localhost -out request -keyout server.key {KEY}"));
        std::fs::write(certificates.path("names"), "subjectAltName=DNS:localhost\n").unwrap();
        certificates.openssl(
            "x509 -req -in request -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 \
             -extfile names -out server.pem",
        );
        certificates
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn openssl(&self, arguments: &str) {
        let mut openssl = Command::new("openssl");
        let output = openssl.args(arguments.split(' ')).current_dir(&self.0).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Gives the server's key to who runs the server.
    fn give_key_to(&self, folder: &Path) {
        let (key, owner) = (self.path("server.key"), std::fs::metadata(folder).unwrap());
        std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
        chown(&key, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
}

/// Somebody's PostgreSQL, at a port of this machine. `me` has to come by TLS, `plain` may not.
struct Postgres {
    child: Child,
    port: u16,
    data: PathBuf,
    _folder: tempfile::TempDir,
}

impl Postgres {
    fn start(certificates: &Certificates) -> Self {
        let folder = folder_for_all();
        let launch = Launch { directory: folder.path().join("server"), ..Launch::default() };
        PrivateServer::initialise(&postgres::SERVER, &launch).unwrap();
        let data = launch.directory.join("data");
        certificates.give_key_to(&data);
        let mut conf = std::fs::read_to_string(data.join("postgresql.conf")).unwrap();
        conf += &format!(
            "\nlisten_addresses = '127.0.0.1'\n\
             unix_socket_directories = '{}'\nssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'\n",
            data.display(),
            certificates.path("server.pem").display(),
            certificates.path("server.key").display(),
        );
        std::fs::write(data.join("postgresql.conf"), conf).unwrap();
        let rules = "local all all trust\nhostssl all me 127.0.0.1/32 scram-sha-256\n\
                     hostnossl all plain 127.0.0.1/32 scram-sha-256\n";
        std::fs::write(data.join("pg_hba.conf"), rules).unwrap();
        // A port that somebody else has by the time the server asks for it ends the server.
        let (child, port) = in_time("a free port", |_| {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let mut command = Command::new(&postgres::SERVER.find_installed().unwrap().server);
            command.arg("-D").arg(&data).arg("-p").arg(port.to_string());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let owner = std::fs::metadata(&data).unwrap();
            if is_root() {
                command.uid(owner.uid()).gid(owner.gid());
            }
            let mut child = command.current_dir("/").spawn().unwrap();
            let serves = || administrator(&data, port, "SELECT 1").is_ok();
            comes_while(&mut child, "a server", serves).then_some((child, port))
        });
        let postgres = Self { child, port, data, _folder: folder };
        for user in ["me", "plain"] {
            let create = format!("CREATE ROLE {user} LOGIN SUPERUSER PASSWORD '{PASSWORD}'");
            postgres.sql(&create).unwrap();
            postgres.sql(&format!("CREATE DATABASE {user} OWNER {user}")).unwrap();
        }
        postgres
    }

    /// What the administrator is answered.
    fn sql(&self, sql: &str) -> Result<String, String> {
        administrator(&self.data, self.port, sql)
    }
}

/// What the administrator is answered by the server with its socket in that folder.
fn administrator(folder: &Path, port: u16, sql: &str) -> Result<String, String> {
    let mut client = Command::new("psql");
    client.args(["--no-psqlrc", "--username=bakeoff", "--dbname=postgres", "--tuples-only"]);
    client.arg("--host").arg(folder).arg(format!("--port={port}"));
    let output = client.arg(format!("--command={sql}")).output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let _ = self.child.wait();
    }
}

/// A port of this machine that leads to a server's socket.
fn port_to(socket: &Path) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = socket.to_owned();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = UnixStream::connect(&socket) else { continue };
            let (mut to, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let (mut client, mut server) = (client, server);
            thread::spawn(move || {
                let _ = std::io::copy(&mut client, &mut to);
                to.shutdown(Shutdown::Write)
            });
            thread::spawn(move || {
                let _ = std::io::copy(&mut server, &mut back);
                back.shutdown(Shutdown::Write)
            });
        }
    });
    port
}

/// Runs on one engine in a folder of its own, and fails unless it ends so and says so much, in its report, too.
#[track_caller]
fn run(place: &Place, url: &str, (code, said): (i32, &str)) {
    let folder = tempfile::tempdir_in(place.path("")).unwrap();
    let out = folder.path().join("r").display().to_string();
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\n");
    let run = ["run", "mine.toml", "--reuse", "--out", &out, "--engine", url];
    let done = place.run(&[&run[..], &SHORT].concat()).code(code).says(&[said]);
    assert!(!format!("{}{}", done.out(), done.err()).contains(PASSWORD));
    if code == 0 {
        let document = place.json(&out);
        assert!(trials(&document).iter().all(|(_, trial)| trial["valid"] == true));
        for told in [done.err(), document["warnings"].to_string()] {
            assert_eq!(told.contains(UNVERIFIED), said == UNVERIFIED, "{url}: {told}");
        }
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn postgres_is_reached_by_tls_and_its_certificate_verified() {
    const REFUSED: (i32, &str) = (2, "certificate is refused");
    if !installed(&["postgres"]) {
        return;
    }
    let (place, certificates) = (Place::new(), Certificates::new());
    let server = Postgres::start(&certificates);
    let [authority, other] = ["authority.pem", "other.pem"]
        .map(|name| format!("sslrootcert={}", certificates.path(name).display()));
    let by = |host: &str| format!("postgres://me:{PASSWORD}@{host}:{}/me", server.port);
    let [name, number] = ["localhost", "127.0.0.1"].map(by);
    for (url, end) in [
        (format!("{name}?{authority}"), (0, "")),
        (format!("{name}?{other}"), REFUSED),
        (format!("{number}?{authority}"), REFUSED),
        // By what the system trusts.
        (format!("{name}?sslmode=verify-full"), REFUSED),
        (format!("{number}?sslmode=verify-ca&{authority}"), (0, "")),
        (format!("{number}?sslmode=verify-ca&{other}"), REFUSED),
        (format!("{number}?sslmode=require"), (0, UNVERIFIED)),
        // Its rules are its owner's.
        (format!("{name}?sslmode=disable"), (2, "no pg_hba.conf entry")),
    ] {
        run(&place, &url, end);
    }

    // Another way for a password, which is told without one.
    let url = format!("{name}?{authority}").replace(&format!(":{PASSWORD}"), "");
    let file = place.write("pgpass", &format!("localhost:{}:me:me:{PASSWORD}\n", server.port));
    for (mode, end) in [(0o640, (2, "others may read")), (0o600, (0, ""))] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        run(&place, &format!("{url}&passfile={}", file.display()), end);
    }

    let conf = std::fs::read_to_string(server.data.join("postgresql.conf")).unwrap();
    std::fs::write(server.data.join("postgresql.conf"), conf + "ssl = off\n").unwrap();
    server.sql("SELECT pg_reload_conf()").unwrap();
    wait_until("no TLS", || server.sql("SHOW ssl").is_ok_and(|it| it.trim() == "off"));
    run(&place, &format!("{name}?sslmode=verify-full"), (2, "offers no TLS"));
    let plain = name.replace("me:", "plain:").replace("/me", "/plain");
    run(&place, &plain, (0, ""));
}

#[test]
#[ignore = "slow: make test-slow"]
fn mariadb_is_reached_by_tls_and_its_certificate_verified() {
    const REFUSED: (i32, &str) = (2, "certificate is refused");
    if !installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, certificates) = (Place::new(), Certificates::new());
    let [certificate, key] = ["server.pem", "server.key"].map(|name| certificates.path(name));
    let settings =
        [("ssl_cert", certificate.to_str().unwrap()), ("ssl_key", key.to_str().unwrap())];
    let server = Theirs::start_on(&settings, |folder| certificates.give_key_to(folder));
    server.must(&format!(
        "SET GLOBAL local_infile = ON; CREATE DATABASE bench; CREATE USER tls@localhost IDENTIFIED BY '{PASSWORD}' REQUIRE SSL; \
         GRANT ALL ON bench.* TO tls@localhost"
    ));
    let port = port_to(server.socket());
    let [authority, other] = ["authority.pem", "other.pem"]
        .map(|name| format!("ssl-ca={}", certificates.path(name).display()));
    let by = |host: &str| format!("mysql://tls:{PASSWORD}@{host}:{port}/bench");
    let [name, number] = ["localhost", "127.0.0.1"].map(by);
    for (url, end) in [
        (format!("{name}?{authority}"), (0, "")),
        (format!("{name}?{other}"), REFUSED),
        (format!("{number}?{authority}"), REFUSED),
        // By what the system trusts.
        (format!("{name}?ssl-mode=VERIFY_IDENTITY"), REFUSED),
        (format!("{number}?ssl-mode=REQUIRED"), (0, UNVERIFIED)),
        (format!("{name}?ssl-mode=DISABLED"), (2, "Access denied")),
    ] {
        run(&place, &url, end);
    }
    let without = Theirs::start();
    let port = port_to(without.socket());
    let url = format!("mysql://me:{PASSWORD}@localhost:{port}/bench?ssl-mode=VERIFY_IDENTITY");
    run(&place, &url, (2, "offers no TLS"));
}

#[test]
fn what_crosses_a_network_unprotected_is_said_in_the_plan() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\n");
    // Nobody answers there: there is a plan all the same.
    for (url, said) in [
        ("postgres://me@db.example/b?sslmode=disable", Some("without TLS")),
        ("mysql://me@db.example/b?ssl-mode=REQUIRED", Some(UNVERIFIED)),
        ("postgres://me@db.example/b", None),
        ("mysql://me@localhost/b", None),
    ] {
        let plan = place.run(&["run", "mine.toml", "--dry-run", "--engine", url]).code(2).err();
        for words in ["without TLS", UNVERIFIED] {
            assert_eq!(plan.contains(words), said == Some(words), "{url}: {plan}");
        }
    }
}
