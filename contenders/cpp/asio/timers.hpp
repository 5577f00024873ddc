// Rows about timers: steady_timer.
#pragma once

#include <chrono>
#include <cstdint>

#include <asio/experimental/awaitable_operators.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>

#include "runtime.hpp"
#include "spawning.hpp"
#include "workloads/tasks.hpp"

namespace contender {

inline Task<std::uint64_t> sleep(std::chrono::milliseconds duration) {
    asio::steady_timer timer(co_await asio::this_coro::executor, duration);
    co_await timer.async_wait(use_awaitable);
    co_return static_cast<std::uint64_t>(duration.count());
}

inline Task<Summed> many_timers(std::uint64_t sleepers) {
    const auto handles = spawn_all(co_await asio::this_coro::executor, sleepers,
                                   [](std::uint64_t i) { return sleep(palio::tasks::sleep_of(i)); });
    co_return co_await join_all(handles);
}

// `tasks` tasks, each with so many timers; each says how many did not fire.
template <class Each>
Task<Summed> unfired(std::uint64_t tasks, std::uint64_t timers, Each each) {
    const auto handles =
        spawn_all(co_await asio::this_coro::executor, tasks, [=](std::uint64_t) { return each(timers); });
    const Summed all = co_await join_all(handles);
    co_return Summed::counted(all.sum);
}

inline Task<std::uint64_t> drop_sleeps(std::uint64_t timers) {
    const auto executor = co_await asio::this_coro::executor;
    std::uint64_t dropped = 0;
    for (; dropped < timers; ++dropped) asio::steady_timer timer(executor, palio::tasks::unfired);
    co_return dropped;
}

inline Task<std::uint64_t> drop_armed_sleeps(std::uint64_t timers) {
    const auto executor = co_await asio::this_coro::executor;
    std::uint64_t dropped = 0;
    for (std::uint64_t i = 0; i < timers; ++i) {
        asio::steady_timer timer(executor, palio::tasks::unfired);
        timer.async_wait([](asio::error_code) {});
        dropped += timer.cancel();
    }
    co_return dropped;
}

inline Task<> await_in_time(std::uint64_t timers, std::uint64_t& in_time) {
    using namespace asio::experimental::awaitable_operators;
    const auto executor = co_await asio::this_coro::executor;
    for (std::uint64_t i = 0; i < timers; ++i) {
        asio::steady_timer timer(executor, palio::tasks::unfired);
        const auto first = co_await (value(i) || timer.async_wait(use_awaitable));
        in_time += first.index() == 0;
    }
}

// On a strand, because one of the two operations of `||` cancels the other.
inline Task<std::uint64_t> time_outs(std::uint64_t timers) {
    std::uint64_t in_time = 0;
    const auto strand = asio::make_strand(co_await asio::this_coro::executor);
    co_await asio::co_spawn(strand, await_in_time(timers, in_time), use_awaitable);
    co_return in_time;
}

}  // namespace contender
