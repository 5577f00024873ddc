//! Everything that starts processes: probes, builds and invocations.

pub mod build;
mod cargo_copy;
pub mod cgroup;
mod cmake_prefix;
pub mod conformance;
mod cpu_time;
pub mod excerpt;
pub mod forks;
pub mod generator;
pub mod inheritance;
pub mod install;
pub mod invocation;
pub mod process;
pub mod program;
pub mod race;
pub mod schedule;
pub mod shortage;
mod tree;
pub mod trial;
pub mod warden;
#[cfg(target_os = "linux")]
pub mod watch;
pub mod working_copy;

use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The C library's name and version, as the system tells.
pub fn libc_version() -> Option<String> {
    let command = ["getconf".to_owned(), "GNU_LIBC_VERSION".to_owned()];
    build::output_of(&command, Path::new("/"), &AtomicBool::new(false))
        .ok()
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

fn cpu_s(who: nix::sys::resource::UsageWho) -> f64 {
    let Ok(usage) = nix::sys::resource::getrusage(who) else { return 0.0 };
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// CPU time of all contenders that have ended, in s; where there are control groups, with that of
/// processes which nobody waited for. Else a contender could have a block look disturbed by others,
/// and be repeated, when it likes.
pub fn children_cpu_s() -> f64 {
    cpu_s(nix::sys::resource::UsageWho::RUSAGE_CHILDREN) + cpu_time::unwaited_cpu_s()
}

/// CPU time of Palio itself, in s.
pub fn own_cpu_s() -> f64 {
    cpu_s(nix::sys::resource::UsageWho::RUSAGE_SELF)
}
