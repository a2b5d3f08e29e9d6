//! A private nginx with pages of given sizes.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server; dropping it stops it.
pub struct Nginx {
    child: Child,
    port: u16,
}

/// Whether there is one.
///
/// # Errors
/// How to install it.
pub fn available() -> Result<(), String> {
    let asked = Command::new("nginx").arg("-v").stderr(Stdio::null()).status();
    asked.map(drop).map_err(|_| "nginx is missing: apt-get install nginx-light".to_owned())
}

impl Nginx {
    /// Starts one with its files in a folder and with these pages: a name, and bytes of each.
    pub fn start(folder: &Path, pages: &[(&str, usize)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        drop(listener);
        let root = folder.join("pages");
        fs::create_dir(&root).expect("a folder for the pages");
        for (name, bytes) in pages {
            fs::write(root.join(name), "x".repeat(*bytes)).expect("a page");
        }
        let configuration = folder.join("nginx.conf");
        fs::write(&configuration, text(folder, &root, port)).expect("a configuration");
        let mut command = Command::new("nginx");
        command.arg("-c").arg(&configuration).arg("-p").arg(folder);
        command.args(["-e", "stderr"]).stderr(Stdio::null());
        let mut child = command.spawn().expect("nginx starts");
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(child.try_wait().expect("a child").is_none(), "nginx has ended");
            assert!(begin.elapsed() < PATIENCE, "nginx does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { child, port }
    }

    /// Where a page is.
    pub fn url(&self, page: &str) -> String {
        format!("http://127.0.0.1:{}/{page}", self.port)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // With its master alone the workers end, too.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

/// The configuration: one worker, connections that are kept as long as a client likes, no log.
fn text(folder: &Path, root: &Path, port: u16) -> String {
    let (folder, root) = (folder.display(), root.display());
    format!(
        "daemon off;\nworker_processes 1;\nuser root;\npid {folder}/nginx.pid;\nerror_log stderr crit;\n\
         worker_rlimit_nofile 20000;\nevents {{ worker_connections 12000; }}\n\
         http {{\n  access_log off;\n  keepalive_requests 1000000000;\n  sendfile on;\n  tcp_nopush on;\n  \
         open_file_cache max=100;\n  client_body_temp_path {folder}/body;\n  \
         proxy_temp_path {folder}/proxy;\n  fastcgi_temp_path {folder}/fastcgi;\n  \
         uwsgi_temp_path {folder}/uwsgi;\n  scgi_temp_path {folder}/scgi;\n  \
         server {{ listen 127.0.0.1:{port} backlog=4096; root {root}; }}\n}}\n"
    )
}
