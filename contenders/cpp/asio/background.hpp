// Tasks that go on beside the work until they are told to stop.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime.hpp"
#include "spawning.hpp"
#include "workloads/tasks.hpp"

namespace contender {

class Background {
public:
    // Tasks that yield in a loop, and call `between` after each.
    template <class Between>
    void start_yielders(const Executor& executor, std::uint64_t tasks, Between between) {
        running_ += tasks;
        for (std::uint64_t i = 0; i < tasks; ++i) spawn(executor, yield_on(between), asio::detached);
    }

    // The first links of chains in which each calls `each`, spawns the next and ends.
    template <class Each>
    void start_chains(const Executor& executor, std::uint64_t chains, Each each) {
        running_ += chains;
        for (std::uint64_t i = 0; i < chains; ++i) spawn(executor, link_on(each), asio::detached);
    }

    void tell_to_stop() { stopped_ = true; }

    // For a thread outside.
    void stop() {
        tell_to_stop();
        for (auto left = running_.load(); left != 0; left = running_.load()) running_.wait(left);
    }

private:
    template <class Between>
    Task<> yield_on(Between between) {
        while (!stopped_) {
            co_await yield();
            between();
        }
        end();
    }

    template <class Each>
    Task<> link_on(Each each) {
        if (stopped_) {
            end();
        } else {
            each();
            spawn(co_await asio::this_coro::executor, link_on(each), asio::detached);
        }
    }

    void end() {
        --running_;
        running_.notify_all();
    }

    std::atomic<bool> stopped_{false};
    std::atomic<std::uint64_t> running_{0};
};

// A runtime with company, which stops before the runtime does.
class Busy {
public:
    explicit Busy(std::size_t threads) : runtime(threads) {}
    ~Busy() {
        background.stop();
        runtime.stop();
    }

    Background background;
    Runtime runtime;
};

inline void without_pause() {}

inline auto beside_yielders(const palio::Request& request, std::uint64_t busy, auto function) {
    const auto company = std::make_shared<Busy>(request.threads());
    company->background.start_yielders(company->runtime.executor(), busy, palio::tasks::stall);
    return [=](const auto&... args) { return company->runtime.run(function(args...)); };
}

inline auto beside_a_chain(const palio::Request& request, auto function) {
    const auto company = std::make_shared<Busy>(request.threads());
    company->background.start_chains(company->runtime.executor(), 1, without_pause);
    return [=](const auto&... args) { return company->runtime.run(function(args...)); };
}

inline Task<std::uint64_t> yield_until(const std::atomic<bool>& stopped) {
    while (!stopped) co_await yield();
    co_return 0;
}

// Starts and stops its own company.
inline Task<Summed> spawn_storm(std::uint64_t busy, std::uint64_t tasks) {
    std::atomic<bool> stopped{false};
    const auto yielders =
        spawn_all(co_await asio::this_coro::executor, busy, [&](std::uint64_t) { return yield_until(stopped); });
    const Summed all = co_await spawn_join(tasks);
    stopped = true;
    co_await join_all(yielders);
    co_return all;
}

}  // namespace contender
