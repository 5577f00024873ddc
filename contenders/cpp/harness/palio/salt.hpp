// The salt: a number that is fresh for every process and enters its work.
#pragma once

#include <cstdint>

namespace palio {

// One output of splitmix64, from the state salt + index.
constexpr std::uint64_t mix(std::uint64_t salt, std::uint64_t index) {
    std::uint64_t x = salt + index + 0x9E37'79B9'7F4A'7C15;
    x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9;
    x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EB;
    return x ^ (x >> 31);
}

}  // namespace palio
