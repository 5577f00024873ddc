//! Palio as a warden: started by another Palio to watch one command, see [`warden`].

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use crate::runner::inheritance;
use crate::runner::warden::{self, VERB};
#[cfg(target_os = "linux")]
use crate::runner::warden::{ACCOUNTS, NO_START};
#[cfg(target_os = "linux")]
use crate::runner::watch;

/// The first thing that `palio` does: if it is started as a warden it becomes one, and returns the
/// status to exit with. Otherwise it gives its own commands wardens from now on.
pub(super) fn take_part() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|verb| verb == VERB) {
        return Some(watch(args.collect()));
    }
    warden::enable();
    inheritance::note();
    None
}

/// Refuses a command that starts others where they could not be watched.
///
/// # Errors
/// Why they could not.
pub(super) fn check() -> Result<()> {
    warden::check().map_err(anyhow::Error::msg)
}

#[cfg(not(target_os = "linux"))]
fn watch(_: Vec<OsString>) -> ExitCode {
    eprintln!("palio: there are no wardens on this system");
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
fn watch(args: Vec<OsString>) -> ExitCode {
    let accounts = args.get(2).is_some_and(|word| word == ACCOUNTS);
    let watched = watch::watch(args).map(|watched| {
        if let Some(account) = watched.account {
            // A line of its own, even if the command's last one has no end.
            eprint!("\n{account}\n");
        }
        watched.end()
    });
    watched.unwrap_or_else(|reason| {
        eprintln!("{} {reason}", if accounts { NO_START } else { "palio:" });
        // As a shell says that a command cannot be run.
        ExitCode::from(127)
    })
}
