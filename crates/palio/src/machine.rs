//! What machine this is, and what makes timing on it unreliable.
//!
//! Everything is read from `/proc` and `/sys`; what is not there is `None`, never a zero.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::record::Machine;

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number of processors (hardware threads) that this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// How many mappings of memory a process may have (`vm.max_map_count`). The stack of a fiber takes
/// one, and its guard maybe another.
pub fn most_mappings() -> Option<u64> {
    read("/proc/sys/vm/max_map_count")?.parse().ok()
}

/// Reads the machine. `libc` and `control_groups` come from outside, since it takes processes to
/// learn of them.
pub fn inspect(libc: Option<String>, control_groups: Option<String>) -> Machine {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let topology = Topology::read();
    let mut machine = Machine {
        fingerprint: String::new(),
        cpu_model: field("model name")
            .or_else(|| field("Processor"))
            .or_else(|| field("cpu model")),
        cores: Some(cores()),
        threads_per_core: topology.threads_per_core,
        sockets: topology.sockets,
        numa_nodes: numa_nodes(),
        caches: caches(),
        memory_kib: memory_kib(),
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        turbo: turbo(),
        kernel: read("/proc/sys/kernel/osrelease"),
        libc,
        os: os(),
        virtualisation: virtualisation(&cpuinfo),
        cpu_quota: cpu_quota(),
        control_groups,
    };
    machine.fingerprint = fingerprint(&machine);
    machine
}

/// A hash of what decides whether times of two runs may be laid side by side: not of kernel or
/// libc, whose change a reader may well want to measure. It stays as it is: bundles hold it, and
/// are held against it.
pub fn fingerprint(machine: &Machine) -> String {
    let identity = format!(
        "{:?}|{:?}|{:?}|{:?}|{:?}|{:?}|{:?}",
        machine.cpu_model,
        machine.cores,
        machine.threads_per_core,
        machine.sockets,
        machine.caches,
        machine.memory_kib.map(|kib| kib >> 20),
        machine.virtualisation
    );
    let digest = Sha256::digest(identity.as_bytes());
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// In which of the fields that decide about the fingerprint two machines differ, such as
/// `processors 8, now 4`.
pub fn differences(before: &Machine, after: &Machine) -> Vec<String> {
    let number = |n: Option<u32>| n.map(|n| n.to_string());
    let fields = |machine: &Machine| {
        [
            ("CPU", machine.cpu_model.clone()),
            ("processors", number(machine.cores)),
            ("threads a core", number(machine.threads_per_core)),
            ("sockets", number(machine.sockets)),
            ("caches", Some(machine.caches.join(" and "))),
            ("memory", machine.memory_kib.map(|kib| format!("{} GiB", kib >> 20))),
            ("virtualisation", machine.virtualisation.clone()),
        ]
    };
    let pairs = fields(before).into_iter().zip(fields(after)).filter(|(was, is)| was != is);
    let text = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    pairs.map(|((what, was), (_, is))| format!("{what} {}, now {}", text(was), text(is))).collect()
}

#[derive(Default)]
struct Topology {
    threads_per_core: Option<u32>,
    sockets: Option<u32>,
}

impl Topology {
    fn read() -> Self {
        let mut cores = BTreeSet::new();
        let mut sockets = BTreeSet::new();
        let mut threads = 0_u32;
        for cpu in 0.. {
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
            if !Path::new(&folder).exists() {
                break;
            }
            let at = |name: &str| read(format!("{folder}/topology/{name}"));
            let (Some(core), Some(socket)) = (at("core_id"), at("physical_package_id")) else {
                continue;
            };
            threads += 1;
            sockets.insert(socket.clone());
            cores.insert((socket, core));
        }
        if cores.is_empty() {
            return Self::default();
        }
        let count = |set_len: usize| u32::try_from(set_len).unwrap_or(u32::MAX);
        Self {
            threads_per_core: Some(threads / count(cores.len())),
            sockets: Some(count(sockets.len())),
        }
    }
}

fn numa_nodes() -> Option<u32> {
    let entries = fs::read_dir("/sys/devices/system/node").ok()?;
    let nodes = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.strip_prefix("node").is_some_and(|digits| digits.parse::<u32>().is_ok())
    });
    u32::try_from(nodes.count()).ok()
}

fn caches() -> Vec<String> {
    (0..)
        .map_while(|index| {
            let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
            let level = read(format!("{folder}/level"))?;
            let kind = match read(format!("{folder}/type")).as_deref() {
                Some("Data") => "d",
                Some("Instruction") => "i",
                _ => "",
            };
            let size = read(format!("{folder}/size"))?;
            let shared = read(format!("{folder}/shared_cpu_list"))?;
            Some(format!("L{level}{kind} {size} (cpu0 shares it with {shared})"))
        })
        .collect()
}

fn memory_kib() -> Option<u64> {
    let text = read("/proc/meminfo")?;
    text.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.trim().parse().ok()
    })
}

fn turbo() -> Option<String> {
    let on = match read("/sys/devices/system/cpu/intel_pstate/no_turbo") {
        Some(no_turbo) => no_turbo == "0",
        None => read("/sys/devices/system/cpu/cpufreq/boost")? == "1",
    };
    Some(if on { "on" } else { "off" }.to_owned())
}

fn os() -> Option<String> {
    let text = read("/etc/os-release")?;
    text.lines()
        .find_map(|line| Some(line.strip_prefix("PRETTY_NAME=")?.trim_matches('"').to_owned()))
}

fn virtualisation(cpuinfo: &str) -> Option<String> {
    if cpuinfo.is_empty() {
        return None;
    }
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    if !flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")) {
        return Some("none".to_owned());
    }
    let name = read("/sys/class/dmi/id/sys_vendor").or_else(|| read("/sys/hypervisor/type"));
    Some(
        name.map_or_else(
            || "virtual machine".to_owned(),
            |name| format!("virtual machine ({name})"),
        ),
    )
}

fn cpu_quota() -> Option<String> {
    let groups = read("/proc/self/cgroup")?;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        if controllers.is_empty()
            && let Some(max) = read(format!("/sys/fs/cgroup{path}/cpu.max"))
        {
            return Some(if max.starts_with("max") {
                "none".to_owned()
            } else {
                max.replace(' ', "/")
            });
        }
        if controllers.split(',').any(|controller| controller == "cpu") {
            for folder in [format!("/sys/fs/cgroup/cpu{path}"), "/sys/fs/cgroup/cpu".to_owned()] {
                if let Some(quota) = read(format!("{folder}/cpu.cfs_quota_us")) {
                    let period = read(format!("{folder}/cpu.cfs_period_us"))
                        .unwrap_or_else(|| "?".to_owned());
                    return Some(if quota == "-1" {
                        "none".to_owned()
                    } else {
                        format!("{quota}/{period}")
                    });
                }
            }
        }
    }
    None
}

/// A reading of the machine's own CPU accounting.
#[derive(Clone, Copy, Debug)]
pub struct CpuClock {
    busy_ticks: u64,
    steal_ticks: u64,
    total_ticks: u64,
}

/// What the machine did between two readings, as parts of all its CPU time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuUse {
    /// By anyone, in CPU seconds.
    pub busy_s: f64,
    /// All CPU time that there was, in CPU seconds.
    pub total_s: f64,
    /// Taken by the hypervisor for others, as a fraction of all.
    pub steal: f64,
}

impl CpuClock {
    /// Reads `/proc/stat`; `None` if it is not there.
    pub fn now() -> Option<Self> {
        Self::parse(&read("/proc/stat")?)
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        // user nice system idle iowait irq softirq steal; guest time is part of user.
        let ticks: Vec<u64> =
            line.split_whitespace().map_while(|word| word.parse().ok()).take(8).collect();
        let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks[..] else {
            return None;
        };
        let busy_ticks = user + nice + system + irq + softirq;
        Some(Self {
            busy_ticks,
            steal_ticks: steal,
            total_ticks: busy_ticks + idle + iowait + steal,
        })
    }

    /// What happened from `earlier` until this reading.
    pub fn since(&self, earlier: &Self) -> CpuUse {
        // USER_HZ is 100 on every Linux that Rust supports.
        const TICKS_PER_SECOND: f64 = 100.0;
        let total = self.total_ticks.saturating_sub(earlier.total_ticks) as f64;
        CpuUse {
            busy_s: self.busy_ticks.saturating_sub(earlier.busy_ticks) as f64 / TICKS_PER_SECOND,
            total_s: total / TICKS_PER_SECOND,
            steal: self.steal_ticks.saturating_sub(earlier.steal_ticks) as f64 / total.max(1.0),
        }
    }
}

/// What makes timing on this machine unreliable, before anything has run.
pub fn standing_warnings(machine: &Machine) -> Vec<String> {
    let mut warnings = Vec::new();
    match machine.virtualisation.as_deref() {
        Some("none") | None => {}
        Some(name) => warnings.push(format!(
            "This is a {name}: another guest may slow it at any time. Trust ratios within this run, not times."
        )),
    }
    if let Some(governor) =
        machine.governor.as_deref().filter(|&governor| governor != "performance")
    {
        warnings.push(format!(
            "The CPU frequency governor is `{governor}`: the clock rate follows the load. \
             `sudo cpupower frequency-set -g performance` fixes it."
        ));
    }
    if machine.turbo.as_deref() == Some("on") {
        warnings.push(
            "Turbo is on: the clock rate depends on temperature and on how many cores are busy."
                .to_owned(),
        );
    }
    if machine.threads_per_core.is_some_and(|threads| threads > 1) {
        warnings.push(
            "Cores are shared by hardware threads (SMT): two workers on one core are not two cores.".to_owned(),
        );
    }
    if let Some(quota) = machine.cpu_quota.as_deref().filter(|&quota| quota != "none") {
        warnings.push(format!("A control group limits the CPU time here (quota {quota} µs)."));
    }
    warnings
}

/// What made timing unreliable while a run went on. `own_s` is the CPU time of the contenders and
/// of Palio.
pub fn running_warnings(used: &CpuUse, own_s: f64) -> Vec<String> {
    // Under these, what was lost disappears in the noise floor.
    const STEAL_MAX: f64 = 0.01;
    const OTHERS_MAX: f64 = 0.05;
    let mut warnings = Vec::new();
    if used.steal > STEAL_MAX {
        warnings.push(format!(
            "The hypervisor took {:.1} % of the CPU time for other guests during this run.",
            used.steal * 100.0
        ));
    }
    let others = (used.busy_s - own_s) / used.total_s.max(f64::MIN_POSITIVE);
    if others > OTHERS_MAX {
        warnings.push(format!(
            "Other processes used {:.0} % of this machine during this run: close them and race again.",
            others * 100.0
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_accounting_is_read_and_subtracted() {
        let before = CpuClock::parse("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 …").unwrap();
        let after = CpuClock::parse("cpu  200 0 200 800 100 0 0 100 0 0\n").unwrap();
        let used = after.since(&before);
        assert_eq!(used, CpuUse { busy_s: 2.0, total_s: 4.0, steal: 0.25 });
        assert_eq!(running_warnings(&used, 2.0).len(), 1);
        assert_eq!(running_warnings(&used, 1.0).len(), 2);
    }

    #[test]
    fn a_file_that_is_no_accounting_is_none() {
        assert!(CpuClock::parse("intr 1 2 3").is_none());
        assert!(CpuClock::parse("cpu  1 2 3").is_none());
    }

    #[test]
    fn this_machine_has_a_fingerprint_and_cores() {
        let machine = inspect(None, None);
        assert_eq!(machine.fingerprint.len(), 12);
        assert!(machine.cores.unwrap() >= 1);
    }
}
