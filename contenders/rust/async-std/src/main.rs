//! async-std: its global executor.
#![forbid(unsafe_code)]

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::{env, io};

use async_workloads::{native_rows_on_channels, tcp_rows};
use palio_protocol::harness::Prepare;

mod channel;
mod net;
mod runtime;
mod tcp;

use channel::AsyncStdChannels;
use runtime::AsyncStd;

/// How async-std learns its number of threads, when the executor is first used.
const THREADS: &str = "ASYNC_STD_THREAD_COUNT";

/// Starts this program anew, in the same process, with the environment variable that `--threads`
/// asks for. Setting it from inside is no safe operation, because other threads might read the
/// environment.
///
/// Returns if there is nothing to do; arguments that make no sense are the harness's to refuse.
fn ask_for_threads() -> io::Result<()> {
    let mut args = env::args_os().skip_while(|arg| arg != "--threads").skip(1);
    match args.next() {
        Some(threads) if env::var_os(THREADS).as_ref() != Some(&threads) => {
            let mut again = Command::new(env::current_exe()?);
            Err(again.args(env::args_os().skip(1)).env(THREADS, threads).exec())
        }
        _ => Ok(()),
    }
}

fn rows() -> Vec<(&'static str, Prepare)> {
    let mut rows = async_workloads::rows_with_net::<AsyncStd, AsyncStdChannels>();
    rows.extend(native_rows_on_channels::<AsyncStd, AsyncStdChannels, AsyncStdChannels>());
    rows.extend(tcp_rows::<AsyncStd>());
    rows
}

fn main() -> ExitCode {
    if let Err(error) = ask_for_threads() {
        eprintln!("async-std: cannot start again with {THREADS} set: {error}");
        return ExitCode::FAILURE;
    }
    contender_main::serve! {
        runtime: "async-std",
        threads_max: usize::MAX,
        workloads: &rows(),
    }
}
