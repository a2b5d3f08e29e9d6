//! Tarantool, with its engine in memory or the one on disk. Its statements are calls of the
//! functions in `tarantool.lua`.

use std::path::PathBuf;
use std::process::Command;

use crate::server::{Client, Database, Home};

/// Tarantool with one of its engines.
pub struct Tarantool {
    engine: &'static str,
}

impl Tarantool {
    pub const MEMTX: Self = Self { engine: "memtx" };
    pub const VINYL: Self = Self { engine: "vinyl" };
    const PROGRAM: &'static str = "/usr/bin/tarantool";
}

const SERVER: &str = include_str!("tarantool.lua");

/// Sends each line to the server, writes what comes back, and ends at the first error.
const CLIENT: &str = r"
local server = require('net.box').connect('unix/:' .. arg[1])
for line in io.lines() do
    for _, row in ipairs({server:eval(line)}) do
        io.write(row, '\n')
    end
    io.flush()
end
os.exit(0)
";

impl Database for Tarantool {
    fn user(&self) -> &'static str {
        "tarantool"
    }

    fn programs(&self) -> Vec<PathBuf> {
        vec![Self::PROGRAM.into()]
    }

    fn prepare(&self, home: &Home) {
        for (name, script) in [("server.lua", SERVER), ("client.lua", CLIENT)] {
            let path = home.run.join(name);
            std::fs::write(&path, script).expect("a folder of ours");
        }
    }

    fn server(&self, home: &Home) -> Command {
        let mut server = home.program(Self::PROGRAM);
        server.arg("server.lua").arg(home.run.join("socket")).arg(&home.data);
        server
    }

    fn client(&self, home: &Home) -> Command {
        let mut client = home.program(Self::PROGRAM);
        client.arg("client.lua").arg(home.run.join("socket"));
        client
    }

    fn answered(&self) -> &'static str {
        "return 'answered'"
    }

    fn load(&self, rows: u32, balance: u32) -> Vec<String> {
        vec![format!("load('{}', {rows}, {balance})", self.engine)]
    }

    fn transfer(&self, client: u32, n: u32, from: u32, to: u32) -> String {
        format!("transfer({client}, {n}, {from}, {to})")
    }

    fn books(&self) -> String {
        "return books()".into()
    }

    fn indexed(&self) -> String {
        "return indexed()".into()
    }

    fn done(&self) -> String {
        "return done()".into()
    }

    fn content(&self) -> String {
        "return content()".into()
    }

    /// Each index against the other one; then a snapshot, which writes all of it.
    fn check(&self, client: &mut Client) {
        let settings = client.must("return box.cfg.wal_mode, box.space.account.engine");
        assert_eq!(settings, ["fsync", self.engine]);
        assert_eq!(client.must("return differences()"), ["0"]);
        client.must("box.snapshot()");
    }
}
