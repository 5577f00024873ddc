//! A guard for code that must not unwind.

use std::io::{self, Write};

/// Ends the process if a panic drops it. It is made before the code that must not unwind, and
/// forgotten after it.
#[derive(Debug)]
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        let _ = writeln!(io::stderr(), "trefoil: unexpected panic {}; aborting", self.0);
        std::process::abort();
    }
}
