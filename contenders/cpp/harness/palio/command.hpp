// What Palio may ask of a contender that is ready: the lines of standard input.
#pragma once

#include <cstdint>
#include <string>

#include "refusal.hpp"
#include "text.hpp"

namespace palio {

struct Command {
    enum class Kind { nothing, run, quit };

    Kind kind = Kind::nothing;
    std::uint32_t samples = 0;
    std::uint32_t batch = 1;

    static Command parse(const std::string& line) {
        const auto said = words(line);
        const auto count = [&](const char* what, std::string_view word) {
            const auto value = palio::parse<std::uint32_t>(word);
            if (value.value_or(0) == 0) {
                throw Refusal::misuse(std::string(what) + " is not an integer of at least 1 in the line " +
                                      palio::quoted(line));
            }
            return *value;
        };
        if (said.empty()) return {};
        if (said.size() == 1 && said[0] == "quit") return {.kind = Kind::quit};
        if ((said.size() == 2 || said.size() == 3) && said[0] == "run") {
            Command command{.kind = Kind::run, .samples = count("SAMPLES", said[1])};
            if (said.size() == 3) command.batch = count("BATCH", said[2]);
            return command;
        }
        throw Refusal::misuse("expected `run SAMPLES [BATCH]` or `quit` in the line " + palio::quoted(line));
    }
};

}  // namespace palio
