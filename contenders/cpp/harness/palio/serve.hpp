// The whole of a contender's main.
#pragma once

#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>

#include "command.hpp"
#include "contender.hpp"

namespace palio {

// Every line is flushed: Palio waits for it.
inline void say(const std::string& line) {
    std::cout << line << '\n' << std::flush;
    if (!std::cout) throw Refusal::misuse("standard output was closed");
}

// Obeys the commands on standard input until `quit` or its end.
inline void obey(Work& work) {
    for (std::string line; std::getline(std::cin, line);) {
        const Command command = Command::parse(line);
        if (command.kind == Command::Kind::quit) return;
        if (command.kind == Command::Kind::nothing) continue;
        for (std::uint32_t i = 0; i < command.samples; ++i) say(work.sample(command.batch).line());
        say("done " + std::to_string(command.samples));
    }
    if (std::cin.bad()) throw Refusal::misuse("standard input cannot be read");
}

inline int serve(const Contender& contender, int argc, char** argv) {
    // A reader that went away must show as a failed write, not kill the process half way.
    std::signal(SIGPIPE, SIG_IGN);
    const std::vector<std::string> args(argv + 1, argv + argc);
    try {
        if (!args.empty() && args.front() == "--describe") {
            std::cout << contender.describe() << std::flush;
            return 0;
        }
        Work work = contender.prepare(Request::parse(args));
        work.announced_by([](std::uint16_t port) { say("serving " + std::to_string(port)); });
        obey(work);
        return 0;
    } catch (const Refusal& refusal) {
        std::cerr << contender.id << ": " << refusal.what() << std::endl;
        return refusal.status();
    }
}

}  // namespace palio
