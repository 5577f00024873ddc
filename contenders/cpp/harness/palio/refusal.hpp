// Why something cannot be done as asked.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace palio {

// Leaves a contender as its exit status, with the reason on standard error.
class Refusal : public std::runtime_error {
public:
    // Arguments or a command that cannot be understood.
    static Refusal misuse(const std::string& reason) { return {reason, 2}; }
    // They make sense, but this contender does not do it.
    static Refusal unsupported(const std::string& reason) { return {reason, 3}; }

    int status() const noexcept { return status_; }

private:
    Refusal(const std::string& reason, int status) : std::runtime_error(reason), status_(status) {}

    int status_;
};

// What the other side wrote, fit for an error message: bounded, and without control characters.
//
// Call it as palio::quoted: where <iomanip> is included, too, std::quoted would match as well, and
// better.
inline std::string quoted(std::string_view text) {
    constexpr std::size_t shown_bytes_max = 120;
    std::string shown = "\"";
    for (const char c : text.substr(0, shown_bytes_max)) {
        const auto byte = static_cast<unsigned char>(c);
        shown += byte < 0x20 || byte == 0x7f ? '?' : c;
    }
    if (text.size() > shown_bytes_max) shown += "...";
    return shown + '"';
}

}  // namespace palio
