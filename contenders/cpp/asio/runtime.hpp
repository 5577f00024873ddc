// An io_context and the threads that run it, and what a task is in Asio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/experimental/concurrent_channel.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include "palio.hpp"
#include "workloads/tasks.hpp"

namespace contender {

using asio::use_awaitable;
using Executor = asio::any_io_executor;
template <class T = void>
using Task = asio::awaitable<T>;

// Starts `task` on whichever thread takes it, and then calls `completion`.
//
// On a thread of the context co_spawn runs the new coroutine in place until it first waits: nothing
// that another thread could take. What is posted can be taken.
template <class T, class Completion>
void spawn(const Executor& executor, Task<T> task, Completion completion) {
    asio::post(executor, [executor, task = std::move(task), completion = std::move(completion)]() mutable {
        asio::co_spawn(executor, std::move(task), std::move(completion));
    });
}

// Goes behind everything else that is ready.
inline Task<> yield() { return asio::post(use_awaitable); }

// Where results of tasks arrive, a T or an exception each: what co_spawn completes with. With room
// for one it is a join handle.
template <class T>
class Results {
public:
    Results(const Executor& executor, std::size_t room) : executor_(executor), channel_(std::make_shared<Channel>(executor, room)) {}

    void spawn(Task<T> task) {
        // The channel is the task's as well, because it is left only after the result was taken.
        contender::spawn(executor_, std::move(task), [channel = channel_](std::exception_ptr error, T result) {
            channel->try_send(std::move(error), std::move(result));
        });
    }

    // Waits for one more; throws what its task threw.
    Task<T> next() const { return channel_->async_receive(use_awaitable); }

private:
    using Channel = asio::experimental::concurrent_channel<void(std::exception_ptr, T)>;
    Executor executor_;
    std::shared_ptr<Channel> channel_;
};

template <class T>
Results<T> spawn(const Executor& executor, Task<T> task) {
    Results<T> handle(executor, 1);
    handle.spawn(std::move(task));
    return handle;
}

// A channel for one number, and for whoever has a copy of it.
class Oneshot {
public:
    // None: what a channel of Oneshots makes where it has nothing to give.
    Oneshot() = default;
    explicit Oneshot(const Executor& executor) : channel_(std::make_shared<Channel>(executor, 1)) {}

    void send(std::uint64_t number) const { channel_->try_send(asio::error_code(), number); }
    Task<std::uint64_t> receive() const { return channel_->async_receive(use_awaitable); }

private:
    using Channel = asio::experimental::concurrent_channel<void(asio::error_code, std::uint64_t)>;
    std::shared_ptr<Channel> channel_;
};

class Runtime {
public:
    explicit Runtime(std::size_t threads) : context_(static_cast<int>(threads)), work_(context_.get_executor()) {
        for (std::size_t i = 0; i < threads; ++i) {
            threads_.emplace_back([this] { context_.run(); });
        }
    }

    ~Runtime() { stop(); }

    // Ends the threads, once every task has ended. Whoever lends things to tasks calls this before
    // those go.
    void stop() {
        work_.reset();
        threads_.clear();
    }

    Executor executor() { return context_.get_executor(); }

    // What `task` returns; this thread only waits.
    template <class T>
    auto run(Task<T> task) {
        return asio::co_spawn(context_, std::move(task), asio::use_future).get();
    }

private:
    asio::io_context context_;
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::vector<std::jthread> threads_;
};

// `function`, a coroutine that some thread of a runtime runs, while this thread waits.
auto inside(const palio::Request& request, auto function) {
    return [runtime = std::make_shared<Runtime>(request.threads()), function](auto&&... args) {
        return runtime->run(function(args...));
    };
}

// The iterations of a sample. `function` outlives it.
template <class Function, class... Number>
Task<palio::TimedIterations> one_after_the_other(const Function& function, std::uint32_t batch, Number... numbers) {
    palio::Iterations done;
    for (std::uint32_t i = 0; i < batch; ++i) done.add(palio::tasks::iteration(co_await function(numbers...)));
    co_return done.stop();
}

// The same with one coroutine for all iterations of a sample.
auto inside_in_one(const palio::Request& request, auto function) {
    return [runtime = std::make_shared<Runtime>(request.threads()), function](std::uint32_t batch, auto... numbers) {
        return runtime->run(one_after_the_other(function, batch, numbers...));
    };
}

// `function` in a runtime that starts and stops in each iteration.
auto cold(const palio::Request& request, auto function) {
    return [threads = request.threads(), function](const auto&... args) { return Runtime(threads).run(function(args...)); };
}

}  // namespace contender
