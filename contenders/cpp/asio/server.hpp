// A server that sends back what it reads, or computes first, asked by Palio at a fixed rate: how
// long requests wait.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/write.hpp>

#include "runtime.hpp"
#include "workloads/tasks.hpp"
#include "workloads/tcp.hpp"

namespace contender {

// What came of connections: the sum of the numbers of their answers, and how many there were.
struct Attended {
    std::uint64_t sum = 0;
    std::uint64_t requests = 0;
};

static_assert(std::endian::native == std::endian::little, "the number of a request has its lowest byte first");

// Makes a request its answer: the same once more.
struct Echo {
    static constexpr std::size_t numbers = sizeof(std::uint64_t);

    void operator()(std::vector<char>&) const {}
};

// The same after steps with the two numbers at its beginning.
struct Compute {
    static constexpr std::size_t numbers = 2 * sizeof(std::uint64_t);

    std::uint64_t steps;

    void operator()(std::vector<char>& request) const {
        std::uint64_t x = 0;
        std::uint64_t factor = 0;
        std::memcpy(&x, request.data(), sizeof x);
        std::memcpy(&factor, request.data() + sizeof x, sizeof factor);
        for (std::uint64_t step = 0; step < steps; ++step) x = x * factor + 1;
        std::memcpy(request.data(), &x, sizeof x);
    }
};

// Answers each request of a connection.
template <class Answer>
Task<Attended> attend(asio::ip::tcp::socket socket, std::size_t bytes, Answer answer) {
    Attended all;
    std::vector<char> request(bytes);
    try {
        for (;;) {
            asio::error_code ended;
            const std::size_t filled = co_await asio::async_read(
                socket, asio::buffer(request), asio::redirect_error(use_awaitable, ended));
            if (ended == asio::error::eof && filled == 0) break;
            if (ended) throw asio::system_error(ended);
            answer(request);
            co_await asio::async_write(socket, asio::buffer(request), use_awaitable);
            std::uint64_t number = 0;
            std::memcpy(&number, request.data(), sizeof number);
            all.sum += number;
            ++all.requests;
        }
    } catch (const std::exception& error) {
        palio::tcp::die("an accepted connection", error.what());
    }
    co_return all;
}

template <class Answer>
Task<Attended> serve(asio::ip::tcp::acceptor& acceptor, std::uint64_t connections, std::size_t bytes, Answer answer) {
    Results<Attended> served(co_await asio::this_coro::executor, connections);
    for (std::uint64_t i = 0; i < connections; ++i) {
        asio::ip::tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
        socket.set_option(asio::ip::tcp::no_delay(true));
        served.spawn(attend(std::move(socket), bytes, answer));
    }
    Attended all;
    for (std::uint64_t i = 0; i < connections; ++i) {
        const Attended one = co_await served.next();
        all.sum += one.sum;
        all.requests += one.requests;
    }
    co_return all;
}

// A runtime and its one listener, which live as long as the process.
struct Server {
    explicit Server(std::size_t threads)
        : runtime(threads),
          acceptor(runtime.executor(), asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {}

    // The acceptor goes first.
    Runtime runtime;
    asio::ip::tcp::acceptor acceptor;
};

template <class Answer>
palio::Work prepare_server(palio::Request& request, Answer answer) {
    const std::uint64_t connections = palio::tasks::number(request, "connections");
    const std::uint64_t bytes = palio::tasks::number(request, "bytes");
    if (bytes < Answer::numbers) {
        throw palio::Refusal::misuse(
            "--set bytes: a request begins with " + std::to_string(Answer::numbers) + " bytes of numbers");
    }
    // When requests come, and how many, is for those who ask.
    palio::tasks::number(request, "rate");
    palio::tasks::number(request, "requests");
    std::shared_ptr<Server> server;
    try {
        server = std::make_shared<Server>(request.threads());
    } catch (const std::system_error& error) {
        throw palio::Refusal::unsupported(std::string("cannot listen: ") + error.what());
    }
    return palio::Work::serving(server->acceptor.local_endpoint().port(), [=] {
        const Attended all = server->runtime.run(serve(server->acceptor, connections, bytes, answer));
        return palio::Iteration{all.sum, all.requests, all.requests};
    });
}

inline palio::Work prepare_echoing(palio::Request& request) { return prepare_server(request, Echo{}); }

inline palio::Work prepare_computing(palio::Request& request) {
    return prepare_server(request, Compute{request.param<std::uint64_t>("steps")});
}

}  // namespace contender
