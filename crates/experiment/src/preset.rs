//! Experiments that are known by their names.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    pub name: &'static str,
    pub toml: &'static str,
}

impl Preset {
    pub(crate) fn find_file(&self, name: &str) -> Option<&'static str> {
        let is_it = |(preset, file, _): &&(&str, &str, _)| (*preset, *file) == (self.name, name);
        FILES.iter().find(is_it).map(|(.., text)| *text)
    }
}

/// All presets of articles, one after the other; their names begin with it and a slash.
pub const ARTICLES: &str = "articles";

pub(crate) fn all_articles(presets: &[Preset]) -> Option<&'static str> {
    let group = |name: &str| name.split_once('/').is_some_and(|(group, _)| group == ARTICLES);
    presets.iter().any(|preset| group(preset.name)).then_some(ARTICLES)
}

/// The preset, the file's name, and its text.
const FILES: [(&str, &str, &str); 6] = [
    (
        "articles/redmine",
        "redmine-2017.csv",
        include_str!("../../../experiments/articles/redmine-2017.csv"),
    ),
    (
        "articles/redmine",
        "redmine-2017-space.csv",
        include_str!("../../../experiments/articles/redmine-2017-space.csv"),
    ),
    (
        "articles/text-oltp",
        "text-oltp-2017.csv",
        include_str!("../../../experiments/articles/text-oltp-2017.csv"),
    ),
    (
        "articles/fileio",
        "fileio-2011.csv",
        include_str!("../../../experiments/articles/fileio-2011.csv"),
    ),
    (
        "articles/fileio",
        "fileio-2011-threads.csv",
        include_str!("../../../experiments/articles/fileio-2011-threads.csv"),
    ),
    ("articles/vote", "vote-2017.csv", include_str!("../../../experiments/articles/vote-2017.csv")),
];

pub fn presets() -> &'static [Preset] {
    &[
        Preset {
            name: "articles/redmine",
            toml: include_str!("../../../experiments/articles/redmine.toml"),
        },
        Preset {
            name: "articles/text-oltp",
            toml: include_str!("../../../experiments/articles/text-oltp.toml"),
        },
        Preset {
            name: "articles/fileio",
            toml: include_str!("../../../experiments/articles/fileio.toml"),
        },
        Preset {
            name: "articles/vote",
            toml: include_str!("../../../experiments/articles/vote.toml"),
        },
        Preset { name: "demo", toml: include_str!("../../../experiments/demo.toml") },
        Preset { name: "redmine", toml: include_str!("../../../experiments/redmine.toml") },
        Preset {
            name: "redmine-sweep",
            toml: include_str!("../../../experiments/redmine-sweep.toml"),
        },
        Preset {
            name: "redmine-steady",
            toml: include_str!("../../../experiments/redmine-steady.toml"),
        },
        Preset {
            name: "redmine-rails",
            toml: include_str!("../../../experiments/redmine-rails.toml"),
        },
        Preset { name: "oltp", toml: include_str!("../../../experiments/oltp.toml") },
        Preset { name: "text-oltp", toml: include_str!("../../../experiments/text-oltp.toml") },
        Preset { name: "vote", toml: include_str!("../../../experiments/vote.toml") },
        Preset { name: "power-cut", toml: include_str!("../../../experiments/power-cut.toml") },
        Preset { name: "fileio", toml: include_str!("../../../experiments/fileio.toml") },
        Preset {
            name: "fileio-sysbench",
            toml: include_str!("../../../experiments/fileio-sysbench.toml"),
        },
        Preset {
            name: "fileio-database",
            toml: include_str!("../../../experiments/fileio-database.toml"),
        },
        Preset {
            name: "fileio-compaction",
            toml: include_str!("../../../experiments/fileio-compaction.toml"),
        },
        Preset { name: "page", toml: include_str!("../../../experiments/page.toml") },
    ]
}
