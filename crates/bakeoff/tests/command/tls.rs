//! TLS to servers that somebody else runs: with a certificate that is verified, unless it is said
//! otherwise. The servers and their authority are the tests' own.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use bakeoff_engines::postgres;
use bakeoff_servers::{Launch, PrivateServer};
use bakeoff_testkit::{comes_while, folder_for_all, in_time, is_root, wait_until};

use super::elsewhere::{SHORT, Theirs};
use super::servers::{installed, trials};
use super::{Done, Place};

const PASSWORD: &str = "word-of-tls";

/// A folder with an authority's certificate, another one's, and the certificate of `localhost`,
/// which the first has signed.
struct Certificates(tempfile::TempDir);

impl Certificates {
    fn new() -> Self {
        let folder = folder_for_all();
        let certificates = Self(folder);
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        for name in ["authority", "other"] {
            let (subject, out, own) =
                (format!("/CN={name}"), format!("{name}.pem"), format!("{name}.key"));
            let request = ["req", "-x509", "-days", "2", "-subj", &subject, "-out", &out];
            certificates.openssl(&[&request[..], &["-keyout", &own], &key].concat());
        }
        let request = ["req", "-subj", "/CN=localhost", "-out", "request", "-keyout", "server.key"];
        certificates.openssl(&[&request[..], &key].concat());
        std::fs::write(certificates.path("names"), "subjectAltName=DNS:localhost\n").unwrap();
        certificates.openssl(&[
            "x509",
            "-req",
            "-in",
            "request",
            "-CA",
            "authority.pem",
            "-CAkey",
            "authority.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "names",
            "-out",
            "server.pem",
        ]);
        certificates
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn openssl(&self, arguments: &[&str]) {
        let output = Command::new("openssl").args(arguments).current_dir(&self.0).output().unwrap();
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
            let mut command = Command::new(&postgres::SERVER.find().unwrap().server);
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
    let socket = Arc::new(socket.to_owned());
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = UnixStream::connect(&*socket) else { continue };
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || {
                copy(from, &to);
                let _ = to.shutdown(Shutdown::Write);
            });
            thread::spawn(move || {
                copy(server, &client);
                let _ = TcpStream::shutdown(&client, Shutdown::Write);
            });
        }
    });
    port
}

fn copy(mut from: impl Read, mut to: impl Write) {
    let _ = std::io::copy(&mut from, &mut to);
}

/// A run on one engine; its report too has to say what is said of it.
fn run(place: &Place, url: &str) -> Done {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\n");
    let folder = format!("r{number}");
    let run = ["run", "mine.toml", "--reuse", "--out", &folder, "--engine", url];
    let done = place.run(&[&run[..], &SHORT].concat());
    assert!(!format!("{}{}", done.out(), done.err()).contains(PASSWORD));
    if done.0.status.success() {
        let document = place.json(&folder);
        assert!(trials(&document).iter().all(|(_, trial)| trial["valid"] == true));
        let warned = document["warnings"].to_string().contains("is not verified");
        assert_eq!(warned, done.err().contains("is not verified"), "{document}");
    }
    done
}

#[test]
#[ignore = "slow: make test-slow"]
fn postgres_is_reached_by_tls_and_its_certificate_verified() {
    if !installed(&["postgres"]) {
        return;
    }
    let (place, certificates) = (Place::new(), Certificates::new());
    let server = Postgres::start(&certificates);
    let [authority, other] = ["authority.pem", "other.pem"].map(|name| certificates.path(name));
    let (authority, other) = (authority.display(), other.display());
    let url = |host: &str, more: &str| {
        format!("postgres://me:{PASSWORD}@{host}:{}/me?{more}", server.port)
    };
    let refused =
        |url: &str| run(&place, url).code(2).says(&["certificate is refused", "sslmode=require"]);

    let verified = run(&place, &url("localhost", &format!("sslrootcert={authority}"))).code(0);
    assert!(!verified.err().contains("not verified"), "{}", verified.err());
    refused(&url("localhost", &format!("sslrootcert={other}")));
    refused(&url("127.0.0.1", &format!("sslrootcert={authority}")));
    refused(&url("localhost", "sslmode=verify-full"));
    run(&place, &url("127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={authority}"))).code(0);
    refused(&url("127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={other}")));
    run(&place, &url("127.0.0.1", "sslmode=require")).code(0).says(&["is not verified"]);
    // Its rules are its owner's.
    run(&place, &url("localhost", "sslmode=disable")).code(2).says(&["no pg_hba.conf entry"]);

    // The other ways for a password.
    let url = url("localhost", &format!("sslrootcert={authority}"));
    let url = url.replace(&format!(":{PASSWORD}"), "");
    run(&place, &url).code(2);
    let start = |out: &str, variable: &str, value: &str| {
        let run = ["run", "mine.toml", "--reuse", "--out", out, "--engine", &url];
        let mut command = place.command(&[&run[..], &SHORT].concat());
        Done(command.env(variable, value).output().unwrap())
    };
    start("variable", "PGPASSWORD", PASSWORD).code(0);
    let line = format!("localhost:{}:me:me:{PASSWORD}\n", server.port);
    let file = place.write("pgpass", &line);
    let path = file.to_str().unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    start("file", "PGPASSFILE", path).code(2).says(&["others may read", "chmod 600"]);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    start("file", "PGPASSFILE", path).code(0);
    run(&place, &format!("{url}&passfile={path}")).code(0);

    let conf = std::fs::read_to_string(server.data.join("postgresql.conf")).unwrap();
    std::fs::write(server.data.join("postgresql.conf"), conf + "ssl = off\n").unwrap();
    server.sql("SELECT pg_reload_conf()").unwrap();
    wait_until("no TLS", || server.sql("SHOW ssl").is_ok_and(|it| it.trim() == "off"));
    run(&place, &format!("{url}&sslmode=verify-full"))
        .code(2)
        .says(&["offers no TLS", "sslmode=disable"]);
    let plain = url.replace("me@", "plain@").replace("/me?", "/plain?");
    let plain = plain.split_once('?').unwrap().0;
    run(&place, &plain.replace('@', &format!(":{PASSWORD}@"))).code(0);
}

#[test]
#[ignore = "slow: make test-slow"]
fn mariadb_is_reached_by_tls_and_its_certificate_verified() {
    if !installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, certificates) = (Place::new(), Certificates::new());
    let with_key = |folder: &Path| certificates.give_key_to(folder);
    let [certificate, key] = ["server.pem", "server.key"].map(|name| certificates.path(name));
    let settings = [
        ("local_infile", "ON"),
        ("ssl_cert", certificate.to_str().unwrap()),
        ("ssl_key", key.to_str().unwrap()),
    ];
    let server = Theirs::start_on(&settings, with_key);
    server.must(&format!(
        "CREATE DATABASE bench; CREATE USER tls@localhost IDENTIFIED BY '{PASSWORD}' REQUIRE SSL; \
         GRANT ALL ON bench.* TO tls@localhost"
    ));
    let port = port_to(server.socket());
    let [authority, other] = ["authority.pem", "other.pem"].map(|name| certificates.path(name));
    let (authority, other) = (authority.display(), other.display());
    let url = |host: &str, more: &str| format!("mysql://tls:{PASSWORD}@{host}:{port}/bench?{more}");
    let refused =
        |url: &str| run(&place, url).code(2).says(&["certificate is refused", "ssl-mode=REQUIRED"]);

    let verified = run(&place, &url("localhost", &format!("ssl-ca={authority}"))).code(0);
    assert!(!verified.err().contains("not verified"), "{}", verified.err());
    refused(&url("localhost", &format!("ssl-ca={other}")));
    refused(&url("127.0.0.1", &format!("ssl-ca={authority}")));
    // By what the system trusts.
    refused(&url("localhost", "ssl-mode=VERIFY_IDENTITY"));
    run(&place, &url("127.0.0.1", "ssl-mode=REQUIRED")).code(0).says(&["is not verified"]);
    run(&place, &url("localhost", "ssl-mode=DISABLED")).code(2).says(&["Access denied"]);

    let without = Theirs::start();
    let port = port_to(without.socket());
    let url = format!("mysql://me:{PASSWORD}@localhost:{port}/bench?ssl-mode=VERIFY_IDENTITY");
    run(&place, &url).code(2).says(&["offers no TLS", "ssl-mode=DISABLED"]);
}

#[test]
fn what_crosses_a_network_unprotected_is_said_in_the_plan() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\n");
    // Nobody answers there: there is a plan all the same.
    let plan = |url: &str| place.run(&["run", "mine.toml", "--dry-run", "--engine", url]).code(2);
    for (url, said) in [
        ("postgres://me@db.example/b?sslmode=disable", "without TLS"),
        ("mysql://me@db.example/b?ssl-mode=DISABLED", "without TLS"),
        ("postgres://me@db.example/b?sslmode=require", "is not verified"),
        ("mysql://me@db.example/b?ssl-mode=REQUIRED", "is not verified"),
    ] {
        let name = url.split('?').next().unwrap();
        plan(url).says(&[said, name]);
    }
    for url in ["postgres://me@db.example/b", "mysql://me@db.example/b", "mysql://me@localhost/b"] {
        let said = plan(url).err();
        assert!(!said.contains("without TLS") && !said.contains("not verified"), "{said}");
    }
}
