//! What is wrong with the names that were registered.

use bakeoff_factor::DEFAULT;

use crate::options::{Declaration, HOLDERS};
use crate::{ArrivalNames, Declared, Factor, Vocabulary, WorkloadNames, keys};

impl Vocabulary {
    /// The mistakes in what was registered: an experiment could not say what a workload needs, or could
    /// say it in two ways.
    pub fn problems(&self) -> Vec<String> {
        let arrivals = self.arrivals.iter().filter_map(arrivals_problem);
        let declarations = HOLDERS.iter().flat_map(|factor| self.holders(*factor).declarations());
        let names = declarations.filter_map(|declaration| option_problem(&declaration));
        let options = self.engines.options().filter(|option| option.default != DEFAULT);
        let options = names.chain(options.filter_map(default_problem));
        let workloads = self.workloads.iter().flat_map(workload_problems);
        workloads.chain(arrivals).chain(options).collect()
    }
}

/// What would be taken for something else in a level of `rate`.
fn arrivals_problem(arrivals: &ArrivalNames) -> Option<String> {
    let name = &arrivals.name;
    let valid = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (!valid).then(|| {
        format!(
            "`{name}` can't be the name of an arrival process: it is made of letters, digits and `-`"
        )
    })
}

fn workload_problems(workload: &WorkloadNames) -> Vec<String> {
    let name = &workload.name;
    let mut problems = Vec::new();
    if workload.factors.is_empty() {
        problems.push(format!("the workload `{name}` has no factor"));
    }
    if workload.has(Factor::SCALE) && workload.scales.is_empty() {
        problems.push(format!("the workload `{name}` has the factor `scale`, and no scale"));
    }
    let of_cuts = workload.cut_by.as_ref().map(|by| {
        let [subject, level] = by.promise;
        [subject, level, Factor::DISK, Factor::CLIENTS]
    });
    let lacking = of_cuts.into_iter().flatten().find(|factor| !workload.has(*factor));
    if let Some(factor) = lacking {
        problems.push(format!("the workload `{name}` is cut, and lacks the factor `{factor}`"));
    }
    for (place, factor) in workload.factors.iter().enumerate() {
        if workload.factors[..place].contains(factor) {
            problems.push(format!(
                "two things declare the factor `{factor}` of the workload `{name}`; rename one"
            ));
        } else if let Factor::Declared(declared) = factor {
            problems.extend(declared_problem(declared));
        }
    }
    problems
}

fn declared_problem(declared: &Declared) -> Option<String> {
    name_problem(declared.name).or_else(|| default_problem(declared))
}

fn default_problem(declared: &Declared) -> Option<String> {
    let Declared { name, default, canonical, .. } = declared;
    (canonical(default).as_deref() != Ok(*default))
        .then(|| format!("the default of the factor `{name}` is not in its canonical form"))
}

/// What keeps a name from being a factor's.
fn name_problem(name: &str) -> Option<String> {
    let letters = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.is_empty() || !name.chars().all(letters) {
        return Some(format!(
            "`{name}` can't be the name of a factor: it is made of letters, digits, `-` and `_`"
        ));
    }
    let taken = Factor::OWN.iter().any(|own| own.name() == name) || keys::is_key(name);
    taken.then(|| format!("the name of the declared factor `{name}` is taken"))
}

fn option_problem(declaration: &Declaration) -> Option<String> {
    let Declaration { by, name, .. } = declaration;
    let wrong = name_problem(name)?;
    Some(format!("{wrong}: the {} `{}` declares it; rename it there", by.of, by.name))
}
