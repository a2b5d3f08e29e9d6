//! Random histories: commands that mean something in any state.

use proptest::prelude::*;

/// A command. Numbers choose among what there is, modulo how much there is.
#[derive(Clone, Debug)]
pub enum Command {
    Write {
        file: usize,
        offset: usize,
        length: usize,
    },
    Punch {
        file: usize,
        offset: usize,
        length: usize,
    },
    Truncate {
        file: usize,
        size: usize,
        kept: bool,
    },
    Create {
        dir: usize,
        name: usize,
        kind: usize,
    },
    Link {
        file: usize,
        dir: usize,
        name: usize,
    },
    Remove {
        entry: usize,
    },
    Rename {
        entry: usize,
        dir: usize,
        name: usize,
    },
    Exchange {
        a: usize,
        b: usize,
    },
    Chmod {
        thing: usize,
        mode: u32,
    },
    /// A sync begins; `Sync…` with `late` count from here.
    Begin,
    SyncFile {
        file: usize,
        late: bool,
    },
    FailSync {
        file: usize,
        late: bool,
    },
    SyncDir {
        dir: usize,
        late: bool,
    },
    Commit {
        late: bool,
    },
    Expire {
        file: usize,
        late: bool,
    },
}

pub fn commands() -> impl Strategy<Value = Vec<Command>> {
    let n = || 0..64_usize;
    let late = any::<bool>;
    // Half of the offsets and lengths in whole pages or sectors, as databases have them.
    let place = || prop_oneof![0..9000_usize, (0..18_usize).prop_map(|n| n * 512)];
    let length = || prop_oneof![1..3000_usize, (1..3_usize).prop_map(|n| n * 4096)];
    let command = prop_oneof![
        6 => (n(), place(), length())
            .prop_map(|(file, offset, length)| Command::Write { file, offset, length }),
        1 => (n(), place(), length())
            .prop_map(|(file, offset, length)| Command::Punch { file, offset, length }),
        3 => (n(), place(), any::<bool>())
            .prop_map(|(file, size, kept)| Command::Truncate { file, size, kept }),
        5 => (n(), n(), n()).prop_map(|(dir, name, kind)| Command::Create { dir, name, kind }),
        1 => (n(), n(), n()).prop_map(|(file, dir, name)| Command::Link { file, dir, name }),
        2 => n().prop_map(|entry| Command::Remove { entry }),
        4 => (n(), n(), n()).prop_map(|(entry, dir, name)| Command::Rename { entry, dir, name }),
        1 => (n(), n()).prop_map(|(a, b)| Command::Exchange { a, b }),
        1 => (n(), 0..0o77_u32)
            .prop_map(|(thing, mode)| Command::Chmod { thing, mode: 0o700 | mode }),
        1 => Just(Command::Begin),
        2 => (n(), late()).prop_map(|(file, late)| Command::SyncFile { file, late }),
        1 => (n(), late()).prop_map(|(file, late)| Command::FailSync { file, late }),
        1 => (n(), late()).prop_map(|(dir, late)| Command::SyncDir { dir, late }),
        1 => late().prop_map(|late| Command::Commit { late }),
        1 => (n(), late()).prop_map(|(file, late)| Command::Expire { file, late }),
    ];
    prop::collection::vec(command, 1..60)
}
