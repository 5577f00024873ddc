// Tasks that go on beside the work until they are told to stop, over a runtime whose tasks block.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "spawning.hpp"

namespace palio::blocking {

// A runtime with company, which stops before the runtime does.
template <class R>
class Busy {
public:
    explicit Busy(std::size_t threads) : runtime(threads) {}
    ~Busy() {
        stopped_ = true;
        for (auto left = running_.load(); left != 0; left = running_.load()) running_.wait(left);
    }

    // Tasks that yield in a loop, and call `between` after each.
    template <class Between>
    void start_yielders(std::uint64_t tasks, Between between) {
        running_ += tasks;
        for (std::uint64_t i = 0; i < tasks; ++i) {
            runtime.enter([=, this] {
                while (!stopped_) {
                    R::yield();
                    between();
                }
                end();
            });
        }
    }

    // The first links of chains in which each calls `each`, spawns the next and ends.
    template <class Each>
    void start_chains(std::uint64_t chains, Each each) {
        running_ += chains;
        for (std::uint64_t i = 0; i < chains; ++i) runtime.enter([=, this] { go_on(each); });
    }

private:
    template <class Each>
    void go_on(Each each) {
        if (stopped_) {
            end();
        } else {
            each();
            R::detach([=, this] { go_on(each); });
        }
    }

    void end() {
        --running_;
        running_.notify_all();
    }

    std::atomic<bool> stopped_{false};
    std::atomic<std::uint64_t> running_{0};

public:
    // Last, so that it is the first to go: whoever ends may still be in `end` when the others have.
    R runtime;
};

// Starts and stops its own company.
template <class R>
Summed spawn_storm(std::uint64_t busy, std::uint64_t tasks) {
    std::atomic<bool> stopped{false};
    auto yielders = spawn_all<R>(busy, [&](std::uint64_t) {
        while (!stopped) R::yield();
        return std::uint64_t{0};
    });
    const Summed all = spawn_join<R>(tasks);
    stopped = true;
    join_all(yielders);
    return all;
}

}  // namespace palio::blocking
