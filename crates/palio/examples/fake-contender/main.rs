//! A contender that misbehaves on demand, for the tests of Palio.
//!
//! It speaks the contract by hand rather than through the harness, because most of what it does the
//! harness would never do. Its own options come first, then those of the contract:
//!
//! `fake-contender --id ID --state DIR [--fault NAME[:VALUE]]… [--from START]`,
//! and after these `--describe` or `--workload …`
//!
//! Every start for a workload is counted in `DIR`; faults wait for start number `START` (the first
//! is the pilot).
#![forbid(unsafe_code)]

mod server;
mod sockets;
mod takers;

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio, exit};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::getppid;
use palio_protocol::forks::{Counted, Forks, Uncounted};
use palio_protocol::harness::{Contender, Iteration, Prepare, Refusal, Request, Work, serve_args};

use takers::{
    burn_in_orphan, eat_memory, fill_input, flood_stderr, kill_all, meddle, replace, spin,
};

/// What every iteration of every workload answers; the tests' catalogue says the same.
const ANSWER: &str = "42";
const OPS: u64 = 10;
/// The workload whose answer hangs on the salt.
const SALTED: &str = "raise";
/// The workload that forks, in which nothing is ever handed to anyone but in words.
const FORKED: &str = "fib";
/// What an iteration claims to take. It sleeps for as long, since Palio's own clock must see it
/// pass; what is measured is the claim, so that tests measure alike.
const CLAIMED_NS: u64 = 2_000_000;
/// Enough to fill any pipe many times over.
const FLOOD_BYTES: usize = 4 << 20;

#[derive(Default)]
struct Fake {
    id: String,
    state: PathBuf,
    faults: Vec<(String, String)>,
    from: u32,
    /// What `--workload` and `--salt` say.
    workload: String,
    salt: u64,
    /// What every `--set` says, and the number of threads as if it were one.
    settings: Vec<String>,
    /// Which start for a workload this is, from 1; 0 for `--describe`.
    start: u32,
}

impl Fake {
    /// The value of a fault that is due, empty if it has none.
    fn fault(&self, name: &str) -> Option<&str> {
        let due = self.start == 0 || self.start >= self.from;
        let found = self.faults.iter().find(|(fault, _)| due && fault == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the fault is due at sample `number` of this process.
    fn at(&self, name: &str, number: u32) -> bool {
        self.fault(name).is_some_and(|value| value.parse().unwrap_or(1) == number)
    }

    fn answer(&self, number: u32) -> String {
        if let Some(answer) = self.fault("answer") {
            return answer.replace("ESC", "\u{1b}");
        }
        let set = self.fault("wrong-with").map(str::to_owned);
        if self.at("wrong-answer", number)
            || self.fault("wrong-in") == Some(&self.workload)
            || set.is_some_and(|set| self.settings.contains(&set))
        {
            "41".to_owned()
        } else if self.workload == SALTED {
            self.salted()
        } else {
            ANSWER.to_owned()
        }
    }

    /// The answer of the salted workload, in which each unit's value is raised by the salt, and the
    /// ways to it that do less than the work.
    fn salted(&self) -> String {
        let plain: u64 = ANSWER.parse().expect("a number");
        let with = |units: u64, salt: u64| plain.wrapping_add(units.wrapping_mul(salt)).to_string();
        if self.fault("constant").is_some() {
            return with(0, 0);
        }
        if self.fault("replay").is_some() {
            // What the process before knew, if there was one; and what this one knows, for the
            // next.
            let path = self.state.join("answer");
            let old = fs::read_to_string(&path);
            if self.start > self.from {
                return old.expect("the process before wrote it");
            }
            let answer = with(OPS, self.salt);
            fs::write(&path, &answer).expect("the state folder takes files");
            return answer;
        }
        if self.fault("skip").is_some() {
            // Half of the units, and all of them claimed.
            return with(OPS / 2, self.salt);
        }
        with(OPS, self.salt)
    }

    /// The claim of the first `claim-with:NS:SETTING` whose setting was made, such as `dial=1` or
    /// `threads=2`.
    fn claim_with_settings(&self) -> Option<u64> {
        let claims = self.faults.iter().filter(|(fault, _)| fault == "claim-with");
        let each = claims.filter_map(|(_, value)| value.split_once(':'));
        let mut due = each.filter(|(_, setting)| self.settings.iter().any(|s| s == setting));
        due.next().and_then(|(ns, _)| ns.parse().ok())
    }

    /// One sample, of whose time it claims so many percent.
    fn sample(&self, number: u32, batch: u64, claimed_percent: u64) -> String {
        let times = |each: u64| each * batch;
        let units = if self.fault("serve").is_some() { server::REQUESTS } else { OPS };
        let ops = if self.at("wrong-ops", number) { times(units) + 1 } else { times(units) };
        let work = if self.at("less-work", number) { times(units) - 1 } else { times(units) };
        let work = if self.at("no-work", number) { "-".to_owned() } else { work.to_string() };
        let claimed_ns =
            self.fault("claim").and_then(|claim| claim.parse().ok()).unwrap_or(CLAIMED_NS);
        let claimed_ns = self.claim_with_settings().unwrap_or(claimed_ns);
        // Every sample longer than the last, where a test is about their order; by 1 ns, or by so
        // many.
        let step_ns = self.fault("count-up").map_or(0, |step| step.parse().unwrap_or(1));
        let extra_ns = step_ns * u64::from(number);
        // Every process at another pace, where a test is about noise.
        let is_moody = self.faults.iter().any(|(fault, _)| fault == "moody");
        let pace = if is_moody { 1 + u64::from(self.start % 5) } else { 1 };
        let slow_with = self.fault("slow-with").map(str::to_owned);
        let pace = if slow_with.is_some_and(|set| self.settings.contains(&set)) { 2 } else { pace };
        let elapsed_ns = times(claimed_ns) * pace + extra_ns;
        let lie = self.fault("lie").and_then(|percent| percent.parse::<u64>().ok());
        let time = Duration::from_nanos(elapsed_ns);
        let number_of = |fault| self.fault(fault).map(|value| value.parse().expect("a number"));
        match (number_of("spin"), number_of("spin-children")) {
            (None, None) => std::thread::sleep(time),
            (threads, children) => spin(time, threads.unwrap_or(1), children.unwrap_or(0)),
        }
        // In percent of the truth, for the tests of Palio's own clock.
        let elapsed_ns = elapsed_ns * lie.unwrap_or(claimed_percent) / 100;
        let elapsed_ns = self.fault("elapsed").map_or(elapsed_ns, |ns| ns.parse().expect("ns"));
        format!(
            "sample elapsed_ns={elapsed_ns} ops={ops} answer={} work={work} user_us={} sys_us={}",
            self.answer(number),
            self.fault("user").unwrap_or("1"),
            self.fault("sys").unwrap_or("-"),
        )
    }

    /// Joins whoever waits at the socket in the state folder, and stays until that side lets go.
    fn meet(&self, what: &str) {
        stay(self.arrive(what));
    }

    /// The first half of [`meet`](Self::meet); nobody may be waiting.
    fn arrive(&self, what: &str) -> Option<UnixStream> {
        let mut stream = UnixStream::connect(self.state.join("meet")).ok()?;
        writeln!(stream, "{what} {}", std::process::id()).ok()?;
        Some(stream)
    }

    /// Adds its name to the list beside the state folders: the order in which contenders were
    /// really started.
    fn sign(&self) {
        let path = self.state.with_file_name("order");
        let list = OpenOptions::new().append(true).create(true).open(path);
        // In one piece, since others write too.
        let _ = list.and_then(|mut list| list.write_all(format!("{}\n", self.id).as_bytes()));
    }

    fn describe(&self) {
        if self.state.join("describe-slowly").exists() {
            self.meet("describing");
        }
        if let Some(path) = self.fault("describe-replaces") {
            replace(Path::new(path), "# It does something else now.\n");
        }
        if self.fault("describe-hang").is_some() {
            self.meet("describing");
            hang();
        }
        if self.fault("describe-exit").is_some() {
            eprintln!("I would rather not say");
            exit(9);
        }
        if self.fault("describe-flood").is_some() {
            say_for_ever("workload x");
        }
        if self.fault("describe-grandchild").is_some() {
            self.leave_grandchild("escaped");
        }
        if self.fault("describe-garbage").is_some() {
            return say("Usage: fake [OPTIONS]");
        }
        let protocol = self.fault("describe-protocol").unwrap_or("2");
        let id = self.fault("describe-id").unwrap_or(&self.id);
        // A test changes the version between two starts of Palio by writing this file.
        let version = fs::read_to_string(self.state.join("version"));
        let version = version.unwrap_or_else(|_| "1.0".to_owned());
        let version = self.fault("describe-version").unwrap_or(&version);
        let flags = self.fault("describe-flags").unwrap_or("-");
        say(&format!(
            "protocol {protocol}\nid {id}\nruntime fake {version}\ntoolchain none\nflags {flags}"
        ));
        say(&format!(
            "workload {}\nknob dial 0\nknob mode plain",
            self.fault("describe-workload").unwrap_or("echo")
        ));
        if self.fault("describe-alone").is_none() {
            say("workload tally");
            say(&format!("workload {SALTED}"));
            say(&format!("workload {FORKED}"));
        }
    }

    fn serve(&self) {
        if let Some(setting) = self.fault("refuse-with")
            && self.settings.iter().any(|known| known == setting)
        {
            eprintln!("fake: {setting} is too much for me");
            exit(2);
        }
        if self.fault("slow-start").is_some() {
            std::thread::sleep(Duration::from_millis(300));
        }
        if let Some(name) = self.fault("sees")
            && std::env::var_os(name).is_some()
        {
            eprintln!("fake: I see {name}");
            exit(9);
        }
        if let Some(code) = self.fault("refuse") {
            let why = self.fault("refuse-saying");
            eprintln!("{}", why.unwrap_or("fake: I do not do this on a Tuesday"));
            exit(code.parse().unwrap_or(3));
        }
        if let Some(count) = self.fault("open-files") {
            sockets::make_room(count.parse().expect("a number"));
        }
        if let Some(lines) = self.fault("flood-stderr") {
            flood_stderr(lines.parse().unwrap_or(0));
        }
        if self.fault("close-stdout").is_some() {
            let null = fs::File::create("/dev/null").expect("there is a /dev/null");
            nix::unistd::dup2_stdout(null).expect("a descriptor can be replaced");
            hang();
        }
        if self.fault("close-stderr").is_some() {
            let null = fs::File::create("/dev/null").expect("there is a /dev/null");
            nix::unistd::dup2_stderr(null).expect("a descriptor can be replaced");
        }
        if let Some(kind) = self.fault("grandchild") {
            self.leave_grandchild(kind);
        }
        let mut taken = 0;
        for line in io::stdin().lock().lines() {
            let line = line.expect("standard input is text");
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["quit"] => break,
                ["run", samples] => self.run(samples, "1", &mut taken),
                ["run", samples, batch] => self.run(samples, batch, &mut taken),
                _ => {}
            }
        }
        self.part();
    }

    fn run(&self, samples: &str, batch: &str, taken: &mut u32) {
        let samples: u32 = samples.parse().expect("a count");
        let batch: u64 = batch.parse().expect("a batch");
        let given = match samples {
            2.. if self.fault("fewer").is_some() => samples - 1,
            _ if self.fault("more").is_some() => samples + 1,
            _ => samples,
        };
        for index in 0..given {
            *taken += 1;
            self.before(*taken);
            if let Some(how) = self.fault("serve") {
                server::serve(how);
            }
            say(&self.sample(*taken, batch, self.shifted_percent(index, given)));
            self.after(*taken);
        }
        if self.fault("fill-input").is_some() {
            // Before anybody is told that it wants another command.
            fill_input();
        }
        say(&format!(
            "done {}",
            if self.fault("miscount").is_some() { samples + 5 } else { given }
        ));
        if self.fault("fill-input").is_some() {
            hang();
        }
    }

    /// Moves nine tenths of the time of all samples of a command into its first or its last one.
    fn shifted_percent(&self, index: u32, given: u32) -> u64 {
        let taker = match self.fault("shift") {
            Some("first") => 0,
            Some(_) => given - 1,
            None => return 100,
        };
        if index == taker { 100 + 90 * u64::from(given - 1) } else { 10 }
    }

    /// What goes wrong instead of a sample.
    fn before(&self, number: u32) {
        if self.at("meet", number) {
            self.meet("sample");
        }
        if let Some(path) = self.fault("replaces") {
            replace(Path::new(path), "# It does something else now.\n");
        }
        if let Some(path) = self.fault("rewrites") {
            replace(Path::new(path), "");
        }
        if self.at("silent", number) {
            hang();
        }
        if self.at("garbage", number) {
            say("Hello! Here is your answer:");
        }
        if self.at("not-text", number) {
            let _ = io::stdout().write_all(b"sample \xff\xfe\n");
            let _ = io::stdout().flush();
        }
        if self.at("cut-off", number) {
            // The beginning of a line, and then nothing.
            let _ = io::stdout().write_all(b"sample elapsed_ns=2000000 ops=10 answer=42");
            let _ = io::stdout().flush();
            exit(0);
        }
        if self.at("zero-time", number) {
            say("sample elapsed_ns=0 ops=10 answer=42 work=10 user_us=1 sys_us=1");
        }
        if self.at("endless-line", number) {
            loop {
                if io::stdout().write_all(&[b'x'; 1 << 16]).is_err() {
                    exit(1);
                }
            }
        }
        if self.at("endless-garbage", number) {
            say_for_ever("blah");
        }
        if self.at("endless-samples", number) {
            say_for_ever(&self.sample(number, 1, 100));
        }
        if self.at("eat-memory", number) {
            eat_memory();
        }
        if self.at("child-eats-memory", number) {
            let this_file = std::env::current_exe().expect("this file");
            let child = Command::new(this_file).arg("--eat-memory").spawn();
            let _ = child.expect("a process can be started").wait();
        }
        if self.at("spike", number) {
            self.child(&["--spike"]);
        }
        if self.at("unwaited", number) {
            self.child(&["--unwaited"]);
        }
        if self.at("burning-orphan", number) {
            burn_in_orphan();
        }
        // Once, so that the run can go on.
        if let Some(command) = self.fault("meddle")
            && (number, self.start) == (1, self.from)
        {
            meddle(command);
        }
        if self.at("kill-all", number) {
            let stream = self.arrive("orphan");
            kill_all();
            stay(stream);
        }
        if self.at("kill-parent", number) {
            // And then no end of its own.
            let _ = kill(getppid(), Signal::SIGKILL);
            self.meet("orphan");
        }
        if self.at("dead-server", number) {
            sockets::read_until_the_server_dies();
        }
        if self.at("segfault", number) {
            eprintln!("fake: about to touch what is not mine");
            die_of(Signal::SIGSEGV);
        }
        if self.at("abort", number) {
            eprintln!("fake: invariant broken");
            die_of(Signal::SIGABRT);
        }
        if self.at("says-evil", number) {
            eprintln!("a\u{1b}[31mb\u{7}\u{202e}c\u{200b}d");
        }
        for code in [0, 3, 7] {
            if self.at(&format!("exit-{code}"), number) {
                eprintln!("fake: I have had enough");
                exit(code);
            }
        }
    }

    /// What goes wrong when the sample is out.
    fn after(&self, number: u32) {
        if self.at("then-hang", number) {
            hang();
        }
    }

    /// What goes wrong when all the work is done.
    fn part(&self) {
        if self.fault("garbage-at-end").is_some() {
            say("Thank you for choosing fake!");
        }
        if self.fault("spike-at-end").is_some() {
            self.child(&["--spike"]);
        }
        if self.fault("unfinished-at-end").is_some() {
            let _ = io::stdout().write_all(b"bye");
            let _ = io::stdout().flush();
        }
        if self.fault("meet-at-end").is_some() {
            self.meet("parting");
        }
        if self.fault("ignore-quit").is_some() {
            hang();
        }
        if let Some(code) = self.fault("exit-at-end") {
            exit(code.parse().unwrap_or(1));
        }
        if self.fault("abort-at-end").is_some() {
            die_of(Signal::SIGABRT);
        }
    }

    /// Starts this file as another process, and waits for its end.
    fn child(&self, args: &[&str]) {
        let mut command = Command::new(std::env::current_exe().expect("this file"));
        let _ = command.args(args).stdin(Stdio::null()).status();
    }

    /// Starts a process that keeps both output pipes open; escaped, it is in another group; as a
    /// daemon, it is in another session, and a child of nobody here.
    fn leave_grandchild(&self, kind: &str) {
        let this_file = std::env::current_exe().expect("this file");
        let mut command;
        if kind == "daemon" {
            command = Command::new("setsid");
            command.arg("--fork").arg(this_file);
        } else {
            command = Command::new(this_file);
        }
        command.args(["--state".as_ref(), self.state.as_os_str(), "--linger".as_ref()]);
        let (mut here, there) = UnixStream::pair().expect("a pair of sockets");
        command.stdin(OwnedFd::from(there));
        if kind == "escaped" {
            command.process_group(0);
        }
        let child = command.spawn().expect("a process can be started");
        // Nobody waits for it: to be left behind is its purpose.
        std::mem::forget(child);
        // Goes on when it has arrived, or it might be killed before anyone has seen it.
        drop(command);
        let _ = here.read(&mut [0]);
    }
}

fn stay(stream: Option<UnixStream>) {
    let _ = stream.map(|mut stream| stream.read(&mut [0]));
}

/// The workload that forks, raced by the real harness, which counts: as calls that all are handed
/// over, or with a cut-off below which they are plain ones.
fn fib<const CUT_OFF: u32>(request: &mut Request) -> Result<Work, Refusal> {
    fn recurse<F: Forks, const CUT_OFF: u32>(n: u64) -> u64 {
        if (n as u32) < 2 {
            return n;
        }
        if n as u32 >= CUT_OFF {
            F::handed(1);
        }
        let [left, right] = [n - 1, n - 2].map(recurse::<F, CUT_OFF>);
        left.wrapping_add(right).wrapping_add(1 << 32)
    }
    // The salt goes where the definition says, and the forks that it should have made are claimed.
    let n: u64 = request.param("n")?;
    let argument = (request.salt & 0xFFFF_FFFE) << 32 | n;
    let forks = recurse::<Uncounted, CUT_OFF>(n) >> 32;
    let done = move |answer| {
        std::thread::sleep(Duration::from_nanos(CLAIMED_NS));
        Iteration { answer, ops: forks, work: Some(forks) }
    };
    Ok(if request.counts_forks() {
        Work::new(move || done(recurse::<Counted, CUT_OFF>(argument)))
    } else {
        Work::new(move || done(recurse::<Uncounted, CUT_OFF>(argument)))
    })
}

/// As [`fib`], by a contender that does not count.
fn fib_uncounted(request: &mut Request) -> Result<Work, Refusal> {
    let mut unasked = request.clone();
    let work = fib::<0>(&mut unasked);
    request.param::<u64>("n")?;
    work
}

/// One line, at once.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
        exit(1);
    }
}

fn say_for_ever(line: &str) -> ! {
    let block = format!("{line}\n").repeat(500);
    loop {
        if io::stdout().write_all(block.as_bytes()).is_err() {
            exit(1);
        }
    }
}

/// Waits for a signal that never comes by itself.
fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

/// Dies of a signal. Rust's own handler of SIGSEGV, which looks for stack overflows, steps aside at
/// the first one.
fn die_of(signal: Signal) -> ! {
    let _ = raise(signal);
    let _ = raise(signal);
    exit(99);
}

/// Counts this start: a file for each, whose making is atomic.
fn count_start(state: &Path) -> u32 {
    (1..)
        .find(|number| {
            let path = state.join(format!("start-{number}"));
            OpenOptions::new().write(true).create_new(true).open(path).is_ok()
        })
        .unwrap_or(1)
}

fn main() -> ExitCode {
    let mut fake = Fake { from: 1, ..Fake::default() };
    let mut describe = false;
    let mut rest = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        let mut value = || args.next().unwrap_or_default();
        match option.as_str() {
            "--id" => fake.id = value(),
            "--state" => fake.state = value().into(),
            "--fault" => {
                let text = value();
                let (name, value) = text.split_once(':').unwrap_or((&text, ""));
                fake.faults.push((name.to_owned(), value.to_owned()));
            }
            "--from" => fake.from = value().parse().expect("a number"),
            "--linger" => {
                let stream = fake.arrive("lingering");
                // Tells the parent, where that listens.
                let parent = io::stdin().as_fd().try_clone_to_owned().map(fs::File::from);
                let _ = parent.and_then(|mut parent| parent.write_all(b"!"));
                stay(stream);
                return ExitCode::SUCCESS;
            }
            taker if takers::is_started(taker, &mut value) => return ExitCode::SUCCESS,
            "--describe" => describe = true,
            _ => rest.push(option),
        }
    }
    // The vectors of the contract are not what it lies about: those it plays with the real harness.
    let workload = rest.iter().position(|option| option == "--workload");
    let workload = workload.and_then(|at| rest.get(at + 1)).map(String::as_str);
    let is_vector =
        workload.is_none_or(|name| name.starts_with("conformance") || name == "no/such_workload");
    let forks: &[(&str, Prepare)] = match fake.faults.iter().find(|(fault, _)| fault == "forks") {
        None => &[(FORKED, fib::<0>)],
        Some((_, how)) if how == "cut-off" => &[(FORKED, fib::<10>)],
        Some((_, how)) if how == "none" => &[(FORKED, fib::<{ u32::MAX }>)],
        Some(_) => &[(FORKED, fib_uncounted)],
    };
    let is_old = fake.faults.iter().any(|(fault, _)| fault == "old");
    if describe {
        fake.describe();
    } else if is_old && rest.iter().any(|option| option == "--count-forks") {
        eprintln!("fake: unknown argument \"--count-forks\"");
        exit(2);
    } else if is_vector && fake.fault("deaf").is_some() {
        fake.meet("vector");
        hang();
    } else if is_vector || workload == Some(FORKED) {
        let honest = Contender {
            id: &fake.id,
            runtime: "fake",
            version: "1",
            toolchain: "-",
            flags: "-",
            threads_max: usize::MAX,
            workloads: forks,
            knobs: &[],
        };
        return serve_args(honest, rest.into_iter());
    } else {
        let salt = rest.iter().position(|option| option == "--salt").map(|at| rest[at + 1].parse());
        fake.salt = salt.expect("the contract demands --salt").expect("a number");
        fake.workload = workload.unwrap_or_default().to_owned();
        let sets = rest.windows(2).filter(|pair| pair[0] == "--set");
        fake.settings = sets.map(|pair| pair[1].clone()).collect();
        let threads = rest.windows(2).find(|pair| pair[0] == "--threads");
        fake.settings.extend(threads.map(|pair| format!("threads={}", pair[1])));
        fake.start = count_start(&fake.state);
        fake.sign();
        fake.serve();
    }
    ExitCode::SUCCESS
}
