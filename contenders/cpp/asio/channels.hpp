// Rows about channels: concurrent_channel, with room for all messages where a row asks for an
// unbounded one.
#pragma once

#include <cstdint>
#include <memory>

#include <asio/redirect_error.hpp>

#include "runtime.hpp"
#include "spawning.hpp"
#include "workloads/tasks.hpp"

namespace contender {

using Numbers = asio::experimental::concurrent_channel<void(asio::error_code, std::uint64_t)>;
// Whoever sends has the channel, too: a sender leaves it after its last number was taken.
using SharedNumbers = std::shared_ptr<Numbers>;

inline Task<Summed> receive(SharedNumbers numbers, std::uint64_t messages) {
    Summed all{};
    for (; all.count < messages; ++all.count) all.sum += co_await numbers->async_receive(use_awaitable);
    co_return all;
}

inline Task<> send_one(SharedNumbers numbers, std::uint64_t number) {
    co_await numbers->async_send(asio::error_code(), number, use_awaitable);
}

inline void spawn_senders(const Executor& executor, const SharedNumbers& numbers, std::uint64_t senders) {
    for (std::uint64_t i = 0; i < senders; ++i) spawn(executor, send_one(numbers, salt + i), asio::detached);
}

inline Task<Summed> fan_in_reader_first(std::uint64_t senders, std::uint64_t buffer) {
    const auto executor = co_await asio::this_coro::executor;
    const auto numbers = std::make_shared<Numbers>(executor, buffer);
    const auto reader = spawn(executor, receive(numbers, senders));
    spawn_senders(executor, numbers, senders);
    co_return co_await reader.next();
}

inline Task<Summed> fan_in_reader_last(std::uint64_t senders, std::uint64_t buffer) {
    const auto executor = co_await asio::this_coro::executor;
    const auto numbers = std::make_shared<Numbers>(executor, buffer);
    spawn_senders(executor, numbers, senders);
    co_return co_await receive(numbers, senders);
}

// There is room for all, so that no sender ever waits.
inline Task<> send_many(SharedNumbers numbers, std::uint64_t first, std::uint64_t messages) {
    for (std::uint64_t i = 0; i < messages; ++i) numbers->try_send(asio::error_code(), first + i);
    co_return;
}

inline Task<Summed> mpsc_counted(std::uint64_t producers, std::uint64_t messages) {
    const auto executor = co_await asio::this_coro::executor;
    const auto numbers = std::make_shared<Numbers>(executor, producers * messages);
    for (std::uint64_t p = 0; p < producers; ++p) {
        spawn(executor, send_many(numbers, salt + p * messages, messages), asio::detached);
    }
    co_return co_await receive(numbers, producers * messages);
}

inline Task<Summed> send_then_receive(std::uint64_t messages) {
    const auto numbers = std::make_shared<Numbers>(co_await asio::this_coro::executor, messages);
    co_await send_many(numbers, salt, messages);
    co_return co_await receive(numbers, messages);
}

// Its last message is an error: to close the channel would throw away what is still in it.
inline Task<> send_and_hang_up(SharedNumbers numbers, std::uint64_t first, std::uint64_t messages) {
    co_await send_many(numbers, first, messages);
    numbers->try_send(asio::experimental::error::channel_closed, 0);
}

inline Task<Summed> receive_until_hung_up(SharedNumbers numbers, std::uint64_t producers) {
    Summed all{};
    while (producers != 0) {
        asio::error_code hung_up;
        const std::uint64_t number = co_await numbers->async_receive(asio::redirect_error(use_awaitable, hung_up));
        if (hung_up) {
            --producers;
        } else {
            all += {.sum = number, .count = 1};
        }
    }
    co_return all;
}

inline Task<Summed> mpsc(std::uint64_t producers, std::uint64_t messages) {
    const auto executor = co_await asio::this_coro::executor;
    const auto numbers = std::make_shared<Numbers>(executor, producers * (messages + 1));
    for (std::uint64_t p = 0; p < producers; ++p) {
        spawn(executor, send_and_hang_up(numbers, salt + p * messages, messages), asio::detached);
    }
    co_return co_await receive_until_hung_up(numbers, producers);
}

inline Task<std::uint64_t> send_all(SharedNumbers numbers, std::uint64_t messages) {
    co_await send_and_hang_up(numbers, salt, messages);
    co_return messages;
}

inline Task<Summed> uncontended(std::uint64_t messages) {
    const auto executor = co_await asio::this_coro::executor;
    const auto numbers = std::make_shared<Numbers>(executor, messages + 1);
    const auto sender = spawn(executor, send_all(numbers, messages));
    const auto receiver = spawn(executor, receive_until_hung_up(numbers, 1));
    co_await sender.next();
    co_return co_await receiver.next();
}

struct Question {
    std::uint64_t number = 0;
    Oneshot answer;
};

// A runtime with a server in it, which answers for as long as that lives.
class Served {
public:
    explicit Served(std::size_t threads) : runtime_(threads), questions_(runtime_.executor(), room) {
        asio::co_spawn(runtime_.executor(), serve(questions_), asio::detached);
    }
    ~Served() {
        questions_.close();
        runtime_.stop();
    }

    Summed ask(std::uint64_t requests) { return runtime_.run(client(requests)); }

private:
    using Questions = asio::experimental::concurrent_channel<void(asio::error_code, Question)>;
    // The workload's own number.
    static constexpr std::size_t room = 10;

    static Task<> serve(Questions& questions) {
        for (;;) {
            asio::error_code closed;
            const Question question = co_await questions.async_receive(asio::redirect_error(use_awaitable, closed));
            if (closed) co_return;
            question.answer.send(question.number + 1);
        }
    }

    Task<std::uint64_t> ask_one(std::uint64_t number) {
        const auto executor = co_await asio::this_coro::executor;
        // Made before it is sent: GCC 12 destroys the members of an aggregate twice that is made
        // within a co_await.
        const Question question{.number = number, .answer = Oneshot(executor)};
        co_await questions_.async_send(asio::error_code(), question, use_awaitable);
        co_return co_await question.answer.receive();
    }

    Task<Summed> client(std::uint64_t requests) {
        Summed all{};
        for (; all.count < requests; ++all.count) all.sum += co_await ask_one(salt + all.count);
        co_return all;
    }

    Runtime runtime_;
    Questions questions_;
};

inline auto served(const palio::Request& request) {
    return [served = std::make_shared<Served>(request.threads())](std::uint64_t requests) { return served->ask(requests); };
}

}  // namespace contender
