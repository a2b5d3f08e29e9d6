//! `bakeoff doctor`: tries what this machine can run, and says how to repair the rest.

mod disk_cost;
mod interruption;
mod spread;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use bakeoff_disk::mount::{MountOptions, Mounted};
use bakeoff_disk::neighbour;
use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::{
    Access, Action, Durability, Engine, EngineHome, OpenTerms, Rows, Schema, Statement, Value,
};

use bakeoff_lab::Registry;
use bakeoff_lab::disk_likeness::format_two_digits;
use bakeoff_results::escape_unseen;
use bakeoff_workloads::{COLLECTIONS, Collection, RowsFile};

use self::interruption::Interruption;
use self::spread::Spread;
use super::disk_daemon;

use crate::Lab;
use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::output::{by_own_name, plain_message, print};

const COMMITS: usize = 20;
/// How often a stream is measured alone, and for how long: long enough for answers of a slow disk.
const STREAMS: usize = 3;
const STREAM: Duration = Duration::from_millis(300);
/// Bytes that a run at the smallest scale needs.
const ROOM: u64 = 2 << 30;
/// With less room no server is tried: MariaDB waits for more, for as long as there is none.
const SERVER_ROOM: u64 = 512 << 20;

pub fn run(lab: &Lab, arguments: &cli::Doctor) -> Result<Exit, CommandFailure> {
    let dir = arguments.dir.as_deref().unwrap_or(Path::new("."));
    bakeoff_folders::trust::holder(dir).map_err(|error| {
        CommandFailure::new(Exit::Folder, format!("no run folder can be made: {error}"))
    })?;
    let mut folder = tempfile::Builder::new();
    // A server that runs as another user must be able to enter.
    folder.prefix("bakeoff-doctor-").permissions(Permissions::from_mode(0o711));
    let folder = folder.tempdir_in(dir);
    let folder = folder.map_err(|error| {
        let message = format!(
            "no run folder can be made in {}: {}; name a folder you may write: bakeoff doctor DIR",
            dir.display(),
            plain_message(&error)
        );
        CommandFailure::new(Exit::Folder, message)
    })?;
    let interruption = Interruption::heed()?;
    let mut found = DoctorFindings { interruption, ..DoctorFindings::default() };
    found.print_question("What is this machine?")?;
    found.print_finding(Needed::Yes, "machine", check_machine(folder.path()))?;
    found.print_finding(
        Needed::Yes,
        "settings of the machine",
        describe_settings(folder.path()),
    )?;
    found.print_finding(Needed::Yes, "room", check_room(folder.path()))?;
    found.print_question("Which engines can be compared?")?;
    let mut timed = false;
    for engine in lab.registry.engines() {
        let about = engine.about();
        let needed = if about.home == EngineHome::Server { Needed::No } else { Needed::Yes };
        let place = folder.path().join(about.name.replace(':', "-"));
        let tried = check_server_room(about.home, folder.path());
        let tried = tried.and_then(|()| try_engine(engine, &place));
        timed |= tried.is_ok();
        found.print_finding(needed, &format!("engine {}", about.name), tried)?;
    }
    if timed {
        print(&by_own_name(
            "         These times say how long a single commit of one row waits for this disk. They don't say \
             which engine is faster: bakeoff run compares engines at work\n",
        ))?;
    }
    for collection in &COLLECTIONS {
        found.print_finding(
            Needed::No,
            &format!("text {}", collection.name),
            check_text(collection),
        )?;
    }
    let pages = bakeoff_lab::targets::tables::try_php(lab.registry.engines());
    found.print_finding(Needed::No, "nginx and php-fpm, for pages (server=php)", pages)?;
    found
        .print_question("Can a disk be chosen, shared with other load, and its plug be pulled?")?;
    found.print_finding(Needed::No, "virtual disks", try_disk(folder.path()))?;
    // On the machine's own disk; a virtual disk has neighbours in its own queue.
    found.print_finding(Needed::No, "neighbours", try_neighbours(folder.path()))?;
    found.print_question("Can memory and processors be limited?")?;
    found.print_finding(Needed::No, "memory limits", bakeoff_lab::try_memory_limit())?;
    found.print_finding(Needed::No, "processor limits", bakeoff_lab::try_cpu_limit())?;
    if arguments.disk || arguments.dir.is_some() {
        folder.close().map_err(|error| CommandFailure::new(Exit::Folder, error))?;
        found.interruption.allow_exit();
        disk_cost::print_cost(&mut found, lab.registry.models(), dir)?;
    }
    found.conclude(&lab.registry)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needed {
    Yes,
    No,
}

#[derive(Default)]
struct DoctorFindings {
    interruption: Interruption,
    asked: bool,
    needed: Vec<String>,
    other: Vec<String>,
}

impl DoctorFindings {
    fn print_question(&mut self, question: &str) -> Result<(), CommandFailure> {
        let before = if std::mem::replace(&mut self.asked, true) { "\n" } else { "" };
        print(&format!("{before}{question}\n"))
    }

    fn print_finding(
        &mut self,
        needed: Needed,
        what: &str,
        result: Result<String, String>,
    ) -> Result<(), CommandFailure> {
        self.interruption.check()?;
        match result {
            Ok(text) => return print(&format!("ok       {what}: {text}\n")),
            Err(text) => {
                let text = first_line(&text);
                print(&by_own_name(&format!("missing  {what}: {text}\n")))?;
            }
        }
        match needed {
            Needed::Yes => self.needed.push(what.to_owned()),
            Needed::No => self.other.push(what.to_owned()),
        }
        Ok(())
    }

    fn conclude(self, registry: &Registry) -> Result<Exit, CommandFailure> {
        if !self.needed.is_empty() {
            print(&by_own_name(&format!(
                "\n`bakeoff run redmine --quick` can't run here, since this is missing: {}. To \
                 look at another folder: bakeoff doctor DIR\n",
                self.needed.join(", ")
            )))?;
            return Ok(Exit::Failed);
        }
        if !self.other.is_empty() {
            // Only the server engines are optional.
            let server = self.other.iter().any(|what| what.starts_with("engine "));
            let brings = if server { servers_advice(registry) } else { String::new() };
            print(&by_own_name(&format!(
                "\n`bakeoff run redmine --quick` can run here without what is missing.{brings}\n"
            )))?;
        }
        print(&by_own_name(
            "\nWhat to run first: bakeoff run demo, which compares three engines and pulls their plug, in 3 \
             minutes\n",
        ))?;
        Ok(Exit::Done)
    }
}

fn servers_advice(registry: &Registry) -> String {
    let mut packages: Vec<&str> = Vec::new();
    for engine in registry.engines() {
        for package in engine.about().packages {
            if !packages.contains(package) {
                packages.push(package);
            }
        }
    }
    format!(" To install all servers on Debian: apt-get install {}", packages.join(" "))
}

fn check_machine(folder: &Path) -> Result<String, String> {
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

/// Settings of the machine that figures may depend on, and that a run records.
fn describe_settings(folder: &Path) -> Result<String, String> {
    let machine = bakeoff_lab::describe_machine(folder).map_err(|error| error.to_string())?;
    let settings = machine.settings().into_iter();
    let told: Vec<String> = settings.map(|(what, value)| format!("{what} {value}")).collect();
    let told = if told.is_empty() { "none are told".to_owned() } else { told.join("; ") };
    Ok(escape_unseen(&told).into_owned())
}

fn check_text(collection: &Collection) -> Result<String, String> {
    const USE: &str = "real text, which the rows of text-oltp are made of";
    if !collection.is_installed() {
        return Err(format!(
            "{USE} (without it, of made-up text): {}",
            collection.install_command()
        ));
    }
    let file = RowsFile::survey(Path::new(collection.path)).map_err(|error| error.to_string())?;
    Ok(format!("{USE}: {}", file.describe(&[])))
}

fn check_room(folder: &Path) -> Result<String, String> {
    let free =
        bakeoff_lab::machine::accounts::free_bytes(folder).map_err(|error| error.to_string())?;
    let text = format!("{} MB free for run folders", free / 1_000_000);
    if free < ROOM {
        return Err(format!("{text}, {} MB are wanted", ROOM / 1_000_000));
    }
    Ok(text)
}

fn check_server_room(home: EngineHome, folder: &Path) -> Result<(), String> {
    let free =
        bakeoff_lab::machine::accounts::free_bytes(folder).map_err(|error| error.to_string())?;
    if home != EngineHome::Server || free >= SERVER_ROOM {
        return Ok(());
    }
    let [free, wanted] = [free, SERVER_ROOM].map(|bytes| bytes / 1_000_000);
    Err(format!("not tried: only {free} MB are free here, and a server wants {wanted} MB"))
}

/// Without what a server's log says below it.
fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    match line.rsplit_once("; ") {
        Some((before, after)) if after.ends_with(':') => before,
        _ => line,
    }
}

fn try_engine(engine: &dyn Engine, place: &Path) -> Result<String, String> {
    engine.available()?;
    let try_it = || -> bakeoff_engines::Result<Vec<f64>> {
        std::fs::create_dir(place)?;
        let table = Table::new("doctor").generated_key("id").column("text", Type::STRING);
        let schema = Schema { tables: vec![table] };
        let insert = Statement { name: "insert".into(), action: Action::Insert { table: 0 } };
        let terms = OpenTerms::new(Durability::Strict);
        let database = engine.open(place, &terms, &schema, &[insert])?;
        let mut session = database.session()?;
        let mut rows = Rows::new();
        let mut seconds = Vec::with_capacity(COMMITS);
        for _ in 0..COMMITS {
            let start = Instant::now();
            session.begin(Access::Write)?;
            session.run(0, &[Value::Null, Value::Text("text")], &mut rows)?;
            session.commit()?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(seconds)
    };
    let seconds = try_it().map_err(|error| error.to_string())?;
    let each = Spread::from_values(seconds).ok_or("no commit was timed")?;
    let (each, unit) = match each.median < 100e-6 {
        true => (each.scale_by(1e6), "µs"),
        false => (each.scale_by(1e3), "ms"),
    };
    let [median, low, high] = each.in_digits();
    let promises = engine.about().promises;
    let strict = promises.iter().find(|it| it.durability == Durability::Strict);
    let remark = strict.and_then(|it| it.remark).map_or(String::new(), |it| format!(" ({it})"));
    Ok(format!(
        "{}, a strict commit takes {median} {unit} here (the middle half of {COMMITS}: {low} to {high} {unit})\
         {remark}",
        engine.version()
    ))
}

fn try_disk(folder: &Path) -> Result<String, String> {
    let [backing, mountpoint] = ["backing", "disk"].map(|name| folder.join(name));
    let launcher = disk_daemon::own_launcher().map_err(|failure| failure.message)?;
    for folder in [&backing, &mountpoint] {
        std::fs::create_dir(folder).map_err(|error| error.to_string())?;
    }
    let mounted = Mounted::start(&launcher, &MountOptions::new(&backing, &mountpoint, "null"))
        .map_err(|error| error.to_string())?;
    let file = mounted.path().join("file");
    let text = std::fs::write(&file, "text").and_then(|()| std::fs::read(&file));
    let stat = mounted.control().stat();
    mounted.unmount().map_err(|error| error.to_string())?;
    let round_trip = stat.map_err(|error| error.to_string())?.round_trip_us;
    match text {
        Ok(text) if text == b"text" => {
            Ok(format!("a call takes about {} µs through FUSE", format_two_digits(round_trip)))
        }
        Ok(_) => Err("what was read is not what was written".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn try_neighbours(folder: &Path) -> Result<String, String> {
    let rates =
        neighbour::NeighbourFile::prepare(folder, neighbour::FILE_BYTES / 8).and_then(|file| {
            (0..STREAMS)
                .map(|_| neighbour::measure_alone(&file, STREAM))
                .collect::<Result<Vec<_>, _>>()
        });
    let rates = rates.map_err(|error| error.to_string())?;
    let [rate, low, high] = Spread::from_values(rates).ok_or("no stream was measured")?.in_digits();
    Ok(format!(
        "one stream alone makes {rate} requests of 16 KiB a second (of {STREAMS} measurements, {low} to {high})"
    ))
}
