//! Ctrl-C, and other signals that ask a process to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::EXIT_INTERRUPTED;

/// The user stopped a command before it had anything to show; [`main`](super::main) exits with its
/// own status.
#[derive(Debug)]
pub(super) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted before it was done")
    }
}

impl std::error::Error for Interrupted {}

/// A flag that the first signal sets; the second one ends Palio at once.
pub(super) fn listen() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order, or the first one would end Palio too.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(EXIT_INTERRUPTED),
            Arc::clone(&interrupted),
        )
        .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&interrupted)))
        .context("cannot listen to signals")?;
    }
    Ok(interrupted)
}

/// An error if the user has interrupted.
pub(super) fn check(interrupted: &AtomicBool) -> Result<()> {
    if interrupted.load(Ordering::Relaxed) {
        bail!(Interrupted);
    }
    Ok(())
}
