use std::fs;
use std::time::{Duration, Instant};

use bakeoff_results::measure::{self, Measures, Scope};

use super::usage::{self, Usage};

/// The share of all processors that other processes may use while clients run.
const MOST_FOREIGN: f64 = 0.10;
const MOST_STOLEN: f64 = 0.02;
/// In a shorter trial, one short foreign process exceeds these shares.
const LONG_ENOUGH_S: f64 = 5.0;

/// `None`: the kernel doesn't say.
#[derive(Clone, Debug)]
pub struct MachineAccount {
    at: Instant,
    times: Option<ProcessorTimes>,
    /// Used by bakeoff, all that it started, and the server that it measures.
    ours: Option<Duration>,
    /// Time that tasks waited for a processor, for storage, for memory.
    pressure: [Option<Duration>; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessorTimes {
    busy: Duration,
    stolen: Duration,
}

impl MachineAccount {
    /// `server`: one that somebody else runs, and that is measured.
    pub fn beside_server(server: Option<u32>) -> Self {
        let pressure = ["cpu", "io", "memory"].map(|kind| {
            fs::read_to_string(format!("/proc/pressure/{kind}"))
                .ok()
                .as_deref()
                .and_then(parse_stalled)
        });
        let times = fs::read_to_string("/proc/stat").ok().as_deref().and_then(parse_times);
        let ours = Usage::of_family(std::process::id()).ok().map(|usage| usage.cpu);
        // One that has ended is told by its clients.
        let theirs = server.and_then(|pid| usage::read_cpu_of_family(pid).ok()).unwrap_or_default();
        let ours = ours.map(|ours| ours + theirs);
        Self { at: Instant::now(), times, ours, pressure }
    }

    pub fn since(&self, earlier: &Self) -> Measures {
        let mut measures = Measures::default();
        let mut set = |what, value: Option<f64>| measures.set_some(what, Scope::Machine, value);
        let times = self.times.zip(earlier.times);
        let busy = times.map(|(now, then)| now.busy.saturating_sub(then.busy));
        let ours = self.ours.zip(earlier.ours).map(|(now, then)| now.saturating_sub(then));
        let foreign = busy.zip(ours).map(|(busy, ours)| busy.saturating_sub(ours).as_secs_f64());
        let stolen = times.map(|(now, then)| now.stolen.saturating_sub(then.stolen).as_secs_f64());
        set(&measure::FOREIGN_CPU, foreign);
        set(&measure::STEAL, stolen);
        let seconds = (self.at - earlier.at).as_secs_f64();
        set(&measure::MACHINE_WATCHED, Some(seconds));
        let kinds = [&measure::PRESSURE_CPU, &measure::PRESSURE_IO, &measure::PRESSURE_MEMORY];
        for (number, what) in kinds.into_iter().enumerate() {
            let stalled = self.pressure[number].zip(earlier.pressure[number]);
            let share = |(now, then): (Duration, Duration)| {
                (now.saturating_sub(then).as_secs_f64() / seconds).min(1.0)
            };
            set(what, stalled.map(share));
        }
        measures
    }
}

/// The cause of a disturbance, in a few words; `None` for trials that are too short to judge.
pub fn find_disturbance(measures: &Measures, ran_s: f64, processors: u32) -> Option<String> {
    if ran_s < LONG_ENOUGH_S {
        return None;
    }
    let share = |what| measures.share_of_others(what, ran_s, processors);
    let above = |what, most| share(what).filter(|share| *share > most);
    if let Some(share) = above(&measure::STEAL, MOST_STOLEN) {
        return Some(format!(
            "other virtual machines took {:.0} % of the processors",
            share * 100.0
        ));
    }
    let share = above(&measure::FOREIGN_CPU, MOST_FOREIGN)?;
    Some(format!("other processes used {:.0} % of the processors", share * 100.0))
}

/// Source: Documentation/accounting/psi.rst of the kernel: `some`, `total=` in microseconds.
fn parse_stalled(pressure: &str) -> Option<Duration> {
    let some = pressure.lines().find(|line| line.starts_with("some"))?;
    let total = some.split_whitespace().find_map(|field| field.strip_prefix("total="))?;
    Some(Duration::from_micros(total.parse().ok()?))
}

/// Source: proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal, in clock ticks.
fn parse_times(stat: &str) -> Option<ProcessorTimes> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let of = |ticks: u64| {
        Duration::from_nanos(ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second()))
    };
    let busy = [0, 1, 2, 5, 6].iter().map(|field| ticks.get(*field)).sum::<Option<u64>>()?;
    Some(ProcessorTimes { busy: of(busy), stolen: of(*ticks.get(7)?) })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_kernels_lines_are_read() {
        let tick = Duration::from_secs(1) / rustix::param::clock_ticks_per_second() as u32;
        let stat = "cpu  10 20 30 400 500 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        let wanted = ProcessorTimes { busy: tick * 73, stolen: tick * 8 };
        assert_eq!(parse_times(stat), Some(wanted));
        assert_eq!(parse_times("cpu  1 2\n"), None);
        let pressure =
            "some avg10=2.52 avg60=9.48 avg300=21.00 total=2309595263\nfull avg10=0.00\n";
        assert_eq!(parse_stalled(pressure), Some(Duration::from_micros(2_309_595_263)));
        assert_eq!(parse_stalled(""), None);
    }

    #[test]
    fn a_long_trial_is_disturbed_by_many_others() {
        let others = |cpu_s: f64, steal_s: f64| {
            let mut measures = Measures::default();
            measures.set(&measure::FOREIGN_CPU, Scope::Machine, cpu_s);
            measures.set(&measure::STEAL, Scope::Machine, steal_s);
            measures
        };
        let of = |cpu_s, steal_s, ran_s| find_disturbance(&others(cpu_s, steal_s), ran_s, 2);
        assert_eq!(of(1.9, 0.3, 10.0), None);
        assert!(of(2.4, 0.3, 10.0).unwrap().contains("other processes used 12 %"));
        assert!(of(1.9, 0.6, 10.0).unwrap().contains("other virtual machines took 3 %"));
        assert_eq!(of(8.0, 8.0, 4.0), None);
        // 2.4 s of 40 s on 2 processors are 3 %, however short the clients ran of these.
        let mut long = others(2.4, 0.3);
        long.set(&measure::MACHINE_WATCHED, Scope::Machine, 40.0);
        assert_eq!(find_disturbance(&long, 10.0, 2), None);
        assert_eq!(find_disturbance(&Measures::default(), 10.0, 2), None);
    }

    #[test]
    fn a_server_of_somebody_else_that_is_measured_is_no_other() {
        // Its parent has ended, so that it is nobody's child here.
        let script = "(while :; do :; done) > /dev/null 2>&1 & echo $!";
        let said = Command::new("sh").args(["-c", script]).output().unwrap().stdout;
        let pid: u32 = String::from_utf8(said).unwrap().trim().parse().unwrap();
        let used = || usage::read_cpu_of_family(pid).unwrap();
        let ours = |server| MachineAccount::beside_server(server).ours.unwrap();
        let (with, without, first) = (ours(Some(pid)), ours(None), used());
        let wanted = first + Duration::from_millis(200);
        bakeoff_testkit::wait_until("the server works", || used() > wanted);
        let (with, without) = (ours(Some(pid)) - with, ours(None) - without);
        let server = rustix::process::Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
        assert!(with >= without + Duration::from_millis(190), "{with:?} {without:?}");
    }

    #[test]
    fn what_others_use_is_told_from_what_we_use() {
        // Ours, since this process started it.
        let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let before = MachineAccount::beside_server(None);
        assert!(Command::new("sh").args(["-c", spin]).status().unwrap().success());
        let after = MachineAccount::beside_server(None);
        let ours = (after.ours.unwrap() - before.ours.unwrap()).as_secs_f64();
        assert!(ours > 0.1, "{ours}");
        let busy = (after.times.unwrap().busy - before.times.unwrap().busy).as_secs_f64();
        let since = after.since(&before);
        let watched = since.get(&measure::MACHINE_WATCHED, &Scope::Machine).unwrap();
        assert_eq!(watched, (after.at - before.at).as_secs_f64());
        let foreign = since.get(&measure::FOREIGN_CPU, &Scope::Machine).unwrap();
        // To the clock's ticks.
        assert!(
            (foreign - (busy - ours).max(0.0)).abs() < 0.05,
            "{foreign} of {busy}, {ours} ours"
        );
    }
}
