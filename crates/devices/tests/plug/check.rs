//! Holds images against what the model allows.

use std::collections::{BTreeMap, HashMap, HashSet};

use bakeoff_devices::ext4::DataMode;
use bakeoff_devices::plug::{Ino, Keep, Metadata, PAGE, SECTOR};

use crate::driver::Driver;
use crate::model::{Act, Fate, History, Picture};
use crate::seen::picture;

/// What a power cut may leave after some history.
pub struct Allowed {
    durable: Picture,
    prefixes: Vec<Picture>,
    /// Prefixes of which the last write ends between two of its pages.
    torn: Vec<Picture>,
    trees: HashSet<BTreeMap<String, Ino>>,
    /// Where names are one log: the names with their permissions after each prefix of it.
    log: Option<Vec<BTreeMap<String, (Ino, u32)>>>,
    contents: HashMap<Ino, HashSet<Vec<u8>>>,
    states: HashMap<Ino, Vec<Vec<u8>>>,
    modes: HashMap<Ino, HashSet<u32>>,
    /// Files of which a sync failed.
    failed: HashSet<Ino>,
}

impl Allowed {
    pub fn of(driver: &Driver) -> Self {
        let history = &driver.history;
        let pending = history.pending(|_| true);
        let prefix = |kept: usize| {
            let kept = &pending[..kept];
            history.world(|n, _, fate| fate == Fate::Durable || kept.contains(&n)).picture()
        };
        let durable = history.world(|_, _, fate| fate == Fate::Durable);
        let mut modes: HashMap<Ino, HashSet<u32>> = HashMap::new();
        for (ino, mode) in
            &history.world(|_, act, fate| fate == Fate::Durable || !act.steps().is_empty()).modes
        {
            modes.entry(*ino).or_default().insert(*mode);
        }
        for (act, _) in history.acts.iter().filter(|(_, fate)| *fate == Fate::Pending) {
            if let Act::Mode { ino, mode } = act {
                modes.entry(*ino).or_default().insert(*mode);
            }
        }
        let ordered = driver.promises.0 == Metadata::Ordered;
        let files: Vec<Ino> = driver.store.0.keys().copied().collect();
        Self {
            durable: durable.picture(),
            prefixes: (0..=pending.len()).map(prefix).collect(),
            torn: torn_prefixes(history),
            trees: history.allowed_trees(),
            log: ordered.then(|| logs(history)),
            contents: files
                .iter()
                .map(|ino| (*ino, history.allowed_contents(*ino, ordered)))
                .collect(),
            states: files.iter().map(|ino| (*ino, history.states(*ino))).collect(),
            modes,
            failed: history
                .acts
                .iter()
                .filter(|(_, fate)| *fate == Fate::Lost)
                .filter_map(|(act, _)| act.edits())
                .collect(),
        }
    }
}

/// What prefixes leave of which the last write ends between two of its pages.
fn torn_prefixes(history: &History) -> Vec<Picture> {
    let pending = history.pending(|_| true);
    let mut torn = Vec::new();
    for (kept, last) in (0..).zip(&pending) {
        let Act::Write { ino, offset, bytes } = &history.acts[*last].0 else { continue };
        let pages = (offset / PAGE as usize + 1)..(offset + bytes.len()).div_ceil(PAGE as usize);
        for end in pages.map(|page| page * PAGE as usize) {
            let bytes = bytes[..end - offset].to_vec();
            let act = Act::Write { ino: *ino, offset: *offset, bytes };
            let cut = history.with_act(*last, act);
            let world =
                cut.world(|n, _, fate| fate == Fate::Durable || pending[..=kept].contains(&n));
            torn.push(world.picture());
        }
    }
    torn
}

/// What each prefix of the log of names and attributes leaves.
fn logs(history: &History) -> Vec<BTreeMap<String, (Ino, u32)>> {
    let log = history.pending(|act| act.edits().is_none());
    let prefix = |kept: usize| {
        let kept = &log[..kept];
        let world = history.world(|n, _, fate| fate == Fate::Durable || kept.contains(&n));
        names(&world.picture())
    };
    (0..=log.len()).map(prefix).collect()
}

fn names(picture: &Picture) -> BTreeMap<String, (Ino, u32)> {
    picture.iter().map(|(path, (ino, mode, _))| (path.clone(), (*ino, *mode))).collect()
}

fn left(driver: &Driver, keep: Keep, seed: u64) -> Result<Picture, String> {
    let image =
        driver.pending.state().image(keep, seed, &driver.store).map_err(|e| e.to_string())?;
    picture(&image, &driver.store)
}

/// Cuts the power and looks at what is left.
pub fn image(driver: &Driver, allowed: &Allowed, keep: Keep, seed: u64) -> Result<(), String> {
    let seen = left(driver, keep, seed)?;
    if left(driver, keep, seed)? != seen {
        return Err("the same seed gives another image".into());
    }
    let is_prefix = allowed.prefixes.contains(&seen);
    match (keep, driver.promises.1) {
        (Keep::DropAll, _) if seen != allowed.durable => Err("not what is durable".into()),
        (Keep::DropAll, _) => Ok(()),
        (Keep::Torn, DataMode::Journal) if allowed.torn.contains(&seen) => Ok(()),
        (_, DataMode::Journal) | (Keep::Prefix, DataMode::Ordered) if !is_prefix => {
            Err("no prefix".into())
        }
        (_, DataMode::Journal) | (Keep::Prefix, DataMode::Ordered) => Ok(()),
        // What lay in new blocks may be anything.
        (_, DataMode::Writeback) => some(allowed, Keep::Prefix, &seen),
        (_, DataMode::Ordered) => some(allowed, keep, &seen),
    }
}

/// Seeds by which each image of three pending acts is met: none is rarer than 1 in 12.
const SEEDS: u64 = 250;

/// Whether all that is allowed is met by some seed. Which new pages fall with others is not looked
/// at.
pub fn all_is_met(driver: &Driver, allowed: &Allowed) -> Result<(), String> {
    let one_log = driver.promises.1 == DataMode::Journal;
    for keep in [Keep::Prefix, Keep::Subset, Keep::Torn] {
        let seen: Vec<Picture> =
            (0..SEEDS).map(|seed| left(driver, keep, seed)).collect::<Result<_, _>>()?;
        let missed = |of: &[Picture]| of.iter().find(|it| !seen.contains(it)).cloned();
        let mut never = None;
        if keep == Keep::Prefix || one_log {
            never = missed(&allowed.prefixes);
        }
        if keep == Keep::Torn && one_log {
            never = never.or_else(|| missed(&allowed.torn));
        }
        if let Some(never) = never {
            return Err(format!("{keep} never leaves {:?}", names(&never)));
        }
        if keep == Keep::Subset && !one_log {
            all_sets_are_met(allowed, &seen)?;
        }
    }
    Ok(())
}

fn all_sets_are_met(allowed: &Allowed, seen: &[Picture]) -> Result<(), String> {
    if let Some(log) = &allowed.log {
        let seen: HashSet<_> = seen.iter().map(names).collect();
        return match log.iter().find(|names| !seen.contains(*names)) {
            Some(names) => Err(format!("never only {names:?}")),
            None => Ok(()),
        };
    }
    let trees: HashSet<_> = seen.iter().map(tree).collect();
    if let Some(tree) = allowed.trees.iter().find(|tree| !trees.contains(*tree)) {
        return Err(format!("never the names {tree:?}"));
    }
    let mut of: HashMap<Ino, (HashSet<u32>, HashSet<Vec<u8>>)> = HashMap::new();
    for (ino, mode, bytes) in seen.iter().flat_map(Picture::values) {
        let (modes, contents) = of.entry(*ino).or_default();
        modes.insert(*mode);
        contents.extend(bytes.clone());
    }
    for (ino, (modes, contents)) in of {
        let all = allowed.contents.get(&ino).is_none_or(|all| *all == contents);
        if !all || allowed.modes[&ino] != modes {
            return Err(format!("not all that may be left of {ino} is met"));
        }
    }
    Ok(())
}

fn tree(picture: &Picture) -> BTreeMap<String, Ino> {
    picture.iter().map(|(path, (ino, ..))| (path.clone(), *ino)).collect()
}

fn some(allowed: &Allowed, keep: Keep, seen: &Picture) -> Result<(), String> {
    let tree = tree(seen);
    if !allowed.trees.contains(&tree) {
        return Err(format!("no tree that may be left: {tree:?}"));
    }
    if allowed.log.as_ref().is_some_and(|log| !log.contains(&names(seen))) {
        return Err(format!("no prefix of the log of names: {tree:?}"));
    }
    for (path, (ino, mode, bytes)) in seen {
        if !allowed.modes[ino].contains(mode) {
            return Err(format!("{path} has mode {mode:o}"));
        }
        let Some(bytes) = bytes.as_ref().filter(|_| keep != Keep::Prefix) else { continue };
        if keep == Keep::Subset && !allowed.contents[ino].contains(bytes) {
            return Err(format!("{path} holds what no set of writes leaves"));
        }
        if allowed.log.is_some() && !allowed.failed.contains(ino) {
            new_pages(&allowed.states[ino], bytes).map_err(|error| format!("{path}: {error}"))?;
        }
        if keep == Keep::Torn {
            let ordered = allowed.log.is_some();
            sectors(&allowed.states[ino], bytes, ordered)
                .map_err(|error| format!("{path}: {error}"))?;
        }
    }
    Ok(())
}

/// Every sector holds what it held at some moment since the last sync; up to where the file then
/// or later ended, where an end may be set over a page that misses something.
fn sectors(states: &[Vec<u8>], bytes: &[u8], set_alone: bool) -> Result<(), String> {
    let sector = SECTOR as usize;
    let largest = states.iter().map(Vec::len).max().unwrap_or(0);
    if bytes.len() > largest {
        return Err(format!("{} bytes, never more than {largest}", bytes.len()));
    }
    let was_size = states.iter().any(|state| state.len() == bytes.len());
    if !was_size && !bytes.len().is_multiple_of(sector) {
        return Err(format!("ends at {}", bytes.len()));
    }
    for (number, found) in bytes.chunks(sector).enumerate() {
        let at = |state: &Vec<u8>, at: usize| state.get(at).copied().unwrap_or(0);
        let was = |state, end| {
            let places = (0..found.len()).map(|n| (n, number * sector + n));
            places.into_iter().all(|(n, it)| found[n] == if it < end { at(state, it) } else { 0 })
        };
        let sizes = states.iter().map(Vec::len).filter(|_| set_alone);
        let ends: Vec<usize> = sizes.chain([usize::MAX]).collect();
        if !states.iter().any(|state| ends.iter().any(|end| was(state, *end))) {
            return Err(format!("sector {number} never held this"));
        }
    }
    Ok(())
}

/// Every page past the durable end holds what it held at some moment since the last sync, up to
/// where the file then or later ended; or zeros.
fn new_pages(states: &[Vec<u8>], bytes: &[u8]) -> Result<(), String> {
    let page = PAGE as usize;
    let first = states[0].len().div_ceil(page);
    for (number, found) in bytes.chunks(page).enumerate().skip(first) {
        let was = |state: &[u8], end: usize| {
            let held = state.get(number * page..end.min(state.len())).unwrap_or_default();
            let length = found.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let held = &held[..held.len().min(page)];
            let filled = held.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            held[..filled] == found[..length]
        };
        let sizes = || states.iter().map(Vec::len).chain([0, bytes.len()]);
        if !states.iter().any(|state| sizes().any(|end| was(state, end))) {
            return Err(format!("the new page {number} never was like this"));
        }
    }
    Ok(())
}

/// What has a name that may show is held, and nothing else.
pub fn held(driver: &Driver) -> Result<(), String> {
    let history = &driver.history;
    let durable = history.tree(|_, fate| fate == Fate::Durable);
    let pending = history.pending(|act| act.edits().is_none());
    for ino in history.things() {
        let needed = durable.values().any(|named| *named == ino)
            || pending.iter().any(|number| history.acts[*number].0.concerns(ino));
        if driver.pending.needs_content(ino) != needed {
            return Err(format!("{ino} is held: {}, needed: {needed}", !needed));
        }
        if driver.free.contains(&ino) == needed {
            return Err(format!("{ino} was given back: {needed}, needed: {needed}"));
        }
    }
    Ok(())
}

/// After a sync of everything every image is the present state but for what was lost, and no
/// memory is taken.
pub fn all_durable(driver: &Driver) -> Result<(), String> {
    let lost = driver.history.acts.iter().any(|(_, fate)| *fate == Fate::Lost);
    if driver.pending.memory_bytes() != 0 && !lost {
        return Err(format!("{} bytes with nothing pending", driver.pending.memory_bytes()));
    }
    let durable = || driver.history.world(|_, _, fate| fate == Fate::Durable).picture();
    let expected = if lost { durable() } else { driver.picture() };
    for keep in Keep::ALL {
        if left(driver, keep, 7)? != expected {
            return Err(format!("{keep} after a sync of everything: not the present state"));
        }
    }
    match driver.copies.iter().find(|copy| !driver.free.contains(copy)) {
        Some(copy) if !lost => Err(format!("the copy {copy} was not given back")),
        _ => Ok(()),
    }
}
