//! A file system that is obviously right: every act since the start in a list, each durable or
//! not, and every state made by doing some of them from the beginning.

use std::collections::{BTreeMap, HashSet};

use bakeoff_devices::plug::{Ino, NodeKind, SECTOR};

pub const ROOT: Ino = 1;

/// What one act does to one name.
#[derive(Clone, Debug)]
pub struct Step {
    pub dir: Ino,
    pub name: String,
    pub before: Option<Ino>,
    pub after: Option<Ino>,
}

/// One act of an application.
#[derive(Clone, Debug)]
pub enum Act {
    Write { ino: Ino, offset: usize, bytes: Vec<u8> },
    Truncate { ino: Ino, old: usize, new: usize },
    Names { steps: Vec<Step>, made: Option<NodeKind> },
    Mode { ino: Ino, mode: u32 },
}

impl Act {
    /// The file whose bytes it changes.
    pub fn edits(&self) -> Option<Ino> {
        match self {
            Self::Write { ino, .. } | Self::Truncate { ino, .. } => Some(*ino),
            _ => None,
        }
    }

    pub fn steps(&self) -> &[Step] {
        if let Self::Names { steps, .. } = self { steps } else { &[] }
    }

    /// Whether it changes the attributes of this.
    pub fn is_of(&self, it: Ino) -> bool {
        matches!(self, Self::Mode { ino, .. } if *ino == it)
    }

    /// Whether it changes names of this, or its attributes.
    pub fn concerns(&self, it: Ino) -> bool {
        self.is_of(it) || self.steps().iter().any(|s| s.before == Some(it) || s.after == Some(it))
    }
}

/// A state of the file system. Things stay in it when their last name is gone.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub files: BTreeMap<Ino, Vec<u8>>,
    pub dirs: BTreeMap<Ino, BTreeMap<String, Ino>>,
    pub modes: BTreeMap<Ino, u32>,
}

/// What is seen of a world: for each path the number, the permissions, and a file's bytes.
pub type Picture = BTreeMap<String, (Ino, u32, Option<Vec<u8>>)>;

impl World {
    pub fn new() -> Self {
        let mut world = Self::default();
        world.dirs.insert(ROOT, BTreeMap::new());
        world.modes.insert(ROOT, 0o755);
        world
    }

    pub fn apply(&mut self, act: &Act) {
        match act {
            Act::Write { ino, offset, bytes } => {
                let file = self.files.entry(*ino).or_default();
                let end = offset + bytes.len();
                file.resize(file.len().max(end), 0);
                file[*offset..end].copy_from_slice(bytes);
            }
            Act::Truncate { ino, new, .. } => {
                self.files.entry(*ino).or_default().resize(*new, 0);
            }
            Act::Names { steps, made } => self.apply_names(steps, made.as_ref()),
            Act::Mode { ino, mode } => {
                self.modes.insert(*ino, *mode);
            }
        }
    }

    /// Something is there, without a name.
    fn make(&mut self, ino: Ino, kind: &NodeKind) {
        self.modes.entry(ino).or_insert(0o755);
        if *kind == NodeKind::File {
            self.files.entry(ino).or_default();
        }
    }

    fn apply_names(&mut self, steps: &[Step], made: Option<&NodeKind>) {
        if let (Some(kind), Some(ino)) = (made, steps[0].after) {
            self.make(ino, kind);
            if *kind == NodeKind::Directory {
                self.dirs.entry(ino).or_default();
            }
        }
        for step in steps {
            let dir = self.dirs.get_mut(&step.dir).expect("the directory is there");
            assert_eq!(dir.get(&step.name), step.before.as_ref(), "acts on what it found");
            match step.after {
                Some(ino) => dir.insert(step.name.clone(), ino),
                None => dir.remove(&step.name),
            };
        }
    }

    /// All paths and what they stand for; every directory is met once, every thing named lies in
    /// this tree.
    pub fn tree(&self) -> BTreeMap<String, Ino> {
        let mut tree = BTreeMap::new();
        let mut to_visit = vec![(String::new(), ROOT)];
        while let Some((path, ino)) = to_visit.pop() {
            for (name, entry) in self.dirs.get(&ino).into_iter().flatten() {
                to_visit.push((format!("{path}/{name}"), *entry));
            }
            assert!(tree.insert(path, ino).is_none() && tree.len() < 1000, "a tree, no circle");
        }
        tree
    }

    pub fn picture(&self) -> Picture {
        let seen = |ino| (ino, self.modes[&ino], self.files.get(&ino).cloned());
        self.tree().into_iter().map(|(path, ino)| (path, seen(ino))).collect()
    }
}

/// What became of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pending,
    Durable,
    /// A sync failed on it.
    Lost,
}

/// All acts, in order, and what became of them.
#[derive(Default)]
pub struct History {
    pub acts: Vec<(Act, Fate)>,
}

impl History {
    /// The state on the device when some of the acts reached it; of a file's bytes, each brought
    /// the sectors that it touches as they were in memory.
    pub fn world(&self, mut included: impl FnMut(usize, &Act, Fate) -> bool) -> World {
        let (mut world, mut memory) = (World::new(), World::new());
        // A file whose first name was lost may have another one.
        for (act, _) in &self.acts {
            if let Act::Names { steps, made: Some(kind) } = act {
                world.make(steps[0].after.expect("made"), kind);
            }
        }
        for (number, (act, fate)) in self.acts.iter().enumerate() {
            if let Some(ino) = act.edits() {
                memory.apply(act);
                if included(number, act, *fate) {
                    redo(world.files.entry(ino).or_default(), act, &memory.files[&ino]);
                }
            } else if included(number, act, *fate) {
                world.apply(act);
            }
        }
        world
    }

    /// The same history with another act in the place of one.
    pub fn with_act(&self, number: usize, act: Act) -> Self {
        let mut acts = self.acts.clone();
        acts[number].0 = act;
        Self { acts }
    }

    /// The tree of names alone.
    pub fn tree(&self, mut included: impl FnMut(usize, Fate) -> bool) -> BTreeMap<String, Ino> {
        let mut world = World::new();
        for (number, (act, fate)) in self.acts.iter().enumerate() {
            if !act.steps().is_empty() && included(number, *fate) {
                world.apply(act);
            }
        }
        world.tree()
    }

    /// Everything that was ever made.
    pub fn things(&self) -> impl Iterator<Item = Ino> {
        let made = |act: &Act| match act {
            Act::Names { steps, made: Some(_) } => steps[0].after,
            _ => None,
        };
        self.acts.iter().filter_map(move |(act, _)| made(act))
    }

    pub fn pending(&self, wanted: impl Fn(&Act) -> bool) -> Vec<usize> {
        let acts = self.acts.iter().enumerate();
        let is_pending = |act: &Act, fate| fate == Fate::Pending && wanted(act);
        acts.filter(|(_, (act, fate))| is_pending(act, *fate)).map(|(n, _)| n).collect()
    }

    /// Makes the bytes and the size of a file durable.
    pub fn sync_bytes(&mut self, ino: Ino, before: usize) {
        for number in self.pending(|act| act.edits() == Some(ino)) {
            if number < before {
                self.acts[number].1 = Fate::Durable;
            }
        }
    }

    /// Makes all durable that is pending.
    pub fn settle(&mut self) {
        for number in self.pending(|_| true) {
            self.acts[number].1 = Fate::Durable;
        }
    }

    /// A sync of a file fails: its writes are lost.
    pub fn fail_sync(&mut self, ino: Ino, before: usize) {
        for number in self.pending(|act| matches!(act, Act::Write { ino: it, .. } if *it == ino)) {
            if number < before {
                self.acts[number].1 = Fate::Lost;
            }
        }
    }

    /// Makes acts on names and attributes durable, and whatever they depend on.
    pub fn sync_names(&mut self, before: usize, wanted: impl Fn(&Act) -> bool) {
        let mut todo = self.pending(|act| act.edits().is_none() && wanted(act));
        todo.retain(|number| *number < before);
        while let Some(number) = todo.pop() {
            self.acts[number].1 = Fate::Durable;
            todo.extend(
                (0..number)
                    .filter(|j| self.acts[*j].1 == Fate::Pending && self.depends(number, *j)),
            );
        }
    }

    fn is_dir(&self, it: Ino) -> bool {
        self.acts.iter().any(|(act, _)| {
            let Act::Names { steps, made: Some(NodeKind::Directory) } = act else { return false };
            steps[0].after == Some(it)
        })
    }

    /// Whether the act on names `k` can't be without the earlier one `j`.
    pub fn depends(&self, k: usize, j: usize) -> bool {
        let (later, earlier) = (&self.acts[k].0, &self.acts[j].0);
        let moves_dir = |act: &Act| {
            matches!(act, Act::Names { made: None, steps } if steps.len() == 2
                && steps.iter().filter_map(|s| s.after).any(|ino| self.is_dir(ino)))
        };
        if moves_dir(later) && moves_dir(earlier) {
            return true;
        }
        let makes = matches!(earlier, Act::Names { made: Some(NodeKind::Directory), .. });
        later.steps().iter().any(|s| {
            let ends_dir = s.before.filter(|ino| {
                self.is_dir(*ino) && later.steps().iter().all(|other| other.after != Some(*ino))
            });
            earlier.steps().iter().any(|e| {
                (s.dir, &s.name) == (e.dir, &e.name)
                    || (makes && e.after == Some(s.dir))
                    || ends_dir == Some(e.dir)
                    || (s.before.is_some() && s.before == e.after)
            })
        })
    }

    /// Every tree of names that a power cut may leave: each set of pending acts that has with
    /// every act those that it depends on.
    pub fn allowed_trees(&self) -> HashSet<BTreeMap<String, Ino>> {
        let pending = self.pending(|act| !act.steps().is_empty());
        let mut trees = HashSet::new();
        for set in 0..1_u32 << pending.len() {
            let has = |number| {
                pending.iter().position(|p| *p == number).is_some_and(|bit| set >> bit & 1 == 1)
            };
            let whole = pending.iter().filter(|k| has(**k)).all(|k| {
                pending.iter().take_while(|j| *j < k).all(|j| has(*j) || !self.depends(*k, *j))
            });
            if whole {
                trees.insert(self.tree(|n, fate| fate == Fate::Durable || has(n)));
            }
        }
        trees
    }

    /// A file's bytes after what is durable, then in memory after each pending act.
    pub fn states(&self, ino: Ino) -> Vec<Vec<u8>> {
        let durable = self.world(|_, _, fate| fate == Fate::Durable);
        let mut states = vec![durable.files.get(&ino).cloned().unwrap_or_default()];
        let mut memory = World::new();
        for (act, fate) in self.acts.iter().filter(|(act, _)| act.edits() == Some(ino)) {
            memory.apply(act);
            if *fate == Fate::Pending {
                states.push(memory.files[&ino].clone());
            }
        }
        states
    }

    /// Every content that a power cut may leave of a file when no write is torn: of each set of
    /// pending acts, within what sizes depend on, every act brings the sectors that it touches as
    /// they were right after it. Where pages may be missing, a truncation may set the size alone.
    pub fn allowed_contents(&self, ino: Ino, missing: bool) -> HashSet<Vec<u8>> {
        let acts: Vec<&Act> =
            self.pending(|a| a.edits() == Some(ino)).iter().map(|n| &self.acts[*n].0).collect();
        let states = self.states(ino);
        let sets = 0..1_u32 << acts.len();
        let truncates = |n: usize| missing && matches!(acts[n], Act::Truncate { .. });
        let may_be_bare = (0..acts.len()).filter(|n| truncates(*n)).map(|n| 1 << n).sum::<u32>();
        let bare = sets.clone().filter(|bare| bare & !may_be_bare == 0);
        let pairs = bare.flat_map(|bare| sets.clone().map(move |set| (set, bare)));
        let mut contents = HashSet::new();
        for (set, bare) in pairs.filter(|(set, bare)| bare & !set == 0) {
            if sizes_in_order(&acts, set) {
                let mut image = states[0].clone();
                for (number, act) in acts.iter().enumerate().filter(|(n, _)| set >> n & 1 == 1) {
                    match act {
                        Act::Truncate { new, .. } if bare >> number & 1 == 1 => {
                            image.resize(*new, 0);
                        }
                        _ => redo(&mut image, act, &states[number + 1]),
                    }
                }
                contents.insert(image);
            }
        }
        contents
    }
}

/// Whether no act is in the set that depends on a truncation that is not.
fn sizes_in_order(acts: &[&Act], set: u32) -> bool {
    (0..acts.len()).filter(|k| set >> k & 1 == 1).all(|k| {
        (0..k).filter(|j| set >> j & 1 == 0).all(|j| {
            let Act::Truncate { old, new, .. } = acts[j] else { return true };
            let depends = match acts[k] {
                Act::Write { offset, bytes, .. } => offset + bytes.len() > *new,
                _ => true,
            };
            new >= old || !depends
        })
    })
}

fn redo(image: &mut Vec<u8>, act: &Act, after: &[u8]) {
    let sector = SECTOR as usize;
    let (start, end) = match act {
        Act::Write { offset, bytes, .. } => (*offset, offset + bytes.len()),
        Act::Truncate { new, .. } => {
            image.resize(*new, 0);
            (*new, *new)
        }
        _ => unreachable!("only bytes and sizes"),
    };
    let (start, end) = (start / sector * sector, end.next_multiple_of(sector));
    image.resize(image.len().max(end.min(after.len())), 0);
    let end = end.min(image.len());
    let there = start.min(after.len())..end.min(after.len());
    image[start..end].fill(0);
    image[start..start + there.len()].copy_from_slice(&after[there]);
}
