// The timed part: iterations, batches of them, and the sample that a batch makes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "events.hpp"
#include "forks.hpp"
#include "usage.hpp"

namespace palio {

// What one iteration did.
struct Iteration {
    std::uint64_t answer;
    std::uint64_t ops;
    // Nothing where counting is not free.
    std::optional<std::uint64_t> work;

    bool operator==(const Iteration&) const = default;
};

// Work that needs something done outside the clock before or after every iteration.
class Staged {
public:
    virtual ~Staged() = default;
    // Before every iteration, not timed.
    virtual void prepare() = 0;
    // The iteration, timed.
    virtual void run() = 0;
    // After every iteration, not timed: what it computed.
    virtual Iteration finish() = 0;
};

// One line of the answer to `run`: the sums over the iterations of a batch.
struct Sample {
    std::uint64_t elapsed_ns = 0;
    std::uint64_t ops = 0;
    std::optional<std::string> answer;
    std::optional<std::uint64_t> work = 0;
    std::optional<CpuTime> cpu;
    // Empty where the workload has no events.
    Events events_ns = {};
    // Nothing where nobody asks.
    std::optional<std::uint64_t> forks = {};

    void add(const std::string& more_answer, std::uint64_t more_ops, std::optional<std::uint64_t> more_work) {
        if (!answer) {
            answer = more_answer;
        } else if (*answer != more_answer && !answer->starts_with("differs:")) {
            answer = "differs:" + *answer + ":" + more_answer;
        }
        ops += more_ops;
        if (work && more_work) {
            *work += *more_work;
        } else {
            work.reset();
        }
    }

    void add(const Iteration& done) { add(std::to_string(done.answer), done.ops, done.work); }

    std::string line() const {
        const auto or_dash = [](std::optional<std::uint64_t> n) { return n ? std::to_string(*n) : "-"; };
        const auto user_us = cpu ? std::optional(cpu->user_us) : std::nullopt;
        const auto sys_us = cpu ? std::optional(cpu->sys_us) : std::nullopt;
        std::string text = "sample elapsed_ns=" + std::to_string(elapsed_ns) + " ops=" + std::to_string(ops) +
               " answer=" + answer.value_or("-") + " work=" + or_dash(work) + " user_us=" + or_dash(user_us) +
               " sys_us=" + or_dash(sys_us) + distribution(events_ns);
        if (forks) text += " forks=" + std::to_string(*forks);
        return text;
    }
};

using Clock = std::chrono::steady_clock;

inline std::uint64_t elapsed_ns(Clock::time_point start) {
    const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
    return static_cast<std::uint64_t>(elapsed.count());
}

class TimedIterations;

// What the iterations of a batch did so far, and since when: the first of them stands for all, and
// one that differs from it, if any does. Comparing is all that happens between two iterations.
class Iterations {
public:
    // Reads the clock: the first iteration is about to begin.
    Iterations() : start_(Clock::now()) {}

    // Reads the clock again: the last iteration has just ended.
    TimedIterations stop() const;

    void add(const Iteration& next) {
        if (!first_) {
            first_ = next;
        } else if (next != *first_ && !odd_) {
            odd_ = next;
        }
        ++count_;
    }

private:
    friend class TimedIterations;

    Clock::time_point start_;
    std::optional<Iteration> first_;
    std::optional<Iteration> odd_;
    std::uint32_t count_ = 0;
};

// All iterations of a batch, and how long they took.
class TimedIterations {
public:
    // Of no batch: frameworks make one to assign to.
    TimedIterations() = default;

    void add_to(Sample& sums) const {
        sums.elapsed_ns = elapsed_ns_;
        if (!all_.first_) return;
        for (std::uint32_t i = 1; i < all_.count_; ++i) sums.add(*all_.first_);
        sums.add(all_.odd_.value_or(*all_.first_));
    }

private:
    friend class Iterations;

    TimedIterations(std::uint64_t elapsed_ns, const Iterations& all) : elapsed_ns_(elapsed_ns), all_(all) {}

    std::uint64_t elapsed_ns_ = 0;
    Iterations all_;
};

inline TimedIterations Iterations::stop() const {
    const std::uint64_t elapsed = elapsed_ns(start_);
    return {elapsed, *this};
}

// The work of one workload, ready to be iterated. It owns the runtime, which stops when it is
// destroyed.
class Work {
public:
    // Work that is timed as a whole: one clock reading before a batch, one after it.
    static Work plain(std::function<Iteration()> iterate) { return Work(std::move(iterate)); }
    // Work whose iterations of one sample belong together, such as in one entry into a runtime: the
    // function does as many as it is told, reads the clock before the first and after the last of
    // them, where they are done, and reports them. The way there and back is not timed.
    static Work batched(std::function<TimedIterations(std::uint32_t)> batch) { return Work(std::move(batch)); }
    // Work with untimed parts around every iteration.
    static Work staged(std::unique_ptr<Staged> stages) { return Work(std::move(stages)); }
    // Work that consists of events: every iteration appends what each of its events took, and it is
    // timed as a whole too.
    static Work measured(std::function<Iteration(Events&)> iterate) { return Work(std::move(iterate)); }
    // Work that clients outside of this process ask for, at this port of 127.0.0.1, where somebody
    // listens already: every iteration accepts connections, serves them to their end, and returns.
    static Work serving(std::uint16_t port, std::function<Iteration()> iterate) {
        return Work(Served{port, std::move(iterate)});
    }
    // No work at all: the workloads `conformance` and `conformance/events`, and
    // `conformance/forks`, where something else happens in every iteration.
    static Work given(std::string answer, std::uint64_t ops, std::optional<std::uint64_t> work, Events events_ns = {},
                      std::function<void()> beside = [] {}) {
        return Work(Given{std::move(answer), ops, work, std::move(events_ns), std::move(beside)});
    }

    // Samples say from now on how many forks there were.
    void count_forks() { counts_forks_ = true; }

    // Tells those outside of each iteration that is about to serve them, by its port.
    void announced_by(std::function<void(std::uint16_t)> announce) { announce_ = std::move(announce); }

    Sample sample(std::uint32_t batch) {
        Sample sums;
        const std::uint64_t forks_before = forks::counted();
        const auto before = CpuTime::now();
        std::visit([&](auto& kind) { take(kind, batch, sums); }, kind_);
        const auto after = CpuTime::now();
        if (before && after) sums.cpu = after->since(*before);
        if (sums.elapsed_ns == 0) sums.elapsed_ns = 1;
        if (counts_forks_) sums.forks = forks::counted() - forks_before;
        return sums;
    }

private:
    using Plain = std::function<Iteration()>;
    using Batch = std::function<TimedIterations(std::uint32_t)>;
    using Stages = std::unique_ptr<Staged>;
    using Measure = std::function<Iteration(Events&)>;
    struct Served {
        std::uint16_t port;
        std::function<Iteration()> iterate;
    };
    struct Given {
        std::string answer;
        std::uint64_t ops;
        std::optional<std::uint64_t> work;
        Events events_ns;
        std::function<void()> beside;
    };

    explicit Work(std::variant<Plain, Batch, Stages, Measure, Served, Given> kind) : kind_(std::move(kind)) {}

    void take(Plain& iterate, std::uint32_t batch, Sample& sums) {
        Iterations done;
        for (std::uint32_t i = 0; i < batch; ++i) done.add(iterate());
        // When the clock has stopped.
        done.stop().add_to(sums);
    }

    void take(Batch& iterate, std::uint32_t batch, Sample& sums) { iterate(batch).add_to(sums); }

    void take(Stages& stages, std::uint32_t batch, Sample& sums) {
        for (std::uint32_t i = 0; i < batch; ++i) {
            stages->prepare();
            const auto start = Clock::now();
            stages->run();
            sums.elapsed_ns += elapsed_ns(start);
            sums.add(stages->finish());
        }
    }

    void take(Measure& iterate, std::uint32_t batch, Sample& sums) {
        const auto start = Clock::now();
        for (std::uint32_t i = 0; i < batch; ++i) sums.add(iterate(sums.events_ns));
        sums.elapsed_ns = elapsed_ns(start);
    }

    void take(Served& served, std::uint32_t batch, Sample& sums) {
        for (std::uint32_t i = 0; i < batch; ++i) {
            announce_(served.port);
            const auto start = Clock::now();
            const Iteration done = served.iterate();
            sums.elapsed_ns += elapsed_ns(start);
            sums.add(done);
        }
    }

    void take(Given& given, std::uint32_t batch, Sample& sums) {
        const auto start = Clock::now();
        for (std::uint32_t i = 0; i < batch; ++i) {
            given.beside();
            sums.add(given.answer, given.ops, given.work);
            sums.events_ns.insert(sums.events_ns.end(), given.events_ns.begin(), given.events_ns.end());
        }
        sums.elapsed_ns = elapsed_ns(start);
    }

    std::variant<Plain, Batch, Stages, Measure, Served, Given> kind_;
    std::function<void(std::uint16_t)> announce_ = [](std::uint16_t) {};
    bool counts_forks_ = false;
};

}  // namespace palio
