// Ping-pong over TCP, client and server in one context.
#pragma once

#include <cstdint>
#include <exception>

#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>

#include "runtime.hpp"
#include "workloads/tcp.hpp"

namespace contender {

using asio::ip::tcp;
using palio::tcp::Read;

inline Task<> write_byte(tcp::socket& socket, std::uint8_t byte) {
    co_await socket.async_write_some(asio::buffer(&byte, 1), use_awaitable);
}

inline Task<std::uint8_t> read_byte(tcp::socket& socket) {
    std::uint8_t byte = 0;
    co_await socket.async_read_some(asio::buffer(&byte, 1), use_awaitable);
    co_return byte;
}

// Begins: sends back each byte that it reads.
inline Task<Read> accepting_side(tcp::socket socket, std::uint64_t round_trips) {
    Read all;
    try {
        std::uint8_t byte = 0;
        for (; all.round_trips < round_trips; ++all.round_trips) {
            co_await write_byte(socket, byte);
            byte = co_await read_byte(socket);
            all.byte(byte);
        }
    } catch (const std::exception& error) {
        palio::tcp::die("an accepted connection", error.what());
    }
    co_return all;
}

// Adds its key to each byte that it reads.
inline Task<Read> connecting_side(tcp::endpoint server, std::uint64_t i, std::uint64_t round_trips) {
    Read all;
    try {
        tcp::socket socket(co_await asio::this_coro::executor);
        co_await socket.async_connect(server, use_awaitable);
        const std::uint8_t key = palio::tcp::key(i);
        while (all.bytes < round_trips) {
            const std::uint8_t byte = co_await read_byte(socket);
            all.byte(byte);
            co_await write_byte(socket, static_cast<std::uint8_t>(byte + key));
        }
    } catch (const std::exception& error) {
        palio::tcp::die("a connecting socket", error.what());
    }
    co_return all;
}

inline Task<Read> tcp_ping_pong(std::uint64_t connections, std::uint64_t round_trips) {
    const auto executor = co_await asio::this_coro::executor;
    tcp::acceptor acceptor(executor);
    const tcp::endpoint any_port(asio::ip::address_v4::loopback(), 0);
    acceptor.open(any_port.protocol());
    acceptor.bind(any_port);
    acceptor.listen(static_cast<int>(connections));
    const tcp::endpoint server = acceptor.local_endpoint();
    Results<Read> sides(executor, 2 * connections);
    for (std::uint64_t i = 0; i < connections; ++i) sides.spawn(connecting_side(server, i, round_trips));
    for (std::uint64_t i = 0; i < connections; ++i) {
        sides.spawn(accepting_side(co_await acceptor.async_accept(use_awaitable), round_trips));
    }
    Read all;
    for (std::uint64_t side = 0; side < 2 * connections; ++side) all += co_await sides.next();
    co_return all;
}

}  // namespace contender
