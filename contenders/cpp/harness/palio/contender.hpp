// Who the contender is and what it can run.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "allocator.hpp"
#include "request.hpp"
#include "salt.hpp"
#include "work.hpp"

#if !defined(PALIO_FLAGS) || !defined(PALIO_VARIANT)
#error "PALIO_FLAGS or PALIO_VARIANT is missing: build the contender with palio_contender() of harness/palio.cmake"
#endif

namespace palio {

// The compiler of this executable, as it names itself.
inline std::string toolchain() {
#if defined(__clang__)
    return "clang++ " __clang_version__;
#elif defined(__GNUC__)
    return "g++ " __VERSION__;
#else
#error "name this compiler here"
#endif
}

// Gets one workload ready: starts the runtime (scope `steady`), reads the parameters, and returns
// the timed work.
using Prepare = std::function<Work(Request&)>;

struct Contender {
    std::string id;
    std::string runtime;
    // Version of the runtime as linked, asked of the runtime itself.
    std::string version;
    std::vector<std::pair<std::string, Prepare>> workloads;
    // Knobs that --set accepts beside the workload's parameters, with their defaults.
    std::vector<std::pair<std::string, std::string>> knobs = {};
    // The largest --threads that makes sense. C++ runtimes count threads in an int.
    std::size_t threads_max = std::numeric_limits<int>::max();
    std::string toolchain = palio::toolchain();
    std::string flags = PALIO_FLAGS " allocator=" + palio::allocator();

    std::string describe() const {
        std::string text = "protocol 2\nid " + id + PALIO_VARIANT + "\nruntime " + runtime + " " + version + "\ntoolchain " +
                           toolchain + "\nflags " + flags + "\n";
        for (const auto& [name, prepare] : workloads) text += "workload " + name + "\n";
        for (const auto& [name, value] : knobs) text += "knob " + name + " " + value + "\n";
        return text;
    }

    Work prepare(Request request) const {
        Work work = is_conformance(request) ? conformance(request) : find(request)(request);
        request.refuse_what_is_left();
        if (request.lacks_count()) {
            throw Refusal::unsupported(id + " does not count the forks of " + palio::quoted(request.workload()));
        }
        if (request.count_forks()) work.count_forks();
        return work;
    }

private:
    const Prepare& find(const Request& request) const {
        for (const auto& [name, prepare] : workloads) {
            if (name != request.workload()) continue;
            if (request.threads() > threads_max) {
                throw Refusal::unsupported(id + " runs on at most " + std::to_string(threads_max) +
                                           " thread(s), not " + std::to_string(request.threads()));
            }
            return prepare;
        }
        throw Refusal::unsupported(id + " does not run " + palio::quoted(request.workload()));
    }

    // A name of its own, so that a harness without events can refuse it as any other workload.
    static constexpr const char* conformance_events = "conformance/events";

    // How forks are counted.
    static constexpr const char* conformance_forks = "conformance/forks";

    // One unit of no work, whose answer is the salt mixed with an index.
    static constexpr const char* conformance_salt = "conformance/salt";

    static bool is_conformance(const Request& request) {
        const std::string& name = request.workload();
        return name == "conformance" || name == conformance_events || name == conformance_forks ||
               name == conformance_salt;
    }

    // The workloads that check a harness rather than a runtime.
    static Work conformance(Request& request) {
        if (request.workload() == conformance_salt) {
            const auto mixed = mix(request.salt(), request.param<std::uint64_t>("index"));
            return Work::plain([=] { return Iteration{.answer = mixed, .ops = 1, .work = 1}; });
        }
        auto answer = request.param<std::string>("answer");
        const auto ops = request.param<std::uint64_t>("ops");
        const auto text = request.param<std::string>("work");
        std::optional<std::uint64_t> work;
        if (text != "-") {
            work = palio::parse<std::uint64_t>(text);
            if (!work) throw Refusal::misuse("--set work=" + text + " has the wrong type");
        }
        if (request.workload() == conformance_forks) {
            const auto count = request.param<std::uint64_t>("forks");
            return request.prepare_forks([&](auto forks) {
                return Work::given(answer, ops, work, {}, [=] { forks.handed(count); });
            });
        }
        Events events_ns;
        if (request.workload() == conformance_events) {
            const auto list = request.param<std::string>("events");
            for (std::size_t start = 0; start <= list.size();) {
                const std::size_t end = std::min(list.find(',', start), list.size());
                const auto event_ns = palio::parse<std::uint64_t>(list.substr(start, end - start));
                if (!event_ns) throw Refusal::misuse("--set events=" + list + " has the wrong type");
                events_ns.push_back(*event_ns);
                start = end + 1;
            }
        }
        return Work::given(std::move(answer), ops, work, std::move(events_ns));
    }
};

}  // namespace palio
