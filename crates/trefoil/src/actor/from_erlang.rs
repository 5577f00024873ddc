//! Coming from Erlang, smarm and may: what is called how, and all that is different.
//!
//! The semantics of processes, links, monitors and supervisors are those of Erlang/OTP 27, where
//! types, and a stack or a future instead of a byte code, allow. Each line names the test that
//! shows it, by its file and its function.
//!
//! | Erlang | here |
//! |---|---|
//! | `spawn(Fun)` | [`actor::spawn`][spawn], or `spawn_fiber` |
//! | `spawn_link`, `spawn_monitor` | [`Context::spawn_link`], [`Context::spawn_monitor`] |
//! | `Pid ! Message` | [`Address::send`], `try_send`, `blocking_send` |
//! | `receive … after … end` | [`Context::receive_where`], within [`timeout`][timeout] |
//! | `link`, `unlink` | [`Context::link`], [`Context::unlink`] |
//! | `monitor`, `demonitor(…, [flush])` | [`Context::monitor`], [`Context::demonitor`] |
//! | `process_flag(trap_exit, true)` | [`Context::trap_exit`] |
//! | `exit(Pid, Reason)`, `exit(Pid, kill)` | [`Address::exit`], [`Address::abort`] |
//! | `exit(Reason)` | the function returns the [`ExitReason`], or an error |
//! | `register`, `whereis` | [`Registry::register`], [`Registry::find`] |
//! | `supervisor:start_link` | [`Supervisor::start_link`] |
//!
//! # What is missing
//!
//! - Of supervisors: children that a call adds, stops, restarts or deletes (`start_child` and its
//!   like), and so `simple_one_for_one`; significant children and `auto_shutdown`. A supervisor has
//!   the children that it was made with.
//! - `gen_server` and the other behaviours: an actor's function is its own loop. A call is a
//!   message with a [`oneshot::Sender`](crate::sync::oneshot::Sender) for the answer, which fails
//!   when the actor has ended.
//! - Aliases, and monitors of names. Other nodes: all actors are of one process.
//! - `send_after`: spawn a task that sleeps, and then sends.
//! - `hibernate`, `process_info`, tracing, and the exchange of code.
//!
//! # The same
//!
//! - Messages from one actor to another arrive in their order, and an actor's exit signal after all
//!   of them. `actor::links::messages_come_before_the_exit_signal_of_their_sender`
//! - A receive with a condition leaves all other messages where they were.
//!   `actor::messages::a_selective_receive_leaves_the_others_in_order`
//! - A time limit of zero finds what has arrived.
//!   `actor::messages::a_time_limit_of_zero_finds_what_is_there`
//! - A linked actor ends with the same reason, and through it those that are linked to it.
//!   `actor::links::a_failure_goes_along_links`
//! - A normal end of a linked actor does nothing, unless exits are trapped.
//!   `actor::links::a_normal_end_harms_nobody`
//! - An actor that traps exits ends for the reason that its function returns, also if signals come
//!   while it returns. `actor::links::an_actor_that_traps_exits_ends_for_its_own_reason`
//! - A link to the dead is an exit signal at once, with the reason [`NoActor`][no-actor]
//!   (`noproc`). `actor::links::a_link_to_the_dead_is_a_signal_at_once`
//! - A link to oneself does nothing. `actor::links::a_link_to_oneself_does_nothing`
//! - A monitor of the dead tells at once, and one of oneself never.
//!   `actor::links::a_monitor_of_the_dead_tells_at_once`
//! - After `unlink` no signal comes through the link. `actor::links::after_unlink_no_signal_comes`
//! - After `demonitor` its event is not received, as with `flush`.
//!   `actor::links::after_demonitor_no_event_comes`
//! - [`abort`](Address::abort) cannot be trapped, as `kill`; those who are linked may trap
//!   what follows from it. `actor::messages::an_abort_cannot_be_trapped`
//! - An exit signal with the reason `Normal` does nothing to an actor that does not trap exits. (In
//!   Erlang, one that a process sends itself ends it.)
//!   `actor::messages::a_normal_exit_signal_is_ignored`
//! - A name is free when others are told of its actor's end.
//!   `actor::links::a_name_is_free_when_the_end_is_known`
//! - The strategies, [`Restart`] and intensity of supervisors.
//!   `actor::supervisor::one_for_one_restarts_that_child`,
//!   `actor::supervisor::one_for_all_restarts_all_in_order`,
//!   `actor::supervisor::rest_for_one_restarts_those_after`,
//!   `actor::supervisor::transient_and_temporary_children`
//! - Children are stopped in the reverse of their order, and aborted if they take too long.
//!   `actor::supervisor::children_stop_in_reverse`
//!
//! # Differences
//!
//! ## From Erlang
//!
//! - An actor receives messages of one type. Signals are beside them in the mailbox:
//!   [`receive`](Context::receive) leaves them, [`next`](Context::next) takes
//!   whatever comes first. `actor::messages::receive_leaves_signals_and_next_takes_them`
//! - Sending to the dead is an error that gives the message back, and does not vanish.
//!   `actor::messages::a_message_to_the_dead_comes_back`
//! - A pid is never given twice. In Erlang, its numbers wrap at some time.
//!   `actor::messages::a_stale_pid_names_nobody`
//! - A mailbox may have a bound, and then senders wait.
//!   `actor::messages::a_bounded_mailbox_lets_senders_wait_in_order`
//! - An actor is ended where it waits, and not anywhere: one that computes goes on until it waits.
//!   `actor::messages::an_actor_that_is_doomed_runs_to_its_next_wait`
//! - What an actor owns is dropped, in its destructors' order, before anybody is told of its end.
//!   `actor::messages::state_is_dropped_before_the_end_is_told`
//! - Anybody may wait for an actor's end by [`join`](Address::join), also who is no actor,
//!   and as often as they like. `actor::messages::all_who_join_get_the_same_reason`
//! - The reason is one of a few kinds, and no arbitrary term: an error keeps its type.
//!   `actor::messages::an_error_is_a_reason`
//! - There are registries beside the one of the process, and an actor may have several names.
//!   `actor::links::names_belong_to_registries`
//! - A supervisor whose children fail too often ends with an error, and not with `shutdown`. So a
//!   transient supervisor is started again. `actor::supervisor::too_many_restarts_are_an_error`
//! - Any exit signal that is not a child's end stops a supervisor, and not only its parent's: also
//!   one that a child has sent by itself. `actor::supervisor::an_exit_signal_stops_a_supervisor`,
//!   `actor::hostile_children::a_child_that_lives_stops_its_supervisor`
//! - A child that fails to start while its supervisor restarts it is tried again, with the
//!   supervisor listening in between. `actor::supervisor::a_start_that_fails_is_tried_again`
//!
//! ## From smarm
//!
//! - The mutex with a time-out is [`sync::Mutex`](crate::sync::Mutex) within
//!   [`timeout`](crate::time::timeout), in fibers by `fiber::wait`.
//!   `fiber::actors::a_fiber_waits_for_a_lock_with_a_time_limit`
//! - An actor that is a task is not preempted. One that is a fiber is, as its runtime's
//!   [`fiber_budget`][budget] and [`fiber_timeslice`][slice] say: at `fiber::check!` and at calls
//!   that may wait, to which the allocator `alloc::Preempting` adds allocations that count.
//!   `fiber_preempt::a_fiber_that_only_allocates_and_checks_lets_another_one_go_on`
//! - The panic's payload reaches whoever joins, monitors or is linked; one of them can take it.
//!   `actor::messages::a_panic_reaches_everybody`
//! - An actor may be a task as well as a fiber. `fiber::actors::tasks_and_fibers_are_alike`
//!
//! ## From may
//!
//! - `go!` is `fiber::spawn`, whose handle may be awaited, and joined from fibers and threads.
//!   `fiber::spawn::a_thread_and_a_fiber_join_fibers`
//! - Fibers are for multi-thread runtimes: one with `worker_threads(1)` has one thread for them.
//!   `fiber::locals::a_current_thread_runtime_refuses_fibers_and_names_the_way_out`
//! - A fiber stays on the thread on which it has begun, so that its thread-locals never change
//!   under it. `fiber::spawn::a_fiber_stays_on_its_thread_whatever_is_on_its_stack`
//! - `cancel`, which is `unsafe`, is `abort`, which is not: it unwinds the fiber where it waits.
//!   `fiber::spawn::an_abort_unwinds_a_fiber_where_it_waits`
//! - An overflow of the stack ends the process with a message that names the fiber.
//!   `fiber::spawn::an_overflow_is_named`
//!
//! [budget]: crate::runtime::Builder::fiber_budget
//! [no-actor]: ExitReason::NoActor
//! [slice]: crate::runtime::Builder::fiber_timeslice
//! [spawn]: super::spawn()
//! [timeout]: crate::time::timeout

#[cfg(doc)]
use super::supervisor::{Restart, Supervisor};
#[cfg(doc)]
use super::{Address, Context, ExitReason, Registry};
