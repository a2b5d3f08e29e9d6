//! The modules of a crate, and which takes something from which.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Source, declared, paths, uses};

/// Where a module is: the names that lead to it from the crate's root.
type Place = Vec<String>;

/// What is known of a module.
#[derive(Default)]
struct Module {
    /// The paths that it names.
    paths: Vec<Vec<String>>,
    /// The names that it has from elsewhere, and where they lead.
    names: BTreeMap<String, Vec<String>>,
    /// The modules that it takes all from.
    all_of: Vec<Vec<String>>,
    declared: BTreeSet<String>,
}

/// The modules of a crate.
pub struct Modules(BTreeMap<Place, Module>);

/// Who takes something from whom.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

impl Modules {
    /// Of files, each by its path below `src`.
    pub fn read(files: &[(String, Source)]) -> Self {
        let places: BTreeSet<Place> = files.iter().map(|(path, _)| place(path)).collect();
        let mut modules = BTreeMap::new();
        for (path, source) in files {
            let here = place(path);
            let mut module = Module { paths: paths(&source.code), ..Module::default() };
            module.declared = declared(&source.code).into_iter().collect();
            for named in uses(&source.code) {
                let Some(first) = named.path.first() else { continue };
                let child: Place = here.iter().chain([first]).cloned().collect();
                let mut leads: Vec<String> = match first.as_str() {
                    "crate" | "super" | "self" => named.path.clone(),
                    _ if places.contains(&child) => {
                        std::iter::once("self".into()).chain(named.path.clone()).collect()
                    }
                    // Somebody else's.
                    _ => continue,
                };
                if leads.last().is_some_and(|last| last == "*") {
                    leads.pop();
                    module.all_of.push(leads);
                } else {
                    module.names.insert(named.alias, leads);
                }
            }
            modules.insert(here, module);
        }
        Self(modules)
    }

    /// For each module that has children: which of them takes something from which other one, by
    /// itself or by what stands below it. What a child has from the module above it, or that one
    /// from its children, is one subject.
    pub fn siblings(&self) -> BTreeMap<String, Graph> {
        let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
        for (from, module) in &self.0 {
            for path in &module.paths {
                let to = self.owner(from, path, 0);
                let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
                if shared < from.len() && shared < to.len() {
                    let graph = graphs.entry(from[..shared].join("::")).or_default();
                    graph.entry(from[shared].clone()).or_default().insert(to[shared].clone());
                }
            }
        }
        graphs
    }

    /// The module that declares what a path names, seen from a module.
    fn owner(&self, from: &Place, path: &[String], depth: u32) -> Place {
        let mut here = from.clone();
        for (number, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => here.clear(),
                "self" | "*" => {}
                "super" => drop(here.pop()),
                _ => {
                    here.push(name.clone());
                    if self.0.contains_key(&here) {
                        continue;
                    }
                    here.pop();
                    let Some(module) = self.0.get(&here) else { return here };
                    if depth > 8 || module.declared.contains(name) {
                        return here;
                    }
                    if let Some(leads) = module.names.get(name) {
                        let rest = path[number + 1..].iter();
                        let path: Vec<_> = leads.iter().chain(rest).cloned().collect();
                        return self.owner(&here, &path, depth + 1);
                    }
                    let all_of =
                        module.all_of.iter().map(|leads| self.owner(&here, leads, depth + 1));
                    let declares = |place: &Place| {
                        self.0.get(place).is_some_and(|module| module.declared.contains(name))
                    };
                    let mut all_of = all_of.filter(declares);
                    return all_of.next().unwrap_or(here);
                }
            }
        }
        here
    }
}

/// The module that a file below `src` holds.
fn place(path: &str) -> Place {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut place: Place = path.split('/').map(Into::into).collect();
    if matches!(&*place.join("/"), "lib" | "main") || place.last().is_some_and(|last| last == "mod")
    {
        place.pop();
    }
    place
}

/// A circle, if there is one: names of which each takes something from the next, and the last from
/// the first.
pub fn circle(graph: &Graph) -> Option<Vec<String>> {
    graph.keys().find_map(|start| {
        // The shortest way back.
        let mut ways = std::collections::VecDeque::from([vec![start.clone()]]);
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop_front() {
            for next in way.last().and_then(|last| graph.get(last)).into_iter().flatten() {
                if next == start {
                    return Some(way);
                }
                if seen.insert(next.clone()) {
                    ways.push_back(way.iter().chain([next]).cloned().collect());
                }
            }
        }
        None
    })
}
