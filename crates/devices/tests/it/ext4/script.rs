//! Scripts of calls of the file system, line by line: `[LABEL:] [FILE.]CALL ARGUMENTS -> ANSWER`.
//!
//! The answer is what the call asks of the device: steps of requests as letters and KiB (`w40 w12+r4 f`),
//! each after the labels of the work that it waits for (`(a)w12`). Without an answer it must ask for
//! nothing. Work with a label is under way until `end LABEL`; other work is done at once. Work of the file
//! system's own has behind it what it makes durable: `w4 f; 7 names`.

use std::collections::HashMap;

use bakeoff_devices::device::{DeviceRequest, Nanos, RequestKind};
use bakeoff_devices::ext4::{
    Background, DeviceWork, Durable, Ext4, Ext4MountOptions, Mode, SyncScope,
};
use bakeoff_devices::models::Models;

use super::{KIB, MIB, SECOND};

/// The file of a call that names none.
pub const FILE: u64 = 7;

pub struct Script {
    pub ext4: Ext4,
    now: Nanos,
    under_way: HashMap<String, DeviceWork>,
}

/// Runs a script on a file system with these parameters, as of a model: `data=journal/barrier=0`.
pub fn check(parameters: &str, script: &str) -> Script {
    let journal = Models::standard().parse(&format!("null/{parameters}")).unwrap().file_system();
    check_with(Ext4MountOptions { journal, ..Ext4MountOptions::default() }, script)
}

pub fn check_with(options: Ext4MountOptions, script: &str) -> Script {
    let mut it = Script { ext4: Ext4::new(options), now: 0, under_way: HashMap::new() };
    let mut wrong = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let (call, expected) = line.split_once("->").unwrap_or((line, ""));
        let answer = it.call(call.trim());
        if answer != expected.trim() {
            wrong += &format!("{line}, but {answer}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    it
}

/// `8K`, `1M`, `1M+4K+100`.
fn bytes(text: &str) -> u64 {
    let part = |part: &str| match part.split_at(part.len() - 1) {
        (number, "K") => number.parse::<u64>().unwrap() * KIB,
        (number, "M") => number.parse::<u64>().unwrap() * MIB,
        _ => part.parse().unwrap(),
    };
    text.split('+').map(part).sum()
}

impl Script {
    pub fn call(&mut self, call: &str) -> String {
        let (label, call) =
            call.split_once(": ").map_or((None, call), |(label, call)| (Some(label), call));
        let (file, call) = call
            .split_once('.')
            .map_or((FILE, call), |(file, call)| (file.parse().expect("a file"), call));
        let words: Vec<&str> = call.split(' ').collect();
        let number = |at: usize| bytes(words[at]);
        let (now, ext4) = (self.now, &mut self.ext4);
        let work = match words[0] {
            "write" => ext4.write(now, file, number(1), number(2), Mode::Buffered, None),
            "osync" => {
                let sync = Some(SyncScope::Data);
                ext4.write(now, file, number(1), number(2), Mode::Buffered, sync)
            }
            "direct" => {
                let sync = words.get(3).map(|sync| match *sync {
                    "data" => SyncScope::Data,
                    _ => SyncScope::All,
                });
                ext4.write(now, file, number(1), number(2), Mode::Direct, sync)
            }
            "datasync" => ext4.sync_file(now, file, SyncScope::Data),
            "fsync" => ext4.sync_file(now, file, SyncScope::All),
            "syncdir" => ext4.sync_dir(now),
            "read" => ext4.read(file, number(1), number(2)),
            "tick" => return ext4.tick(now).map_or_else(String::new, |it| self.own(label, it)),
            "settle" => {
                return ext4.settle_all(now).map_or_else(String::new, |it| self.own(label, it));
            }
            _ => return self.tell(file, &words),
        };
        self.print(label, work)
    }

    /// Calls that ask for nothing, and questions.
    fn tell(&mut self, file: u64, words: &[&str]) -> String {
        let number = |at: usize| bytes(words[at]);
        let (now, ext4) = (self.now, &mut self.ext4);
        match words[0] {
            "adopt" => ext4.adopt_file(file, number(1)),
            "punch" => ext4.punch_hole(now, file, number(1), number(2)),
            "allocate" => ext4.allocate_blocks(now, file, number(1), number(2)),
            "truncate" => ext4.truncate(now, file, number(1)),
            "remove" => ext4.remove_file(now, file),
            "rename" => ext4.names_changed(now, &[file]),
            "names" => ext4.names_changed(now, &[]),
            "failsync" => ext4.fail_sync(file),
            "at" => self.now = number(1) * SECOND,
            "end" => ext4.finish_work(self.under_way[words[1]].ticket),
            "wait" => return self.wait(number(1)),
            "dirty" => return format!("{}K", ext4.dirty_bytes() / KIB),
            "next" => return ext4.next_tick().map_or("never".to_owned(), |at| seconds(at, now)),
            // Of data and of the journal.
            "written" => {
                let (data, journal) =
                    (ext4.counts().all.device_writes.bytes, ext4.counts().journal);
                return format!("{}K {}K", data / KIB, journal.bytes / KIB);
            }
            "counts" => {
                let counts = ext4.counts();
                return format!("{} commits {} flushes", counts.commits, counts.flushes);
            }
            "same" => {
                let commits = |at: usize| self.under_way[words[at]].ticket.commits;
                assert!(commits(1).is_some() && commits(1) == commits(2), "{words:?}");
            }
            other => panic!("no call {other}"),
        }
        String::new()
    }

    /// All that is due for so many seconds, each done at once: `6s w24 f w4 f; names | 31s …`.
    fn wait(&mut self, for_seconds: u64) -> String {
        let until = self.now + for_seconds * SECOND;
        let mut all = Vec::new();
        while let Some(at) = self.ext4.next_tick().filter(|at| *at <= until) {
            if let Some(own) = self.ext4.tick(at) {
                all.push(format!("{} {}", seconds(at, 0), self.own(None, own)));
            }
        }
        self.now = until;
        all.join(" | ")
    }

    fn own(&mut self, label: Option<&str>, Background { work, durable }: Background) -> String {
        let name = |durable: Durable| match durable {
            Durable::File(file) => file.to_string(),
            Durable::Names => "names".to_owned(),
        };
        let durable: Vec<String> = durable.into_iter().map(name).collect();
        let work = self.print(label, work);
        if durable.is_empty() { work } else { format!("{work}; {}", durable.join(" ")) }
    }

    fn print(&mut self, label: Option<&str>, work: DeviceWork) -> String {
        let letter = |request: &DeviceRequest| match request.kind {
            RequestKind::Read => format!("r{}", request.length / KIB),
            RequestKind::Write => format!("w{}", request.length / KIB),
            RequestKind::WriteThrough => format!("t{}", request.length / KIB),
            RequestKind::Flush => "f".to_owned(),
        };
        let step = |place: usize| {
            let waits = work.waits.iter().filter(|(before, _)| *before == place);
            let under_way = || self.under_way.iter();
            let of = |number| under_way().find(|(_, it)| it.ticket.number == number);
            let waits = waits.map(|(_, number)| *number).map(of);
            let waits: String = waits.map(|it| format!("({})", it.expect("a label").0)).collect();
            let requests = work.steps.get(place).map(|step| step.iter().map(letter));
            let requests: Vec<String> = requests.into_iter().flatten().collect();
            waits + &requests.join("+")
        };
        let steps: Vec<String> = (0..=work.steps.len()).map(step).collect();
        match label {
            Some(label) => drop(self.under_way.insert(label.to_owned(), work)),
            None => self.ext4.finish_work(work.ticket),
        }
        steps.join(" ").trim().to_owned()
    }
}

/// A moment in seconds; `now` where it is that.
fn seconds(at: Nanos, now: Nanos) -> String {
    if at == now { "now".to_owned() } else { format!("{}s", at / SECOND) }
}
