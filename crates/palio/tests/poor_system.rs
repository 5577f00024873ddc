//! Palio where the system lacks what it stands on.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::support::{Fake, Project};

/// Where `/proc` is not there, and where it is that of another PID namespace.
const WITHOUT_PROC: [(&str, &str); 2] = [
    (
        "exec unshare --user --map-root-user --mount \
         sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sh \"$@\"",
        "/proc is not mounted",
    ),
    ("exec unshare --user --map-root-user --pid --fork \"$@\"", "of another PID namespace"),
];

#[test]
fn without_its_processes_in_proc_nothing_is_started_and_all_that_is_stored_is_shown() {
    let mut may = Command::new("unshare");
    may.args(["--user", "--map-root-user", "--mount", "true"]);
    if !may.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped, no namespaces may be made here");
        return;
    }
    let project = Project::new().with(Fake::new("good"));
    project.race().run().exits(0);
    let starts = project.starts();
    for (line, what) in WITHOUT_PROC {
        let refused = |args: &[&str]| {
            let run = project.palio(args).through_shell(line).run();
            run.fails_with(&[what, "mount -t proc proc /proc"]);
        };
        refused(&["run", "--workload", "echo"]);
        refused(&["run", "--resume"]);
        refused(&["verify"]);
        refused(&["build"]);
        refused(&["sweep", "good", "--knob", "size=1,2"]);
        refused(&["doctor"]);
        refused(&["setup", "--dry-run"]);
        project.palio(&["report", "latest"]).through_shell(line).run().exits(0).prints(&["good"]);
    }
    assert_eq!(project.starts(), starts);
    assert_eq!(project.runs().len(), 1);
}
