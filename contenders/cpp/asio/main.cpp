// Asio: coroutines on the threads of one io_context. What may run elsewhere is posted, and what is
// joined arrives through a concurrent_channel.
#include <cstdint>
#include <string>

#include <asio/version.hpp>

#include "background.hpp"
#include "channels.hpp"
#include "fork_join.hpp"
#include "from_outside.hpp"
#include "palio.hpp"
#include "price.hpp"
#include "server.hpp"
#include "spawning.hpp"
#include "tcp.hpp"
#include "timers.hpp"
#include "workloads/forking.hpp"

namespace {

using namespace contender;
namespace tasks = palio::tasks;
using palio::Request;
using palio::Work;

// A row whose root is a task, in a runtime that lives on.
template <class... Key>
palio::Prepare steady(auto root, Key... keys) {
    return [=](Request& r) { return tasks::prepare(r, inside(r, root), keys...); };
}

// The same in a runtime that starts and stops in each iteration.
template <class... Key>
palio::Prepare starting(auto root, Key... keys) {
    return [=](Request& r) { return tasks::prepare(r, cold(r, root), keys...); };
}

// A row that a thread outside begins.
template <class... Key>
palio::Prepare begun_outside(auto row, Key... keys) {
    return [=](Request& r) { return tasks::prepare(r, outside(r, row), keys...); };
}

// A row whose root is to be a worker.
palio::Prepare rooted(palio::Prepare prepare) {
    return [=](Request& r) {
        tasks::on_worker(r);
        return prepare(r);
    };
}

palio::Prepare on_one_thread(palio::Prepare prepare) {
    return [=](Request& r) {
        tasks::on_one_thread(r);
        return prepare(r);
    };
}

palio::Prepare unfired_timers(auto each) {
    return steady([=](std::uint64_t t, std::uint64_t timers) { return unfired(t, timers, each); }, "tasks", "timers");
}

Work prepare_fan_in(Request& r) {
    const bool first = tasks::is_first(r, "reader", "first", "last");
    const auto fan_in = inside_in_one(r, first ? fan_in_reader_first : fan_in_reader_last);
    return tasks::prepare_batched(r, fan_in, "senders", "buffer");
}

Work prepare_beside_yielders(Request& r) {
    return tasks::prepare(r, beside_yielders(r, tasks::number(r, "busy"), spawn_join), "tasks");
}

Work prepare_beside_chains(Request& r) {
    return tasks::prepare(r, beside_chains_outside(r, tasks::number(r, "busy")), "tasks");
}

std::string version() {
    return std::to_string(ASIO_VERSION / 100000) + "." + std::to_string(ASIO_VERSION / 100 % 1000) + "." +
           std::to_string(ASIO_VERSION % 100);
}

}  // namespace

int main(int argc, char** argv) {
    return palio::serve(
        {
            .id = "asio",
            .runtime = "Asio",
            .version = version(),
            .workloads =
                {
                    PALIO_FORKING(fib, fib),
                    PALIO_FORKING(skynet, skynet),
                    PALIO_FORKING(nqueens, place),
                    PALIO_FORKING(matmul, multiply),
                    {"rt_multi_threaded/spawn_many_local", begun_outside(spawn_many_detached, "tasks")},
                    {"rt_multi_threaded/spawn_many_remote",
                     rooted([](Request& r) { return tasks::prepare_spawners(r, inside(r, spawn_by_spawners)); })},
                    {"rt_multi_threaded/spawn_many_remote_idle",
                     begun_outside([](Outside& o, std::uint64_t n) { return spawn_then_block(o.runtime, n); }, "tasks")},
                    {"rt_multi_threaded/spawn_many_remote_busy1", rooted(prepare_beside_yielders)},
                    {"rt_multi_threaded/spawn_many_remote_busy2", prepare_beside_chains},
                    {"rt_multi_threaded/ping_pong",
                     [](Request& r) { return tasks::prepare_round_trips(r, outside(r, ping_pong), "pairs", 2); }},
                    {"rt_multi_threaded/yield_many", begun_outside(yield_many_from_outside, "tasks", "yields")},
                    {"rt_multi_threaded/chained_spawn", begun_outside(chain_from_outside, "depth")},
                    {"rt_current_thread/spawn_many_local", on_one_thread(steady(spawn_join, "tasks"))},
                    {"rt_current_thread/spawn_many_remote_busy", on_one_thread([](Request& r) {
                         return tasks::prepare(r, beside_a_chain(r, spawn_join), "tasks");
                     })},
                    {"spawn/basic_scheduler_spawn", on_one_thread(steady(spawn_yield_join, "tasks"))},
                    {"spawn/threaded_scheduler_spawn", rooted(steady(spawn_yield_join, "tasks"))},
                    {"sync_mpsc/contention", rooted(steady(mpsc_counted, "producers", "messages"))},
                    {"sync_mpsc/uncontended", rooted(steady(send_then_receive, "messages"))},
                    {"sync_mpsc_oneshot/request_reply",
                     rooted([](Request& r) { return tasks::prepare(r, served(r), "requests"); })},
                    {"timer/sleep", unfired_timers(drop_sleeps)},
                    {"timer/sleep_armed", unfired_timers(drop_armed_sleeps)},
                    {"timer/timeout", unfired_timers(time_outs)},
                    {"fan_in", rooted(prepare_fan_in)},
                    {"catch_unwind_panics", starting(exceptions, "tasks")},
                    {"chained_spawn", starting(chained_spawn, "depth")},
                    {"deep_recursion", starting(deep_recursion, "depth")},
                    {"fan_out_compute", starting(primes, "limit", "tasks")},
                    {"many_timers", starting(many_timers, "sleepers")},
                    {"mpsc_contention", starting(mpsc, "producers", "messages")},
                    {"multi_thread_scaling", starting(primes, "limit", "tasks")},
                    {"ping_pong_oneshot",
                     [](Request& r) { return tasks::prepare_round_trips(r, cold(r, ping_pong_oneshot), "rounds", 1); }},
                    {"spawn_storm_busy", starting(spawn_storm, "busy", "tasks")},
                    {"uncontended_channel", on_one_thread(starting(uncontended, "messages"))},
                    {"yield_in_hot_loop", on_one_thread(starting(yield_many, "tasks", "yields"))},
                    {"yield_many", starting(yield_many, "tasks", "yields")},
                    {"spawn_one", prepare_spawn_one},
                    {"defer_one", prepare_defer_one},
                    {"tcp_echo_latency", prepare_echoing},
                    {"tcp_compute_latency", prepare_computing},
                    {"tcp_ping_pong", [](Request& r) { return palio::tcp::prepare(r, inside(r, tcp_ping_pong)); }},
                },
        },
        argc, argv);
}
