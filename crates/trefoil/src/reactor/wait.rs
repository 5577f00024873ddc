//! How long a thread waits for events.
//!
//! `epoll_wait` counts milliseconds, and `mio` rounds up, so a timer would be late by up to one. So
//! whole milliseconds are waited for there, and what is left of the last one in a `ppoll` of the
//! epoll descriptor, which counts nanoseconds. That descriptor is readable as long as there are
//! events; `ppoll` takes none of them, and they are then fetched without waiting. A sandbox may not
//! know `ppoll`, which few programs call; there, timers are late by what `mio` rounds up.

use std::io;
use std::time::{Duration, Instant};

/// What `epoll_wait` counts.
const UNIT: Duration = Duration::from_millis(1);

/// Waits for events until there are some, or the time is over. It may end earlier without any.
pub(super) fn wait(
    poll: &mut mio::Poll,
    events: &mut mio::Events,
    timeout: Option<Duration>,
) -> io::Result<()> {
    let Some(timeout) = timeout else { return poll.poll(events, None) };
    let (whole, rest) = in_units(timeout);
    if rest.is_zero() || !cfg!(any(target_os = "linux", target_os = "android")) {
        return poll.poll(events, Some(timeout));
    }
    if whole.is_zero() {
        return wait_exactly(poll, events, rest);
    }
    let begun = Instant::now();
    poll.poll(events, Some(whole))?;
    if !events.is_empty() {
        return Ok(());
    }
    let left = timeout.saturating_sub(begun.elapsed());
    // It is more than a unit only if the system does not wait for so long. Whoever waits comes
    // back.
    if left.is_zero() || left > UNIT { Ok(()) } else { wait_exactly(poll, events, left) }
}

/// Whole units, and what is left.
fn in_units(timeout: Duration) -> (Duration, Duration) {
    let rest = Duration::from_nanos(u64::from(timeout.subsec_nanos()) % UNIT.as_nanos() as u64);
    (timeout - rest, rest)
}

/// Waits for less than a unit.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn wait_exactly(
    poll: &mut mio::Poll,
    events: &mut mio::Events,
    timeout: Duration,
) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec};
    use rustix::io::Errno;
    let timespec = Timespec::try_from(timeout).expect("it is less than a second");
    let mut fds = [PollFd::new(poll.registry(), PollFlags::IN)];
    match rustix::event::poll(&mut fds, Some(&timespec)) {
        Ok(0) => {
            events.clear();
            Ok(())
        }
        Ok(_) => poll.poll(events, Some(Duration::ZERO)),
        Err(error @ Errno::INTR) => Err(error.into()),
        // If the descriptor is to blame, this fails, too.
        Err(_) => poll.poll(events, Some(timeout)),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn wait_exactly(
    poll: &mut mio::Poll,
    events: &mut mio::Events,
    timeout: Duration,
) -> io::Result<()> {
    poll.poll(events, Some(timeout))
}

#[cfg(all(test, unix, not(loom)))]
mod tests {
    use super::*;
    use mio::{Interest, Token};
    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    use std::io::ErrorKind;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    #[test]
    fn units_and_the_rest_are_the_whole() {
        for timeout in [us(0), us(1), us(999), us(1000), us(1001), us(2_999_999), Duration::MAX] {
            let (whole, rest) = in_units(timeout);
            assert_eq!(whole + rest, timeout);
            assert!(rest < UNIT);
            assert_eq!(whole.subsec_nanos() % UNIT.subsec_nanos(), 0);
        }
    }

    /// Whatever the wait consists of: no event is forgotten, or reported again.
    #[test]
    fn each_wait_reports_each_edge_once() {
        let mut poll = mio::Poll::new().unwrap();
        let mut events = mio::Events::with_capacity(8);
        let (mut near, far) = UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let mut far = mio::net::UnixStream::from_std(far);
        poll.registry().register(&mut far, Token(7), Interest::READABLE).unwrap();
        for timeout in [0, 300, 1000, 1300] {
            near.write_all(b"x").unwrap();
            wait(&mut poll, &mut events, Some(us(timeout))).unwrap();
            assert_eq!(events.iter().filter(|event| event.token() == Token(7)).count(), 1);
            wait(&mut poll, &mut events, Some(us(timeout))).unwrap();
            assert!(events.is_empty(), "{timeout}");
        }
        // For as long as it takes.
        near.write_all(b"x").unwrap();
        wait(&mut poll, &mut events, None).unwrap();
        assert!(!events.is_empty());
    }

    /// An interruption that comes before the wait, or in its last part, ends it.
    #[test]
    fn an_interruption_ends_each_part() {
        let mut poll = mio::Poll::new().unwrap();
        let mut events = mio::Events::with_capacity(8);
        let waker = mio::Waker::new(poll.registry(), Token(9)).unwrap();
        for timeout in [us(900), us(1900), Duration::from_secs(3600) + us(900)] {
            waker.wake().unwrap();
            wait(&mut poll, &mut events, Some(timeout)).unwrap();
            assert!(events.iter().any(|event| event.token() == Token(9)));
        }
    }

    /// The system refuses `ppoll`, as a sandbox does that was made for another runtime.
    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    #[test]
    fn a_wait_needs_no_ppoll() {
        // The filter is the thread's.
        let refused = std::thread::spawn(|| {
            if let Err(error) = refuse_ppoll() {
                return eprintln!("skipped: this system takes no filter of its calls: {error}");
            }
            let mut poll = mio::Poll::new().unwrap();
            let refusal = rustix::event::poll(&mut [], Some(&Default::default())).unwrap_err();
            assert_eq!(refusal.kind(), ErrorKind::PermissionDenied);
            let mut events = mio::Events::with_capacity(8);
            for timeout in [us(300), us(1300)] {
                let begun = Instant::now();
                wait(&mut poll, &mut events, Some(timeout)).unwrap();
                assert!(begun.elapsed() >= timeout && events.is_empty());
            }
            let waker = mio::Waker::new(poll.registry(), Token(9)).unwrap();
            waker.wake().unwrap();
            wait(&mut poll, &mut events, Some(us(300))).unwrap();
            assert_eq!(events.iter().filter(|event| event.token() == Token(9)).count(), 1);
        });
        refused.join().unwrap();
    }

    /// From here on, `ppoll` fails with `EPERM` on the calling thread.
    ///
    /// # Errors
    /// Those of the system, which may be a sandbox itself.
    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    fn refuse_ppoll() -> io::Result<()> {
        let number = u32::try_from(libc::SYS_ppoll).unwrap();
        let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
        let step = |code, k, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
        let mut steps = [
            // The call's number is what a filter sees first.
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number, 0, 1),
            step(libc::BPF_RET | libc::BPF_K, refusal, 0, 0),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
        ];
        let len = steps.len() as u16;
        let filter = libc::sock_fprog { len, filter: steps.as_mut_ptr() };
        // All arguments of the call have the width of a register.
        let [off, on, kind] = [0, 1, libc::SECCOMP_MODE_FILTER].map(libc::c_ulong::from);
        // Without this, only root may add a filter.
        // SAFETY: the call takes numbers alone.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, off, off, off) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the system copies the filter, and all its steps, during the call.
        if unsafe { libc::prctl(libc::PR_SET_SECCOMP, kind, &raw const filter) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}
