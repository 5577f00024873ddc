//! The lines of the contract: [`Command`] towards the contender, [`Answer`] back, and its
//! [`Description`].

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::PROTOCOL_VERSION;
use crate::distribution::Distribution;

/// A line that is not of the contract, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    line: String,
    reason: String,
}

impl Malformed {
    fn new(line: &str, reason: impl Into<String>) -> Self {
        // A contender that floods its output must not flood the error message too.
        const SHOWN_CHARS_MAX: usize = 120;
        let mut shown: String = line.chars().take(SHOWN_CHARS_MAX).collect();
        if shown.len() < line.len() {
            shown.push('…');
        }
        Self { line: shown, reason: reason.into() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in the line {:?}", self.reason, self.line)
    }
}

impl std::error::Error for Malformed {}

/// A decimal number of digits alone: Rust's own parser would take `+1` too, and other languages'
/// would not.
pub(crate) fn decimal<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// What Palio may ask of a contender that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Take `samples` samples of `batch` iterations each.
    Run { samples: NonZeroU32, batch: NonZeroU32 },
    /// Stop the runtime and exit.
    Quit,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { samples, batch } if batch.get() == 1 => write!(f, "run {samples}"),
            Self::Run { samples, batch } => write!(f, "run {samples} {batch}"),
            Self::Quit => f.write_str("quit"),
        }
    }
}

impl FromStr for Command {
    type Err = Malformed;

    fn from_str(line: &str) -> Result<Self, Malformed> {
        let count = |what: &str, word: &str| {
            let reason = || Malformed::new(line, format!("{what} is not an integer of at least 1"));
            decimal::<NonZeroU32>(word).ok_or_else(reason)
        };
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["quit"] => Ok(Self::Quit),
            ["run", samples] => {
                Ok(Self::Run { samples: count("SAMPLES", samples)?, batch: NonZeroU32::MIN })
            }
            ["run", samples, batch] => {
                Ok(Self::Run { samples: count("SAMPLES", samples)?, batch: count("BATCH", batch)? })
            }
            _ => Err(Malformed::new(line, "expected `run SAMPLES [BATCH]` or `quit`")),
        }
    }
}

/// One timed sample: the sums over the iterations of its batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Monotonic time of all iterations, in ns; at least 1.
    pub elapsed_ns: u64,
    /// Units of the workload done.
    pub ops: u64,
    /// What every iteration computed; never empty, no white space.
    pub answer: String,
    /// Tasks, messages or switches that really happened; `None` where counting is not free.
    pub work: Option<u64>,
    /// User CPU time of the whole process during the sample, in µs; `None` where the platform
    /// cannot tell.
    pub user_us: Option<u64>,
    /// System CPU time of the whole process during the sample, in µs; `None` where the platform
    /// cannot tell.
    pub sys_us: Option<u64>,
    /// How the sample's events are distributed, where the workload has events; none of the five
    /// fields otherwise.
    pub distribution: Option<Distribution>,
    /// Forks that were handed to the runtime, where the process was started to count them.
    pub forks: Option<u64>,
}

/// One line of a contender's standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Sample(Sample),
    /// It listens at this port of 127.0.0.1, and the next iteration begins with whoever connects.
    Serving {
        port: u16,
    },
    /// The end of the answer to one `run`, with the number of samples it asked for.
    Done {
        samples: u32,
    },
}

/// Writes `-` for a value that could not be had.
struct OrDash(Option<u64>);

impl fmt::Display for OrDash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{value}"),
            None => f.write_str("-"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sample(s) => {
                write!(
                    f,
                    "sample elapsed_ns={} ops={} answer={} work={} user_us={} sys_us={}",
                    s.elapsed_ns,
                    s.ops,
                    s.answer,
                    OrDash(s.work),
                    OrDash(s.user_us),
                    OrDash(s.sys_us)
                )?;
                s.distribution.map_or(Ok(()), |distribution| write!(f, " {distribution}"))?;
                s.forks.map_or(Ok(()), |forks| write!(f, " forks={forks}"))
            }
            Self::Serving { port } => write!(f, "serving {port}"),
            Self::Done { samples } => write!(f, "done {samples}"),
        }
    }
}

impl FromStr for Answer {
    type Err = Malformed;

    fn from_str(line: &str) -> Result<Self, Malformed> {
        if let Some(samples) = line.strip_prefix("done ") {
            let samples =
                decimal(samples).ok_or_else(|| Malformed::new(line, "`done` wants a count"))?;
            return Ok(Self::Done { samples });
        }
        if let Some(port) = line.strip_prefix("serving ") {
            let port = decimal(port).filter(|&port| port > 0);
            let port = port.ok_or_else(|| Malformed::new(line, "`serving` wants a port"))?;
            return Ok(Self::Serving { port });
        }
        let Some(rest) = line.strip_prefix("sample ") else {
            return Err(Malformed::new(line, "expected `sample …` or `done N`"));
        };
        let mut words = rest.split(' ');
        let mut field = |name: &str| {
            words
                .next()
                .and_then(|word| word.strip_prefix(name)?.strip_prefix('='))
                .ok_or_else(|| Malformed::new(line, format!("expected the field `{name}=`")))
        };
        let number = |name: &str, text: &str| {
            decimal::<u64>(text)
                .ok_or_else(|| Malformed::new(line, format!("`{name}` is not a whole number")))
        };
        let number_or_dash = |name: &str, text: &str| {
            if text == "-" { Ok(None) } else { number(name, text).map(Some) }
        };

        let elapsed_ns = number("elapsed_ns", field("elapsed_ns")?)?;
        let ops = number("ops", field("ops")?)?;
        let answer = field("answer")?;
        let work = number_or_dash("work", field("work")?)?;
        let user_us = number_or_dash("user_us", field("user_us")?)?;
        let sys_us = number_or_dash("sys_us", field("sys_us")?)?;
        if elapsed_ns == 0 {
            return Err(Malformed::new(line, "`elapsed_ns` is 0: the clock did not advance"));
        }
        if answer.is_empty() {
            return Err(Malformed::new(line, "`answer` is empty"));
        }
        // The words are taken only now: `field` borrows them.
        let mut rest: Vec<&str> = words.collect();
        let forks = rest.pop_if(|last| last.starts_with("forks="));
        let forks = forks.map(|last| number("forks", &last["forks=".len()..])).transpose()?;
        let distribution = distribution(line, &rest)?;
        Ok(Self::Sample(Sample {
            elapsed_ns,
            ops,
            answer: answer.to_owned(),
            work,
            user_us,
            sys_us,
            distribution,
            forks,
        }))
    }
}

/// The five fields of a distribution, or none of them.
fn distribution(line: &str, words: &[&str]) -> Result<Option<Distribution>, Malformed> {
    if words.is_empty() {
        return Ok(None);
    }
    if words.len() > Distribution::FIELDS.len() || !words[0].starts_with("events=") {
        let reason = "there is more after `sys_us` than the five fields of a distribution";
        return Err(Malformed::new(line, reason));
    }
    let mut numbers = [0; Distribution::FIELDS.len()];
    for (i, (name, number)) in Distribution::FIELDS.iter().zip(&mut numbers).enumerate() {
        let text = words.get(i).and_then(|word| word.strip_prefix(name)?.strip_prefix('='));
        let text =
            text.ok_or_else(|| Malformed::new(line, format!("expected the field `{name}=`")))?;
        *number = decimal(text)
            .ok_or_else(|| Malformed::new(line, format!("`{name}` is not a whole number")))?;
    }
    Distribution::from_numbers(numbers).map(Some).map_err(|reason| Malformed::new(line, reason))
}

/// A tuning knob that a contender accepts by `--set`, with its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    pub name: String,
    pub default: String,
}

/// What `--describe` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub id: String,
    /// Name of the runtime raced.
    pub runtime: String,
    /// Version of the runtime as linked; `None` if the contender says `unknown`, and then it may
    /// not race.
    pub version: Option<String>,
    pub toolchain: String,
    pub flags: String,
    pub workloads: Vec<String>,
    pub knobs: Vec<Knob>,
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "protocol {PROTOCOL_VERSION}")?;
        writeln!(f, "id {}", self.id)?;
        writeln!(f, "runtime {} {}", self.runtime, self.version.as_deref().unwrap_or("unknown"))?;
        writeln!(f, "toolchain {}", self.toolchain)?;
        writeln!(f, "flags {}", self.flags)?;
        for workload in &self.workloads {
            writeln!(f, "workload {workload}")?;
        }
        for knob in &self.knobs {
            writeln!(f, "knob {} {}", knob.name, knob.default)?;
        }
        Ok(())
    }
}

impl FromStr for Description {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or("");
        match first.strip_prefix("protocol ").map(str::parse::<u32>) {
            Some(Ok(PROTOCOL_VERSION)) => {}
            Some(Ok(other)) => {
                let old = if other < 2 { "; it does not know `--salt` yet" } else { "" };
                return Err(Malformed::new(
                    first,
                    format!(
                        "protocol {other} is not spoken here, only {PROTOCOL_VERSION}{old} \
                         (docs/protocol.md says what changed)"
                    ),
                ));
            }
            _ => {
                return Err(Malformed::new(
                    first,
                    format!(
                        "a description starts with `protocol {PROTOCOL_VERSION}`, which is missing"
                    ),
                ));
            }
        }
        let (mut id, mut runtime, mut toolchain, mut flags) = (None, None, None, None);
        let (mut workloads, mut knobs) = (Vec::new(), Vec::new());
        for line in lines {
            let (key, value) = line
                .split_once(' ')
                .map(|(key, value)| (key, value.trim()))
                .filter(|(_, value)| !value.is_empty())
                .ok_or_else(|| Malformed::new(line, "expected a key and a value"))?;
            let slot = match key {
                "id" => &mut id,
                "runtime" => &mut runtime,
                "toolchain" => &mut toolchain,
                "flags" => &mut flags,
                "workload" => {
                    workloads.push(value.to_owned());
                    continue;
                }
                "knob" => {
                    let (name, default) = value
                        .split_once(' ')
                        .ok_or_else(|| Malformed::new(line, "`knob` wants NAME DEFAULT"))?;
                    knobs.push(Knob { name: name.to_owned(), default: default.to_owned() });
                    continue;
                }
                _ => return Err(Malformed::new(line, format!("unknown key `{key}`"))),
            };
            if slot.replace(value.to_owned()).is_some() {
                return Err(Malformed::new(line, format!("`{key}` is said twice")));
            }
        }
        let missing = |key: &str| {
            Malformed::new(text.lines().last().unwrap_or(""), format!("`{key}` is missing"))
        };
        let runtime = runtime.ok_or_else(|| missing("runtime"))?;
        let (name, version) = runtime.split_once(' ').unwrap_or((&runtime, "unknown"));
        Ok(Self {
            id: id.ok_or_else(|| missing("id"))?,
            runtime: name.to_owned(),
            version: Some(version.trim().to_owned()).filter(|v| v != "unknown"),
            toolchain: toolchain.ok_or_else(|| missing("toolchain"))?,
            flags: flags.ok_or_else(|| missing("flags"))?,
            workloads,
            knobs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_survive_the_round_trip() {
        for line in ["run 1", "run 12 4096", "quit"] {
            assert_eq!(line.parse::<Command>().unwrap().to_string(), line);
        }
    }

    #[test]
    fn commands_that_are_none_say_why() {
        for line in [
            "",
            "run",
            "run 0",
            "run 1 0",
            "run -1",
            "run +1",
            "run 1 2 3",
            "run x",
            "Quit",
            "run 99999999999",
        ] {
            assert!(line.parse::<Command>().is_err(), "{line:?} was taken for a command");
        }
    }

    #[test]
    fn samples_survive_the_round_trip() {
        for line in [
            "sample elapsed_ns=5 ops=1 answer=7 work=3 user_us=0 sys_us=0",
            "sample elapsed_ns=18446744073709551615 ops=0 answer=a=b work=- user_us=- sys_us=-",
            "sample elapsed_ns=5 ops=3 answer=7 work=- user_us=- sys_us=- events=3 p50_ns=1 p99_ns=2 p999_ns=2 max_ns=2",
            "sample elapsed_ns=5 ops=3 answer=7 work=- user_us=- sys_us=- forks=0",
            "sample elapsed_ns=5 ops=3 answer=7 work=- user_us=- sys_us=- events=3 p50_ns=1 p99_ns=2 p999_ns=2 max_ns=2 forks=9",
            "done 3",
        ] {
            assert_eq!(line.parse::<Answer>().unwrap().to_string(), line);
        }
    }

    #[test]
    fn answers_that_are_none_name_the_field() {
        let cases = [
            ("hello", "expected `sample"),
            ("sample ", "`elapsed_ns=`"),
            ("sample elapsed_ns=0 ops=1 answer=7 work=3 user_us=0 sys_us=0", "did not advance"),
            ("sample elapsed_ns=-1 ops=1 answer=7 work=3 user_us=0 sys_us=0", "`elapsed_ns`"),
            ("sample elapsed_ns=1 ops=1 answer= work=3 user_us=0 sys_us=0", "empty"),
            ("sample elapsed_ns=1 ops=1 answer=7 work=x user_us=0 sys_us=0", "`work`"),
            ("sample elapsed_ns=1 ops=1 answer=7 work=3 user_us=0", "`sys_us=`"),
            ("sample elapsed_ns=1 ops=1 answer=7 work=3 user_us=0 sys_us=0 more=1", "more after"),
            ("sample elapsed_ns=1 ops=1 answer=7 work=3 user_us=0 sys_us=0 events=1", "`p50_ns=`"),
            (
                "sample elapsed_ns=1 ops=1 answer=7 work=3 user_us=0 sys_us=0 events=1 p50_ns=2 p99_ns=1 p999_ns=3 max_ns=3",
                "ascend",
            ),
            (
                "sample elapsed_ns=1 ops=1 answer=7 work=3 user_us=0 sys_us=0 events=1 p50_ns=2 p99_ns=2 p999_ns=3 max_ns=3 more=1",
                "more after",
            ),
            ("sample elapsed_ns=1 ops=1 answer=7 work=3 user_us=0 sys_us=0 forks=x", "`forks`"),
            (
                "sample elapsed_ns=1 ops=1 answer=7 work=3 user_us=0 sys_us=0 forks=1 forks=2",
                "more after",
            ),
            ("done many", "count"),
        ];
        for (line, reason) in cases {
            let error = line.parse::<Answer>().unwrap_err().to_string();
            assert!(error.contains(reason), "{line:?} gave {error:?}");
        }
    }

    #[test]
    fn a_flood_is_cut_in_the_message() {
        let error = "x".repeat(1 << 20).parse::<Answer>().unwrap_err().to_string();
        assert!(error.len() < 400);
    }

    #[test]
    fn descriptions_survive_the_round_trip() {
        let text = "protocol 2\nid tokio-mt\nruntime tokio 1.54.1\ntoolchain rustc 1.95.0\nflags -\n\
                    workload fib\nworkload skynet\nknob event_interval 61\n";
        assert_eq!(text.parse::<Description>().unwrap().to_string(), text);
    }

    #[test]
    fn an_unknown_version_is_none() {
        let text = "protocol 2\nid x\nruntime x unknown\ntoolchain y\nflags -\n";
        assert_eq!(text.parse::<Description>().unwrap().version, None);
    }

    #[test]
    fn descriptions_that_are_none_say_why() {
        let cases = [
            ("", "protocol 2"),
            ("protocol 3\n", "not spoken"),
            ("protocol 1\n", "does not know `--salt`"),
            ("protocol 2\nid a\nid b\n", "twice"),
            ("protocol 2\nid a\n", "`runtime` is missing"),
            ("protocol 2\ncolour red\n", "unknown key"),
            ("protocol 2\nid\n", "a key and a value"),
        ];
        for (text, reason) in cases {
            let error = text.parse::<Description>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text:?} gave {error:?}");
        }
    }
}
