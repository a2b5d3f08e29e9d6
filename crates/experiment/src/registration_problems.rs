//! Errors in the names that were registered.

use bakeoff_engines::DEFAULT;

use crate::factor::OptionFactor;
use crate::options::HOLDERS;
use crate::{Declared, Factor, Vocabulary, WorkloadNames, keys};

impl Vocabulary {
    /// Factors that an experiment couldn't name, or could name in two ways.
    pub fn find_problems(&self) -> Vec<String> {
        let declared =
            HOLDERS.iter().flat_map(|factor| self.option_holders(*factor).declared_options());
        let names = declared.filter_map(|option| option_problem(&option));
        let options = self.engines.options().filter(|option| option.default != DEFAULT);
        let options = names.chain(options.filter_map(default_problem));
        let workloads = self.workloads.iter().flat_map(workload_problems);
        workloads.chain(options).collect()
    }
}

fn workload_problems(workload: &WorkloadNames) -> Vec<String> {
    let name = &workload.name;
    let mut problems = Vec::new();
    if workload.factors.is_empty() {
        problems.push(format!("the workload `{name}` has no factor"));
    }
    if workload.has_factor(Factor::SCALE) && workload.scales.is_empty() {
        problems.push(format!("the workload `{name}` has the factor `scale`, and no scale"));
    }
    let of_cuts = workload.cut_by.as_ref().map(|by| {
        let [subject, level] = by.promise;
        [subject, level, Factor::DISK, Factor::CLIENTS]
    });
    let lacking = of_cuts.into_iter().flatten().find(|factor| !workload.has_factor(*factor));
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

fn option_problem(option: &OptionFactor) -> Option<String> {
    let wrong = name_problem(&option.name)?;
    let by = option.declared_by.first()?;
    Some(format!("{wrong}: the {} `{}` declares it; rename it there", by.of, by.name))
}
