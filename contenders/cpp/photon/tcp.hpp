// Ping-pong over TCP, client and server on the same vCPUs.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <photon/net/socket.h>

#include "runtime.hpp"
#include "workloads/tcp.hpp"

namespace contender {

using palio::tcp::Read;
using Connection = std::unique_ptr<photon::net::ISocketStream>;

// `done`, which must be what a call that reads or writes one byte returns.
inline void one_byte(ssize_t done, const char* during) {
    if (done != 1) palio::tcp::die(during, done == 0 ? "the peer is gone" : std::strerror(errno));
}

inline void write_byte(Connection& connection, std::uint8_t byte) {
    one_byte(connection->send(&byte, 1), "sending a byte");
}

inline std::uint8_t read_byte(Connection& connection) {
    std::uint8_t byte = 0;
    one_byte(connection->recv(&byte, 1), "receiving a byte");
    return byte;
}

// Begins: sends back each byte that it reads.
inline Read accepting_side(Connection& connection, std::uint64_t round_trips) {
    Read all;
    std::uint8_t byte = 0;
    for (; all.round_trips < round_trips; ++all.round_trips) {
        write_byte(connection, byte);
        byte = read_byte(connection);
        all.byte(byte);
    }
    connection.reset();
    return all;
}

// Adds its key to each byte that it reads.
inline Read connecting_side(const photon::net::EndPoint& server, std::uint64_t i, std::uint64_t round_trips) {
    const std::unique_ptr<photon::net::ISocketClient> client(photon::net::new_tcp_socket_client());
    Connection connection(client->connect(server));
    if (!connection) palio::tcp::die("connecting", std::strerror(errno));
    const std::uint8_t key = palio::tcp::key(i);
    Read all;
    while (all.bytes < round_trips) {
        const std::uint8_t byte = read_byte(connection);
        all.byte(byte);
        write_byte(connection, static_cast<std::uint8_t>(byte + key));
    }
    return all;
}

inline Read tcp_ping_pong(std::uint64_t connections, std::uint64_t round_trips) {
    const std::unique_ptr<photon::net::ISocketServer> listener(photon::net::new_tcp_socket_server());
    if (listener->bind_v4localhost() != 0 || listener->listen(static_cast<int>(connections)) != 0) {
        palio::tcp::die("listening", std::strerror(errno));
    }
    const photon::net::EndPoint server = listener->getsockname();
    std::vector<Runtime::Handle<Read>> sides;
    sides.reserve(2 * connections);
    for (std::uint64_t i = 0; i < connections; ++i) {
        sides.push_back(Runtime::spawn([=] { return connecting_side(server, i, round_trips); }));
    }
    for (std::uint64_t i = 0; i < connections; ++i) {
        const auto connection = std::make_shared<Connection>(listener->accept());
        if (!*connection) palio::tcp::die("accepting", std::strerror(errno));
        sides.push_back(Runtime::spawn([=] { return accepting_side(*connection, round_trips); }));
    }
    Read all;
    for (auto& side : sides) all += side.join();
    return all;
}

}  // namespace contender
