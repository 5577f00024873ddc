//! What happens when a fiber runs over the end of its stack: a message, and the end of the process.
//!
//! The system sends `SIGSEGV` to the thread, which handles it on its alternative stack
//! (`alternative.rs`). If the address is in the guard of the fiber that the thread runs, the
//! handler names the fiber. Otherwise the signal is left to the handler that was there before,
//! which is `std`'s for the overflow of a thread's own stack.

use super::alternative;
use super::running::inside;
use crate::context;
use crate::primitives::Mutex;
use crate::primitives::atomic::{Acquire, AtomicBool, AtomicPtr, Relaxed, Release};
use std::io::{self, Write};
use std::ptr;

/// The handler that was there before, which is never freed.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
static INSTALLING: Mutex<()> = Mutex::new(());

/// Installs the handler, once in the life of the process, and has the calling thread able to run
/// it.
pub(super) fn watch() {
    if let Err(error) = alternative::ensure() {
        complain("fibers: overflows of their stacks will not be named on a thread", &error);
    }
    // Acquire: the handler is there for whoever sees it set. Otherwise, one looks under the lock.
    if IS_INSTALLED.load(Acquire) {
        return;
    }
    let _one = INSTALLING.lock();
    // Relaxed: it is written under the lock.
    if IS_INSTALLED.load(Relaxed) {
        return;
    }
    if let Err(error) = install() {
        complain("fibers: overflows of their stacks will not be named", &error);
    }
    // Release: pairs with the Acquire above.
    IS_INSTALLED.store(true, Release);
}

/// The guard still ends the process, with the system's words.
#[cold]
fn complain(what: &str, error: &io::Error) {
    let _ = writeln!(io::stderr(), "{what}: {error}");
}

fn install() -> io::Result<()> {
    // SAFETY: the type is one of C's, and all zeros are a value of it.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks for the present handler only.
    if unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), &raw mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // First, because the handler reads it. Release: pairs with that.
    BEFORE.store(Box::into_raw(Box::new(before)), Release);
    // SAFETY: all zeros are a value of this type of C's.
    let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = handle as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the set is a place in this frame.
    unsafe { libc::sigemptyset(&raw mut ours.sa_mask) };
    // SAFETY: the handler does only what a handler may: it reads cells of this thread, writes to a
    // descriptor, and ends the process or passes the signal on.
    if unsafe { libc::sigaction(libc::SIGSEGV, &raw const ours, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes a pointer to the information about the signal.
    let info_here = unsafe { &*info };
    // SAFETY: that of `SIGSEGV` has this part.
    let address = unsafe { info_here.si_addr() }.addr();
    if names_overflow(address) {
        // SAFETY: it has no preconditions, and may be called in a handler.
        unsafe { libc::abort() }
    }
    pass_on(signal, info, context);
}

/// In a handler of a signal: says which fiber's stack has overflown, if an address is in the guard
/// of the fiber that this thread runs.
fn names_overflow(address: usize) -> bool {
    inside(|inside| {
        let Some(inside) = inside.filter(|inside| inside.guard.contains(&address)) else {
            return false;
        };
        let mut digits = Digits::default();
        say(b"\nfiber ");
        say(digits.of(inside.id.as_u64()));
        if let Some(name) = &inside.name {
            say(b" '");
            say(name.as_bytes());
            say(b"'");
        }
        say(b" has overflowed its stack of ");
        say(digits.of(inside.stack_size as u64));
        say(if context::is_in_taken() {
            b" bytes, in a closure of a fork that its thread has taken: give it more by \
              `runtime::Builder::thread_stack_size`, or by `fiber::Builder::stack_size`\n"
        } else {
            b" bytes: give it more by `fiber::Builder::stack_size`\n"
        });
        true
    })
}

/// Writes to the standard error without a lock or an allocation.
fn say(text: &[u8]) {
    // SAFETY: the bytes are the slice's. Nothing can be done about an error.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type Informed = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    type Plain = extern "C" fn(libc::c_int);
    // Acquire: pairs with `install`.
    // SAFETY: it is never freed or changed once it is there.
    let before = unsafe { BEFORE.load(Acquire).as_ref() };
    let before = before.filter(|before| {
        before.sa_sigaction != libc::SIG_DFL && before.sa_sigaction != libc::SIG_IGN
    });
    match before {
        Some(before) if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: with this flag, the handler is a function of these arguments.
            let handler: Informed = unsafe { std::mem::transmute(before.sa_sigaction) };
            handler(signal, info, context);
        }
        Some(before) => {
            // SAFETY: without the flag, it is a function of the signal's number.
            let handler: Plain = unsafe { std::mem::transmute(before.sa_sigaction) };
            handler(signal);
        }
        None => {
            // The instruction is repeated after the return, and then ends the process as it would
            // have without us.
            // SAFETY: sets the default action.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}

/// A number in decimal digits, without an allocation.
#[derive(Default)]
struct Digits([u8; 20]);

impl Digits {
    fn of(&mut self, mut number: u64) -> &[u8] {
        let mut start = self.0.len();
        loop {
            start -= 1;
            self.0[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return &self.0[start..];
            }
        }
    }
}
