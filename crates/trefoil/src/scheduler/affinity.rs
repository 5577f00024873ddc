//! Which CPUs a runtime's threads may run on.

use std::fmt;
use std::io;
use std::sync::Arc;

/// What the user has asked for: the CPUs of each worker.
pub(crate) type Request = Arc<dyn Fn(usize) -> Vec<usize> + Send + Sync>;

/// The CPUs of a runtime whose workers are pinned.
pub(crate) struct Affinity {
    /// By worker.
    workers: Box<[system::CpuSet]>,
    /// For all other threads: those of the thread that made the runtime.
    others: system::CpuSet,
}

impl Affinity {
    /// Finds out whether the system grants what is asked for, on the calling
    /// thread, which afterwards runs where it ran before.
    ///
    /// # Errors
    /// It does not, or a worker is to have no CPU at all.
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
        // What the list allows, a sandbox may still forbid.
        let granted = sets.iter().try_for_each(system::pin_to);
        system::pin_to(&others)?;
        granted?;
        Ok(Self { workers: sets.into(), others })
    }

    /// The calling thread becomes worker `worker`.
    ///
    /// If the system has changed its mind since the runtime was made (the CPU
    /// was taken away), the worker runs where it is put.
    pub(crate) fn pin(&self, worker: u32) {
        let _ = system::pin_to(&self.workers[worker as usize]);
    }

    /// The calling thread is no worker, or no longer; it may have been started
    /// by one, and so have inherited its CPUs.
    pub(crate) fn release(&self) {
        let _ = system::pin_to(&self.others);
    }
}

impl fmt::Debug for Affinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Affinity").finish_non_exhaustive()
    }
}

/// Sorted, and printed as the system itself does.
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

    /// Those of the calling thread.
    pub(crate) fn current() -> io::Result<CpuSet> {
        Ok(sched_getaffinity(None)?)
    }

    pub(crate) fn cpus(set: &CpuSet) -> Vec<usize> {
        (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
    }

    /// Of CPUs that are in another set, and so below the maximum.
    pub(crate) fn set_of(cpus: &[usize]) -> CpuSet {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        set
    }

    /// Moves the calling thread.
    pub(crate) fn pin_to(set: &CpuSet) -> io::Result<()> {
        Ok(sched_setaffinity(None, set)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    /// It says nothing: `current` fails first.
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
