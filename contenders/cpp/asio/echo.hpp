// An echo server, asked by Palio at a fixed rate: how long requests wait.
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

// What came of connections: the sum of the numbers of their requests, and how many there were.
struct Echoed {
    std::uint64_t sum = 0;
    std::uint64_t requests = 0;
};

static_assert(std::endian::native == std::endian::little, "the number of a request has its lowest byte first");

// Answers each request of a connection.
inline Task<Echoed> echo(asio::ip::tcp::socket socket, std::size_t bytes) {
    Echoed all;
    std::vector<char> request(bytes);
    try {
        for (;;) {
            asio::error_code ended;
            const std::size_t filled = co_await asio::async_read(
                socket, asio::buffer(request), asio::redirect_error(use_awaitable, ended));
            if (ended == asio::error::eof && filled == 0) break;
            if (ended) throw asio::system_error(ended);
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

inline Task<Echoed> serve_echo(asio::ip::tcp::acceptor& acceptor, std::uint64_t connections, std::size_t bytes) {
    Results<Echoed> served(co_await asio::this_coro::executor, connections);
    for (std::uint64_t i = 0; i < connections; ++i) {
        asio::ip::tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
        socket.set_option(asio::ip::tcp::no_delay(true));
        served.spawn(echo(std::move(socket), bytes));
    }
    Echoed all;
    for (std::uint64_t i = 0; i < connections; ++i) {
        const Echoed one = co_await served.next();
        all.sum += one.sum;
        all.requests += one.requests;
    }
    co_return all;
}

// A runtime and its one listener, which live as long as the process.
struct EchoServer {
    explicit EchoServer(std::size_t threads)
        : runtime(threads),
          acceptor(runtime.executor(), asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {}

    // The acceptor goes first.
    Runtime runtime;
    asio::ip::tcp::acceptor acceptor;
};

inline palio::Work prepare_echo(palio::Request& request) {
    const std::uint64_t connections = palio::tasks::number(request, "connections");
    const std::uint64_t bytes = palio::tasks::number(request, "bytes");
    if (bytes < sizeof(std::uint64_t)) throw palio::Refusal::misuse("--set bytes: a request has a number");
    // When requests come, and how many, is for those who ask.
    palio::tasks::number(request, "rate");
    palio::tasks::number(request, "requests");
    std::shared_ptr<EchoServer> server;
    try {
        server = std::make_shared<EchoServer>(request.threads());
    } catch (const std::system_error& error) {
        throw palio::Refusal::unsupported(std::string("cannot listen: ") + error.what());
    }
    return palio::Work::serving(server->acceptor.local_endpoint().port(), [=] {
        const Echoed all = server->runtime.run(serve_echo(server->acceptor, connections, bytes));
        return palio::Iteration{all.sum, all.requests, all.requests};
    });
}

}  // namespace contender
