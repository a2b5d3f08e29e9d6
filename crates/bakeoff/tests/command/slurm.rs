//! A plan in four shards by Slurm itself: private servers in a temporary folder, two nodes on this machine.
//!
//! Sources: slurm.conf(5), slurmd(8) (`-N`, of a slurmd that is built for several on one machine),
//! munged(8).

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bakeoff_testkit::{
    PATIENCE, Since, ended_within, folder_for_all, in_time, needs, needs_root, wait_until,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Place, SMALL, trials};

/// The nodes' names.
const NODES: [&str; 2] = ["one", "two"];
/// The servers, and the commands that the test uses.
const PROGRAMS: [&str; 7] =
    ["munged", "slurmctld", "slurmd", "sbatch", "sinfo", "squeue", "scancel"];

/// Where a program is that Debian has for root.
fn program(name: &str) -> Result<PathBuf, String> {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let found = folders.iter().map(|folder| Path::new(folder).join(name)).find(|it| it.is_file());
    found.ok_or_else(|| format!("{name} is not installed (slurm-wlm, munge)"))
}

/// Ports that nobody listened at a moment ago.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners: [TcpListener; N] =
        std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Private servers of Slurm, which end with this.
struct Slurm {
    folder: tempfile::TempDir,
    /// The last that was started comes last.
    servers: Vec<Child>,
    /// Where jobs say what they do.
    jobs: PathBuf,
}

impl Slurm {
    /// A port that somebody else has by the time a server asks for it ends that server: then all begin anew.
    fn start(jobs: &Path) -> Self {
        in_time("a free port", |_| Self::try_start(jobs))
    }

    fn try_start(jobs: &Path) -> Option<Self> {
        let mut slurm = Self { folder: folder_for_all(), servers: Vec::new(), jobs: jobs.into() };
        slurm.write_configuration();
        let at = |name: &str| slurm.folder.path().join(name).display().to_string();
        let file =
            |(flag, name): (&str, &str)| format!("--{flag}={}", at(&format!("munge.{name}")));
        let munged = [
            ("key-file", "key"),
            ("socket", "socket"),
            ("pid-file", "pid"),
            ("log-file", "log"),
            ("seed-file", "seed"),
        ];
        let munged = munged.map(file);
        let (socket, configuration) = (slurm.folder.path().join("munge.socket"), at("slurm.conf"));
        let flags = ["--foreground", "--force"].map(str::to_owned);
        slurm.spawn("munged", &[&flags[..], &munged].concat());
        wait_until("munged's socket", || socket.exists());
        let foreground = ["-D".to_owned(), "-f".to_owned(), configuration];
        slurm.spawn("slurmctld", &foreground);
        for node in NODES {
            let own = ["-N".to_owned(), node.to_owned()];
            slurm.spawn("slurmd", &[&foreground[..], &own].concat());
        }
        let mut are_idle = false;
        wait_until("two idle nodes", || {
            let states = slurm.tell("sinfo", &["-h", "-N", "-o", "%t"]);
            are_idle = states.lines().filter(|state| *state == "idle").count() == NODES.len();
            are_idle
                || slurm.servers.iter_mut().any(|it| it.try_wait().is_ok_and(|it| it.is_some()))
        });
        if !are_idle {
            slurm.print_state();
        }
        are_idle.then_some(slurm)
    }

    fn write_configuration(&self) {
        let folder = self.folder.path();
        // A key for munge, which nobody else may read.
        let mut key = [0; 128];
        File::open("/dev/urandom").unwrap().read_exact(&mut key).unwrap();
        fs::write(folder.join("munge.key"), key).unwrap();
        fs::set_permissions(folder.join("munge.key"), Permissions::from_mode(0o600)).unwrap();
        let [controller, one, two] = free_ports();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap();
        let at = folder.display();
        let node = |(name, port): (&str, u16)| {
            format!(
                "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 \
                 State=UNKNOWN\n"
            )
        };
        let nodes: String = NODES.into_iter().zip([one, two]).map(node).collect();
        let names = NODES.join(",");
        let text = format!(
            "ClusterName=bakeoff\n\
             SlurmctldHost={host}(127.0.0.1)\n\
             SlurmctldPort={controller}\n\
             AuthType=auth/munge\n\
             AuthInfo=socket={at}/munge.socket\n\
             SlurmUser=root\n\
             SlurmdUser=root\n\
             StateSaveLocation={at}/state\n\
             SlurmdSpoolDir={at}/spool-%n\n\
             SlurmctldPidFile={at}/slurmctld.pid\n\
             SlurmdPidFile={at}/slurmd-%n.pid\n\
             ProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\n\
             SwitchType=switch/none\n\
             MpiDefault=none\n\
             ReturnToService=2\n\
             SlurmdParameters=config_overrides\n\
             SelectType=select/linear\n\
             {nodes}\
             PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP\n"
        );
        fs::write(folder.join("slurm.conf"), text).unwrap();
        // No unit of systemd is asked for, which a container has not.
        let cgroup = "CgroupPlugin=cgroup/v1\nIgnoreSystemd=yes\n";
        fs::write(folder.join("cgroup.conf"), cgroup).unwrap();
        for name in ["state", "spool-one", "spool-two"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
    }

    /// Starts a server, whose output goes to a file of its own.
    fn spawn(&mut self, program: &str, arguments: &[String]) {
        let name = format!("{program}-{}.log", self.servers.len());
        let log = File::create(self.folder.path().join(name)).unwrap();
        let mut command = self.command(program);
        command.args(arguments).stdout(log.try_clone().unwrap()).stderr(log);
        self.servers.push(command.spawn().unwrap());
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(program(name).unwrap());
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf")).stdin(Stdio::null());
        command
    }

    /// What a command prints.
    fn tell(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.command(name).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn print_state(&self) {
        eprintln!("{}\n{}", self.tell("sinfo", &["-N", "-l"]), self.tell("squeue", &["-l"]));
        for folder in [self.folder.path(), &self.jobs] {
            let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            for path in entries.filter(|path| path.extension().is_some_and(|it| it == "log")) {
                let text = fs::read(&path).unwrap_or_default();
                eprintln!("--- {}\n{}", path.display(), String::from_utf8_lossy(&text));
            }
        }
    }

    /// How many tasks wait or run; `None` where the controller does not say so in time.
    fn tasks(&self) -> Option<usize> {
        let output = self.command("squeue").args(["-h", "-r"]).output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).lines().count())
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.print_state();
        }
        // What a job has started is no child of ours: its own server ends it, where there is one.
        if self.tasks().is_some_and(|tasks| tasks > 0) {
            self.tell("scancel", &["--full", "--user=root"]);
            let end = Since::now();
            while self.tasks() != Some(0) && !end.at_least(PATIENCE) {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        for child in self.servers.iter_mut().rev() {
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
            if ended_within(PATIENCE, child).is_none() {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// The blocks and cells that were run, however often.
fn placed(document: &Value) -> BTreeSet<(u64, String)> {
    let trials = document["trials"].as_array().unwrap().iter();
    trials.map(|it| (it["block"].as_u64().unwrap(), it["levels"].to_string())).collect()
}

#[test]
#[ignore = "slow: make test-slow"]
fn four_shards_by_slurm_are_one_plan_with_no_block_twice_and_none_missing() {
    if !needs_root("start slurmd") || PROGRAMS.iter().any(|it| needs(program(it)).is_none()) {
        return;
    }
    let place = Place::new();
    // 24 trials in 12 blocks.
    let toml = SMALL
        .replace("seconds = 0.5", "seconds = 0.5\nclients = [1, 2, 4]")
        .replace("repetitions = 2", "repetitions = 4");
    place.write("sweep.toml", &toml);
    let path = place.path("");
    let printed = place.typed("cluster slurm sweep.toml --shards 4 --out all -- --same-machine");
    place.write("job.sh", &printed.code(0).out());

    let slurm = Slurm::start(&path);
    let mut sbatch = slurm.command("sbatch");
    sbatch.arg("job.sh").current_dir(&path).env("XDG_RUNTIME_DIR", &path).env("TMPDIR", &path);
    let sent = sbatch.output().unwrap();
    assert!(sent.status.success(), "{sent:?}");
    let shards = [1, 2, 3, 4].map(|number| format!("all/shard-{number}"));
    // Each trial and task of the array is waited for by itself, however much runs beside it.
    let ended = || shards.iter().map(|shard| trials(&place.path(shard))).sum::<i64>();
    loop {
        let before = (slurm.tasks(), ended());
        if before.0 == Some(0) {
            break;
        }
        wait_until("the end of a trial or a task", || (slurm.tasks(), ended()) != before);
    }
    for shard in &shards {
        wait_until(shard, || place.path(shard).exists());
    }

    let shards: Vec<&str> = shards.iter().map(String::as_str).collect();
    place.run(&[&["merge", "merged"][..], &shards].concat()).code(0);
    let merged = place.json("merged");
    let attempts = merged["trials"].as_array().unwrap().iter();
    let attempts = attempts.map(|it| ["block", "levels", "attempt"].map(|key| it[key].to_string()));
    let attempts: Vec<_> = attempts.collect();
    let each: BTreeSet<_> = attempts.iter().collect();
    assert_eq!(attempts.len(), each.len(), "a trial is there twice: {attempts:?}");
    // The plan has that many, each of them another one.
    assert_eq!(placed(&merged).len(), 24);
    assert!(merged["comparisons"].as_array().is_some_and(|it| !it.is_empty()), "{merged}");
}
