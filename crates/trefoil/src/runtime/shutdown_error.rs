use std::error::Error;
use std::fmt;
use std::io;

/// What is inside of the `io::Error` of an operation whose runtime has shut down. The type is
/// private, so that no other error can be taken for it.
#[derive(Debug)]
struct RuntimeIsOver;

impl fmt::Display for RuntimeIsOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the Trefoil runtime that this operation needs has shut down")
    }
}

impl Error for RuntimeIsOver {}

/// The one error of all operations that need a runtime which has shut down.
pub(crate) fn shutdown_error() -> io::Error {
    io::Error::other(RuntimeIsOver)
}

/// Whether an operation has failed because its runtime has shut down.
///
/// ```
/// use std::io;
/// use trefoil::runtime::is_rt_shutdown_err;
///
/// assert!(!is_rt_shutdown_err(&io::Error::other("something else")));
/// ```
pub fn is_rt_shutdown_err(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<RuntimeIsOver>())
}
