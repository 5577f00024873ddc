//! Trefoil's tests under the sanitizers that come with a nightly toolchain.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::heard::{Heard, SILENCE, listen};
use crate::nightly;
use crate::tests::Count;

/// The only target for which the flags and the suppressions have been tried.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A run that takes longer hangs. It takes about a minute on two cores.
const LIMIT_SECONDS: u32 = 900;
/// Long before that, one that says nothing does.
const TESTS_SILENCE: Duration = Duration::from_secs(300);

pub(crate) struct Sanitizer {
    name: &'static str,
    /// What follows `librustc-nightly_rt.` in the name of its runtime.
    short: &'static str,
    rustflags: &'static [&'static str],
    /// Those that go with the std of the toolchain, which was built without the sanitizer.
    rustflags_of_toolchain_std: &'static [&'static str],
    options: &'static str,
    /// Features of other crates, which only a sanitizer's build can have.
    features: &'static [&'static str],
    suppressions: &'static [(&'static str, &'static str)],
    /// The std that is used if none is named.
    std: Std,
    special: &'static [Special],
}

/// Which standard library the tests are linked with.
#[derive(Clone, Copy, PartialEq)]
enum Std {
    /// The toolchain's, which was built without the sanitizer.
    Toolchain,
    /// Built for the sanitizer, from the toolchain's `rust-src`.
    Rebuilt,
    /// Rebuilt where that is possible, and the toolchain's elsewhere.
    RebuiltIfPossible,
}

/// A test that cannot run as the others do.
struct Special {
    /// The file it is in.
    file: &'static str,
    test: &'static str,
    reason: &'static str,
    /// The sanitizer's options with which it can run, if it can.
    options: Option<&'static str>,
}

/// A test that limits what the system gives.
const fn few_threads(test: &'static str) -> Special {
    let reason = "it limits the process's addresses, of which the sanitizer takes many";
    Special { file: "few_threads", test, reason, options: None }
}

/// A test of programs.
const fn of_examples(file: &'static str, test: &'static str) -> Special {
    let reason = "its programs are examples, and tests alone are built for the sanitizer";
    Special { file, test, reason, options: None }
}

/// A test of the memory of tasks that is kept for later ones.
const fn keeps_memory(test: &'static str) -> Special {
    let reason = "where the sanitizer looks for accesses of tasks that are gone, no memory is kept";
    Special { file: "allocations", test, reason, options: None }
}

/// A test of crates that it builds.
const fn of_crates(file: &'static str, test: &'static str) -> Special {
    let reason = "it has Cargo build other crates, and that is what it tests";
    Special { file, test, reason, options: None }
}

/// A test that leaves the process without descriptors.
const fn no_descriptors(test: &'static str) -> Special {
    let reason = "the sanitizer then finds no names of functions, by which false alarms are known";
    Special { file: "net_faults", test, reason, options: None }
}

/// A test that sends a signal.
const fn sends_a_signal(test: &'static str) -> Special {
    let reason = "the sanitizer delivers no signal to a thread that waits in the system";
    Special { file: "signal", test, reason, options: None }
}

pub(crate) static ADDRESS: Sanitizer = Sanitizer {
    name: "AddressSanitizer",
    short: "asan",
    // Leaks are forgiven by the names of functions on the stack, which is walked by frame pointers.
    rustflags: &["-Zsanitizer=address", "-Cforce-frame-pointers=yes", "--cfg=trefoil_asan"],
    rustflags_of_toolchain_std: &["-Cunsafe-allow-abi-mismatch=sanitizer"],
    // Other threads use a fork's frame, so accesses after its end are to be found.
    options: "detect_stack_use_after_return=1",
    // It tells the sanitizer of switches between stacks.
    features: &["corosensei/sanitizer"],
    suppressions: &[("LSAN_OPTIONS", "lsan.supp")],
    std: Std::Toolchain,
    special: &[
        Special {
            file: "fork_faults",
            test: "stack::the_end_of_a_stack_is_named",
            reason: "the handler of the end of a stack must be std's, and not the sanitizer's",
            options: Some("handle_segv=0"),
        },
        Special {
            file: "fork_faults",
            test: "stack::thousands_of_nested_forks_fit_into_a_default_stack",
            reason: "it measures a stack on which variables must really lie",
            options: Some("detect_stack_use_after_return=0"),
        },
        Special {
            file: "fiber",
            test: "an_overflow_is_named",
            reason: "the sanitizer has a handler of its own for the end of a stack",
            options: None,
        },
        Special {
            file: "fiber_hostile",
            test: "a_system_without_memory_refuses_and_loses_nothing",
            reason: "the sanitizer's own memory is more than the test's limit allows",
            options: None,
        },
        Special {
            file: "fiber_hostile",
            test: "a_system_without_mappings_says_which_limit_it_was",
            reason: "the sanitizer has mappings of its own, and ends the process without more",
            options: None,
        },
        Special {
            file: "fiber_hostile",
            test: "a_hundred_thousand_fibers_rest_wake_and_end_or_the_limit_is_named",
            reason: "the sanitizer has some mappings of its own for each stack",
            options: None,
        },
        Special {
            file: "fiber_free_stacks",
            test: "the_stacks_of_fibers_that_were_alive_at_once_give_their_memory_back",
            reason: "the sanitizer keeps memory of its own for each fiber that there was",
            options: None,
        },
        Special {
            file: "fiber_memory",
            test: "a_fiber_that_waits_takes_two_pages_and_512_bytes_at_most",
            reason: "what is around the sanitizer's variables takes more",
            options: None,
        },
        Special {
            file: "net_faults",
            test: "no_descriptor_for_a_runtime",
            reason: "it leaves no descriptor with which leaks could be looked for",
            options: Some("detect_leaks=0"),
        },
        keeps_memory("a_local_task_is_one_allocation_or_none"),
        keeps_memory("a_task_of_a_current_thread_runtime_is_one_allocation_or_none"),
        keeps_memory("a_task_of_a_multi_thread_runtime_is_one_allocation_or_none"),
        keeps_memory("memory_that_is_kept_serves_threads_outside"),
        keeps_memory("a_thread_that_drives_uses_the_memory_of_the_runtime_that_it_spawns_on"),
        few_threads("a_system_gives_no_threads_for_a_while"),
        few_threads("a_worker_sleeps_again_before_it_is_known_to_have_no_thread"),
        few_threads("a_worker_relies_on_a_thread_that_is_on_its_way_and_does_not_come"),
        few_threads("a_runtime_ends_while_a_system_gives_no_threads"),
        few_threads("a_closure_relies_on_a_thread_that_does_not_come"),
        of_examples("examples_under_load", "axum_server_answers_all"),
        of_examples(
            "examples_under_load",
            "fiber_echo_sends_all_back_on_as_many_connections_as_there_may_be",
        ),
        of_examples("examples_under_load", "http_server_answers_all_and_drains"),
        of_examples("examples_under_load", "http_server_answers_who_waits_to_be_accepted"),
        of_examples("examples_under_load", "stall_report_names_the_place_and_answers_meanwhile"),
        of_examples("examples_under_load", "tcp_proxy_passes_on_all_bytes_and_both_ends"),
        of_examples("examples_under_load", "udp_echo_sends_all_back"),
        of_examples("actor_pages", "the_example_survives_its_panics"),
        of_crates("renamed", "a_crate_may_be_renamed"),
        of_crates("renamed", "other_crates_may_be_given_it_for_tokio"),
    ],
};

pub(crate) static THREAD: Sanitizer = Sanitizer {
    name: "ThreadSanitizer",
    short: "tsan",
    rustflags: &["-Zsanitizer=thread", "--cfg=trefoil_tsan"],
    // All but the first are told in `trefoil/src/primitives/tsan/fence.rs`.
    rustflags_of_toolchain_std: &[
        "-Cunsafe-allow-abi-mismatch=sanitizer",
        "--cfg=trefoil_tsan_fences",
        "-Clink-arg=-Wl,--wrap=__tsan_atomic64_fetch_sub",
        "-Clink-arg=-Wl,--wrap=__tsan_atomic_thread_fence",
    ],
    options: "",
    features: &[],
    suppressions: &[("TSAN_OPTIONS", "tsan.supp")],
    // It does not see what orders the accesses of threads that met in a std that was not built for
    // it (a contended `Mutex`, say), and takes some of these accesses for races.
    std: Std::RebuiltIfPossible,
    special: &[
        Special {
            file: "fork_faults",
            test: "stack::the_end_of_a_stack_is_named",
            reason: "the sanitizer's own copy of the call stack ends long before the stack does",
            options: None,
        },
        Special {
            file: "net_faults",
            test: "a_fork_without_exec",
            reason: "the sanitizer gives no promise to a fork of a process with threads",
            options: None,
        },
        no_descriptors("no_descriptor_for_a_connection"),
        no_descriptors("no_descriptor_for_a_runtime"),
        sends_a_signal("each_listener_sees_each_signal"),
        sends_a_signal("two_runtimes_listen"),
        sends_a_signal("an_interrupt_ends_a_wait_and_not_the_process"),
        sends_a_signal("a_signal_of_a_fork_is_not_ours"),
        few_threads("a_system_gives_no_threads_for_a_while"),
        few_threads("a_worker_sleeps_again_before_it_is_known_to_have_no_thread"),
        few_threads("a_worker_relies_on_a_thread_that_is_on_its_way_and_does_not_come"),
        few_threads("a_runtime_ends_while_a_system_gives_no_threads"),
        few_threads("a_closure_relies_on_a_thread_that_does_not_come"),
        few_threads("a_worker_gets_its_thread_when_there_are_threads_again"),
        few_threads("a_runtime_ends_although_its_workers_get_no_threads"),
        few_threads("many_workers_get_no_threads_on_a_small_stack"),
        few_threads("a_worker_that_has_no_thread_yet_gets_none_for_a_while"),
        of_examples("examples_under_load", "axum_server_answers_all"),
        of_examples("examples_under_load", "http_server_answers_all_and_drains"),
        of_examples("examples_under_load", "http_server_answers_who_waits_to_be_accepted"),
        of_examples("examples_under_load", "stall_report_names_the_place_and_answers_meanwhile"),
        of_examples("examples_under_load", "tcp_proxy_passes_on_all_bytes_and_both_ends"),
        of_examples("examples_under_load", "udp_echo_sends_all_back"),
        of_crates("renamed", "a_crate_may_be_renamed"),
        of_crates("renamed", "other_crates_may_be_given_it_for_tokio"),
    ],
};

/// Runs the tests in these files, or all; true if none failed. Where it cannot, it says why and
/// fails nothing.
pub(crate) fn run(root: &Path, sanitizer: &Sanitizer, args: impl Iterator<Item = String>) -> bool {
    let (flags, files): (Vec<_>, Vec<_>) = args.partition(|arg| arg.starts_with("--"));
    let mut std = sanitizer.std;
    for flag in flags {
        std = match &*flag {
            "--std=rebuilt" => Std::Rebuilt,
            "--std=toolchain" => Std::Toolchain,
            _ => {
                eprintln!("{flag} is no option; there are --std=rebuilt and --std=toolchain");
                return false;
            }
        };
    }
    let mut count = Count::default();
    let folder = match libraries(sanitizer) {
        Ok(folder) => folder,
        Err(reason) => {
            eprintln!("skipped: {}, {reason}", sanitizer.name);
            count.skipped += 1;
            return count.close();
        }
    };
    let mut habit = Habit { root, sanitizer, std_is_rebuilt: std != Std::Toolchain, files: &files };
    let mut built = match habit.std_is_rebuilt {
        true => has_sources_of_std(&folder).and_then(|()| habit.build()),
        false => habit.build(),
    };
    if let (Err(reason), Std::RebuiltIfPossible) = (&built, std) {
        eprintln!("with the std of the toolchain, and its false alarms suppressed: {reason}");
        habit.std_is_rebuilt = false;
        built = habit.build();
    }
    if let Err(reason) = built {
        count.fail(format!("{}: {reason}", sanitizer.name));
        return count.close();
    }
    habit.all(&mut count);
    habit.specials(&mut count);
    count.close()
}

/// Where the toolchain's libraries are, or why the sanitizer cannot be used here and how it could.
fn libraries(sanitizer: &Sanitizer) -> Result<PathBuf, String> {
    if cfg!(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))) {
        return Err(format!("which is set up for {TARGET} only"));
    }
    let printed =
        nightly::tool("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let folder = match printed {
        Ok(output) if output.status.success() => {
            PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
        }
        _ => {
            return Err("for want of a nightly toolchain: \
                rustup toolchain install nightly --profile minimal"
                .into());
        }
    };
    let runtime = folder.join(format!("librustc-nightly_rt.{}.a", sanitizer.short));
    if !runtime.exists() {
        return Err(format!("which this nightly does not have ({})", runtime.display()));
    }
    Ok(folder)
}

fn has_sources_of_std(libraries: &Path) -> Result<(), String> {
    match libraries.join("../../src/rust/library/Cargo.lock").exists() {
        true => Ok(()),
        false => Err("std cannot be rebuilt for want of its sources: \
            rustup component add rust-src --toolchain nightly"
            .into()),
    }
}

struct Habit<'a> {
    root: &'a Path,
    sanitizer: &'a Sanitizer,
    std_is_rebuilt: bool,
    files: &'a [String],
}

impl Habit<'_> {
    /// By itself, so that the limit is on the tests alone.
    fn build(&self) -> Result<(), String> {
        match self.cargo(&["--no-run"], "", None).ok {
            true => Ok(()),
            false => Err("it cannot be built".into()),
        }
    }

    fn all(&self, count: &mut Count) {
        let mut skips = vec!["--"];
        for special in self.sanitizer.special {
            skips.extend(["--skip", special.test]);
        }
        count.add_rust(&self.cargo(&skips, self.sanitizer.options, None));
    }

    fn specials(&self, count: &mut Count) {
        for Special { file, test, reason, options } in self.sanitizer.special {
            if !self.files.is_empty() && !self.files.iter().any(|other| other == file) {
                continue;
            }
            match options {
                Some(options) => {
                    eprintln!("with {options}: {test}, because {reason}");
                    count.add_rust(&self.cargo(&["--", "--exact", test], options, Some(file)));
                }
                None => {
                    eprintln!("skipped: {test}, because {reason}");
                    count.skipped += 1;
                }
            }
        }
    }

    /// `cargo test` with these options of the sanitizer, for one file or for those that are wanted.
    fn cargo(&self, args: &[&str], options: &str, file: Option<&str>) -> Heard {
        let is_build = args == ["--no-run"];
        // A build takes the time that it takes.
        let mut command = nightly::cargo_within(if is_build { 0 } else { LIMIT_SECONDS });
        command.args(["test", "--locked", "--no-fail-fast"]);
        let folder = match self.std_is_rebuilt {
            true => format!("target/{}-std", self.sanitizer.short),
            false => format!("target/{}", self.sanitizer.short),
        };
        command.args(["--target", TARGET, "--target-dir", &folder, "--package", "trefoil"]);
        command.args(self.sanitizer.features.iter().flat_map(|feature| ["--features", feature]));
        if self.std_is_rebuilt {
            command.arg("-Zbuild-std");
        }
        match file {
            Some(file) => {
                command.args(["--test", file]);
            }
            None if self.files.is_empty() => {
                command.args(["--lib", "--tests"]);
            }
            None => {
                command.args(self.files.iter().flat_map(|file| ["--test", file]));
            }
        }
        command.args(args);
        let mut flags = self.sanitizer.rustflags.to_vec();
        if !self.std_is_rebuilt {
            flags.extend(self.sanitizer.rustflags_of_toolchain_std);
        }
        let flags = flags.join(" ");
        eprintln!("+ RUSTFLAGS={flags:?} {command:?}");
        command.env("RUSTFLAGS", flags);
        // Nothing is optimised: with level 1, the tests' build took four times as long, which is
        // more than all of them take.
        command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only").env("CARGO_INCREMENTAL", "0");
        // Tests panic by the hundred, and a backtrace takes seconds there.
        command.env("RUST_BACKTRACE", "0");
        let main = format!("{}_OPTIONS", self.sanitizer.short.to_uppercase());
        command.env(&main, options);
        for (variable, name) in self.sanitizer.suppressions {
            let path = self.root.join("xtask/src/sanitizers").join(name);
            let mut value = format!("suppressions={}", path.display());
            if *variable == main {
                value = format!("{options}:{value}");
            }
            // Leaks are forgiven by their test's name; races only where std was not built for it.
            if !self.std_is_rebuilt || self.sanitizer.short == "asan" {
                command.env(variable, value);
            }
        }
        listen(
            "timeout",
            command.current_dir(self.root),
            if is_build { SILENCE } else { TESTS_SILENCE },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_test_of_examples_is_left_to_a_sanitizer() {
        let file = "examples_under_load";
        let path = crate::root().join(format!("crates/trefoil/tests/{file}.rs"));
        let text = std::fs::read_to_string(path).unwrap();
        let mut before = "";
        let mut seen = 0;
        for (line, next) in text.lines().zip(text.lines().skip(1)) {
            if line == "#[test]" {
                let test =
                    next.strip_prefix("fn ").and_then(|rest| rest.split_once('(')).unwrap().0;
                for sanitizer in [&ADDRESS, &THREAD] {
                    let is_special = sanitizer
                        .special
                        .iter()
                        .any(|special| (special.file, special.test) == (file, test));
                    let is_left_out =
                        sanitizer.short == "tsan" && before.contains("not(trefoil_tsan)");
                    assert!(
                        is_special || is_left_out,
                        "{} runs {test}, which needs an example",
                        sanitizer.name
                    );
                }
                seen += 1;
            }
            before = line;
        }
        assert!(seen > 5, "{seen}");
    }
}
