//! Plays the conformance vectors of the contract against a contender, whatever language it is
//! written in.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde::Deserialize;

use crate::runner::build::{Spoken, Surroundings, converse};
use crate::runner::invocation::{COUNT_FORKS, STATUS_MISUSE, STATUS_UNSUPPORTED};

/// What is wrong with a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It came to its end, and not as it should.
    Differs(String),
    /// It came to no end of its own: the contender cannot be started, gave no answer in time, or
    /// was interrupted. Other sessions would fare alike, each after as long a wait.
    Endless(String),
}

/// One session that every harness must get right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    pub name: String,
    args: Vec<String>,
    stdin: String,
    /// In a line, `#` stands for a number of at least 1 and `?` for a number or `-`.
    stdout: Vec<String>,
    status: i32,
    /// What standard error must contain.
    #[serde(default)]
    stderr: String,
    /// Whether a harness may refuse the workload instead, as one that it does not support; or, if
    /// it is older than the counting of forks, an argument that it does not know.
    #[serde(default)]
    optional: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VectorFile {
    vector: Vec<Vector>,
}

/// All vectors.
///
/// # Panics
/// Never in a build that passed its tests: the file is part of the program.
pub fn vectors() -> Vec<Vector> {
    let file: VectorFile =
        toml::from_str(palio_protocol::VECTORS).expect("the vectors are well-formed, a test says");
    file.vector
}

impl Vector {
    /// Plays this vector against the contender started by `command`.
    ///
    /// # Errors
    /// What the contender did instead.
    pub fn play(&self, command: &[String], interrupted: &AtomicBool) -> Result<(), Fault> {
        let command: Vec<String> = command.iter().chain(&self.args).cloned().collect();
        let spoken =
            converse(&command, Surroundings::Races, Path::new("."), &self.stdin, interrupted);
        self.judge(&spoken.map_err(Fault::Endless)?).map_err(Fault::Differs)
    }

    fn judge(&self, spoken: &Spoken) -> Result<(), String> {
        let Spoken { status, stdout, stderr } = spoken;
        let status = *status;
        let is_newer = self.args.iter().any(|arg| arg == COUNT_FORKS);
        let is_refused =
            status == Some(STATUS_UNSUPPORTED) || status == Some(STATUS_MISUSE) && is_newer;
        if self.optional && is_refused && stdout.is_empty() {
            return Ok(());
        }
        if status != Some(self.status) {
            let ended = status
                .map_or_else(|| "by a signal".to_owned(), |status| format!("with status {status}"));
            return Err(format!("it ended {ended}, not with {}: {}", self.status, stderr.trim()));
        }
        let lines: Vec<&str> = stdout.lines().collect();
        let alike = lines.len() == self.stdout.len()
            && lines.iter().zip(&self.stdout).all(|(line, pattern)| matches(line, pattern));
        if !alike {
            return Err(format!("it printed {lines:?}, not {:?}", self.stdout));
        }
        if !stderr.contains(&self.stderr) {
            return Err(format!(
                "its standard error does not name {:?}: {:?}",
                self.stderr,
                stderr.trim()
            ));
        }
        Ok(())
    }
}

fn matches(line: &str, pattern: &str) -> bool {
    let (line, pattern): (Vec<&str>, Vec<&str>) =
        (line.split(' ').collect(), pattern.split(' ').collect());
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    line.len() == pattern.len()
        && line.iter().zip(pattern).all(|(word, pattern)| {
            let (key, value) = word.split_once('=').unwrap_or(("", word));
            match pattern.split_once('=').unwrap_or(("", pattern)) {
                (name, "#") => {
                    name == key && digits(value) && value.bytes().any(|byte| byte != b'0')
                }
                (name, "?") => name == key && (value == "-" || digits(value)),
                _ => *word == pattern,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_are_well_formed() {
        assert!(vectors().len() > 20);
    }

    #[test]
    fn patterns_match_numbers_and_nothing_else() {
        assert!(matches("sample elapsed_ns=12 work=-", "sample elapsed_ns=# work=?"));
        assert!(matches("a=b=c", "a=b=c"));
        for line in [
            "sample elapsed_ns=0 work=-",
            "sample elapsed_ns=x work=-",
            "sample elapsed_ns=12 work=",
            "sample",
        ] {
            assert!(!matches(line, "sample elapsed_ns=# work=?"), "{line}");
        }
    }
}
