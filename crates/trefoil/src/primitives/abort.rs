//! For code that must not unwind.

/// Ends the process if it is dropped by a panic: the code that must not unwind
/// stands between its making and its `forget`.
#[derive(Debug)]
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        eprintln!("trefoil: unexpected panic {}; aborting", self.0);
        std::process::abort();
    }
}
