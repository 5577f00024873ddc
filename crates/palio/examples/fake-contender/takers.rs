//! What takes more than it should: memory, processors, the lives of others, and the names of files.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio, exit};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getppid};

/// What is eaten at most, should nobody stop it.
const EATEN_MIB_MAX: usize = 512;
/// What is eaten in a moment.
const SPIKE_MIB: usize = 64;
/// CPU time of a child that nobody waits for.
const BURNT_MS: u64 = 200;

/// Does what this option asks of a process that another one has started, if it is such an option.
pub(super) fn is_started(option: &str, value: &mut dyn FnMut() -> String) -> bool {
    match option {
        "--eat-memory" => eat_memory(),
        "--spike" => spike(),
        "--unwaited" => burn_unwaited(),
        "--burn-in-child" => burn_in_child(),
        "--burn" => burn(),
        "--spin" => spin(Duration::from_nanos(value().parse().expect("ns")), 1, 0),
        _ => return false,
    }
    true
}

/// Kills its warden and Palio, so that neither is there to see the other's end: the warden stands
/// still when Palio dies.
pub(super) fn kill_all() {
    let (warden, palio) = watchers();
    for (id, signal) in
        [(warden, Signal::SIGSTOP), (palio, Signal::SIGKILL), (warden, Signal::SIGKILL)]
    {
        let _ = kill(id, signal);
    }
}

/// Its warden, and Palio.
fn watchers() -> (Pid, Pid) {
    let warden = getppid();
    let status = fs::read_to_string(format!("/proc/{warden}/status")).expect("a status");
    let palio = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("a parent");
    (warden, Pid::from_raw(palio.trim().parse().expect("a number")))
}

/// Runs a command on Palio, whose id comes last.
pub(super) fn meddle(command: &str) {
    let words: Vec<&str> = command.split_whitespace().collect();
    let (_, palio) = watchers();
    let done = Command::new(words[0]).args(&words[1..]).arg(palio.to_string()).output();
    let done = done.expect("the command is there");
    assert!(done.status.success(), "{command}: {done:?}");
}

/// Fills its own input, so that nobody else can write there.
pub(super) fn fill_input() {
    let mut options = OpenOptions::new();
    let options = options.write(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let mut input = options.open("/proc/self/fd/0").expect("a pipe has two ends");
    while input.write(b"x").is_ok() {}
}

/// Keeps a processor busy for [`BURNT_MS`] of its time.
fn burn() {
    let clock = nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID;
    let took = || Duration::from(clock.now().expect("a clock"));
    while took() < Duration::from_millis(BURNT_MS) {}
}

/// Keeps so many threads busy for `time` of the wall clock, and as many child processes as well.
pub(super) fn spin(time: Duration, threads: u32, children: u32) {
    let this_file = std::env::current_exe().expect("this file");
    let ns = time.as_nanos().to_string();
    let child = |_| Command::new(&this_file).args(["--spin", &ns]).spawn().expect("a process");
    let children: Vec<_> = (0..children).map(child).collect();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| while start.elapsed() < time {});
        }
    });
    for mut child in children {
        let _ = child.wait();
    }
}

/// Has a child that burns, and whose parent ignores that children end: nobody ever waits for it.
fn burn_unwaited() {
    let this_file = std::env::current_exe().expect("this file");
    // What is ignored in one program is ignored in the next.
    let mut env = Command::new("env");
    let _ = env.arg("--ignore-signal=CHLD").arg(this_file).arg("--burn-in-child").status();
}

/// Has a process burn that is no child of its: another one, which ends at once, has started it.
pub(super) fn burn_in_orphan() {
    let mut orphan = Command::new("setsid");
    let orphan = orphan.arg("--fork").arg(std::env::current_exe().expect("this file"));
    // Its end is that of its output.
    let _ = orphan.arg("--burn").stdout(Stdio::piped()).output();
}

fn burn_in_child() {
    let mut child = Command::new(std::env::current_exe().expect("this file"));
    let mut child = child.arg("--burn").stdout(Stdio::piped()).spawn().expect("a process");
    // Its end is that of its output.
    let _ = child.stdout.take().expect("a pipe").read(&mut [0]);
    // There is nobody left to wait for.
    let _ = child.wait();
}

/// More memory than anything else here has, for as short as can be.
fn spike() {
    let spike: Vec<_> = (0..SPIKE_MIB).map(|_| vec![1_u8; 1 << 20]).collect();
    std::hint::black_box(&spike);
    exit(0);
}

pub(super) fn eat_memory() {
    let mut eaten = Vec::new();
    for _ in 0..EATEN_MIB_MAX {
        // Not zeroes: those would be promised, not given.
        eaten.push(vec![1_u8; 1 << 20]);
    }
    std::hint::black_box(&eaten);
    super::hang();
}

pub(super) fn flood_stderr(lines: u32) {
    let mut err = io::stderr().lock();
    let _ = writeln!(err, "the first line");
    if lines > 0 {
        for number in 0..lines {
            let _ = writeln!(err, "line {number}");
        }
    } else {
        for _ in 0..super::FLOOD_BYTES / 64 {
            let _ = err.write_all(&[b'.'; 64]);
        }
        let _ = writeln!(err);
    }
    let _ = writeln!(err, "the last line");
}

/// Puts another file with so much more at its end into the place of this one, as a build does.
pub(super) fn replace(path: &Path, more: &str) {
    let old = fs::read_to_string(path).expect("the test wrote it");
    let permissions = fs::metadata(path).expect("it is there").permissions();
    let new = path.with_extension("new");
    fs::write(&new, old + more).expect("the folder takes files");
    fs::set_permissions(&new, permissions).expect("it is ours");
    fs::rename(new, path).expect("it is there");
}
