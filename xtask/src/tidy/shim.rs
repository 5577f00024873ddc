//! Trefoil reaches atomics, threads, locks and `UnsafeCell`s through one floor, so that loom can
//! take their place.

use super::tree::File;
use super::{Exception, Fault, Rule};

const TREFOIL: &str = "crates/trefoil/src/";

/// The floor that may.
const SHIM: &str = "crates/trefoil/src/primitives/";

/// What loom has a model of.
const MODELLED: &[&str] = &[
    "sync::atomic",
    "thread",
    "cell::UnsafeCell",
    "sync::Mutex",
    "sync::Condvar",
    "sync::RwLock",
    "sync::Once",
    "sync::Barrier",
    "sync::mpsc",
];

pub(super) const RULE: Rule = Rule {
    name: "the shim",
    faults: |tree| {
        let mut faults = Vec::new();
        let files = tree.rust().filter(|file| {
            let is_product = !file.name.ends_with("tests.rs");
            is_product && file.name.starts_with(TREFOIL) && !file.name.starts_with(SHIM)
        });
        for file in files {
            for (number, item) in named(file, MODELLED) {
                let reason = format!("only {SHIM} names std::{item}");
                faults.push(Fault::at(&file.name, number, reason));
            }
        }
        faults
    },
    exceptions: EXCEPTIONS,
};

/// ThreadSanitizer does not see what a contended lock of std orders, unless std was built for it.
pub(super) const LOCKS_OF_TESTS: Rule = Rule {
    name: "the locks of tests",
    faults: |tree| {
        let mut faults = Vec::new();
        let is_test = |name: &str| {
            name.starts_with("crates/trefoil/tests/")
                || name.starts_with(TREFOIL) && name.ends_with("tests.rs")
        };
        for file in tree.rust().filter(|file| is_test(&file.name)) {
            for (number, item) in named(file, LOCKS) {
                let reason =
                    format!("ThreadSanitizer sees into parking_lot's, not into std::{item}");
                faults.push(Fault::at(&file.name, number, reason));
            }
        }
        faults
    },
    exceptions: &[],
};

const LOCKS: &[&str] = &["sync::Mutex", "sync::Condvar", "sync::RwLock"];

/// Which of these items of the standard library a file names, and where.
fn named<'a>(file: &File, items: &'a [&'a str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for (number, line) in file.code() {
        let line: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
        for &item in items {
            // Within a group, the crate stands before the brace (`use std::{cell::UnsafeCell, …}`),
            // or the module does (`use std::sync::{Arc, Mutex}`).
            let (module, last) = item.rsplit_once("::").unwrap_or(("", item));
            let names = ["std::", "core::"].iter().any(|library| {
                line.contains(&format!("{library}{item}"))
                    || line.contains(&format!("{library}{{")) && line.contains(item)
                    || line.split_once(&format!("{library}{module}::{{")).is_some_and(
                        |(_, group)| {
                            group.split([',', '{', '}', ' ', ';']).any(|word| word == last)
                        },
                    )
            });
            if names {
                found.push((number, item));
            }
        }
    }
    found
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        place: "crates/trefoil/src/runtime/builder.rs",
        reason: "it asks the system for a number of processors, and starts no thread",
    },
    Exception {
        place: "crates/trefoil/src/runtime/global.rs",
        reason: "a static of the process, which outlives every execution of a model",
    },
    Exception {
        place: "crates/trefoil/src/scheduler/registry.rs",
        reason: "under loom, a lock that no model depends on: loom's statics end with each execution",
    },
    Exception {
        place: "crates/trefoil/src/scheduler/id.rs",
        reason: "a counter of ids orders nothing, and loom's statics end with each execution",
    },
    Exception {
        place: "crates/trefoil/src/task/id.rs",
        reason: "a counter of ids orders nothing, and loom's statics end with each execution",
    },
    Exception {
        place: "crates/trefoil/src/scheduler/multi/worker/guest.rs",
        reason: "`std::thread::Result` is only the type of a caught panic",
    },
    Exception {
        place: "crates/trefoil/src/task/local_key.rs",
        reason: "the user's own thread-local key, of which loom need not know",
    },
];

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    fn count(name: &str, text: &str) -> usize {
        (RULE.faults)(&Tree::of(&[(name, text)])).len()
    }

    #[test]
    fn an_atomic_a_thread_and_a_cell_beside_the_shim_are_named() {
        let lines = [
            "use std::sync::atomic::AtomicU64;",
            "std::thread::spawn(f);",
            "use core::cell::UnsafeCell;",
            "use std::{cell::UnsafeCell, mem};",
            "static ONCE: std::sync::OnceLock<u8> = x;",
        ];
        for line in lines {
            assert_eq!(count("crates/trefoil/src/runtime/x.rs", line), 1, "{line}");
            assert_eq!(count(&format!("{SHIM}x.rs"), line), 0, "{line}");
            assert_eq!(count("crates/palio/src/x.rs", line), 0, "{line}");
        }
    }

    #[test]
    fn a_lock_of_std_in_a_test_is_named() {
        let count = |name, text| (LOCKS_OF_TESTS.faults)(&Tree::of(&[(name, text)])).len();
        for line in ["use std::sync::{Arc, Mutex, mpsc};", "static A: std::sync::Mutex<u8> = B;"] {
            assert_eq!(count("crates/trefoil/tests/x.rs", line), 1, "{line}");
            assert_eq!(count("crates/trefoil/src/x/tests.rs", line), 1, "{line}");
            assert_eq!(count("crates/trefoil/src/x.rs", line), 0, "{line}");
        }
        for line in ["use parking_lot::Mutex;", "use std::sync::{Arc, MutexGuard};"] {
            assert_eq!(count("crates/trefoil/tests/x.rs", line), 0, "{line}");
        }
    }

    #[test]
    fn what_loom_does_not_model_is_free() {
        for line in ["use std::cell::{Cell, RefCell};", "use std::sync::Arc;", "// std::thread"] {
            assert_eq!(count("crates/trefoil/src/x.rs", line), 0, "{line}");
        }
        assert_eq!(count("crates/trefoil/src/loom_tests.rs", "use std::thread;"), 0);
    }
}
