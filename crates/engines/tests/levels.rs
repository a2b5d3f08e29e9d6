//! Levels that give an engine options: read, written, refused, and each an engine of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use bakeoff_engines::schema::{Schema, Table, Type};
use bakeoff_engines::statement::{Action, Statement};
use bakeoff_engines::{DEFAULT, Declared};
use bakeoff_engines::{
    Durability, ENGINES, Engine, EngineHome, EngineLevel, OpenTerms, find_among, find_level,
    find_with,
};
use proptest::prelude::*;

/// What is said of a level that is wrong.
fn wrong(level: &str) -> String {
    match find_among(ENGINES, level) {
        Ok(engine) => panic!("{level} is {}", engine.about().name),
        Err(said) => said,
    }
}

#[test]
fn a_level_has_one_form() {
    let cases = [
        ("postgres/work_mem=64MB/jit=off", "postgres/jit=off/work_mem=64MB"),
        ("postgres/path=/opt//pg17/./", "postgres/path=/opt/pg17"),
        ("postgres/path=/opt/pg17/work_mem=1MB", "postgres/path=/opt/pg17/work_mem=1MB"),
        ("postgres/path=/opt/Pg=17/x", "postgres/path=/opt/Pg=17/x"),
        ("postgres/some.extension=a/b", "postgres/some.extension=a/b"),
        ("postgres/work_mem=1MB", "postgres/work_mem=1MB"),
        ("mariadb:innodb/compression=zlib", "mariadb:innodb/compression=zlib"),
    ];
    for (level, canonical) in cases {
        let named = find_among(ENGINES, level).map(|engine| engine.about().name);
        assert_eq!(named.as_deref(), Ok(canonical));
        let engines = [level, canonical].map(|level| find_level(level).expect("it is right"));
        assert!(std::ptr::addr_eq(engines[0], engines[1]), "{level} is one engine");
    }
}

#[test]
fn what_is_wrong_with_a_level_is_said_with_what_is_valid() {
    let cases = [
        ("mariadb:innodb/compresion=zlib", &["unknown option", "did you mean `compression`?"][..]),
        ("mariadb:innodb/compresion=zlib", &["valid: compression=none or zlib; path=FOLDER; any"]),
        ("postgres/pat=/opt", &["unknown option `pat` of `postgres`", "did you mean `path`?"]),
        ("mariadb:innodb/compression=lz4", &["`lz4`", "valid: none, zlib"]),
        ("mariadb:rocksdb/compression=zlib", &["`zlib`", "valid: none, lz4, zstd"]),
        ("postgres/compression=zstd", &["`zstd`", "valid: pglz, lz4"]),
        ("fjall/compression=zstd", &["`zstd`", "valid: none, lz4"]),
        (
            "mariadb:rocksdb/compression=lz4/rocksdb_default_cf_options=x",
            &["two options", "set `rocksdb_default_cf_options`"],
        ),
        ("postgres/path=opt/pg", &["`opt/pg`", "from the root on"]),
        ("postgres/path=", &["value of the option `path`"]),
        ("postgres/work_mem=1MB\n", &["has to be one line of text"]),
        ("postgres/work_mem=1,2", &["`work_mem` holds `,`", "[settings.\"postgres\"]"]),
        ("postgres/path=/a@b", &["holds `@`"]),
        ("postgres/search_path=a://b", &["holds `:/`"]),
        ("postgres/Work_Mem=1MB", &["`Work_Mem=1MB` is not an option", "small letters"]),
        ("postgres/", &["is not an option"]),
        ("postgres/jit=on/jit=off", &["`jit` is twice"]),
        ("mariadb:innodb/compression=zlib/innodb_compression_default=OFF", &["two options", "set"]),
        ("null/path=/opt", &["`null` takes no options", "write `null` alone"]),
        ("sqlite/path=/opt", &["`sqlite` has no option `path`"]),
        ("postgre/jit=off", &["there is no engine `postgre`"]),
        (
            "mariadb:aria/compression=zlib",
            &["has no option `compression`\nit is one of fjall, maria"],
        ),
    ];
    for (level, parts) in cases {
        let said = wrong(level);
        assert!(parts.iter().all(|part| said.contains(part)), "{level}: {said}");
    }
}

#[test]
fn an_engine_without_a_server_takes_only_the_options_that_it_declares() {
    for engine in ENGINES {
        let about = engine.about();
        let takes = about.home == EngineHome::Server || about.name == "sqlite";
        let taken = find_level(&format!("{}/of_tomorrow=1", about.name)).is_some();
        assert_eq!(taken, takes, "{}", about.name);
    }
}

/// A folder with programs that say this of their version.
fn installation(programs: [&str; 2], said: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script");
    fs::write(&script, format!("#!/bin/sh\necho '{said}'\n")).expect("room");
    fs::create_dir(folder.path().join("bin")).expect("room");
    for program in programs {
        // By another process: a file that is open for writing in a child of this one can't be run.
        let mut install = Command::new("install");
        install.args(["-m", "755"]).arg(&script).arg(folder.path().join("bin").join(program));
        assert!(install.status().expect("it is on every system").success());
    }
    folder
}

fn at(engine: &str, folder: &Path) -> &'static dyn Engine {
    find_level(&format!("{engine}/path={}", folder.display())).expect("it is right")
}

#[test]
fn two_installations_in_one_process_are_two_engines() {
    let usual = find_level("postgres").expect("it is registered").version();
    let programs = ["postgres", "initdb"];
    let [one, other] = ["13.7", "17.2"]
        .map(|version| installation(programs, &format!("postgres (PostgreSQL) {version}")));
    assert_eq!(at("postgres", one.path()).version(), "13.7");
    assert_eq!(at("postgres", other.path()).version(), "17.2");
    assert_eq!(find_level("postgres").expect("it is registered").version(), usual);
    let old = installation(["mariadbd", "mariadb-install-db"], "mariadbd  Ver 10.5.29-MariaDB");
    let said = at("mariadb:innodb", old.path()).available().expect_err("it is too old");
    assert!(said.contains("10.5.29") && said.contains(old.path().to_str().unwrap()), "{said}");
    let said = at("postgres", old.path()).available().expect_err("it is another server's");
    assert!(said.contains("no postgres of PostgreSQL in"), "{said}");
}

#[test]
fn what_a_level_sets_is_the_users_own_and_takes_the_place_of_the_rest() {
    let mut terms = OpenTerms::new(Durability::Strict);
    terms.settings = vec![("work_mem".into(), "1MB".into()), ("jit".into(), "on".into())];
    let engine = find_level("postgres/work_mem=5MB/shared_buffers=1MB").expect("it is right");
    let settings = engine.settings(&terms);
    for (name, value) in [("work_mem", "5MB"), ("shared_buffers", "1MB"), ("jit", "on")] {
        let set: Vec<_> = settings.iter().filter(|setting| setting.name == name).collect();
        assert_eq!((set.len(), &*set[0].value, set[0].reason), (1, value, None), "{name}");
    }
    let compressed = find_level("mariadb:innodb/compression=zlib").expect("it is right");
    let settings = compressed.settings(&OpenTerms::new(Durability::Strict));
    for (name, value) in
        [("innodb_compression_default", "ON"), ("innodb_compression_algorithm", "zlib")]
    {
        assert!(settings.iter().any(|it| (&*it.name, &*it.value) == (name, value)), "{name}");
    }
}

#[test]
fn a_compression_is_in_the_settings_of_its_level_and_leaves_what_the_memory_asks_for() {
    let limited = OpenTerms { memory_bytes: Some(512 << 20), ..OpenTerms::new(Durability::Strict) };
    let value = |level: &str, setting: &str| {
        let settings = find_level(level).expect("it is right").settings(&limited).into_iter();
        let found = settings.filter(|it| it.name == setting).map(|it| it.value);
        let found: Vec<String> = found.collect();
        assert!(found.len() < 2, "{level}: {found:?}");
        found.first().cloned()
    };
    let family = "rocksdb_default_cf_options";
    let usual = value("mariadb:rocksdb", family).expect("it is set");
    let (compression, rest) = usual.split_once(";compaction_pri=").expect("it is told first");
    let recommended = "compression=kLZ4Compression;bottommost_compression=kZSTDNotFinalCompression";
    assert_eq!(compression, recommended);
    for (level, compression) in [
        ("none", "kNoCompression"),
        ("lz4", "kLZ4Compression"),
        ("zstd", "kZSTDNotFinalCompression"),
    ] {
        let level = format!("mariadb:rocksdb/compression={level}");
        let wanted = format!("compression={compression};compaction_pri={rest}");
        assert_eq!(value(&level, family), Some(wanted));
    }
    let toast = "default_toast_compression";
    assert_eq!(value("postgres", toast), None);
    assert_eq!(value("postgres/compression=lz4", toast), Some("lz4".into()));
    let policy = "data_block_compression_policy";
    assert_eq!(value("fjall", policy), None);
    assert_eq!(value("fjall/compression=none", policy), Some("None in all levels".into()));
    assert_eq!(value("fjall/compression=lz4", policy), Some("Lz4 in all levels".into()));
}

/// What the kernel was told is in the map's flags, `rr`: random reads.
#[test]
fn lmdb_reads_ahead_where_memory_is_unlimited_or_its_level_says_so() {
    for (level, memory_bytes, ahead) in [
        ("lmdb", None, true),
        ("lmdb", Some(64 << 20), false),
        ("lmdb/map_read_ahead=on", Some(64 << 20), true),
        ("lmdb/map_read_ahead=off", None, false),
    ] {
        let engine = find_level(level).expect("it is right");
        let terms = OpenTerms { memory_bytes, ..OpenTerms::new(Durability::Relaxed) };
        let set = engine.settings(&terms).into_iter().find(|it| it.name == "MDB_NORDAHEAD");
        assert_eq!(set.is_none(), ahead, "{level}: {set:?}");
        let things = Table::new("things").key_column("id", Type::Int);
        let put = Statement { name: "put".into(), action: Action::Upsert { table: 0 } };
        let folder = tempfile::tempdir().expect("a folder");
        let database = engine.open(folder.path(), &terms, &Schema { tables: vec![things] }, &[put]);
        let flags = flags_of_map(&folder.path().join("data.mdb"));
        drop(database.expect("it opens"));
        assert_eq!(flags.split(' ').all(|flag| flag != "rr"), ahead, "{level}: {flags}");
    }
}

/// What the kernel knows of the map that this process has of a file.
fn flags_of_map(file: &Path) -> String {
    let maps = fs::read_to_string("/proc/self/smaps").expect("this process's maps");
    let mut lines = maps.lines().skip_while(|line| !line.ends_with(&*file.to_string_lossy()));
    lines.find_map(|line| line.strip_prefix("VmFlags: ")).expect("the map's flags").trim().into()
}

#[test]
fn a_cache_is_its_share_of_a_limit_and_the_setting_that_its_engine_gets() {
    const MIB: u64 = 1 << 20;
    for (level, limit, cache) in [
        ("mariadb:innodb", 1000 * MIB, 700 * MIB),
        ("mariadb:innodb", 200 * MIB, 104 * MIB),
        ("mariadb:innodb", 64 * MIB, 8 * MIB),
        ("mariadb:rocksdb", 1000 * MIB, 330 * MIB),
        ("mariadb:rocksdb", 200 * MIB, 66 * MIB),
        ("mariadb:aria", 1000 * MIB, 500 * MIB),
        ("postgres", 1000 * MIB, 250 * MIB),
        ("tarantool:vinyl", 1000 * MIB, 250 * MIB),
        ("sqlite", 1000 * MIB, 250 * MIB),
        ("fjall", 1000 * MIB, 250 * MIB),
    ] {
        let engine = find_level(level).expect("it is registered");
        let terms = OpenTerms { memory_bytes: Some(limit), ..OpenTerms::new(Durability::Strict) };
        let told = engine.cache(&terms).expect("it keeps one");
        assert_eq!(told.bytes, cache, "{level} of {limit}");
        let settings = engine.settings(&terms);
        let set = settings.iter().find(|it| it.name == told.setting).expect("it is set");
        let number: String = set.value.chars().take_while(char::is_ascii_digit).collect();
        let unit = if number.len() == set.value.len() { 1 } else { 1024 };
        assert_eq!(number.parse::<u64>().map(|number| number * unit), Ok(cache), "{level}");
        assert_eq!(set.reason, Some(told.reason), "{level}");
    }
    // Without a limit none is a share of it; and by `nosync`, InnoDB reads through the page cache, too.
    for level in
        ["mariadb:innodb", "mariadb:rocksdb", "mariadb:aria", "postgres", "sqlite", "fjall"]
    {
        let engine = find_level(level).expect("it is registered");
        let terms = OpenTerms::new(Durability::Strict);
        let told = engine.cache(&terms).expect("it keeps one");
        let settings = engine.settings(&terms);
        let set = settings.iter().find(|it| it.name == told.setting).expect("it is set");
        assert_eq!(set.reason, Some(told.reason), "{level}");
        assert!(told.reason.starts_with("256 MiB, "), "{level}: {}", told.reason);
        assert_eq!((told.bytes, told.direct), (256 * MIB, level == "mariadb:innodb"), "{level}");
    }
    let innodb = find_level("mariadb:innodb").expect("it is registered");
    assert!(!innodb.cache(&OpenTerms::new(Durability::None)).expect("it keeps one").direct);
    // What memtx takes is for the data themselves.
    for level in ["lmdb", "tarantool:memtx"] {
        let engine = find_level(level).expect("it is registered");
        assert_eq!(engine.cache(&OpenTerms::new(Durability::Strict)), None, "{level}");
    }
}

#[test]
fn a_setting_of_a_table_that_undoes_a_level_is_refused_as_an_option_is() {
    const LEVELS: [Durability; 3] = Durability::ALL;
    const STRICT: &[Durability] = &[Durability::Strict];
    for (engine, settings, refused) in [
        ("postgres", &[("synchronous_commit", "off")][..], STRICT),
        ("postgres", &[("Synchronous_Commit", "off")], STRICT),
        ("postgres", &[("fsync", "OFF")], &LEVELS[1..]),
        ("postgres", &[("full_page_writes", "OFF")], &LEVELS[1..]),
        ("postgres", &[("full_page_writes", "ON")], &[]),
        ("postgres", &[("full_page_writes", "tru")], &[]),
        ("postgres", &[("work_mem", "1MB"), ("jit", "off")], &[]),
        ("mariadb:innodb", &[("innodb_flush_log_at_trx_commit", "0")], &LEVELS),
        ("mariadb:innodb", &[("loose-innodb-flush-log-at-trx-commit", "0")], &LEVELS),
        ("mariadb:innodb", &[("innodb_flush_method", "nosync")], &LEVELS[1..]),
        ("mariadb:innodb", &[("innodb_flush_method", "3")], &LEVELS[1..]),
        ("mariadb:innodb", &[("innodb_flush_method", "LittleSync")], &LEVELS[1..]),
        ("mariadb:innodb", &[("innodb_flush_method", "O_DSYNC")], &[Durability::None]),
        ("mariadb:innodb", &[("innodb_flush_method", "fsync")], &[Durability::None]),
        ("mariadb:innodb", &[("innodb_doublewrite", "OFF")], &[]),
        ("mariadb:innodb", &[("log_bin", "ON")], STRICT),
        ("mariadb:innodb", &[("log_bin", "ON"), ("sync_binlog", "0")], STRICT),
        ("mariadb:innodb", &[("log_bin", "ON"), ("sync_binlog", "100")], STRICT),
        ("mariadb:innodb", &[("log_bin", "ON"), ("sync-binlog", "1")], &[]),
        ("mariadb:innodb", &[("skip_log_bin", "ON")], &[]),
        ("mariadb:innodb", &[("skip_log_bin", "0")], STRICT),
        ("mariadb:innodb", &[("enable_log_bin", "0")], &[]),
        ("mariadb:innodb", &[("log_bin", "ON"), ("skip_sync_binlog", "1")], STRICT),
        ("mariadb:innodb", &[("sync_binlog", "0")], &[]),
        ("mariadb:rocksdb", &[("rocksdb_flush_log_at_trx_commit", "0")], &LEVELS),
        ("mariadb:rocksdb", &[("rocksdb_write_disable_wal", "ON")], &LEVELS),
        ("mariadb:rocksdb", &[("rocksdb_write_disable_wal", "OFF")], &[]),
        ("mariadb:rocksdb", &[("rocksdb_manual_wal_flush", "ON")], &LEVELS[..2]),
        ("mariadb:rocksdb", &[("loose-rocksdb-manual-wal-flush", "1")], &LEVELS[..2]),
        ("mariadb:rocksdb", &[("rocksdb_manual_wal_flush", "OFF")], &[]),
        ("mariadb:rocksdb", &[("skip_rocksdb_manual_wal_flush", "0")], &LEVELS[..2]),
        ("mariadb:rocksdb", &[("skip_rocksdb_manual_wal_flush", "OFF")], &[]),
        ("mariadb:rocksdb", &[("enable_rocksdb_write_disable_wal", "OFF")], &LEVELS),
        ("mariadb:innodb", &[("rocksdb_manual_wal_flush", "ON")], &[]),
        ("mariadb:rocksdb", &[("log_bin", "ON")], STRICT),
        ("mariadb:aria", &[("aria_group_commit", "hard")], &LEVELS[..2]),
        ("mariadb:aria", &[("aria_group_commit_interval", "9")], &LEVELS[..1]),
        ("mariadb:aria", &[("log_bin", "ON")], STRICT),
        ("tarantool:memtx", &[("wal_mode", "none")], &[Durability::None, Durability::Strict]),
        ("tarantool:vinyl", &[("wal_mode", "write")], &[Durability::None, Durability::Strict]),
        ("tarantool:vinyl", &[("vinyl_cache", "1000000")], &[]),
        ("sqlite", &[], &[]),
    ] {
        let own = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let own: Vec<_> = own.collect();
        let about = find_level(engine).expect("it is registered");
        let given = LEVELS.into_iter().filter(|level| about.check_level(*level).is_ok());
        let found: Vec<_> =
            given.filter(|level| about.check_user_settings(*level, &own).is_err()).collect();
        assert_eq!(found, refused, "{engine} with {settings:?}");
        for level in found {
            let said = about.check_user_settings(level, &own).expect_err("it is refused");
            assert!(said.contains("your settings "), "{said}");
        }
        // An option has its name in small letters; one of Tarantool's is an engine's own.
        let [(name, value)] = settings else { continue };
        let is_option = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if is_option && !engine.starts_with("tarantool") {
            let level = find_level(&format!("{engine}/{name}={value}")).expect("it is right");
            let lost: Vec<_> =
                LEVELS.into_iter().filter(|it| level.check_level(*it).is_err()).collect();
            assert_eq!(lost, refused, "{engine}/{name}={value}");
        }
    }
    let fsync = find_level("mariadb:innodb/innodb_flush_method=fsync").expect("it is right");
    let said = fsync.check_level(Durability::None).expect_err("that is how it never syncs");
    assert!(said.contains("innodb_flush_method=fsync"), "{said}");
}

#[test]
fn a_setting_that_touches_the_promise_moves_a_trial_to_the_level_that_it_keeps() {
    use Durability::{None as Nothing, Relaxed, Strict};
    for (level, asked, kept) in [
        ("postgres/work_mem=1MB", Strict, Some(Strict)),
        ("postgres/synchronous_commit=off", Strict, Some(Relaxed)),
        ("postgres/synchronous_commit=off/wal_writer_delay=10s", Strict, Some(Nothing)),
        ("postgres/synchronous_commit=off/wal_writer_delay=300", Strict, Some(Relaxed)),
        ("postgres/synchronous_commit=off/wal_writer_delay=0x2710", Strict, Some(Nothing)),
        ("postgres/synchronous_commit=local", Relaxed, Some(Strict)),
        ("postgres/fsync=off", Relaxed, Some(Nothing)),
        ("postgres/full_page_writes=off", Strict, Some(Nothing)),
        ("mariadb:innodb/innodb_flush_log_at_trx_commit=2", Strict, Some(Relaxed)),
        ("mariadb:innodb/innodb_flush_log_at_trx_commit=1", Relaxed, Some(Strict)),
        ("mariadb:innodb/innodb_flush_log_at_timeout=9", Strict, Some(Strict)),
        ("mariadb:innodb/innodb_flush_log_at_timeout=9", Relaxed, Some(Nothing)),
        ("mariadb:innodb/innodb_flush_log_at_timeout=1K", Relaxed, Some(Nothing)),
        ("mariadb:innodb/innodb_doublewrite=0", Strict, Some(Nothing)),
        ("mariadb:innodb/innodb_doublewrite=00", Strict, Some(Nothing)),
        ("mariadb:innodb/innodb_flush_method=nosync", Strict, Some(Nothing)),
        ("mariadb:innodb/log_bin=binlog", Strict, Some(Relaxed)),
        ("mariadb:innodb/log_bin=binlog/sync_binlog=1", Strict, Some(Strict)),
        ("mariadb:innodb/sync_binlog=0", Strict, Some(Strict)),
        ("mariadb:rocksdb/rocksdb_write_disable_wal=1", Strict, None),
        ("mariadb:rocksdb/rocksdb_manual_wal_flush=1", Relaxed, Some(Strict)),
        ("mariadb:aria/aria_group_commit=soft", Strict, Some(Nothing)),
        ("sqlite/page_size=8192", Strict, Some(Strict)),
        ("sqlite/synchronous=NORMAL", Strict, Some(Relaxed)),
        ("sqlite/synchronous=2", Relaxed, Some(Strict)),
        ("sqlite/journal_mode=delete", Strict, Some(Strict)),
        ("sqlite/journal_mode=delete/synchronous=FULL", Strict, Some(Relaxed)),
        ("sqlite/journal_mode=truncate", Relaxed, Some(Relaxed)),
        ("sqlite/journal_mode=memory", Strict, Some(Nothing)),
    ] {
        let engine = find_level(level).expect("it is right");
        let found = engine.find_kept_level(asked, &[]);
        assert_eq!(found.clone().ok(), kept, "{level} at {}: {found:?}", asked.name());
        // What is told of a level that is not kept names the setting.
        if let Some(kept) = kept {
            engine.check_level(kept).unwrap_or_else(|said| panic!("{level}: {said}"));
        }
    }
}

#[test]
fn a_level_with_more_options_is_the_level_that_has_them() {
    let with = |level, options: &[(&str, &str)]| find_with(ENGINES, level, options);
    for (level, options, canonical) in [
        ("sqlite", &[][..], "sqlite"),
        ("mariadb:innodb", &[("compression", "zlib")], "mariadb:innodb/compression=zlib"),
        ("postgres/jit=off", &[("path", "/opt//pg")], "postgres/jit=off/path=/opt/pg"),
    ] {
        let engine = with(level, options).unwrap_or_else(|said| panic!("{level}: {said}"));
        assert_eq!(engine.about().name, canonical);
        assert!(std::ptr::addr_eq(engine, find_level(canonical).expect("it is right")), "{level}");
    }
    for (level, option, part) in [
        ("postgres", ("path", "/opt/pg/fsync=off"), "`/fsync=off`, which begins another"),
        ("postgres", ("path", "/opt,1"), "holds `,`"),
        ("mariadb:innodb", ("compression", "lz4"), "valid: none, zlib"),
        ("null", ("compression", "zlib"), "`null` takes no options"),
        ("mariadb:innodb/innodb_compression_default=ON", ("compression", "none"), "two options"),
    ] {
        let said = with(level, &[option]).map(|engine| engine.about().name).expect_err(level);
        assert!(said.contains(part), "{level}: {said}");
    }
}

#[test]
fn the_default_of_an_option_is_one_of_its_values_or_the_engines_own() {
    for option in ENGINES.iter().flat_map(|engine| engine.options()) {
        let Declared { name, default, canonical, .. } = option.factor;
        assert!(*default == DEFAULT || canonical(default).as_deref() == Ok(*default), "{name}");
        canonical(DEFAULT).expect_err("in a level it is left out instead");
    }
}

#[test]
fn what_asks_for_trust_in_a_level_is_told() {
    let read = |level| EngineLevel::from_text(ENGINES, level).expect("it is right");
    let level = read("mariadb:innodb/compression=zlib/path=/opt/db/plugin_load=x");
    let trusts: Vec<_> = level.trusted_options().map(|(option, _)| option).collect();
    assert_eq!(trusts, ["path"]);
    assert_eq!(level.server_settings().collect::<Vec<_>>(), [("plugin_load", "x")]);
}

prop_compose! {
    /// An option that a server may be given, with a value of any letters, slashes among them.
    fn option()(name in "[a-z][a-z0-9_]{0,3}_x(\\.[a-z]{1,3})?", value in "[^\\p{C},@]{1,12}") -> String {
        format!("{name}={value}")
    }
}

proptest! {
    #[test]
    fn a_level_in_its_form_is_read_again(
        options in prop::collection::vec(option(), 1..5),
        path in prop::option::of("(/[A-Za-z0-9. -]{0,4}){1,4}"),
    ) {
        let options = options.into_iter().chain(path.map(|path| format!("path={path}")));
        let text = options.fold("postgres".to_owned(), |text, option| text + "/" + &option);
        let level = EngineLevel::from_text(ENGINES, &text);
        // Where one is twice, or has `:/`.
        prop_assume!(level.is_ok());
        let level = level.unwrap_or_else(|said| panic!("{said}"));
        let again = EngineLevel::from_text(ENGINES, &level.to_name());
        let again = again.map_err(|said| TestCaseError::fail(format!("{}: {said}", level.to_name())))?;
        prop_assert_eq!(again.to_name(), level.to_name());
        prop_assert_eq!(&again.options, &level.options);
        let backwards = level.options.iter().rev().map(|(name, value)| format!("/{name}={value}"));
        let backwards = format!("postgres{}", backwards.collect::<String>());
        prop_assert_eq!(EngineLevel::from_text(ENGINES, &backwards).map(|it| it.to_name()), Ok(level.to_name()));
    }
}

/// A power cut takes any loss at the end for kept where nothing is said.
#[test]
fn relaxed_and_no_other_level_says_how_much_it_may_lose() {
    for engine in ENGINES {
        let about = engine.about();
        for promise in about.promises.into_iter().filter(|promise| promise.settings.is_some()) {
            let may_lose = about.stores && promise.durability == Durability::Relaxed;
            let says = promise.window.is_some() || promise.most_lost.is_some();
            assert_eq!(says, may_lose, "{} at {}", about.name, promise.durability.name());
        }
    }
}
