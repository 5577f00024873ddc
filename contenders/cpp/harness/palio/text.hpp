// Reading words and numbers as strictly as the contract is written.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace palio {

constexpr std::string_view white_space = " \t\n\v\f\r";

// The words of a line; any run of white space separates two.
inline std::vector<std::string_view> words(std::string_view line) {
    std::vector<std::string_view> found;
    for (;;) {
        const auto start = line.find_first_not_of(white_space);
        if (start == line.npos) return found;
        line.remove_prefix(start);
        const auto length = line.find_first_of(white_space);
        found.push_back(line.substr(0, length));
        if (length == line.npos) return found;
        line.remove_prefix(length);
    }
}

// The whole of `text` as a decimal integer: no sign, no white space, no overflow.
template <std::unsigned_integral T>
std::optional<T> parse(std::string_view text) {
    T value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

template <class T>
    requires std::same_as<T, std::string>
std::optional<T> parse(std::string_view text) {
    return std::string(text);
}

}  // namespace palio
