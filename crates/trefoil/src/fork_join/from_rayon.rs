//! Coming from rayon: what is called what, what is the same, and what is not.
//!
//! | rayon | here |
//! |---|---|
//! | [`rayon::join(a, b)`](https://docs.rs/rayon/latest/rayon/fn.join.html) | [`fork_join::join(a, b)`](fn@super::join) |
//! | nested `join`s for more than two | [`fork_all([a, b, c])`](fn@super::fork_all), with all results in order |
//! | `rayon::scope(\|s\| s.spawn(\|s\| …))` | [`scope(\|s\| s.spawn(\|s\| …))`](fn@super::scope) |
//! | `pool.install(f)` | [`runtime.install(f)`](crate::runtime::Runtime::install), or the same of a [`Handle`](crate::runtime::Handle::install) |
//! | `.use_current_thread()` | [`runtime.install_here(f)`](crate::runtime::Runtime::install_here), for one call at a time |
//! | `ThreadPoolBuilder::new()` | [`Builder::new_multi_thread()`](crate::runtime::Builder::new_multi_thread) |
//! | `.num_threads(n)`, `RAYON_NUM_THREADS` | [`.worker_threads(n)`](crate::runtime::Builder::worker_threads), `TREFOIL_WORKER_THREADS` |
//! | `.stack_size(bytes)` | [`.thread_stack_size(bytes)`](crate::runtime::Builder::thread_stack_size) |
//! | `.thread_name(\|index\| …)`, `.start_handler(…)` | [`.thread_name_fn(\|\| …)`](crate::runtime::Builder::thread_name_fn), [`.on_thread_start(…)`](crate::runtime::Builder::on_thread_start) |
//! | `rayon::current_num_threads()` | `Handle::current().metrics().num_workers()` |
//! | `rayon::spawn(f)` | [`trefoil::spawn(async { f() })`](crate::spawn), whose handle has the result, or the panic |
//! | `v.par_iter().for_each(f)` | [`for_each(&v[..], f)`](super::for_each) |
//! | `v.par_iter_mut().for_each(f)` | `for_each(&mut v[..], f)` |
//! | `(0..n).into_par_iter().for_each(f)` | `for_each(0..n, f)` |
//! | `v.par_chunks(n)`, `v.par_chunks_mut(n)` | [`chunks(&v, n)`](super::chunks), [`chunks_mut(&mut v, n)`](super::chunks_mut) |
//! | `.map(f).reduce_with(g)` | [`map_reduce(items, f, g)`](super::map_reduce) |
//! | `.with_min_len(n)` | [`.with_grain(n)`](super::Divisible::with_grain) |
//! | `.filter`, `.zip`, `.collect`, …, `par_sort` | none: see [below](self#loops) |
//! | the global pool | none: see [below](self#there-is-no-global-pool) |
//! | `in_place_scope` | [`install_here(\|\| scope(…))`](crate::runtime::Runtime::install_here), whose closure is `Send` |
//! | `broadcast`, `yield_now`, `spawn_fifo` | none |
//!
//! # The same
//!
//! - The first closure runs at once on the calling worker; the second is taken
//!   by an idle worker, or else run by the caller.
//! - Closures borrow from around them, because `join` and `scope` return only
//!   when all is done.
//! - Panics: both closures run to their ends, whatever happens to the other, and
//!   only then is the panic rethrown; the first closure's, if both panic.
//! - Forks nest as deep as the stack goes, and may be divided as finely as one
//!   likes; it is still wise to stop where the work is a few hundred
//!   nanoseconds.
//! - `install` from a thread of the pool itself just calls the closure.
//!
//! ```
//! use std::panic::{AssertUnwindSafe, catch_unwind};
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//!
//! fn theirs(ran: &AtomicU32) {
//!     rayon::join(|| -> () { panic!("first") }, || ran.fetch_add(1, Relaxed));
//! }
//!
//! fn ours(ran: &AtomicU32) {
//!     trefoil::fork_join::join(|| -> () { panic!("first") }, || ran.fetch_add(1, Relaxed));
//! }
//!
//! # fn main() -> std::io::Result<()> {
//! let runtime = trefoil::runtime::Runtime::new()?;
//! for both in [theirs, ours] {
//!     let ran = AtomicU32::new(0);
//!     let caught = catch_unwind(AssertUnwindSafe(|| runtime.install(|| both(&ran))));
//!     assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "first");
//!     assert_eq!(ran.into_inner(), 1);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # There is no global pool
//!
//! rayon's functions find a pool from wherever they are called, and start one if
//! there is none. Here, it is the runtime whose context one is in: on its
//! workers, inside of `block_on` and blocking tasks, and under
//! [`Handle::enter`](crate::runtime::Handle::enter). Outside of any, and in a
//! current-thread runtime, closures are called one after the other, in order, on
//! the calling thread: the same answer, and nothing started behind one's back.
//!
//! ```
//! use trefoil::fork_join::join;
//! use std::thread;
//!
//! # fn main() -> std::io::Result<()> {
//! let here = thread::current().id();
//! let ids = || join(|| thread::current().id(), || thread::current().id());
//! assert_eq!(ids(), (here, here));
//!
//! let runtime = trefoil::runtime::Runtime::new()?;
//! let (first, _) = runtime.install(ids);
//! assert_ne!(first, here);
//! # Ok(())
//! # }
//! ```
//!
//! A program that used rayon's global pool makes a runtime in `main`, and
//! installs what follows. Dropping a runtime waits for its workers, where
//! dropping rayon's pool does not.
//!
//! While a thread of one runtime is in `install` of another, it waits and does
//! nothing else; rayon's takes jobs of its own pool meanwhile.
//!
//! # Asynchronous code on the same workers
//!
//! `join` may be called in a task, where it uses the task's worker and those that
//! have nothing to do. There is no second pool to size, no channel between the
//! two, and no `spawn_blocking` around a computation that forks: other tasks are
//! served meanwhile, after some milliseconds (on two workers or more; `README.md`
//! beside this module's source has the exact bound).
//!
//! ```
//! use trefoil::fork_join::map_reduce;
//!
//! async fn checksum(body: Vec<u8>) -> u64 {
//!     let sum = map_reduce(&body[..], |byte| u64::from(*byte), |a, b| a + b);
//!     sum.unwrap_or(0)
//! }
//!
//! #[trefoil::main]
//! async fn main() {
//!     let requests = (0..4u8).map(|n| trefoil::spawn(checksum(vec![n; 100_000])));
//!     let mut sums = Vec::new();
//!     for request in requests.collect::<Vec<_>>() {
//!         sums.push(request.await.expect("it does not panic"));
//!     }
//!     assert_eq!(sums, [0, 100_000, 200_000, 300_000]);
//! }
//! ```
//!
//! The other way round, a closure may spawn tasks, and wake them; to *wait* for
//! one, it has to say that it blocks, or a worker is lost:
//!
//! ```
//! use trefoil::fork_join::join;
//! use trefoil::runtime::{Handle, Runtime};
//! use trefoil::task;
//!
//! # fn main() -> std::io::Result<()> {
//! let (a, b) = Runtime::new()?.install(|| {
//!     join(
//!         || {
//!             let question = trefoil::spawn(async { 6 * 7 });
//!             task::block_in_place(|| Handle::current().block_on(question))
//!         },
//!         || 6 + 7,
//!     )
//! });
//! assert_eq!((a.unwrap(), b), (42, 13));
//! # Ok(())
//! # }
//! ```
//!
//! # A lock may be held across a `join`
//!
//! While rayon's worker waits for a stolen closure, it runs any other job of the
//! pool. If that wants a lock which the waiting frames hold, it waits for
//! itself, and forever ([rayon issue 592](https://github.com/rayon-rs/rayon/issues/592)).
//! Here a waiting worker runs parts of the very closure it waits for, or nothing.
//! So this ends, with rayon's `join` in its place only by luck:
//!
//! ```
//! use std::sync::Mutex;
//! use trefoil::fork_join::{for_each, join};
//!
//! fn fib(n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (a, b) = join(|| fib(n - 1), || fib(n - 2));
//!     a + b
//! }
//!
//! # fn main() -> std::io::Result<()> {
//! let total = Mutex::new(0);
//! trefoil::runtime::Runtime::new()?.install(|| {
//!     for_each(0..64u64, |_| {
//!         let mut total = total.lock().unwrap();
//!         *total += fib(12);
//!     });
//! });
//! assert_eq!(total.into_inner().unwrap(), 64 * 144);
//! # Ok(())
//! # }
//! ```
//!
//! The price: a worker may sleep although there is other work. Whoever else is
//! free takes that.
//!
//! For the same reason, what is spawned into a [`scope`](fn@super::scope) is run by
//! the scope's own frame and by free workers, and never within a `join` that
//! happens to wait. Each spawn costs an allocation, so `join` and `fork_all` are
//! better where the closures are known beforehand.
//!
//! # The deque has an end
//!
//! A worker can have 2048 forks outstanding, which is that many levels of
//! recursion. Deeper ones are called in place, with the same results: they find
//! no thief, but the 2048 above them do. Nothing is allocated per fork. What a
//! level costs of the stack is said in [`fork_join`](super#stack).
//!
//! # Loops
//!
//! [`for_each`](super::for_each) and [`map_reduce`](super::map_reduce) divide
//! as rayon's iterators do, but there are no adapters: what would be a chain of
//! them is written in the closure, with plain iterators over chunks.
//!
//! ```
//! use rayon::prelude::*;
//! use trefoil::fork_join::{chunks, map_reduce};
//!
//! # fn main() -> std::io::Result<()> {
//! let words = ["fork", "join", "leaf", "worker", "thief"].repeat(1000);
//!
//! let theirs = words.par_iter().filter(|word| word.len() == 4).map(|word| word.len()).sum();
//!
//! let fours = |words: &[&str]| {
//!     words.iter().filter(|word| word.len() == 4).map(|word| word.len()).sum::<usize>()
//! };
//! let ours = trefoil::runtime::Runtime::new()?
//!     .install(|| map_reduce(chunks(&words, 256), fours, |a, b| a + b));
//!
//! assert_eq!(ours, Some(theirs));
//! # Ok(())
//! # }
//! ```
//!
//! What else is to be divided implements [`Divisible`](super::Divisible). For a
//! parallel sort, there is one in `examples/parallel_sort.rs`, in two functions.
//!
//! # Both at once
//!
//! rayon and Trefoil may live in one process, while a program moves over: each
//! has its own workers. A closure that blocks on the other pool holds its worker.
