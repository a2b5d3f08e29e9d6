//! The built-in workloads: those that are written in Rust, and those that are folders.

use std::sync::LazyLock;

use bakeoff_workloads::{WORKLOADS, Workload};

use crate::{Application, EXAMPLES, ExampleFolder};

/// Examples that are workloads, too.
const FOLDERS: [&str; 2] = ["point", "redmine-rails"];

static APPLICATIONS: LazyLock<Vec<Application>> = LazyLock::new(|| {
    let folders = EXAMPLES.iter().filter(|example| FOLDERS.contains(&example.name));
    let compile = |example: &ExampleFolder| {
        Application::new(example.to_files()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    };
    folders.map(compile).collect()
});

/// All built-in workloads, in the order of lists.
pub fn list_built_in() -> impl Iterator<Item = &'static dyn Workload> {
    let folders = APPLICATIONS.iter().map(|application| application as &dyn Workload);
    WORKLOADS.iter().copied().chain(folders)
}

/// The built-in workload of that name.
pub fn find_built_in(name: &str) -> Option<&'static dyn Workload> {
    list_built_in().find(|workload| workload.name() == name)
}
