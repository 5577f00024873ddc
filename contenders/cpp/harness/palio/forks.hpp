// How many forks a contender hands to its runtime.
//
// A row that counts them is a template over one of the two classes here, and says `handed` beside
// each call of its runtime. What is timed is the row with Uncounted, in which nothing of that is
// left; the row with Counted runs in a process of its own, which Palio starts with --count-forks
// and whose times nobody looks at.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace palio::forks {

// Nobody counts.
struct Uncounted {
    static constexpr void handed(std::uint64_t) {}
};

// Threads that count at the same time should not wait for each other: a hundred million forks of a
// counter that they share would take longer than the time-out.
struct alignas(128) Slot {
    std::atomic<std::uint64_t> forks{0};
};
inline std::array<Slot, 64> slots;
inline std::atomic<std::size_t> next_slot{0};

// Every fork of the process is counted.
struct Counted {
    // That so many calls are about to be handed to the runtime, for any of its threads to take. The
    // one of several that its caller keeps for itself is not among them.
    //
    // Not inlined into coroutines, which may go on in another thread after they were suspended.
    [[gnu::noinline]] static void handed(std::uint64_t forks) {
        thread_local const std::size_t slot = next_slot.fetch_add(1, std::memory_order_relaxed) % slots.size();
        // Relaxed: it is read when whatever forked has been joined.
        slots[slot].forks.fetch_add(forks, std::memory_order_relaxed);
    }
};

// All forks of this process so far.
inline std::uint64_t counted() {
    std::uint64_t all = 0;
    for (const Slot& slot : slots) all += slot.forks.load(std::memory_order_relaxed);
    return all;
}

}  // namespace palio::forks
