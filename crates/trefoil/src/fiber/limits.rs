//! What bounds the number of stacks, for the message of one that is refused.

use std::io;

/// Why the system may have refused a mapping, and what would help.
pub(super) fn hint(error: &io::Error) -> String {
    let Some(libc::ENOMEM) = error.raw_os_error() else { return String::new() };
    let mappings = most_mappings().map_or_else(String::new, |most| {
        format!(
            "a process may have {most} mappings here, of which a stack takes up to two: \
             `sysctl -w vm.max_map_count={}` allows more; ",
            most.saturating_mul(4).max(LARGE)
        )
    });
    format!(
        " ({mappings}`vm.overcommit_memory` and `ulimit -v` bound the memory of all stacks \
         together)"
    )
}

/// Enough for some 500,000 stacks.
const LARGE: u64 = 1 << 20;

/// `vm.max_map_count` of Linux.
fn most_mappings() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()?;
    text.trim().parse().ok()
}
