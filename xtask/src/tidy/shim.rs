//! Trefoil reaches atomics, threads, locks and `UnsafeCell`s through one floor, so that loom can
//! take their place.

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
            for (number, line) in file.code() {
                let line: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
                for item in MODELLED {
                    // Within a group, `use std::{cell::UnsafeCell, …}`, the crate stands before the
                    // brace.
                    let names = ["std::", "core::"].iter().any(|library| {
                        line.contains(&format!("{library}{item}"))
                            || line.contains(&format!("{library}{{")) && line.contains(item)
                    });
                    if names {
                        let reason = format!("only {SHIM} names std::{item}");
                        faults.push(Fault::at(&file.name, number, reason));
                    }
                }
            }
        }
        faults
    },
    exceptions: EXCEPTIONS,
};

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
    fn what_loom_does_not_model_is_free() {
        for line in ["use std::cell::{Cell, RefCell};", "use std::sync::Arc;", "// std::thread"] {
            assert_eq!(count("crates/trefoil/src/x.rs", line), 0, "{line}");
        }
        assert_eq!(count("crates/trefoil/src/loom_tests.rs", "use std::thread;"), 0);
    }
}
