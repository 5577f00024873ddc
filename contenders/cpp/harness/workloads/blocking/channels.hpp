// Rows about channels, over a runtime whose tasks block and which has a channel: with room for all
// messages where a row asks for an unbounded one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "spawning.hpp"

namespace palio::blocking {

template <class R>
using Numbers = typename R::template Channel<std::uint64_t>;

// Whoever sends has the channel, too: it may still be in there when its last number was received.
template <class R>
using SharedNumbers = std::shared_ptr<Numbers<R>>;

template <class Channel>
Summed receive(Channel& numbers, std::uint64_t messages) {
    Summed all{};
    for (; all.count < messages; ++all.count) all.sum += *numbers.receive();
    return all;
}

// Until everybody has hung up.
template <class Channel>
Summed receive_all(Channel& numbers) {
    Summed all{};
    while (const std::optional<std::uint64_t> number = numbers.receive()) all += {.sum = *number, .count = 1};
    return all;
}

template <class R>
void spawn_senders(const SharedNumbers<R>& numbers, std::uint64_t senders) {
    for (std::uint64_t i = 0; i < senders; ++i) R::detach([=] { numbers->send(salt + i); });
}

template <class R>
Summed fan_in_reader_first(std::uint64_t senders, std::uint64_t buffer) {
    const auto numbers = std::make_shared<Numbers<R>>(buffer);
    auto reader = R::spawn([=] { return receive(*numbers, senders); });
    spawn_senders<R>(numbers, senders);
    return reader.join();
}

template <class R>
Summed fan_in_reader_last(std::uint64_t senders, std::uint64_t buffer) {
    const auto numbers = std::make_shared<Numbers<R>>(buffer);
    spawn_senders<R>(numbers, senders);
    return receive(*numbers, senders);
}

template <class Channel>
void send_many(Channel& numbers, std::uint64_t first, std::uint64_t messages) {
    for (std::uint64_t i = 0; i < messages; ++i) numbers.send(first + i);
}

template <class R>
Summed mpsc_counted(std::uint64_t producers, std::uint64_t messages) {
    const auto numbers = std::make_shared<Numbers<R>>(Numbers<R>::room_for(producers * messages));
    for (std::uint64_t p = 0; p < producers; ++p) {
        R::detach([=] { send_many(*numbers, salt + p * messages, messages); });
    }
    return receive(*numbers, producers * messages);
}

template <class R>
Summed send_then_receive(std::uint64_t messages) {
    Numbers<R> numbers(Numbers<R>::room_for(messages));
    send_many(numbers, salt, messages);
    return receive(numbers, messages);
}

// The producer that is the last to end closes the channel.
template <class R>
Summed mpsc(std::uint64_t producers, std::uint64_t messages) {
    const auto numbers = std::make_shared<Numbers<R>>(Numbers<R>::room_for(producers * messages));
    const auto left = std::make_shared<std::atomic<std::uint64_t>>(producers);
    for (std::uint64_t p = 0; p < producers; ++p) {
        R::detach([=] {
            send_many(*numbers, salt + p * messages, messages);
            if (--*left == 0) numbers->close();
        });
    }
    return receive_all(*numbers);
}

template <class R>
Summed uncontended(std::uint64_t messages) {
    const auto numbers = std::make_shared<Numbers<R>>(Numbers<R>::room_for(messages));
    auto sender = R::spawn([=] {
        send_many(*numbers, salt, messages);
        numbers->close();
        return messages;
    });
    auto receiver = R::spawn([=] { return receive_all(*numbers); });
    sender.join();
    return receiver.join();
}

// A runtime with a server in it, which answers for as long as that lives.
template <class R>
class Served {
public:
    explicit Served(std::size_t threads) : runtime_(threads), server_(runtime_.start([this] { return serve(); })) {}
    ~Served() {
        questions_.close();
        server_.get();
    }

    Summed ask(std::uint64_t requests) {
        return runtime_.run([this, requests] {
            Summed all{};
            for (; all.count < requests; ++all.count) {
                const auto answer = std::make_shared<typename R::Oneshot>();
                questions_.send({.number = salt + all.count, .answer = answer});
                all.sum += answer->receive();
            }
            return all;
        });
    }

private:
    struct Question {
        std::uint64_t number = 0;
        std::shared_ptr<typename R::Oneshot> answer;
    };
    using Questions = typename R::template Channel<Question>;

    // Returns how many it answered.
    std::uint64_t serve() {
        std::uint64_t answered = 0;
        while (const std::optional<Question> question = questions_.receive()) {
            question->answer->send(question->number + 1);
            ++answered;
        }
        return answered;
    }

    // The workload's own number.
    Questions questions_{Questions::room_for(10)};
    R runtime_;
    decltype(std::declval<R&>().start([] { return std::uint64_t{0}; })) server_;
};

}  // namespace palio::blocking
