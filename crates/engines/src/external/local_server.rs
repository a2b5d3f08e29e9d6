//! The process of a server by URL that runs on this machine.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The kernel tells who listens. `None` outside of this process's namespace.
pub(crate) fn find_socket_owner(path: &Path) -> Option<u32> {
    let stream = UnixStream::connect(path).ok()?;
    let peer = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    // The first process listens for others, by socket activation.
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok().filter(|pid| *pid > 1)
}

/// Root alone sees whose sockets they are.
pub(crate) fn find_port_owner(host: &str, port: u16) -> Option<u32> {
    let is_local = host == "localhost" || host == "::1" || host.starts_with("127.");
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().filter(|_| is_local);
    let listening = tables.filter_map(|table| fs::read_to_string(table).ok());
    let inodes: Vec<String> = listening.flat_map(|table| list_listeners(&table, port)).collect();
    let names: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let holds = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|target| names.iter().any(|name| target == Path::new(name)))
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // A process that was started by the server may have the socket, too.
    if names.is_empty() { None } else { pids.filter(|pid| *pid > 1).filter(holds).min() }
}

/// Source: proc_pid_net(5): the local address, its port in hexadecimal, the state `0A`, the inode.
fn list_listeners(table: &str, port: u16) -> Vec<String> {
    let end = format!(":{port:04X}");
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens = fields.get(1)?.ends_with(&end) && *fields.get(3)? == "0A";
        listens.then(|| fields.get(9).map(|inode| (*inode).to_owned())).flatten()
    };
    table.lines().skip(1).filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn who_listens_on_this_machine_is_found_by_socket_and_port() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let _socket = UnixListener::bind(&path).expect("a socket");
        assert_eq!(find_socket_owner(&path), Some(std::process::id()));
        assert_eq!(find_socket_owner(&folder.path().join("none")), None);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        // A process may always look at its own files.
        assert_eq!(find_port_owner("localhost", port), Some(std::process::id()));
        assert_eq!(find_port_owner("db.example", port), None, "another machine's");
        drop(listener);
        assert_eq!(find_port_owner("127.0.0.1", port), None);
    }
}
