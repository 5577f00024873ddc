// Ping-pong over TCP: what is the work (workloads/yaay/tcp_ping_pong.toml), without the sockets.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/resource.h>

#include "palio.hpp"
#include "tasks.hpp"

namespace palio::tcp {

// What a connection, or several, read.
struct Read {
    std::uint64_t sum = 0;
    std::uint64_t bytes = 0;
    // As the accepting side counts them.
    std::uint64_t round_trips = 0;

    void byte(std::uint8_t value) {
        sum += value;
        ++bytes;
    }

    Read& operator+=(const Read& more) {
        sum += more.sum;
        bytes += more.bytes;
        round_trips += more.round_trips;
        return *this;
    }
};

// What the connecting side of number `i` adds to each byte.
inline std::uint8_t key(std::uint64_t i) { return static_cast<std::uint8_t>(mix(tasks::salt, i) | 1); }

// What tasks call instead of throwing: whoever waits for their peer would wait for ever.
[[noreturn]] inline void die(const char* during, const char* cause) {
    std::fprintf(stderr, "%s: %s\n", during, cause);
    std::abort();
}

// Room for the descriptors of so many connections.
inline void raise_descriptors(std::uint64_t connections) {
    const rlim_t needed = 2 * connections + 64;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    if (limit.rlim_max != RLIM_INFINITY && needed > limit.rlim_max) {
        throw Refusal::unsupported(std::to_string(connections) + " connections need " + std::to_string(needed) +
                                   " descriptors, and the hard limit is " + std::to_string(limit.rlim_max) +
                                   ": raise it (ulimit -Hn) as root");
    }
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// `root(connections, round_trips)` runs the root task inside the runtime and gives a Read.
template <class Root>
Work prepare(Request& request, Root root) {
    tasks::salt = request.salt();
    const auto connections = tasks::number(request, "connections");
    const auto round_trips = tasks::number(request, "round_trips");
    raise_descriptors(connections);
    return Work::plain([=] {
        const Read all = root(connections, round_trips);
        return Iteration{.answer = all.sum, .ops = all.round_trips, .work = all.bytes};
    });
}

}  // namespace palio::tcp
