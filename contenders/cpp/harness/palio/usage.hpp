// CPU time of this process.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>

namespace palio {

struct CpuTime {
    std::uint64_t user_us;
    std::uint64_t sys_us;

    // So far, all threads together; nothing where the platform cannot tell.
    static std::optional<CpuTime> now() {
        rusage usage{};
        if (getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
        const auto us = [](const timeval& t) {
            return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(t.tv_usec);
        };
        return CpuTime{us(usage.ru_utime), us(usage.ru_stime)};
    }

    // The kernel's split into user and system time is an estimate, and may step back by a tick.
    CpuTime since(const CpuTime& before) const {
        const auto less = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
        return {less(user_us, before.user_us), less(sys_us, before.sys_us)};
    }
};

}  // namespace palio
