//! bakeoff's `oltp`, on a server that somebody else runs.

use std::path::Path;

use bakeoff_engines::Durability;
use bakeoff_lab::driving::Drive;
use bakeoff_lab::place::TargetPlace;
use bakeoff_lab::process::job::Task;
use bakeoff_lab::targets::Setup;

use crate::work::Work;
use crate::{driven, job};

/// A server, and what is to be in it.
pub struct Oltp<'a> {
    pub socket: &'a Path,
    /// The storage engine, by MariaDB's name.
    pub storage: &'a str,
    /// What the server was started with.
    pub durability: Durability,
    pub scale: &'a str,
    /// Where files of the bench are.
    pub folder: &'a Path,
}

impl Oltp<'_> {
    /// Fills the table.
    pub fn load(&self) {
        let (setup, _) = self.cell("read_write", 1, 1);
        job::perform(&setup, &place(), Task::Load);
    }

    /// Runs a test for so many seconds.
    pub fn run(&self, test: &str, clients: usize, seconds: u32) -> Work {
        let (setup, drive) = self.cell(test, clients, seconds);
        driven::to_work(&driven::drive(&setup, &place(), &drive))
    }

    /// How a test is set up, and its clients driven.
    fn cell(&self, test: &str, clients: usize, seconds: u32) -> (Setup, Drive) {
        let Self { socket, storage, durability, scale, folder } = self;
        let socket = socket.display();
        let engine = format!("mysql://root@localhost/bakeoff?socket={socket}#{storage}");
        let keys = [
            ("workload", "\"oltp\"".into()),
            ("durability", format!("\"{}\"", durability.name())),
            ("scale", format!("\"{scale}\"")),
            ("test", format!("\"{test}\"")),
            ("clients", clients.to_string()),
            ("seconds", seconds.to_string()),
        ];
        job::cell(folder, Some(&engine), &keys)
    }
}

/// The server's own files are nobody's business here; tables of a job before may be used again.
fn place() -> TargetPlace {
    TargetPlace { reuse: true, ..TargetPlace::default() }
}
