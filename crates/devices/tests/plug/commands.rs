//! Random histories: commands that mean something in any state.

use proptest::prelude::*;

/// A command. Numbers choose among what there is, modulo how much there is. A sync begins with
/// `Begin`, and those that are `late` count from there.
#[derive(Clone, Debug)]
pub enum Command {
    Write { file: usize, offset: usize, length: usize, direct: bool },
    Punch { file: usize, offset: usize, length: usize },
    Truncate { file: usize, size: usize, kept: bool },
    Create { dir: usize, name: usize, kind: usize },
    Link { file: usize, dir: usize, name: usize },
    Remove { entry: usize },
    Rename { entry: usize, dir: usize, name: usize },
    Exchange { a: usize, b: usize },
    Chmod { thing: usize, mode: u32 },
    Begin,
    SyncFile { file: usize, late: bool },
    FailSync { file: usize, late: bool },
    SyncDir { dir: usize, late: bool },
    Commit { late: bool, asked: bool },
    Expire { file: usize, late: bool },
}

pub fn commands(most: usize) -> impl Strategy<Value = Vec<Command>> {
    let n = || 0..64_usize;
    let late = any::<bool>;
    // Half of the offsets and lengths in whole pages or sectors, as databases have them.
    let place = || prop_oneof![0..9000_usize, (0..18_usize).prop_map(|n| n * 512)];
    let length = || prop_oneof![1..3000_usize, (1..3_usize).prop_map(|n| n * 4096)];
    let direct = prop::bool::weighted(0.15);
    let command = prop_oneof![
        6 => (n(), place(), length(), direct)
            .prop_map(|(file, offset, length, direct)| Command::Write { file, offset, length, direct }),
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
        1 => (late(), any::<bool>()).prop_map(|(late, asked)| Command::Commit { late, asked }),
        1 => (n(), late()).prop_map(|(file, late)| Command::Expire { file, late }),
    ];
    prop::collection::vec(command, 1..most)
}
