//! A source's place in the reactor, and how its operations wait.

use super::slot::{Direction, Event};
use super::slots::Place;
use super::{Interest, Reactor, Ready};
use crate::runtime::shutdown_error;
use crate::scheduler::Handle;
use crate::task::coop;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A source's place in its runtime's reactor, until the drop.
#[derive(Debug)]
pub(crate) struct Registration {
    reactor: Reactor,
    place: Place,
    ends: Ends,
}

/// Whether what the system reports as the end of a source is there for good.
#[derive(Clone, Copy, Debug)]
enum Ends {
    ForGood,
    /// It may pass, and a call that would block says that it has.
    Never,
    /// It may pass or not, and the call is somebody else's, who may say so of other things. So the
    /// system is asked about this descriptor.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    WhileReportedOf(std::os::fd::RawFd),
    /// What is reported as the end of writes may be something in the socket's queue of errors. A
    /// call that would block asks the system which it is.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    OfWritesByHangUp(std::os::fd::RawFd),
}

impl Registration {
    /// Registers a source with the reactor of `handle`.
    ///
    /// # Errors
    /// Those of the system; and if the runtime has shut down.
    ///
    /// # Panics
    /// If the runtime has no I/O.
    #[track_caller]
    pub(crate) fn new(
        source: &mut impl mio::event::Source,
        interest: Interest,
        handle: &Handle,
    ) -> io::Result<Self> {
        let reactor = handle.reactor();
        let place = reactor.register(source, interest)?;
        let registration = Self { reactor: reactor.clone(), place, ends: Ends::ForGood };
        handle.have_reactor_attended();
        Ok(registration)
    }

    /// Has the first operations tried at once, before any event says that they may go ahead. If the
    /// guess is wrong, it costs one call. For a source that nobody waits for yet.
    pub(crate) fn assume(&self, ready: Ready) {
        self.place.slot().assume(ready);
    }

    /// False in a fork of the process that has made the runtime.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.reactor.check_process().is_ok()
    }

    /// Has the system forget the source, before it is closed or given away.
    ///
    /// # Errors
    /// If the source's descriptor was closed by somebody else.
    pub(crate) fn deregister(&self, source: &mut impl mio::event::Source) -> io::Result<()> {
        self.reactor.deregister(source)
    }

    /// The source is a socket of datagrams, or the end of a pipe. The system reports an error of
    /// the one as it reports the end of a stream; the other may be a file, and somebody may open
    /// its other end again. So a later call may have to wait.
    pub(crate) fn never_closes(&mut self) {
        self.ends = Ends::Never;
    }

    /// The source is any descriptor: of a stream, which ends for good, or of a terminal or a pipe
    /// with a name, whose other end may be opened again. Elsewhere than on Linux, all end for good.
    #[cfg(unix)]
    pub(crate) fn ends_while_reported_of(&mut self, fd: std::os::fd::RawFd) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            self.ends = Ends::WhileReportedOf(fd);
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = fd;
    }

    /// The source is a connection, which hangs up when its writes have ended. Time stamps and other
    /// notices for its owner, who may leave them there, are reported as that end as well.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn ends_writes_by_hang_up(&mut self, fd: std::os::fd::RawFd) {
        self.ends = Ends::OfWritesByHangUp(fd);
    }

    pub(crate) fn clear(&self, event: Event) {
        let slot = self.place.slot();
        match self.ends {
            Ends::Never => slot.clear_all(event),
            // If the end comes again, it does so with an event: one that has come to the slot since
            // `event` keeps all from being cleared, and one that comes later sets it again.
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Ends::WhileReportedOf(fd) if event.ready.is_closed() && has_no_end(fd) => {
                slot.clear_all(event);
            }
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Ends::OfWritesByHangUp(fd) if event.ready.is_write_closed() && !hangs_up(fd) => {
                slot.clear_but_reads_end(event);
            }
            _ => slot.clear(event),
        }
    }

    /// Waits for one side. The last caller of each side is woken. It spends no budget.
    #[inline]
    fn poll_side(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mask: Ready,
    ) -> Poll<io::Result<Event>> {
        match self.place.slot().wait(direction, mask, cx.waker()) {
            Some(event) => Poll::Ready(unless_over(event)),
            None => Poll::Pending,
        }
    }

    /// Waits until an operation of that side may succeed. The last caller of each side is woken.
    pub(crate) fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<Event>> {
        let unit = ready!(coop::poll_proceed(cx));
        let event = ready!(self.poll_side(cx, direction, direction.mask()))?;
        unit.made_progress();
        Poll::Ready(Ok(event))
    }

    /// Makes a call that does not block when it may succeed, and again until it would not block.
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut call: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_io_with(cx, direction, |_| call())
    }

    /// As `poll_io`, for a call that may clear the readiness that it is told.
    pub(crate) fn poll_io_with<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut call: impl FnMut(Event) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            let unit = ready!(coop::poll_proceed(cx));
            let event = ready!(self.poll_side(cx, direction, direction.calls()))?;
            let result = call(event);
            // Also for a call that would block: what is ready for good makes this loop endless.
            unit.made_progress();
            match result {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.clear(event),
                result => return Poll::Ready(result),
            }
        }
    }

    /// Makes a call if it may succeed; if not, or if it would block, returns that error. Nobody can
    /// say so any more when the runtime has shut down, so the call is made then.
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        call: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let event = self.place.slot().now(Ready::of_calls(interest));
        if event.ready.is_empty() && !event.is_over {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let result = call();
        if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.clear(event);
        }
        result
    }

    /// Waits for any readiness that answers the interest. Any number of tasks may do so.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Event> {
        let event = self.wait(interest.mask()).await?;
        coop::consume_budget().await;
        Ok(event)
    }

    /// Makes a call whenever it may succeed, until it would not block.
    pub(crate) async fn async_io<R>(
        &self,
        interest: Interest,
        mut call: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let event = self.wait(Ready::of_calls(interest)).await?;
            let unit = poll_fn(coop::poll_proceed).await;
            let result = call();
            // As in `poll_io_with`.
            unit.made_progress();
            match result {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.clear(event),
                result => return result,
            }
        }
    }

    /// Waits for any readiness of `mask`, in the place on the list that `place` names, or in a new
    /// one. The caller leaves the list. It spends no budget.
    pub(crate) fn poll_on_list(
        &self,
        cx: &mut Context<'_>,
        mask: Ready,
        place: &mut Option<u64>,
    ) -> Poll<io::Result<Event>> {
        match self.place.slot().wait_on_list(mask, place, cx.waker()) {
            Some(event) => Poll::Ready(unless_over(event)),
            None => Poll::Pending,
        }
    }

    pub(crate) fn leave_list(&self, place: u64) {
        self.place.slot().leave_list(place);
    }

    /// What of `mask` is ready. The runtime may have shut down.
    #[cfg(all(feature = "signal", unix, not(loom)))]
    pub(crate) fn announced(&self, mask: Ready) -> Option<Event> {
        self.place.slot().event(mask)
    }

    /// Whether the runtime has shut down.
    #[cfg(all(feature = "signal", unix, not(loom)))]
    pub(crate) fn is_over(&self) -> bool {
        self.place.slot().now(Ready::EMPTY).is_over
    }

    fn wait(&self, mask: Ready) -> Wait<'_> {
        Wait { registration: self, mask, place: None }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.reactor.vacate(&self.place);
    }
}

/// Whether the system reports nothing of a descriptor that looks like an end. If it cannot tell,
/// there may be one.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[cold]
fn has_no_end(fd: std::os::fd::RawFd) -> bool {
    reported_of(fd, libc::POLLRDHUP) == Some(0)
}

/// Whether the system says that nobody reads or writes any more at the other end of a descriptor,
/// or does not say.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[cold]
fn hangs_up(fd: std::os::fd::RawFd) -> bool {
    reported_of(fd, 0).is_none_or(|reported| reported & libc::POLLHUP != 0)
}

/// What the system says now of these events, and of the end and of an error, unasked. None if it
/// does not say.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn reported_of(fd: std::os::fd::RawFd, events: libc::c_short) -> Option<libc::c_short> {
    let mut asked = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: the pointer is to one `pollfd`, which the call may write to, and keeps no longer than
    // it lasts. It does not wait. A number that is no open descriptor's is allowed, and reported.
    let count = unsafe { libc::poll(&raw mut asked, 1, 0) };
    (count >= 0).then_some(asked.revents)
}

#[inline]
fn unless_over(event: Event) -> io::Result<Event> {
    if event.is_over { Err(shutdown_error()) } else { Ok(event) }
}

/// A wait on the slot's list, which ends with the future.
#[derive(Debug)]
struct Wait<'a> {
    registration: &'a Registration,
    mask: Ready,
    place: Option<u64>,
}

impl Future for Wait<'_> {
    type Output = io::Result<Event>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.registration.poll_on_list(cx, this.mask, &mut this.place)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.registration.leave_list(place);
        }
    }
}
