//! Finds the ports at which a server takes connections from other machines.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::process::Pid;

use crate::servers::process::list_family;

/// The first address beyond this machine's own at which the process, or one that it has started,
/// listens by TCP. Sockets of processes that may not be looked at are not seen.
pub fn find_open_port(pid: u32) -> Option<SocketAddr> {
    let root = Pid::from_raw(i32::try_from(pid).ok()?)?;
    let sockets: BTreeSet<u64> = list_family(root).into_iter().flat_map(list_sockets).collect();
    let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/{pid}/net/{name}")));
    let tables = tables.map(Result::unwrap_or_default);
    let mut listening = tables.iter().flat_map(|table| table.lines().filter_map(parse_listening));
    let is_open = |(address, inode): &(SocketAddr, u64)| {
        !address.ip().to_canonical().is_loopback() && sockets.contains(inode)
    };
    listening.find(is_open).map(|(address, _)| address)
}

fn list_sockets(pid: Pid) -> Vec<u64> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    let number = |target: std::path::PathBuf| {
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    targets.filter_map(number).collect()
}

/// The address and the inode of a socket that listens. Source: proc_net(5): of each group of four
/// bytes of an address the last one is first.
fn parse_listening(line: &str) -> Option<(SocketAddr, u64)> {
    const LISTEN: &str = "0A";
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (address, port) = fields.get(1)?.split_once(':')?;
    if *fields.get(3)? != LISTEN || !address.is_ascii() {
        return None;
    }
    let mut bytes = Vec::new();
    for group in address.as_bytes().chunks(8) {
        let group = std::str::from_utf8(group).ok()?;
        bytes.extend(u32::from_str_radix(group, 16).ok()?.to_le_bytes());
    }
    let address: IpAddr = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(four) => Ipv4Addr::from(four).into(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into(),
    };
    let port = u16::from_str_radix(port, 16).ok()?;
    Some((SocketAddr::new(address, port), fields.get(9)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_of_this_machine_alone_is_not_open() {
        let own = std::process::id();
        let _loopback = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(find_open_port(own), None);
        let open = TcpListener::bind("0.0.0.0:0").unwrap();
        assert_eq!(find_open_port(own), Some(open.local_addr().unwrap()));
        drop(open);
        let Ok(open) = TcpListener::bind("[::]:0") else { return };
        assert_eq!(find_open_port(own), Some(open.local_addr().unwrap()));
    }
}
