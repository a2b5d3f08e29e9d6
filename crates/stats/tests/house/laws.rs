//! The laws of the house: what each crate must never know, as the head of its `lib.rs` says it, and
//! what would show that it does.

/// What holds for a crate.
pub struct Law {
    /// Its name below `crates/`.
    pub of: &'static str,
    /// The crates of our own that it may be built on.
    pub on: &'static [&'static str],
    pub never: &'static [Never],
    /// Pieces of its sources that may hold such a word all the same, each for the reason that stands
    /// beside it.
    pub but: &'static [&'static str],
}

/// Something that a crate must never know.
pub struct Never {
    /// Words of the sentence in the crate's head that forbids it.
    pub said: &'static str,
    /// Somebody else's crates that it would be known by.
    pub crates: &'static [&'static str],
    /// Words and paths of its sources that it would be known by.
    pub words: &'static [&'static str],
}

const fn never(
    said: &'static str,
    crates: &'static [&'static str],
    words: &'static [&'static str],
) -> Never {
    Never { said, crates, words }
}

/// The engines, by every name that `bakeoff list engines` shows or that they are known by. Where a
/// name is an English word, too, it is one in quotes alone.
const ENGINES: &[&str] = &[
    "sqlite",
    "lmdb",
    "fjall",
    "mariadb",
    "innodb",
    "rocksdb",
    "myrocks",
    "\"aria\"",
    "postgres",
    "postgresql",
    "mysql",
    "tarantool",
    "memtx",
    "vinyl",
    "\"null\"",
];
/// All but the one that a run folder is kept in.
const BUT_SQLITE: &[&str] =
    &["fjall", "heed", "lmdb", "mariadb", "mysql", "postgres", "tokio-postgres"];
/// The crates that speak to them.
const CLIENTS: &[&str] = &["fjall", "heed", "mysql", "postgres", "rusqlite", "tokio-postgres"];
/// The workloads that `bakeoff list workloads` shows.
const WORKLOADS: &[&str] =
    &["redmine", "\"oltp\"", "text-oltp", "\"vote\"", "ledger", "\"point\"", "fileio"];
/// What they are run on.
const TARGETS: &[&str] = &["\"tables\"", "\"folder\"", "\"page\"", "\"program\""];
/// The models that `bakeoff list disks` shows.
const MODELS: &[&str] = &["hdd", "ssd", "ebs-magnetic", "ebs-gp2", "ebs-gp3", "raid10", "\"null\""];
/// What makes something a person reads.
const SHOWING: &[&str] = &["clap", "comfy-table", "indicatif", "minijinja"];
const SHOWN: &[&str] = &["html", "svg", "markdown"];

/// Every crate's.
pub const LAWS: &[Law] = &[
    Law {
        of: "stats",
        on: &[],
        never: &[
            never("database", CLIENTS, ENGINES),
            never("database", &[], &["database", "engine"]),
            never("trial", &[], &["trial", "experiment", "workload"]),
            never("file", &["libc", "rustix"], &["std::fs", "std::path"]),
            never("clock", &[], &["std::time", "Instant", "SystemTime"]),
            never("randomness", &["rand", "rand_distr"], &["rand"]),
        ],
        but: &[],
    },
    Law {
        of: "trust",
        on: &[],
        never: &[
            never("engine", CLIENTS, ENGINES),
            never("engine", &[], &["engine", "database", "workload"]),
            never("run", &["toml"], &["trial", "experiment", "--out", "run folder"]),
            never("kept", SHOWING, SHOWN),
        ],
        but: &[],
    },
    Law {
        of: "testkit",
        on: &[],
        never: &[
            never("another crate of this workspace", &[], &["bakeoff_"]),
            never("engine", CLIENTS, ENGINES),
            never("disk or trial", &["fuser"], &["disk", "trial", "experiment", "workload"]),
        ],
        but: &[],
    },
    Law {
        of: "load",
        on: &["stats"],
        never: &[
            never("database", CLIENTS, ENGINES),
            never("database", &[], &["database", "engine", "workload"]),
            never("disk", &["fuser"], MODELS),
            never("disk", &[], &["disk", "fuse"]),
            never("experiment", &["toml"], &["experiment", "trial"]),
        ],
        but: &[],
    },
    Law {
        of: "folders",
        on: &[],
        never: &[
            never("whose", CLIENTS, ENGINES),
            never("whose", &[], &["server", "engine", "trial", "run", "uid"]),
        ],
        but: &[],
    },
    Law {
        of: "devices",
        on: &[],
        never: &[
            never("clock", &["libc", "rustix"], &["std::time::Instant", "Instant", "SystemTime"]),
            never("thread", &[], &["std::thread", "std::sync"]),
            never("file", &[], &["std::fs", "std::path"]),
            never("FUSE", &["fuser"], &["fuse", "fuser"]),
            never("engine", CLIENTS, &["engine", "workload", "sqlite", "mariadb", "postgres"]),
            never("command line", SHOWING, &["bakeoff", "std::env", "std::process"]),
        ],
        but: &[],
    },
    Law {
        of: "disk",
        on: &["devices", "folders", "trust"],
        never: &[
            never("engine", CLIENTS, &["engine", "sqlite", "mariadb", "postgres"]),
            never("workload", &[], WORKLOADS),
            never("workload", &[], &["workload"]),
            never("trial", &["toml"], &["trial", "experiment"]),
            never("flags", SHOWING, &["--foreground", "--image", "--neighbours", "--out"]),
            never("exit codes", &[], &["ExitCode", "std::process::exit"]),
        ],
        but: &[],
    },
    Law {
        of: "engines",
        on: &["factor", "folders", "servers"],
        never: &[
            never("workload", &["rand"], WORKLOADS),
            never("workload", &[], &["workload"]),
            never("timed", &["hdrhistogram"], &["latency", "histogram", "pacer"]),
            never("disk model", &["fuser"], &["hdd", "ssd", "ebs-gp2", "raid10", "fuse"]),
            // Of what is shown, HTML alone is in the addresses of what they cite.
            never("report", SHOWING, &["svg", "markdown"]),
        ],
        // A setting of a server's.
        but: &["histogram_type"],
    },
    Law {
        of: "servers",
        on: &["folders"],
        never: &[
            never("by its name", &[], ENGINES),
            never("stored", CLIENTS, &["CREATE TABLE", "INSERT", "SELECT", "schema"]),
            never("connects", &["toml"], &["workload", "trial", "experiment"]),
        ],
        but: &[],
    },
    Law {
        of: "conformance",
        on: &["engines", "testkit"],
        never: &[never("measured for", &["hdrhistogram"], &["latency", "histogram", "workload"])],
        but: &[],
    },
    Law {
        of: "workloads",
        on: &["engines", "factor"],
        never: &[
            never("which engine", CLIENTS, ENGINES),
            never("timed or paced", &["hdrhistogram"], &["Instant", "SystemTime", "latency"]),
            never("repetitions", &["toml"], &["repetition", "trial"]),
            never("figures", SHOWING, SHOWN),
        ],
        but: &[],
    },
    Law {
        of: "factor",
        on: &[],
        never: &[
            never("who declares a factor", CLIENTS, ENGINES),
            never("what a level of it does", &["libc", "rustix"], &["std::fs", "std::thread"]),
            never("how an experiment is read", &["toml"], &["toml"]),
        ],
        but: &[],
    },
    Law {
        of: "experiment",
        on: &["factor"],
        never: &[
            never("engine", CLIENTS, ENGINES),
            never("workload", &[], WORKLOADS),
            never("target", &[], TARGETS),
            never("device model", &["fuser"], MODELS),
            never("arrival process", &[], &["poisson", "\"even\""]),
            never("planner", &[], &["\"fixed\""]),
        ],
        but: &[
            // The presets, which its head speaks of.
            r#"Preset { name: "redmine", toml: include_str!("../../../experiments/redmine.toml") }"#,
            r#""articles/redmine""#,
            r#"include_str!("../../../experiments/articles/redmine.toml")"#,
            r#"include_str!("../../../experiments/articles/redmine-2017.csv")"#,
            r#"include_str!("../../../experiments/articles/redmine-2017-space.csv")"#,
            r#""articles/text-oltp""#,
            r#"include_str!("../../../experiments/articles/text-oltp.toml")"#,
            r#"include_str!("../../../experiments/articles/text-oltp-2017.csv")"#,
            r#""text-oltp-2017.csv""#,
            r#""redmine-2017.csv""#,
            r#""redmine-2017-space.csv""#,
            r#"name: "redmine-sweep""#,
            r#"include_str!("../../../experiments/redmine-sweep.toml")"#,
            r#"name: "redmine-steady""#,
            r#"include_str!("../../../experiments/redmine-steady.toml")"#,
            r#"Preset { name: "oltp", toml: include_str!("../../../experiments/oltp.toml") }"#,
            r#"Preset { name: "text-oltp", toml: include_str!("../../../experiments/text-oltp.toml") }"#,
            r#"Preset { name: "vote", toml: include_str!("../../../experiments/vote.toml") }"#,
            r#"Preset { name: "fileio", toml: include_str!("../../../experiments/fileio.toml") }"#,
            r#"Preset { name: "page", toml: include_str!("../../../experiments/page.toml") }"#,
            r#""fileio-sysbench""#,
            r#"include_str!("../../../experiments/fileio-sysbench.toml")"#,
            r#""fileio-database""#,
            r#"include_str!("../../../experiments/fileio-database.toml")"#,
            r#""fileio-compaction""#,
            r#"include_str!("../../../experiments/fileio-compaction.toml")"#,
            r#""articles/fileio""#,
            r#"include_str!("../../../experiments/articles/fileio.toml")"#,
            r#"include_str!("../../../experiments/articles/fileio-2011.csv")"#,
            r#"include_str!("../../../experiments/articles/fileio-2011-threads.csv")"#,
            r#""fileio-2011.csv""#,
            r#""fileio-2011-threads.csv""#,
            // How the URL of somebody else's server begins: there is no other way to write one.
            "mysql://",
            "postgres://",
        ],
    },
    Law {
        of: "results",
        on: &["factor", "stats", "trust"],
        never: &[
            never("figure means", &["statrs"], &["ratio", "better", "worse"]),
            never("trial is run", &["fuser", "libc"], &["fuse", "cgroup"]),
            never("engine works", BUT_SQLITE, BUT_SQLITE),
            never("report", SHOWING, SHOWN),
        ],
        but: &[],
    },
    Law {
        of: "analysis",
        on: &["results", "stats"],
        never: &[
            never("trial is run", CLIENTS, ENGINES),
            never(
                "trial is run",
                &["fuser", "libc", "rustix"],
                &["fuse", "cgroup", "std::process"],
            ),
            never("report looks", SHOWING, SHOWN),
        ],
        but: &[],
    },
    Law {
        of: "lab",
        on: &[
            "devices",
            "disk",
            "engines",
            "experiment",
            "factor",
            "folders",
            "load",
            "results",
            "stats",
            "trust",
            "workloads",
        ],
        never: &[
            never("shown", SHOWING, SHOWN),
            never("judged", &["statrs"], &["winner", "better", "worse"]),
        ],
        but: &[],
    },
    Law {
        of: "report",
        on: &["analysis", "results"],
        never: &[
            never("word is decided", &["statrs"], &["bakeoff_stats", "MARGIN", "CONFIDENCE"]),
            never(
                "trial is run",
                &["fuser", "libc", "rustix"],
                &["fuse", "cgroup", "std::process"],
            ),
            never("results are stored", &["rusqlite"], &["std::fs", "run.sqlite"]),
            never("engine is", CLIENTS, ENGINES),
        ],
        but: &[],
    },
    Law {
        of: "bakeoff",
        on: &[
            "analysis",
            "devices",
            "disk",
            "engines",
            "experiment",
            "factor",
            "lab",
            "load",
            "report",
            "results",
            "trust",
            "workloads",
        ],
        never: &[
            never("results are stored", CLIENTS, &["run.sqlite"]),
            never("load is made", &["hdrhistogram", "io-uring"], &["pacer", "histogram"]),
            never("disk works", &["fuser"], &["fuse::", "/dev/fuse"]),
            never("report looks", &["minijinja"], &["svg"]),
        ],
        but: &[],
    },
];
