// Boost.Fiber: fibers, futures and buffered channels on threads that steal from each other.
#include <string>

#include <boost/version.hpp>

#include "palio.hpp"
#include "runtime.hpp"
#include "workloads/blocking/rows.hpp"

namespace {

using Steady = contender::Runtime<contender::Life::steady>;
using Cold = contender::Runtime<contender::Life::cold>;

// Those that start and stop. While a thread of shared_work finds fibers in the queue of all, it
// does not turn to its own dispatcher, which alone moves what other threads woke into that queue:
// beside fibers that yield for ever, nobody who waits goes on.
palio::blocking::Rows cold() {
    auto rows = palio::blocking::starting_and_stopping<Cold>();
    for (auto& [name, prepare] : rows) {
        if (name != "spawn_storm_busy") continue;
        prepare = [alone = prepare](palio::Request& r) {
            if (r.threads() > 1) {
                throw palio::Refusal::unsupported("on several threads, fibers that wait starve behind those that yield");
            }
            return alone(r);
        };
    }
    return rows;
}

// The scheduler is in a library that must be of the same release as the headers.
std::string version() {
    return std::to_string(BOOST_VERSION / 100000) + "." + std::to_string(BOOST_VERSION / 100 % 1000) + "." +
           std::to_string(BOOST_VERSION % 100);
}

}  // namespace

int main(int argc, char** argv) {
    namespace rows = palio::blocking;
    return palio::serve(
        {
            .id = "boost-fiber",
            .runtime = "Boost.Fiber",
            .version = version(),
            .workloads = rows::together({rows::forking<Steady>(), rows::spawning<Steady>(), rows::sending<Steady>(),
                                         cold(), rows::starting_and_sending<Cold>()}),
        },
        argc, argv);
}
