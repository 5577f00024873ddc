//! What a system says that has no more threads, processes or open files to give, and what helps.

use std::io;

use nix::errno::Errno;

/// What helps where threads or processes are short.
const MORE_PROCESSES: &str = "raise the limit of processes (`ulimit -u`, or `pids.max` of the \
                              control group) or of memory (`ulimit -v`), or end others";
const MORE_FILES: &str = "raise the limit of open files (`ulimit -n`)";

/// That Palio gets no thread, and what helps.
pub fn no_thread(error: &io::Error) -> String {
    format!("the system gives Palio no thread: {error}; {MORE_PROCESSES}")
}

/// Why a process was not started, and what helps where that is the fault of the system.
pub fn with_help(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EAGAIN | Errno::ENOMEM) => format!("{error}; {MORE_PROCESSES}"),
        Some(Errno::EMFILE | Errno::ENFILE) => format!("{error}; {MORE_FILES}"),
        _ => error.to_string(),
    }
}

/// Whether a sentence of Palio's blames the system, by the words of this module.
pub fn is_blamed(sentence: &str) -> bool {
    [MORE_PROCESSES, MORE_FILES].iter().any(|help| sentence.contains(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_blamed_for_what_it_does_not_give_and_for_nothing_else() {
        let of = |errno: Errno| io::Error::from_raw_os_error(errno as i32);
        for errno in [Errno::EAGAIN, Errno::ENOMEM, Errno::EMFILE, Errno::ENFILE] {
            assert!(is_blamed(&with_help(&of(errno))), "{errno}");
        }
        assert!(is_blamed(&no_thread(&of(Errno::EAGAIN))));
        for errno in [Errno::ENOENT, Errno::EACCES, Errno::ENOEXEC] {
            assert_eq!(with_help(&of(errno)), of(errno).to_string());
            assert!(!is_blamed(&with_help(&of(errno))), "{errno}");
        }
    }
}
