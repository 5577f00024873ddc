//! How many files, and so sockets, a process may have open.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::harness::Refusal;

/// Makes room for `count` open files: raises the soft limit of this process, as far as its hard
/// limit allows.
///
/// # Errors
/// The hard limit is lower; the refusal names both numbers and the command that raises it.
pub fn make_room(count: u64) -> Result<(), Refusal> {
    let limits = getrlimit(Resource::RLIMIT_NOFILE)
        .map_err(|error| Refusal::Unsupported(format!("the limit of open files: {error}")))?;
    let Some(soft) = raised(count, limits)? else { return Ok(()) };
    setrlimit(Resource::RLIMIT_NOFILE, soft, limits.1).map_err(|error| {
        Refusal::Unsupported(format!("the limit of open files cannot be raised to {soft}: {error}"))
    })
}

/// The soft limit to be set, if the present one is too low.
fn raised(count: u64, (soft, hard): (u64, u64)) -> Result<Option<u64>, Refusal> {
    if hard < count {
        // What matters comes first: a table shows the beginning of the sentence.
        return Err(Refusal::Unsupported(format!(
            "needs {count} open files, may have {hard}: `ulimit -n {count}` raises the limit, as root \
             if need be, in the shell that starts palio"
        )));
    }
    Ok((soft < count).then_some(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_as_far_as_needed_and_never_lowered() {
        assert_eq!(raised(100, (1024, 4096)), Ok(None));
        assert_eq!(raised(2000, (1024, 4096)), Ok(Some(2000)));
        assert_eq!(raised(4096, (1024, 4096)), Ok(Some(4096)));
        let refusal = raised(4097, (1024, 4096)).unwrap_err();
        let Refusal::Unsupported(reason) = refusal else { panic!("{refusal:?}") };
        assert!(reason.contains("needs 4097") && reason.contains("may have 4096"), "{reason}");
        assert!(reason.contains("`ulimit -n 4097`"), "{reason}");
    }

    #[test]
    fn room_that_is_there_is_no_error() {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        make_room(1).unwrap();
        make_room(soft.min(hard)).unwrap();
        assert!(make_room(u64::MAX).is_err() || hard == u64::MAX);
    }
}
