// The events of a sample, and how they are distributed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace palio {

// What each event took, in ns.
using Events = std::vector<std::uint64_t>;

// The end of a sample's line: the distribution, by nearest rank, or nothing if there are no events.
// An event of 0 ns counts as 1 ns: it was shorter than the clock can tell.
inline std::string distribution(Events events_ns) {
    if (events_ns.empty()) return "";
    std::sort(events_ns.begin(), events_ns.end());
    const auto at = [&](std::size_t per_mille) {
        const std::size_t rank = (events_ns.size() * per_mille + 999) / 1000;
        return std::to_string(std::max<std::uint64_t>(events_ns[std::max<std::size_t>(rank, 1) - 1], 1));
    };
    return " events=" + std::to_string(events_ns.size()) + " p50_ns=" + at(500) + " p99_ns=" + at(990) +
           " p999_ns=" + at(999) + " max_ns=" + at(1000);
}

}  // namespace palio
