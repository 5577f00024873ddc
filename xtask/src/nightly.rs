//! Tools of a nightly toolchain, whichever toolchain runs this.

use std::process::Command;

/// One of its tools. Unlike `cargo +nightly`, this never installs one.
pub(crate) fn tool(tool: &str) -> Command {
    run("rustup", &["run", "nightly", tool])
}

/// Its cargo, which is killed after so many seconds, or never after 0 of them.
pub(crate) fn cargo_within(seconds: u32) -> Command {
    let limit = seconds.to_string();
    run("timeout", &["--kill-after=10", &limit, "rustup", "run", "nightly", "cargo"])
}

fn run(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    // The pinned toolchain's own would be used.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
    command
}
