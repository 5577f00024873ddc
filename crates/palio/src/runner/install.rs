//! Installing Debian packages.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// The commands that install `packages`, with `sudo` unless this is root already.
pub fn commands(packages: &[String]) -> Vec<Vec<String>> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut update = words("apt-get update");
    let mut install = words("apt-get install --yes --no-install-recommends");
    install.extend_from_slice(packages);
    if !nix::unistd::geteuid().is_root() {
        update.insert(0, "sudo".to_owned());
        install.insert(0, "sudo".to_owned());
    }
    vec![update, install]
}

/// Runs one of them where the user sees it.
///
/// # Errors
/// It cannot be started or fails.
pub fn run(command: &[String]) -> Result<()> {
    let name = command.join(" ");
    let status = Command::new(&command[0]).args(&command[1..]).status().with_context(|| {
        format!("`{name}` cannot be started: this is not Debian; install the packages as your system does")
    })?;
    if !status.success() {
        bail!("`{name}` failed ({status})");
    }
    Ok(())
}
