//! Which CPUs a runtime's threads may run on.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

/// The user's function, which returns the CPUs of each worker.
pub(crate) type Request = Arc<dyn Fn(usize) -> Vec<usize> + Send + Sync>;

/// The CPUs of a runtime whose workers are pinned.
pub(crate) struct Affinity {
    /// The CPUs of each worker.
    workers: Box<[system::CpuSet]>,
    /// The CPUs of all other threads: those of the thread that made the runtime.
    others: system::CpuSet,
}

impl Affinity {
    /// Tries out on the calling thread whether the system allows these CPUs. Afterwards, the thread
    /// may run where it ran before.
    ///
    /// # Errors
    /// The system does not allow them, or a worker has no CPU at all.
    pub(crate) fn new(request: &Request, workers: usize) -> io::Result<Self> {
        let others = system::current()?;
        let allowed = Allowed(system::cpus(&others));
        let mut sets = Vec::with_capacity(workers);
        for worker in 0..workers {
            let cpus = request(worker);
            if cpus.is_empty() {
                let text = format!("worker {worker} is given no CPU to run on");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            if let Some(cpu) = cpus.iter().find(|cpu| !allowed.0.contains(cpu)) {
                let text = format!(
                    "worker {worker} cannot be pinned to CPU {cpu}: this thread, and so the \
                     runtime that it makes, may use {allowed}"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            sets.push(system::set_of(&cpus));
        }
        // A sandbox may forbid what the list allows.
        let granted = sets.iter().try_for_each(system::pin_to);
        system::pin_to(&others)?;
        granted?;
        Ok(Self { workers: sets.into(), others })
    }

    /// Pins the calling thread, which becomes worker `worker`.
    ///
    /// If the system does not allow this any more (because the CPU was taken away since the runtime
    /// was made), the worker runs where the system puts it.
    pub(crate) fn pin(&self, worker: u32) {
        let _ = system::pin_to(&self.workers[worker as usize]);
    }

    /// Unpins the calling thread, which is no worker, or no longer one. If a worker has started it,
    /// it has inherited the worker's CPUs.
    pub(crate) fn release(&self) {
        let _ = system::pin_to(&self.others);
    }
}

impl Affinity {
    /// Pins the calling thread as worker `worker`'s until the drop. `None` if the system does not
    /// say what to restore then: the thread runs where it ran.
    pub(crate) fn pin_visitor(&self, worker: u32) -> Option<Visitor<'_>> {
        let before = system::current().ok()?;
        self.pin(worker);
        Some(Visitor { before, _affinity: PhantomData })
    }
}

/// The CPUs of the thread that has made a runtime whose workers are not pinned. A worker's thread
/// may be started later by a thread that has other CPUs, which it would inherit.
pub(crate) struct Origin(system::CpuSet);

impl Origin {
    /// That of a runtime which the calling thread makes. `None` if the system does not say.
    pub(crate) fn here() -> Option<Self> {
        system::current().ok().map(Self)
    }

    /// Has the calling thread run there, if the system allows it.
    pub(crate) fn settle(&self) {
        let _ = system::pin_to(&self.0);
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin").finish_non_exhaustive()
    }
}

/// A thread that is not the runtime's, and is pinned for a while.
pub(crate) struct Visitor<'a> {
    before: system::CpuSet,
    _affinity: PhantomData<&'a Affinity>,
}

impl Drop for Visitor<'_> {
    fn drop(&mut self) {
        let _ = system::pin_to(&self.before);
    }
}

impl fmt::Debug for Affinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Affinity").finish_non_exhaustive()
    }
}

/// A set of CPUs. It is sorted, and printed as the system prints it.
struct Allowed(Vec<usize>);

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "CPU " } else { "CPUs " })?;
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        for (index, run) in runs.enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match run {
                [cpu] => write!(f, "{comma}{cpu}")?,
                _ => write!(f, "{comma}{}-{}", run[0], run[run.len() - 1])?,
            }
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod system {
    pub(crate) use rustix::thread::CpuSet;
    use rustix::thread::{sched_getaffinity, sched_setaffinity};
    use std::io;

    /// The CPUs of the calling thread.
    pub(crate) fn current() -> io::Result<CpuSet> {
        Ok(sched_getaffinity(None)?)
    }

    pub(crate) fn cpus(set: &CpuSet) -> Vec<usize> {
        (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
    }

    /// A set of CPUs that are in another set, and so are below the maximum.
    pub(crate) fn set_of(cpus: &[usize]) -> CpuSet {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        set
    }

    /// Lets the calling thread run on these CPUs only.
    pub(crate) fn pin_to(set: &CpuSet) -> io::Result<()> {
        Ok(sched_setaffinity(None, set)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    /// This is never called, because `current` fails first.
    pub(crate) struct CpuSet;

    fn unsupported() -> io::Error {
        let text = "workers can be pinned to CPUs on Linux only";
        io::Error::new(io::ErrorKind::Unsupported, text)
    }

    pub(crate) fn current() -> io::Result<CpuSet> {
        Err(unsupported())
    }

    pub(crate) fn cpus(_set: &CpuSet) -> Vec<usize> {
        Vec::new()
    }

    pub(crate) fn set_of(_cpus: &[usize]) -> CpuSet {
        CpuSet
    }

    pub(crate) fn pin_to(_set: &CpuSet) -> io::Result<()> {
        Err(unsupported())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Allowed;

    #[test]
    fn cpus_are_listed_as_the_system_does() {
        assert_eq!(Allowed(vec![3]).to_string(), "CPU 3");
        assert_eq!(Allowed(vec![0, 1]).to_string(), "CPUs 0-1");
        assert_eq!(Allowed(vec![0, 2, 3, 4, 9]).to_string(), "CPUs 0,2-4,9");
    }
}
