// Threads that run fibers, and the door through which work comes to them from outside.
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/fiber/algo/shared_work.hpp>
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/future.hpp>
#include <boost/fiber/operations.hpp>

#include "palio.hpp"

namespace contender {

namespace fibers = boost::fibers;

// Whether all iterations of a process share a runtime, or each has one of its own.
enum class Life { steady, cold };

// The scheduling of one thread among `threads`. One thread alone keeps its default, round_robin.
// The registry of work_stealing is a static of so many places that threads take once in the life
// of a process: what starts again and again has shared_work.
inline void join_scheduling(Life life, std::size_t threads) {
    if (threads == 1) return;
    if (life == Life::steady) {
        fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(static_cast<std::uint32_t>(threads));
    } else {
        fibers::use_scheduling_algorithm<fibers::algo::shared_work>();
    }
}

template <Life life>
class Runtime {
public:
    explicit Runtime(std::size_t threads) {
        for (std::size_t i = 0; i < threads; ++i) {
            threads_.emplace_back([this, threads] {
                join_scheduling(life, threads);
                // Here the thread's main fiber waits, and its other fibers run.
                std::function<void()> work;
                while (door_.pop(work) == fibers::channel_op_status::success) detach(std::move(work));
            });
        }
    }

    ~Runtime() { door_.close(); }

    // A fiber starts on the thread that makes it, so work from outside is handed through the door.
    template <class Work>
    void enter(Work work) {
        door_.push(std::move(work));
    }

    // A future of Boost.Fiber, on which a thread without fibers can wait, too.
    template <class Work>
    auto start(Work work) {
        auto task = std::make_shared<fibers::packaged_task<decltype(work())()>>(std::move(work));
        auto future = task->get_future();
        enter([task] { (*task)(); });
        return future;
    }

    template <class Work>
    auto run(Work work) {
        return start(std::move(work)).get();
    }

    template <class T>
    class Handle {
    public:
        explicit Handle(fibers::future<T> future) : future_(std::move(future)) {}
        T join() { return future_.get(); }

    private:
        fibers::future<T> future_;
    };

    template <class Work>
    static auto spawn(Work work) {
        return Handle<decltype(work())>(fibers::async(std::move(work)));
    }

    template <class Work>
    static void detach(Work work) {
        fibers::fiber(std::move(work)).detach();
    }

    static void yield() { boost::this_fiber::yield(); }
    static void sleep(std::chrono::milliseconds duration) { boost::this_fiber::sleep_for(duration); }

    class Oneshot {
    public:
        void send(std::uint64_t number) { promise_.set_value(number); }
        std::uint64_t receive() { return future_.get(); }

    private:
        fibers::promise<std::uint64_t> promise_;
        fibers::future<std::uint64_t> future_ = promise_.get_future();
    };

    // A buffered_channel of 2^n slots has room for one less.
    template <class T>
    class Channel {
    public:
        explicit Channel(std::size_t room) : channel_(room + 1) {}

        static std::size_t room_for(std::size_t messages) { return std::bit_ceil(messages + 1) - 1; }

        void send(T value) { channel_.push(std::move(value)); }

        std::optional<T> receive() {
            T value;
            if (channel_.pop(value) != fibers::channel_op_status::success) return std::nullopt;
            return value;
        }

        void close() { channel_.close(); }

    private:
        fibers::buffered_channel<T> channel_;
    };

private:
    fibers::buffered_channel<std::function<void()>> door_{1024};
    std::vector<std::jthread> threads_;
};

}  // namespace contender
