//! `bakeoff doctor`: what this machine can run, found out by trying, and what mends what it can't.

use std::path::Path;
use std::time::{Duration, Instant};

use bakeoff_disk::mount::{MountOptions, Mounted};
use bakeoff_disk::neighbour;
use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::{Access, Action, Durability, Engine, Rows, Schema, Statement, Terms, Value};

use super::report::print;
use crate::cli;
use crate::exit::{Exit, Failure};

/// Strict commits that are timed for each engine.
const COMMITS: u32 = 20;
/// Bytes that a run at the smallest scale wants free.
const ROOM: u64 = 2 << 30;

/// Looks at the machine and the folder; says what is missing and what brings it.
pub fn run(arguments: &cli::Doctor) -> Result<Exit, Failure> {
    let folder = tempfile::Builder::new().prefix("bakeoff-doctor-").tempdir_in(&arguments.dir);
    let folder = folder.map_err(|error| {
        let message = format!(
            "no run folder can be made in {}: {error}; name a folder you may write: bakeoff doctor DIR",
            arguments.dir.display()
        );
        Failure::new(Exit::Folder, message)
    })?;
    let mut healthy = true;
    let mut say = |result: Result<String, String>| {
        healthy &= result.is_ok();
        let line = match result {
            Ok(text) => format!("ok       {text}\n"),
            Err(text) => format!("missing  {text}\n"),
        };
        print(&line)
    };
    say(machine(folder.path()))?;
    say(room(folder.path()))?;
    for engine in bakeoff_engines::ENGINES {
        let name = engine.about().name;
        let place = folder.path().join(name);
        say(try_engine(*engine, &place).map_err(|error| format!("engine {name}: {error}")))?;
    }
    say(try_neighbours(folder.path()))?;
    say(try_disk(folder.path()).map_err(|error| format!("virtual disks: {error}")))?;
    Ok(if healthy { Exit::Done } else { Exit::Failed })
}

fn machine(folder: &Path) -> Result<String, String> {
    let machine = bakeoff_lab::describe_machine(folder).map_err(|error| error.to_string())?;
    Ok(format!(
        "{} processors ({}), {} MB of memory, {} on {}, {} {}",
        machine.processors,
        machine.processor,
        machine.memory_bytes / 1_000_000,
        machine.file_system,
        machine.device,
        machine.system,
        machine.kernel,
    ))
}

fn room(folder: &Path) -> Result<String, String> {
    let free = bakeoff_lab::accounts::free(folder).map_err(|error| error.to_string())?;
    let text = format!("{} MB free for run folders", free / 1_000_000);
    if free < ROOM {
        return Err(format!(
            "{text}, 2,000 MB are wanted: free some, or use --out on another disk"
        ));
    }
    Ok(text)
}

/// Opens the engine and times strict commits.
fn try_engine(engine: &dyn Engine, place: &Path) -> Result<String, String> {
    let try_it = || -> bakeoff_engines::Result<Duration> {
        std::fs::create_dir(place)?;
        let table = Table::new("doctor").generated_key("id").column("text", Type::Text);
        let schema = Schema { tables: vec![table] };
        let insert = Statement { name: "insert".into(), action: Action::Insert { table: 0 } };
        let terms = Terms::new(Durability::Strict);
        let database = engine.open(place, &terms, &schema, &[insert])?;
        let mut session = database.session()?;
        let mut rows = Rows::new();
        let start = Instant::now();
        for _ in 0..COMMITS {
            session.begin(Access::Write)?;
            session.run(0, &[Value::Null, Value::Text("text")], &mut rows)?;
            session.commit()?;
        }
        Ok(start.elapsed() / COMMITS)
    };
    let about = engine.about();
    let each = try_it().map_err(|error| error.to_string())?.as_secs_f64() * 1e3;
    Ok(format!("engine {} {}: a strict commit takes {each:.3} ms here", about.name, about.version))
}

/// Mounts a disk, writes to it and reads it again.
fn try_disk(folder: &Path) -> Result<String, String> {
    let [backing, mountpoint] = ["backing", "disk"].map(|name| folder.join(name));
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    for folder in [&backing, &mountpoint] {
        std::fs::create_dir(folder).map_err(|error| error.to_string())?;
    }
    let mounted = Mounted::start(&program, &MountOptions::new(&backing, &mountpoint, "null"))
        .map_err(|error| error.to_string())?;
    let file = mounted.path().join("file");
    let text = std::fs::write(&file, "text").and_then(|()| std::fs::read(&file));
    let stat = mounted.control().stat();
    mounted.unmount().map_err(|error| error.to_string())?;
    let round_trip = stat.map_err(|error| error.to_string())?.round_trip_us;
    match text {
        Ok(text) if text == b"text" => {
            Ok(format!("virtual disks: a call takes {round_trip:.0} µs through FUSE"))
        }
        Ok(_) => Err("what was read is not what was written".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn try_neighbours(folder: &Path) -> Result<String, String> {
    let rate = neighbour::File::prepare(folder, neighbour::FILE_BYTES / 8)
        .and_then(|file| neighbour::measure_alone(&file, Duration::from_millis(300)));
    let rate = rate.map_err(|error| format!("neighbours: {error}"))?;
    Ok(format!("neighbours: one stream alone makes {rate:.0} requests of 16 KiB a second"))
}
