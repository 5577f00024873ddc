// What a spawn costs whoever spawns: what is the work (workloads/yaay/), without the spawning.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "bell.hpp"
#include "palio.hpp"
#include "tasks.hpp"

namespace palio::spawn_one {

// What all tasks of an iteration share.
class Shared {
public:
    // Before an iteration.
    void expect(std::uint64_t tasks) {
        tasks_ = tasks;
        sum_ = 0;
        count_ = 0;
    }

    // What each task does.
    void one() {
        sum_ += tasks::salt + 1;
        if (++count_ == tasks_) all_ended_.ring({.sum = sum_, .count = tasks_});
    }

    // When all have ended.
    tasks::Summed wait() { return tasks_ == 0 ? tasks::Summed{} : all_ended_.wait(); }

private:
    std::uint64_t tasks_ = 0;
    std::atomic<std::uint64_t> sum_{0};
    std::atomic<std::uint64_t> count_{0};
    Bell<tasks::Summed> all_ended_;
};

// `spawn(shared, tasks)` spawns so many tasks that each call `shared.one()`, and may return before
// they have.
template <class Spawn>
class Stages final : public Staged {
public:
    Stages(std::shared_ptr<Shared> shared, std::uint64_t tasks, Spawn spawn)
        : shared_(std::move(shared)), tasks_(tasks), spawn_(std::move(spawn)) {}

    void prepare() override { shared_->expect(tasks_); }
    void run() override { spawn_(*shared_, tasks_); }
    Iteration finish() override {
        const tasks::Summed all = shared_->wait();
        return {.answer = all.sum, .ops = all.count, .work = all.count};
    }

private:
    // Before what spawns, whose runtime goes first.
    std::shared_ptr<Shared> shared_;
    std::uint64_t tasks_;
    Spawn spawn_;
};

template <class Spawn>
Work prepare(Request& request, Spawn spawn) {
    tasks::salt = request.salt();
    const auto count = tasks::number(request, "tasks");
    return Work::staged(std::make_unique<Stages<Spawn>>(std::make_shared<Shared>(), count, std::move(spawn)));
}

// Whether the spawner is a task on a worker; otherwise it is a thread outside.
inline bool from_worker(Request& request) { return tasks::is_first(request, "from", "worker", "outside"); }

}  // namespace palio::spawn_one
