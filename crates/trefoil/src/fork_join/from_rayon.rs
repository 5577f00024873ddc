//! Coming from rayon: what is called what, what is the same, and what is not.
//!
//! The tables and lists are meant to be complete; [the
//! differences](self#all-differences) are in one list, and the longer ones have
//! sections after it. They are of rayon 1.12 with rayon-core 1.13.
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
//! | the global pool | [`runtime::global`](crate::runtime::global()), for forks outside of any runtime |
//! | `in_place_scope` | [`install_here(\|\| scope(…))`](crate::runtime::Runtime::install_here), whose closure is `Send` |
//! | `.exit_handler(…)` | [`.on_thread_stop(…)`](crate::runtime::Builder::on_thread_stop) |
//! | `pool.join(…)`, `pool.scope(…)`, `pool.spawn(…)` | `runtime.install(\|\| join(…))` and so on, `runtime.spawn(async { … })` |
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
//! # All differences
//!
//! **Where closures run**
//!
//! - Closures go to the runtime whose context the caller is in: on its workers,
//!   in `block_on` and blocking tasks, and under
//!   [`Handle::enter`](crate::runtime::Handle::enter). Only outside of all of
//!   them do they go to [the global one](self#the-global-pool). rayon's functions
//!   go to the pool whose thread they are called on, or else to the global one;
//!   there is nothing to be entered.
//! - In the context of a current-thread runtime, they are called one after the
//!   other, in order, on the calling thread. rayon has no such pool.
//! - If a runtime has shut down, closures that are forked or installed there run on the caller. A
//!   dropped pool of rayon's cannot be reached any more.
//! - A worker of one runtime that is in `install` of another one waits and does nothing else.
//!   rayon's worker runs jobs of its own pool meanwhile. So two runtimes wait forever if all their
//!   workers are in `install` of the other one.
//! - A waiting worker only runs parts of what it waits for. rayon's worker runs any job of the
//!   pool. See [below](self#a-lock-may-be-held-across-a-join). So while a worker waits in a `join`,
//!   only parts of that `join` see its thread-locals, and unrelated code does not.
//! - In a [`scope`](fn@super::scope), the scope's own frame runs the newest
//!   closure first, when its body has returned, and others run the oldest. In
//!   rayon's `scope`, the spawning thread's newest goes first for whoever is on
//!   that thread, and there is `scope_fifo`.
//!
//! **What is missing**
//!
//! - `build_global`, `build_scoped`, `spawn_handler`: a runtime is built with a
//!   [`Builder`](crate::runtime::Builder) and starts its threads itself. The
//!   global one takes its number of workers from the environment, and nothing
//!   else can be chosen for it.
//! - `in_place_scope`, where the body stays on the caller and need not be `Send`:
//!   `install_here` also keeps the closure on the caller, if a worker sleeps, but
//!   asks for `Send`, because otherwise it goes to a worker.
//! - `broadcast`, `spawn_broadcast`. A *task* can be sent to each worker, with
//!   [`spawn_pinned`](crate::task::spawn_pinned).
//! - `spawn_fifo`, `scope_fifo`, `in_place_scope_fifo`, `breadth_first`: nothing
//!   may rely on an order.
//! - `yield_now`, `yield_local`: there is no way to run another's job from within
//!   a closure. ([`task::yield_now`](crate::task::yield_now) is for asynchronous
//!   code.)
//! - `current_thread_index`, `current_thread_has_pending_tasks`,
//!   `max_num_threads`. A start handler is not told which thread it is on, either.
//! - `join_context` and its `migrated()`; the loops know whether they were stolen,
//!   closures do not.
//! - `panic_handler`. rayon's `spawn` calls it, and ends the process if there is
//!   none; a panic in a task is in its
//!   [`JoinHandle`](crate::task::JoinHandle), and lost if that was dropped, save
//!   for its message.
//! - Parallel iterators: see [below](self#loops). Of those, indexed ones have a
//!   counterpart, [`Divisible`](super::Divisible), whose items can be counted and
//!   cut anywhere; what rayon calls unindexed (`par_bridge`, `filter`, trees,
//!   hash maps, strings) has none. Nor do `with_max_len`, `try_for_each`, or
//!   anything that stops early (`any`, `find_any`): every item is visited.
//! - Parallel sorts.
//!
//! **Ends**
//!
//! - Dropping a runtime waits for its threads, and drops the tasks that are left.
//!   Dropping rayon's pool waits for nothing, and what was spawned still runs.
//! - A runtime cannot be dropped on its own workers, or in asynchronous code:
//!   that panics. rayon's pool can.
//! - If the system has no threads for the global pool, rayon panics (but on
//!   systems without threads); here, the caller runs everything itself.
//!
//! **More than rayon has**
//!
//! - Asynchronous tasks on the same workers, which are served while others
//!   compute: [below](self#asynchronous-code-on-the-same-workers).
//! - Blocking within a closure, without the loss of a worker:
//!   [`block_in_place`](crate::task::block_in_place).
//! - The calling thread in the place of a worker, for one call:
//!   [`install_here`](crate::runtime::Runtime::install_here). rayon's
//!   `use_current_thread` makes one thread a member for as long as the pool lives.
//!
//! # The global pool
//!
//! Outside of any runtime, the first fork starts a process-wide one, which then
//! stays, as rayon's: one worker per core, unless `TREFOIL_WORKER_THREADS` says
//! otherwise. What it forks leaves the calling thread, which waits. Its handle is
//! [`runtime::global`](crate::runtime::global()).
//!
//! ```
//! use trefoil::fork_join::join;
//! use std::thread;
//!
//! # fn main() -> std::io::Result<()> {
//! let here = thread::current().id();
//! let ids = || join(|| thread::current().id(), || thread::current().id());
//!
//! let (theirs, _) = rayon::join(|| thread::current().id(), || ());
//! let (ours, _) = ids();
//! assert!(theirs != here && ours != here);
//!
//! // The runtime that one is in comes first, and if it has no workers, none do it.
//! let current = trefoil::runtime::Builder::new_current_thread().build()?;
//! assert_eq!(current.block_on(async { ids() }), (here, here));
//! # Ok(())
//! # }
//! ```
//!
//! A fork from outside costs two wake-ups of threads, as it does with rayon. So
//! it is worth a fork at the top of the work, and not in its innermost loop; and
//! a program with a runtime of its own installs there.
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
//! The price is that a worker may sleep although there is other work, which is then left to the
//! other workers.
//!
//! For the same reason, what is spawned into a [`scope`](fn@super::scope) is run by
//! the scope's own frame and by free workers, and never within a `join` that
//! happens to wait. Each spawn costs an allocation, so `join` and `fork_all` are
//! better where the closures are known beforehand.
//!
//! # How deep, how many
//!
//! A worker can have any number of forks outstanding; its stack is the limit,
//! and what a level costs of that is said in [`fork_join`](super#stack). Others
//! see 2048 of them at most, the oldest, which are the largest in a recursion. The
//! rest become visible as those are taken and joined. Nothing is allocated per
//! fork. rayon's deque grows on the heap, and all of it is visible.
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
//! Other collections can be divided if they implement [`Divisible`](super::Divisible). A parallel
//! sort, in two functions, is in `examples/parallel_sort.rs`.
//!
//! # Both at once
//!
//! rayon and Trefoil may be used in one process, while a program is ported: each has its own
//! workers. A closure that blocks on the other pool occupies its worker.
