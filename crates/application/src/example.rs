//! The examples that `bakeoff new` writes. Some of them are built-in workloads.

use std::collections::BTreeMap;

use crate::ApplicationFiles;
use crate::files::is_read;

/// A folder that runs as it is.
#[derive(Clone, Copy, Debug)]
pub struct ExampleFolder {
    /// What `--from` takes.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Names and texts.
    pub files: &'static [(&'static str, &'static str)],
}

impl ExampleFolder {
    /// What [`ApplicationFiles::read_folder`] reads of the folder. Messages name it as the example.
    pub fn to_files(&self) -> ApplicationFiles {
        let read = self.files.iter().filter(|(name, _)| is_read(name));
        ApplicationFiles {
            name: self.name.into(),
            texts: read.map(|(name, text)| ((*name).into(), (*text).into())).collect(),
            weights: BTreeMap::new(),
            shown: self.name.into(),
            copied: None,
            program: None,
        }
    }
}

macro_rules! files {
    ($folder:literal: $($name:literal)+) => {
        &[$(($name, include_str!(concat!("../examples/", $folder, "/", $name)))),+]
    };
}

/// All examples; the first is written where none is named.
pub const EXAMPLES: [ExampleFolder; 3] = [
    ExampleFolder {
        name: "shop",
        summary: "a small shop: six tables, four operations",
        files: files!("shop": "README.md" "schema.sql" "browse.sql" "buy.sql" "history.sql"
            "report.sql" "invariants.sql" "workload.toml"),
    },
    ExampleFolder {
        name: "point",
        summary: "one read by key: the workload point",
        files: files!("point": "schema.sql" "read.sql" "invariants.sql" "workload.toml"),
    },
    ExampleFolder {
        name: "oltp",
        summary: "sysbench's tests, as the workload oltp",
        files: files!("oltp": "schema.sql" "point_select.sql" "read_only.sql" "write_only.sql"
            "workload.toml"),
    },
];
