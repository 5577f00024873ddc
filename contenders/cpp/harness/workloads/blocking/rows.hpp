// Rows over a runtime whose tasks block: `Contender::workloads` of a contender with stackful tasks.
//
// `R` is such a runtime:
//
// - `R(threads)` starts it, `~R()` stops it when all that it was given has ended.
// - Outside of it: `run(f)` runs f as a task and returns what that returns; `start(f)` gives what
//   has a `get()`, for any thread; of `enter(f)` nobody hears again.
// - In its tasks: `R::spawn(f)` gives an `R::Handle`, whose `join()` returns or throws what f does;
//   of `R::detach(f)` nobody hears again; `R::yield()`; `R::sleep(duration)`.
// - `R::Oneshot`, with `send` and `receive`; `R::Channel<T>(room)`, with `send`, `receive` (nothing
//   once it is closed and empty), `close`, and `room_for(n)`, a room of at least n.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "background.hpp"
#include "channels.hpp"
#include "fork_join.hpp"
#include "../spawn_one.hpp"
#include "from_outside.hpp"
#include "spawning.hpp"

namespace palio::blocking {

// `function`, as a task of a runtime that lives on.
template <class R>
auto inside(const Request& request, auto function) {
    return [runtime = std::make_shared<R>(request.threads()), function](auto&&... args) {
        return runtime->run([&] { return function(args...); });
    };
}

// The same with one task for all iterations of a sample, one after the other.
template <class R>
auto inside_in_one(const Request& request, auto function) {
    return [runtime = std::make_shared<R>(request.threads()), function](std::uint32_t batch, const auto&... args) {
        return runtime->run([&] {
            Iterations done;
            for (std::uint32_t i = 0; i < batch; ++i) done.add(tasks::iteration(function(args...)));
            return done.stop();
        });
    };
}

// `function` in a runtime that starts and stops in each iteration.
template <class R>
auto cold(const Request& request, auto function) {
    return [threads = request.threads(), function](const auto&... args) {
        return R(threads).run([&] { return function(args...); });
    };
}

// `row(outside, number...)`, on this thread.
template <class R>
auto outside(const Request& request, auto row) {
    return [outside = std::make_shared<Outside<R>>(request.threads()), row](const auto&... args) {
        return row(*outside, args...);
    };
}

template <class R, class... Key>
Prepare steady(auto root, Key... keys) {
    return [=](Request& r) { return tasks::prepare(r, inside<R>(r, root), keys...); };
}

template <class R, class... Key>
Prepare starting(auto root, Key... keys) {
    return [=](Request& r) { return tasks::prepare(r, cold<R>(r, root), keys...); };
}

template <class R, class... Key>
Prepare begun_outside(auto row, Key... keys) {
    return [=](Request& r) { return tasks::prepare(r, outside<R>(r, row), keys...); };
}

// A row whose root is to be a worker.
inline Prepare rooted(Prepare prepare) {
    return [=](Request& r) {
        tasks::on_worker(r);
        return prepare(r);
    };
}

inline Prepare on_one_thread(Prepare prepare) {
    return [=](Request& r) {
        tasks::on_one_thread(r);
        return prepare(r);
    };
}

// The price of a spawn. That of one from outside, where work goes to the runtime by a channel of
// the contender's own, would be the price of the channel.
template <class R>
Work prepare_spawn_one(Request& request) {
    if (!spawn_one::from_worker(request)) throw Refusal::unsupported("only a task can spawn one");
    return spawn_one::prepare(request, inside<R>(request, [](spawn_one::Shared& shared, std::uint64_t tasks) {
        for (std::uint64_t i = 0; i < tasks; ++i) R::detach([&shared] { shared.one(); });
        return tasks;
    }));
}

using Rows = std::vector<std::pair<std::string, Prepare>>;

// Those that fork.
template <class R>
Rows forking() {
    // `make(request, forks)`, made twice: with and without a count.
    const auto counted = [](auto make) {
        return [=](Request& r) { return r.prepare_forks([&](auto forks) { return make(r, forks); }); };
    };
    return {
        {"fib", counted([](Request& r, auto forks) {
             return fib::prepare(r, inside<R>(r, fib_of<R, decltype(forks)>));
         })},
        {"skynet", counted([](Request& r, auto forks) {
             return skynet::prepare(r, inside<R>(r, skynet_of<R, decltype(forks)>));
         })},
        {"nqueens", counted([](Request& r, auto forks) {
             return nqueens::prepare(r, inside<R>(r, place<R, decltype(forks)>));
         })},
        {"matmul", counted([](Request& r, auto forks) {
             return matmul::prepare(r, inside<R>(r, multiply<R, decltype(forks)>));
         })},
    };
}

// Those of scope `steady` about tasks alone.
template <class R>
Rows spawning() {
    // A root task in company.
    const auto beside = [](Request& r, const std::shared_ptr<Busy<R>>& busy) {
        const auto root = [=](std::uint64_t n) { return busy->runtime.run([=] { return spawn_join<R>(n); }); };
        return tasks::prepare(r, root, "tasks");
    };
    const auto beside_yielders = [=](Request& r) {
        const auto busy = std::make_shared<Busy<R>>(r.threads());
        busy->start_yielders(tasks::number(r, "busy"), tasks::stall);
        return beside(r, busy);
    };
    const auto beside_a_chain = [=](Request& r) {
        const auto busy = std::make_shared<Busy<R>>(r.threads());
        busy->start_chains(1, [] {});
        return beside(r, busy);
    };
    const auto beside_chains = [](Request& r) {
        const auto busy = std::make_shared<Busy<R>>(r.threads());
        busy->start_chains(tasks::number(r, "busy"), tasks::stall);
        return tasks::prepare(r, [=](std::uint64_t n) { return spawn_then_block(busy->runtime, n); }, "tasks");
    };
    return {
        {"rt_multi_threaded/spawn_many_local", begun_outside<R>(spawn_many_detached<R>, "tasks")},
        {"rt_multi_threaded/spawn_many_remote",
         rooted([](Request& r) { return tasks::prepare_spawners(r, inside<R>(r, spawn_by_spawners<R>)); })},
        {"rt_multi_threaded/spawn_many_remote_idle",
         begun_outside<R>([](Outside<R>& o, std::uint64_t n) { return spawn_then_block(o.runtime, n); }, "tasks")},
        {"rt_multi_threaded/spawn_many_remote_busy1", rooted(beside_yielders)},
        {"rt_multi_threaded/spawn_many_remote_busy2", beside_chains},
        {"rt_multi_threaded/ping_pong",
         [](Request& r) { return tasks::prepare_round_trips(r, outside<R>(r, ping_pong<R>), "pairs", 2); }},
        {"rt_multi_threaded/yield_many", begun_outside<R>(yield_many_from_outside<R>, "tasks", "yields")},
        {"rt_multi_threaded/chained_spawn", begun_outside<R>(chain_from_outside<R>, "depth")},
        {"rt_current_thread/spawn_many_local", on_one_thread(steady<R>(spawn_join<R>, "tasks"))},
        {"rt_current_thread/spawn_many_remote_busy", on_one_thread(beside_a_chain)},
        {"spawn/basic_scheduler_spawn", on_one_thread(steady<R>(spawn_yield_join<R>, "tasks"))},
        {"spawn/threaded_scheduler_spawn", rooted(steady<R>(spawn_yield_join<R>, "tasks"))},
        {"spawn_one", prepare_spawn_one<R>},
    };
}

// Those of scope `steady` about channels.
template <class R>
Rows sending() {
    const auto prepare_fan_in = [](Request& r) {
        const bool first = tasks::is_first(r, "reader", "first", "last");
        const auto buffer = tasks::number(r, "buffer");
        if (Numbers<R>::room_for(buffer) != buffer) {
            throw Refusal::unsupported("no channel here has room for exactly " + std::to_string(buffer) + " values");
        }
        const auto fan_in = [=](std::uint64_t senders) {
            return first ? fan_in_reader_first<R>(senders, buffer) : fan_in_reader_last<R>(senders, buffer);
        };
        return tasks::prepare_batched(r, inside_in_one<R>(r, fan_in), "senders");
    };
    const auto prepare_requests = [](Request& r) {
        const auto served = std::make_shared<Served<R>>(r.threads());
        return tasks::prepare(r, [=](std::uint64_t requests) { return served->ask(requests); }, "requests");
    };
    return {
        {"sync_mpsc/contention", rooted(steady<R>(mpsc_counted<R>, "producers", "messages"))},
        {"sync_mpsc/uncontended", rooted(steady<R>(send_then_receive<R>, "messages"))},
        {"sync_mpsc_oneshot/request_reply", rooted(prepare_requests)},
        {"fan_in", rooted(prepare_fan_in)},
    };
}

// Those of scope `cold`, about tasks alone.
template <class R>
Rows starting_and_stopping() {
    return {
        {"catch_unwind_panics", starting<R>(exceptions<R>, "tasks")},
        {"chained_spawn", starting<R>(chained_spawn<R>, "depth")},
        {"deep_recursion", starting<R>(deep_recursion<R>, "depth")},
        {"fan_out_compute", starting<R>(primes<R>, "limit", "tasks")},
        {"many_timers", starting<R>(many_timers<R>, "sleepers")},
        {"multi_thread_scaling", starting<R>(primes<R>, "limit", "tasks")},
        {"ping_pong_oneshot",
         [](Request& r) { return tasks::prepare_round_trips(r, cold<R>(r, ping_pong_oneshot<R>), "rounds", 1); }},
        {"spawn_storm_busy", starting<R>(spawn_storm<R>, "busy", "tasks")},
        {"yield_in_hot_loop", on_one_thread(starting<R>(yield_many<R>, "tasks", "yields"))},
        {"yield_many", starting<R>(yield_many<R>, "tasks", "yields")},
    };
}

// Those of scope `cold` about channels.
template <class R>
Rows starting_and_sending() {
    return {
        {"mpsc_contention", starting<R>(mpsc<R>, "producers", "messages")},
        {"uncontended_channel", on_one_thread(starting<R>(uncontended<R>, "messages"))},
    };
}

// All of several lists.
inline Rows together(std::initializer_list<Rows> lists) {
    Rows all;
    for (const Rows& rows : lists) all.insert(all.end(), rows.begin(), rows.end());
    return all;
}

// Those of them that a contender runs alone.
inline Rows only(std::initializer_list<std::string> names, const Rows& rows) {
    Rows some;
    for (const auto& row : rows) {
        if (std::find(names.begin(), names.end(), row.first) != names.end()) some.push_back(row);
    }
    return some;
}

}  // namespace palio::blocking
