// A standard channel on which a thread outside the runtime blocks.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace palio {

// Whoever rings wakes the thread that waits. It lives from one iteration to the next.
template <class T>
class Bell {
public:
    void ring(T value) {
        {
            const std::lock_guard lock(mutex_);
            values_.push_back(std::move(value));
        }
        rung_.notify_one();
    }

    T wait() {
        std::unique_lock lock(mutex_);
        rung_.wait(lock, [&] { return !values_.empty(); });
        T value = std::move(values_.front());
        values_.pop_front();
        return value;
    }

private:
    std::mutex mutex_;
    std::condition_variable rung_;
    std::deque<T> values_;
};

}  // namespace palio
