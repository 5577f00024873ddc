//! What every process that Palio starts inherits from it: processors, priority, limits.
//!
//! A contender has the rights of whoever started Palio, and with them it may pin Palio to one
//! processor, lower its priority or its limits. Whoever is started afterwards inherits that, and
//! the contender takes it back for itself. So Palio looks at itself before it starts anybody.

use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

use crate::runner::tree;

/// What children inherit, by name; nothing where the system does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Inheritance(BTreeMap<String, String>);

/// As it was before anybody else was started.
static FIRST: OnceLock<Inheritance> = OnceLock::new();

/// Notes what there is to inherit. To be called before anything is started.
pub fn note() {
    let _ = FIRST.set(Inheritance::now());
}

/// What to do about it. The system does not tell who it was, so that there is no switch that allows
/// it to a tool of the machine: it would allow it to every contender.
pub const ADVICE: &str = "A contender may have done it, and so may a tool of this machine that renices or pins \
                          programs (ananicy, a rule of systemd, a job of cron): the system does not tell which. Keep \
                          such a tool away from palio, or start palio as the tool would make it, such as with \
                          `nice -n 10 palio …`, so that nothing changes while it races";

/// What is otherwise than it was noted, if anything is: `its nice value (0 before, 10 now)`.
pub fn changed() -> Option<String> {
    FIRST.get().and_then(|first| first.changed_to(&Inheritance::now()))
}

impl Inheritance {
    /// Of the calling thread, of which children inherit.
    fn now() -> Self {
        let read = |name: &str| fs::read_to_string(format!("/proc/{name}")).unwrap_or_default();
        let (status, stat) = (read("thread-self/status"), read("thread-self/stat"));
        let mut all = BTreeMap::new();
        for (name, field) in [
            ("list of processors", "Cpus_allowed_list:"),
            ("list of memory nodes", "Mems_allowed_list:"),
        ] {
            let value = status.lines().find_map(|line| line.strip_prefix(field));
            all.extend(value.map(|value| (name.to_owned(), value.trim().to_owned())));
        }
        // Fields 19, 40 and 41, of which the state is the third.
        for (name, index) in
            [("nice value", 16), ("real-time priority", 37), ("scheduling policy", 38)]
        {
            let value = tree::fields(&stat).nth(index);
            all.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        }
        all.extend(limits(&read("self/limits")));
        // Those of the session, and of the process.
        for (name, file) in [
            ("session's nice value", "self/autogroup"),
            ("share of blame when memory runs out", "self/oom_score_adj"),
        ] {
            let value = read(file);
            let value = value.split_whitespace().last();
            all.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        }
        #[cfg(target_os = "linux")]
        if let Ok(slack_ns) = nix::sys::prctl::get_timerslack() {
            all.insert("timer slack".to_owned(), format!("{slack_ns} ns"));
        }
        Self(all)
    }

    fn changed_to(&self, now: &Self) -> Option<String> {
        let each = self.0.iter().filter_map(|(name, before)| {
            let now = now.0.get(name).filter(|now| *now != before)?;
            Some(format!("its {name} ({before} before, {now} now)"))
        });
        let all: Vec<String> = each.collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }
}

/// The limits that `/proc/self/limits` tells: a name of several words, and after two blanks or more
/// each the soft limit, the hard one and mostly a unit.
fn limits(text: &str) -> impl Iterator<Item = (String, String)> {
    text.lines().skip(1).filter_map(|line| {
        let (name, rest) = line.split_once("  ")?;
        let mut words = rest.split_whitespace();
        let (soft, hard) = (words.next()?, words.next()?);
        let name = format!("limit of {}", name.trim_start_matches("Max "));
        Some((name, format!("{soft} of {hard}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_what_changes_is_told() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max cpu time              unlimited            unlimited            seconds   \n\
                    Max open files            1024                 4096                 files     \n\
                    Max nice priority         0                    0                    \n";
        let before = Inheritance(limits(text).collect());
        let values: Vec<_> =
            before.0.iter().map(|(name, value)| format!("{name} {value}")).collect();
        assert_eq!(
            values,
            [
                "limit of cpu time unlimited of unlimited",
                "limit of nice priority 0 of 0",
                "limit of open files 1024 of 4096"
            ]
        );
        assert_eq!(before.changed_to(&before), None);
        let now = Inheritance(limits(&text.replace("1024", "16")).collect());
        assert_eq!(
            before.changed_to(&now).unwrap(),
            "its limit of open files (1024 of 4096 before, 16 of 4096 now)"
        );
        // What is not told any more has not changed.
        assert_eq!(before.changed_to(&Inheritance::default()), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn all_of_it_is_told_here() {
        let now = Inheritance::now();
        for name in ["list of processors", "nice value", "scheduling policy", "timer slack"] {
            assert!(now.0.contains_key(name), "{name}: {now:?}");
        }
        assert!(now.0.keys().filter(|name| name.starts_with("limit of")).count() > 10, "{now:?}");
        assert_eq!(now, Inheritance::now());
    }
}
