//! Whatever a contender does, the others race on, and the report says what it did.

use crate::support::{Fake, Finished, Project, assert_has, entry};

/// Races `bad` beside `good`, and checks that `good` came through and `bad` did not.
#[track_caller]
fn race(bad: Fake, outcome: &str, detail: &[&str]) -> Finished {
    race_for(bad, "20", outcome, detail)
}

#[track_caller]
fn race_for(bad: Fake, timeout_s: &str, outcome: &str, detail: &[&str]) -> Finished {
    let project = Project::good_and(bad);
    let run = project.race().set("--reference", "good").set("--timeout", timeout_s).run().exits(0);
    let report = run.json();
    let good = entry(&report, "good");
    assert_eq!(good["outcome"], "ok");
    assert_eq!(good["samples"], 10, "two blocks of five samples");
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], outcome, "{bad:#}");
    assert_has(bad["detail"].as_str().unwrap_or_default(), detail);
    assert!(bad["rank"].is_null(), "a failure has a rank");
    assert!(bad["ratio_to_best"].is_null(), "a failure has a ratio");
    project.assert_travels();
    run
}

#[track_caller]
fn stderr_of(run: &Finished) -> String {
    entry(&run.json(), "bad")["stderr"].as_str().unwrap().to_owned()
}

#[track_caller]
fn is_fine(fake: Fake) {
    let project = Project::good_and(fake);
    let report = project.race().run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "ok");
}

#[test]
fn a_slow_start_is_no_fault() {
    is_fine(Fake::new("bad").fault("slow-start"));
}

#[test]
fn a_flood_on_standard_error_is_no_fault_and_blocks_nobody() {
    is_fine(Fake::new("bad").fault("flood-stderr"));
}

#[test]
fn a_closed_standard_error_is_no_fault() {
    is_fine(Fake::new("bad").fault("close-stderr"));
}

#[test]
fn a_server_that_dies_in_mid_race_is_a_crash_with_its_cause_and_not_a_wait() {
    let dies = Fake::new("bad").fault("dead-server:3").from(3);
    let run = race(dies, "crashed", &["status 1"]);
    let cause = stderr_of(&run);
    assert!(cause.contains("the connecting side of a connection: "), "{cause}");
}

/// As a user's shell may have it: the hard limit is inherited by all that Palio starts.
#[test]
fn too_low_a_limit_of_open_files_is_unsupported_with_the_command_that_raises_it() {
    let project = Project::good_and(Fake::new("bad").fault("open-files:2064"));
    let race = project.race().set("--reference", "good");
    let report = race.through_shell("ulimit -n 64; exec \"$@\"").run().exits(0).json();
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "unsupported", "{bad:#}");
    let detail = bad["detail"].as_str().unwrap();
    assert_has(detail, &["needs 2064 open files, may have 64: `ulimit -n 2064`"]);
    assert_eq!(entry(&report, "good")["outcome"], "ok");
}

#[test]
fn a_soft_limit_of_open_files_is_raised() {
    let project = Project::good_and(Fake::new("bad").fault("open-files:500"));
    let race = project.race().through_shell("ulimit -S -n 64; exec \"$@\"");
    assert_eq!(entry(&race.run().exits(0).json(), "bad")["outcome"], "ok");
}

#[test]
fn work_that_is_not_counted_is_no_fault() {
    is_fine(Fake::new("bad").fault("no-work"));
}

#[test]
fn a_count_of_forks_in_a_sample_that_is_timed() {
    let counts = Fake::new("bad").fault("sys:- forks=0");
    race(counts, "crashed", &["contract", "it counts forks while it is timed"]);
}

#[test]
fn a_wrong_first_sample() {
    race(Fake::new("bad").fault("wrong-answer"), "wrong-answer", &["answered 41", "42 is right"]);
}

#[test]
fn a_wrong_seventh_sample() {
    let project = Project::good_and(Fake::new("bad").fault("wrong-answer:7"));
    let report = project.race().set("--budget", "20").run().exits(0).json();
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "wrong-answer");
    assert_has(bad["detail"].as_str().unwrap(), &["answered 41"]);
    // The wrong answer is kept: one warm-up and five right ones came before it.
    let stored = project.stored();
    let cell = stored["races"][0]["cells"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["contender"] == "bad")
        .unwrap();
    let samples = cell["invocations"][1]["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 7);
    assert_eq!(samples[6]["answer"], "41");
}

#[test]
fn a_wrong_sample_in_the_warm_up_alone() {
    let run =
        race(Fake::new("bad").fault("wrong-answer:1").from(2), "wrong-answer", &["answered 41"]);
    assert_eq!(entry(&run.json(), "bad")["samples"], 0);
}

#[test]
fn a_wrong_sample_in_the_last_block() {
    race(Fake::new("bad").fault("wrong-answer:4").from(3), "wrong-answer", &["answered 41"]);
}

#[test]
fn an_answer_that_would_paint_the_terminal_is_shown_harmlessly() {
    let run = race(Fake::new("bad").fault("answer:ESC[2J"), "wrong-answer", &["42 is right"]);
    let detail = entry(&run.json(), "bad")["detail"].as_str().unwrap().to_owned();
    assert!(!detail.contains('\u{1b}'), "{detail:?}");
}

#[test]
fn a_long_answer_is_cut() {
    let run = race(
        Fake::new("bad").fault(&format!("answer:{}", "9".repeat(9000))),
        "wrong-answer",
        &["…"],
    );
    assert!(entry(&run.json(), "bad")["detail"].as_str().unwrap().len() < 300);
}

#[test]
fn less_work() {
    race(
        Fake::new("bad").fault("less-work:2"),
        "wrong-answer",
        &["certified 9 units of work, not 10"],
    );
}

#[test]
fn wrong_ops() {
    race(Fake::new("bad").fault("wrong-ops"), "wrong-answer", &["did 11 echos, not 10"]);
}

#[test]
fn a_clock_that_stands_still() {
    race(Fake::new("bad").fault("zero-time"), "crashed", &["contract", "`elapsed_ns` is 0"]);
}

#[test]
fn garbage() {
    race(
        Fake::new("bad").fault("garbage:2"),
        "crashed",
        &["contract", "Hello! Here is your answer:"],
    );
}

#[test]
fn garbage_when_all_is_done() {
    race(
        Fake::new("bad").fault("garbage-at-end"),
        "crashed",
        &["contract", "Thank you for choosing fake!"],
    );
}

#[test]
fn an_unfinished_line_when_all_is_done() {
    race(Fake::new("bad").fault("unfinished-at-end"), "crashed", &["contract", "bye"]);
}

#[test]
fn output_that_is_not_text() {
    race(Fake::new("bad").fault("not-text"), "crashed", &["contract", "not UTF-8"]);
}

#[test]
fn silence() {
    race_for(
        Fake::new("bad").fault("silent"),
        "2",
        "timed-out",
        &["after 2 s with 0 sample(s)", "--timeout"],
    );
}

#[test]
fn an_answer_and_then_silence() {
    race_for(
        Fake::new("bad").fault("then-hang"),
        "2",
        "timed-out",
        &["after 2 s with 1 sample(s)"],
    );
}

#[test]
fn an_input_that_nobody_can_write_to() {
    // It has filled its own input, in which the next command is to be written.
    race_for(
        Fake::new("bad").fault("fill-input"),
        "2",
        "timed-out",
        &["after 2 s with 1 sample(s)"],
    );
}

#[test]
fn an_early_exit_that_claims_success() {
    let run = race(
        Fake::new("bad").fault("exit-0:2"),
        "crashed",
        &["exited with status 0 after 1 sample(s)"],
    );
    assert_has(&stderr_of(&run), &["fake: I have had enough"]);
}

#[test]
fn an_early_exit_that_admits_failure() {
    let run = race(
        Fake::new("bad").fault("exit-7"),
        "crashed",
        &["exited with status 7 after 0 sample(s)"],
    );
    assert_has(&stderr_of(&run), &["fake: I have had enough"]);
}

#[test]
fn a_refusal_is_unsupported_and_says_why() {
    race(
        Fake::new("bad").fault("refuse:3"),
        "unsupported",
        &["fake: I do not do this on a Tuesday"],
    );
}

/// Whoever has raced does support the row, and does not leave it because it loses.
#[test]
fn a_refusal_after_a_process_that_raced_is_a_crash() {
    race(
        Fake::new("bad").fault("refuse:3").from(3),
        "crashed",
        &["it refused after 2 processes that raced: fake: I do not do this on a Tuesday"],
    );
}

#[test]
fn a_refusal_after_a_sample_is_a_crash() {
    race(
        Fake::new("bad").fault("exit-3:2"),
        "crashed",
        &["exited with status 3 after 1 sample(s)"],
    );
}

#[test]
fn misuse_of_the_arguments_is_a_crash() {
    race(Fake::new("bad").fault("refuse:2"), "crashed", &["exited with status 2"]);
}

#[test]
fn a_bad_exit_status_at_the_end() {
    race(
        Fake::new("bad").fault("exit-at-end:5"),
        "crashed",
        &["did its work, but then exited with status 5"],
    );
}

#[test]
fn an_abort_at_the_end() {
    race(Fake::new("bad").fault("abort-at-end"), "crashed", &["did its work, but then", "SIGABRT"]);
}

#[test]
fn fewer_samples() {
    race(
        Fake::new("bad").fault("fewer").from(2),
        "crashed",
        &["contract", "`done 4` after 4 of 5 samples"],
    );
}

#[test]
fn more_samples() {
    race(Fake::new("bad").fault("more"), "crashed", &["contract", "more than 1 samples"]);
}

#[test]
fn a_wrong_count() {
    race(
        Fake::new("bad").fault("miscount"),
        "crashed",
        &["contract", "`done 6` after 1 of 1 samples"],
    );
}

#[test]
fn a_line_that_was_cut_off() {
    race(Fake::new("bad").fault("cut-off"), "crashed", &["exited with status 0 after 0 sample(s)"]);
}

#[test]
fn a_line_without_end() {
    race(Fake::new("bad").fault("endless-line"), "crashed", &["contract", "line without end"]);
}

#[test]
fn garbage_without_end() {
    race(Fake::new("bad").fault("endless-garbage"), "crashed", &["contract", "\"blah\""]);
}

#[test]
fn samples_without_end() {
    race(Fake::new("bad").fault("endless-samples"), "crashed", &["more than 1 samples"]);
}

#[test]
fn hunger() {
    let project = Project::good_and(Fake::new("bad").fault("eat-memory"));
    let report = project.race().set("--memory", "100").run().exits(0).json();
    assert_eq!(entry(&report, "good")["outcome"], "ok");
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "crashed");
    assert_has(bad["detail"].as_str().unwrap(), &["memory reached", "MiB", "--memory"]);
}

#[test]
fn a_segmentation_fault() {
    let run = race(Fake::new("bad").fault("segfault"), "crashed", &["signal 11 (SIGSEGV)"]);
    assert_has(&stderr_of(&run), &["about to touch what is not mine"]);
}

#[test]
fn an_abort_in_the_second_block() {
    let run = race(
        Fake::new("bad").fault("abort:3").from(3),
        "crashed",
        &["signal 6 (SIGABRT) after 2 sample(s)"],
    );
    assert_has(&stderr_of(&run), &["invariant broken"]);
}

#[test]
fn deafness_to_quit() {
    race(Fake::new("bad").fault("ignore-quit"), "crashed", &["did its work, but", "`quit`"]);
}

#[test]
fn a_closed_standard_output() {
    race(
        Fake::new("bad").fault("close-stdout"),
        "crashed",
        &["closed its standard output", "0 sample(s)"],
    );
}

#[test]
fn a_grandchild_that_holds_the_pipes_does_not_outlive_its_invocation() {
    let project = Project::good_and(Fake::new("bad").fault("grandchild"));
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    // Nobody lets it go: it is killed with its group.
    meeting.guest().must_end();
    let report = palio.finish().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "ok");
}

#[test]
fn a_grandchild_that_escaped_and_holds_the_pipes_keeps_nobody_waiting() {
    let project = Project::good_and(Fake::new("bad").fault("grandchild:escaped"));
    let meeting = project.meeting("bad");
    let palio = project.race().start();
    let guest = meeting.guest();
    let report = palio.finish().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "ok");
    // Without a warden nobody finds it.
    if cfg!(target_os = "linux") {
        guest.must_end();
    }
}

#[test]
fn an_exit_is_noticed_though_a_grandchild_holds_the_pipes() {
    let project = Project::good_and(Fake::new("bad").fault("grandchild").fault("exit-7:2"));
    let meeting = project.meeting("bad");
    let palio = project.race().set("--reference", "good").start();
    let guest = meeting.guest();
    let report = palio.finish().exits(0).json();
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "crashed");
    assert_has(bad["detail"].as_str().unwrap(), &["exited with status 7 after 1 sample(s)"]);
    guest.must_end();
}

#[test]
fn standard_error_is_kept_from_its_head_and_its_end() {
    let fake = Fake::new("bad").fault("flood-stderr:20000").fault("exit-7");
    let stderr = stderr_of(&race(fake, "crashed", &["status 7"]));
    assert_has(
        &stderr,
        &[
            "the first line",
            "line 0\n",
            "line 19999",
            "the last line",
            "I have had enough",
            "bytes left out",
        ],
    );
    assert!(stderr.len() < 9 * 1024, "{}", stderr.len());
    assert!(!stderr.contains("line 10000\n"));
}

#[test]
fn an_executable_that_is_not_there() {
    let project = Project::good_and(Fake::new("bad"));
    let toml = project
        .read("contenders/rust/bad/contender.toml")
        .replace("fake-contender", "no-such-contender");
    project.write("contenders/rust/bad/contender.toml", &toml);
    let run = project.race().run().exits(0).complains(&["bad will not race", "no-such-contender"]);
    let report = run.json();
    assert_eq!(entry(&report, "bad")["outcome"], "not-built");
    assert_eq!(entry(&report, "good")["outcome"], "ok");
}

/// No stack is as large as those that Palio's threads are to have.
#[test]
fn a_system_without_threads_for_palio_is_told_of() {
    let project = Project::new().with(Fake::new("good"));
    let run = project.race().env("RUST_MIN_STACK", (1_u64 << 50).to_string()).run();
    run.fails_with(&["good will not race", "the system gives Palio no thread", "ulimit -u"]);
}

#[test]
fn a_contender_that_vanishes_between_two_blocks() {
    let project = Project::good_and(Fake::new("bad").fault("meet:1").from(2));
    let copy = project.path("copy-of-fake");
    let toml = project.read("contenders/rust/bad/contender.toml");
    let original = toml
        .lines()
        .find_map(|l| l.strip_prefix("command = [\""))
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    std::fs::copy(original, &copy).unwrap();
    project.write(
        "contenders/rust/bad/contender.toml",
        &toml.replace(original, copy.to_str().unwrap()),
    );
    let meeting = project.meeting("bad");
    let palio = project.race().set("--reference", "good").start();
    let guest = meeting.guest();
    std::fs::remove_file(&copy).unwrap();
    drop(guest);
    let report = palio.finish().exits(0).json();
    let bad = entry(&report, "bad");
    assert_eq!(bad["outcome"], "crashed");
    assert_has(bad["detail"].as_str().unwrap(), &["copy-of-fake is gone"]);
    assert_eq!(entry(&report, "good")["outcome"], "ok");
}

#[test]
fn what_a_build_or_a_contender_says_cannot_drive_a_terminal() {
    // In octal, for any shell's printf: a colour, a bell, a turned direction, a space of no width.
    let evil = r"a\033[31mb\007\342\200\256c\342\200\213d";
    let script = format!("printf '{evil}' >&2; exit 4");
    let built = format!("[build]\ncommands = [[\"sh\", \"-c\", '''{script}''']]\n");
    let project = Project::good_and(Fake::new("bad").toml(&built));
    let raced = Project::good_and(Fake::new("bad").fault("says-evil").fault("exit-7"));
    for project in [project, raced] {
        let finished = project.race().set("--reference", "good").run().exits(0);
        let stored = project.stored().to_string();
        let terminal = project.palio(&["report"]).run().exits(0).stdout;
        for text in [&finished.stderr, &finished.stdout, &stored, &terminal] {
            // As they are, or as JSON escapes them.
            for c in ["\u{1b}", "\\u001b", "\u{7}", "\\u0007", "\u{202e}", "\u{200b}"] {
                assert!(!text.contains(c), "{c:?} in {text}");
            }
        }
        assert_has(&terminal, &["ab\u{fffd}\u{fffd}c\u{fffd}d"]);
    }
}

#[test]
fn a_build_that_fails_shows_its_end() {
    let bad = Fake::new("bad")
        .toml("[build]\ncommands = [[\"sh\", \"-c\", \"echo no such header >&2; exit 4\"]]\n");
    race(bad, "not-built", &["exit status: 4", "bad.log", "no such header"]);
}

/// Whoever waits for its children by a signal, as cmake does, waits for ever where it is blocked.
#[test]
fn a_build_is_started_with_no_signal_blocked() {
    let bad = Fake::new("bad")
        .toml("[build]\ncommands = [[\"grep\", \"SigBlk\", \"/proc/self/status\", \"/none\"]]\n");
    race(bad, "not-built", &["SigBlk:\t0000000000000000"]);
}

#[test]
fn what_serves_builds_does_not_reach_a_race() {
    let project = Project::new().with(Fake::new("bad").fault("sees:CMAKE_PREFIX_PATH"));
    let report = project.race().env("CMAKE_PREFIX_PATH", "/opt").run().exits(0).json();
    assert_eq!(entry(&report, "bad")["outcome"], "ok");
}

#[test]
fn something_missing_names_the_install() {
    let bad = Fake::new("bad").toml(
        "[[requires]]\nname = \"frobnicator\"\nprobe = [\"no-such-probe\"]\ndebian = [\"libfrob-dev\"]\n\
         install = \"https://frob.example\"\n",
    );
    race(
        bad,
        "not-built",
        &["frobnicator is missing", "apt-get install libfrob-dev", "https://frob.example"],
    );
}

mod describing {
    use super::*;

    #[test]
    fn another_id() {
        race(Fake::new("bad").fault("describe-id:worse"), "not-built", &["\"worse\"", "\"bad\""]);
    }

    #[test]
    fn an_unknown_version() {
        race(
            Fake::new("bad").fault("describe-version:unknown"),
            "not-built",
            &["does not know the version of fake"],
        );
    }

    #[test]
    fn another_protocol() {
        race(
            Fake::new("bad").fault("describe-protocol:3"),
            "not-built",
            &["protocol 3 is not spoken here"],
        );
    }

    #[test]
    fn a_protocol_without_a_salt() {
        race(
            Fake::new("bad").fault("describe-protocol:1"),
            "not-built",
            &["protocol 1 is not spoken here", "does not know `--salt` yet", "docs/protocol.md"],
        );
    }

    #[test]
    fn garbage() {
        race(
            Fake::new("bad").fault("describe-garbage"),
            "not-built",
            &["`--describe` is malformed", "Usage: fake"],
        );
    }

    #[test]
    fn other_workloads() {
        race(
            Fake::new("bad").fault("describe-workload:ohce"),
            "not-built",
            &["only described: ohce", "only in the file: echo"],
        );
    }

    #[test]
    fn a_failure() {
        race(
            Fake::new("bad").fault("describe-exit"),
            "not-built",
            &["exit status: 9", "I would rather not say"],
        );
    }

    #[test]
    fn silence() {
        race(
            Fake::new("bad").fault("describe-hang"),
            "not-built",
            &["--describe` gave no answer in"],
        );
    }

    /// A session without an end takes as long as an answer may: two of them are not waited for.
    #[test]
    fn silence_in_the_first_session_of_the_contract_ends_them() {
        let project = Project::good_and(Fake::new("bad").fault("deaf"));
        let run = project.palio(&["verify", "-t", "1", "-w", "echo", "-c", "good,bad"]).run();
        run.exits(1).prints(&[
            "one sample: `",
            "gave no answer in 10 s; the ",
            " session(s) after it were not played",
            "ok   good                   keeps the contract in",
        ]);
    }

    #[test]
    fn a_flood() {
        race(Fake::new("bad").fault("describe-flood"), "not-built", &["--describe`"]);
    }

    #[test]
    fn a_grandchild_that_holds_the_pipes_keeps_nobody_waiting() {
        let project = Project::good_and(Fake::new("bad").fault("describe-grandchild"));
        let meeting = project.meeting("bad");
        let palio = project.race().start();
        let guest = meeting.guest();
        let report = palio.finish().exits(0).json();
        assert_eq!(entry(&report, "bad")["outcome"], "ok");
        drop(guest);
    }
}
