//! Coming from rayon: what is called what, what is the same, and what is not.
//!
//! The tables and lists are meant to be complete, for rayon 1.12 with rayon-core 1.13. [All
//! differences](self#all-differences) are in one list; the longer ones have sections after it.
//!
//! | rayon | here |
//! |---|---|
//! | [`rayon::join(a, b)`][rayon_join] | [`fork_join::join(a, b)`][join] |
//! | nested `join`s for more than two | [`fork_all([a, b, c])`][fork_all], with results in order |
//! | `rayon::scope(\|s\| s.spawn(\|s\| …))` | [`scope(\|s\| s.spawn(\|s\| …))`][scope] |
//! | `pool.install(f)` | [`runtime.install(f)`][install], [`handle.install(f)`][handle] |
//! | `.use_current_thread()` | [`runtime.install_here(f)`][install_here], for one call at a time |
//! | `in_place_scope` | [`install_here(\|\| scope(…))`][install_here], whose closure is `Send` |
//! | `pool.join(…)`, `pool.scope(…)` | `runtime.install(\|\| join(…))` and so on |
//! | `pool.spawn(…)` | `runtime.spawn(async { … })` |
//! | `rayon::spawn(f)` | [`trefoil::spawn(async { f() })`][spawn]; its handle has the result |
//! | `rayon::current_num_threads()` | `Handle::current().metrics().num_workers()` |
//! | the global pool | [`runtime::global`][global], for forks outside of any runtime |
//!
//! The settings of a pool:
//!
//! | rayon | here |
//! |---|---|
//! | `ThreadPoolBuilder::new()` | [`Builder::new_multi_thread()`][builder] |
//! | `.num_threads(n)` | [`.worker_threads(n)`][worker_threads] |
//! | `RAYON_NUM_THREADS` | `TREFOIL_WORKER_THREADS` |
//! | `.stack_size(bytes)` | [`.thread_stack_size(bytes)`][thread_stack_size] |
//! | `.thread_name(\|index\| …)` | [`.thread_name_fn(\|\| …)`][thread_name_fn] |
//! | `.start_handler(…)` | [`.on_thread_start(…)`][on_thread_start] |
//! | `.exit_handler(…)` | [`.on_thread_stop(…)`][on_thread_stop] |
//!
//! Loops:
//!
//! | rayon | here |
//! |---|---|
//! | `v.par_iter().for_each(f)` | [`for_each(&v[..], f)`][for_each] |
//! | `v.par_iter_mut().for_each(f)` | `for_each(&mut v[..], f)` |
//! | `(0..n).into_par_iter().for_each(f)` | `for_each(0..n, f)` |
//! | `v.par_chunks(n)` | [`chunks(&v, n)`][chunks] |
//! | `v.par_chunks_mut(n)` | [`chunks_mut(&mut v, n)`][chunks_mut] |
//! | `.map(f).reduce_with(g)` | [`map_reduce(items, f, g)`][map_reduce] |
//! | `.with_min_len(n)` | [`.with_grain(n)`][with_grain] |
//! | `.filter`, `.zip`, `.collect`, …, `par_sort` | none: see [below](self#loops) |
//!
//! [rayon_join]: https://docs.rs/rayon/latest/rayon/fn.join.html
//! [join]: fn@super::join
//! [fork_all]: fn@super::fork_all
//! [scope]: fn@super::scope
//! [install]: crate::runtime::Runtime::install
//! [handle]: crate::runtime::Handle::install
//! [install_here]: crate::runtime::Runtime::install_here
//! [spawn]: crate::spawn
//! [global]: crate::runtime::global()
//! [builder]: crate::runtime::Builder::new_multi_thread
//! [worker_threads]: crate::runtime::Builder::worker_threads
//! [thread_stack_size]: crate::runtime::Builder::thread_stack_size
//! [thread_name_fn]: crate::runtime::Builder::thread_name_fn
//! [on_thread_start]: crate::runtime::Builder::on_thread_start
//! [on_thread_stop]: crate::runtime::Builder::on_thread_stop
//! [for_each]: super::for_each
//! [chunks]: super::chunks
//! [chunks_mut]: super::chunks_mut
//! [map_reduce]: super::map_reduce
//! [with_grain]: super::Divisible::with_grain
//!
//! # The same
//!
//! - The first closure runs at once on the calling worker. An idle worker takes the second one;
//!   otherwise the caller runs it afterwards.
//! - Closures may borrow local variables, because `join` and `scope` return only when all closures
//!   are done.
//! - If one closure panics, the other one still runs to its end. Only then is the panic rethrown.
//!   If both panic, the panic of the first closure is rethrown.
//! - Forks can be nested as deep as the stack allows, and work can be divided as finely as one
//!   likes. It is still wise to stop where a part takes a few hundred nanoseconds.
//! - On a thread of the pool itself, `install` just calls the closure.
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
//! - Closures go to the runtime whose context the caller is in: on its workers, in `block_on`, in
//!   blocking tasks, and under [`Handle::enter`](crate::runtime::Handle::enter). In no context,
//!   they go to [the global runtime](self#the-global-pool). rayon's functions go to the pool that
//!   the calling thread belongs to, or else to the global pool; a pool has no context to enter.
//! - In the context of a current-thread runtime, closures are called one after the other on the
//!   calling thread, in order (those of a `scope`, the newest first). rayon has no such pool.
//! - If a runtime has shut down, closures that are forked or installed there run on the caller. A
//!   pool of rayon's cannot be reached any more once it was dropped.
//! - So they do in a fork of the process, for a runtime of the parent. With rayon, they wait for
//!   ever, for threads that only the parent has.
//! - A worker of one runtime that is in `install` of another runtime waits and does nothing else.
//!   rayon's worker runs jobs of its own pool meanwhile. So two runtimes wait forever if all their
//!   workers are in `install` of the other one.
//! - A waiting worker only runs parts of what it waits for. rayon's worker runs any job of the
//!   pool. See [below](self#a-lock-may-be-held-across-a-join). So while a worker waits in a `join`,
//!   only parts of that `join` see its thread-locals, and unrelated code does not.
//! - In a [`scope`](fn@super::scope), the thread that runs the scope's body takes the newest
//!   closure first, once the body has returned. Other workers take the oldest first. In rayon's
//!   `scope`, the thread that spawned the closures takes its newest one first; `scope_fifo` takes
//!   the oldest first.
//!
//! **What is missing**
//!
//! - `build_global`, `build_scoped`, `spawn_handler`: a runtime is built with a
//!   [`Builder`](crate::runtime::Builder) and starts its threads itself. The global runtime takes
//!   its number of workers from the environment; it has no other settings.
//! - `in_place_scope`, whose body stays on the caller and need not be `Send`: `install_here` also
//!   keeps the closure on the caller if a worker sleeps. If none sleeps, the closure goes to a
//!   worker, so it has to be `Send`.
//! - `broadcast`, `spawn_broadcast`. A *task* can be sent to each worker, with
//!   [`spawn_pinned`](crate::task::spawn_pinned).
//! - `spawn_fifo`, `scope_fifo`, `in_place_scope_fifo`, `breadth_first`: no order is promised.
//! - `yield_now`, `yield_local`: a closure cannot run other jobs in its midst.
//!   ([`task::yield_now`](crate::task::yield_now) is for asynchronous code.)
//! - `current_thread_index`, `current_thread_has_pending_tasks`, `max_num_threads`. A start handler
//!   does not learn the index of its thread either.
//! - `join_context` and its `migrated()`. The loops know whether a part was stolen; closures do
//!   not.
//! - `panic_handler`. If a closure of rayon's `spawn` panics, the handler is called, and without a
//!   handler the process ends. Here, the panic of a task is in its
//!   [`JoinHandle`](crate::task::JoinHandle). If the handle was dropped, only the printed message
//!   is left.
//! - Parallel iterators: see [below](self#loops). rayon's indexed iterators have a counterpart,
//!   [`Divisible`](super::Divisible), whose items can be counted, and split anywhere. Unindexed
//!   ones (`par_bridge`, `filter`, trees, hash maps, strings) have none, and nor have ranges that
//!   include their end (`a..=b`) and those of `char`. `with_max_len`,
//!   `try_for_each` and whatever stops early (`any`, `find_any`) have none either: every item is
//!   visited.
//! - Parallel sorts.
//!
//! **Ends**
//!
//! - Dropping a runtime waits for its threads, and drops the tasks that are left. Dropping rayon's
//!   pool waits for nothing, and what was spawned still runs.
//! - Dropping a runtime on one of its own workers, or in asynchronous code, panics. rayon's pool
//!   can be dropped on its own threads.
//! - If the system cannot start threads for the global pool, rayon panics, except on systems that
//!   have no threads at all. Here, the caller runs everything itself.
//!
//! **More than rayon has**
//!
//! - Asynchronous tasks on the same workers, which are served while other workers compute:
//!   [below](self#asynchronous-code-on-the-same-workers).
//! - Blocking within a closure, without the loss of a worker:
//!   [`block_in_place`](crate::task::block_in_place).
//! - The calling thread in the place of a worker, for one call:
//!   [`install_here`](crate::runtime::Runtime::install_here). rayon's `use_current_thread` makes
//!   one thread a member for as long as the pool lives.
//!
//! # The global pool
//!
//! Outside of any runtime, the first fork starts a process-wide runtime, which then stays, as
//! rayon's global pool does. It has one worker per core, unless `TREFOIL_WORKER_THREADS` says
//! otherwise. The closures run on its workers, and the calling thread waits. Its handle is
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
//! // The runtime of the context comes first; a current-thread runtime has no workers.
//! let current = trefoil::runtime::Builder::new_current_thread().build()?;
//! assert_eq!(current.block_on(async { ids() }), (here, here));
//! # Ok(())
//! # }
//! ```
//!
//! A fork from outside of the pool costs two wake-ups of threads, as it does with rayon. So such a
//! fork belongs at the top of the work, and not in its innermost loop. A program that has a runtime
//! of its own should use `install`.
//!
//! # Asynchronous code on the same workers
//!
//! `join` may be called in a task, where it uses the task's worker and idle workers. There is no
//! second pool to size, no channel between two pools, and no `spawn_blocking` around a computation
//! that forks. In a runtime with two workers or more, other tasks wait for some milliseconds at
//! most; `README.md` beside this module's source has the exact bound.
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
//! A closure may also spawn and wake tasks. If it *waits* for a task, it has to say so with
//! `block_in_place`; otherwise it keeps its worker from running tasks:
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
//! While rayon's worker waits for a stolen closure, it runs any other job of the pool. If that job
//! wants a lock that the waiting frames hold, the worker waits for itself, forever
//! ([rayon issue 592](https://github.com/rayon-rs/rayon/issues/592)). Here, a waiting worker runs
//! parts of the closure that it waits for, or nothing. So this example always ends; with rayon's
//! `join` in the same place, it may deadlock:
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
//! For the same reason, only the scope's own thread and idle workers run what is spawned into a
//! [`scope`](fn@super::scope). A worker that waits in an unrelated `join` does not run it. Each
//! spawn costs an allocation, so `join` and `fork_all` are better where the closures are known
//! beforehand.
//!
//! # How deep, how many
//!
//! The number of outstanding forks of a worker is limited only by its stack;
//! [`fork_join`](super#stack) says how much of it one level takes. Thieves see the 2048 oldest
//! forks, which are the largest in a recursion. The others become visible as those are stolen or
//! joined. A fork allocates nothing. rayon's deque grows on the heap, and thieves see all of it.
//!
//! # Loops
//!
//! [`for_each`](super::for_each) and [`map_reduce`](super::map_reduce) divide their items as
//! rayon's iterators do, but there are no adapters. A chain of adapters becomes a closure that uses
//! plain iterators over chunks.
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
//! rayon and Trefoil can be used in one process while a program is ported: each has its own
//! workers. A closure that waits for the other pool occupies its worker meanwhile.
