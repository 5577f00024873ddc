/// What happens when a task panics: see
/// [`Builder::unhandled_panic`](super::Builder::unhandled_panic).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnhandledPanic {
    /// The panic stays in its task, and whoever joins the task gets it.
    #[default]
    Ignore,
    /// The runtime, or the [`LocalSet`](crate::task::LocalSet), drops all its tasks, and whoever
    /// drives it panics.
    ShutdownRuntime,
}
