// What the command line asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "forks.hpp"
#include "refusal.hpp"
#include "text.hpp"

namespace palio {

class Request {
public:
    // `args` is the command line without the program's name.
    static Request parse(const std::vector<std::string>& args) {
        std::optional<std::string> workload;
        std::optional<std::size_t> threads;
        std::optional<std::uint64_t> salt;
        Request request;
        for (auto arg = args.begin(); arg != args.end();) {
            const std::string& option = *arg++;
            const auto value = [&]() -> const std::string& {
                if (arg == args.end()) throw Refusal::misuse(option + " wants a value");
                return *arg++;
            };
            if (option == "--workload") {
                set_once(workload, value(), option);
            } else if (option == "--threads") {
                const std::string& text = value();
                const auto count = palio::parse<std::size_t>(text);
                if (count.value_or(0) == 0) {
                    throw Refusal::misuse("--threads " + palio::quoted(text) + " is not an integer of at least 1");
                }
                set_once(threads, *count, option);
            } else if (option == "--salt") {
                const std::string& text = value();
                const auto number = palio::parse<std::uint64_t>(text);
                if (!number) {
                    throw Refusal::misuse("--salt " + palio::quoted(text) + " is not a whole number of 64 bits");
                }
                set_once(salt, *number, option);
            } else if (option == "--set") {
                request.set(value());
            } else if (option == "--count-forks") {
                if (std::exchange(request.count_forks_, true)) throw Refusal::misuse(option + " is given twice");
            } else {
                throw Refusal::misuse("unknown argument " + palio::quoted(option));
            }
        }
        if (!workload) throw Refusal::misuse("--workload is missing");
        if (!threads) throw Refusal::misuse("--threads is missing");
        if (!salt) throw Refusal::misuse("--salt is missing");
        request.workload_ = *std::move(workload);
        request.threads_ = *threads;
        request.salt_ = *salt;
        return request;
    }

    const std::string& workload() const { return workload_; }
    std::size_t threads() const { return threads_; }
    // Fresh for every process, and to be mixed into the work as its definition says.
    std::uint64_t salt() const { return salt_; }

    // Takes the workload's parameter `key`, which must be there.
    template <class T>
    T param(const std::string& key) {
        if (auto value = knob<T>(key)) return *std::move(value);
        throw Refusal::misuse("the parameter " + palio::quoted(key) + " is missing: add --set " + key + "=...");
    }

    // Takes the contender's knob `key`, if the user turned it.
    template <class T>
    std::optional<T> knob(const std::string& key) {
        const auto setting = settings_.extract(key);
        if (!setting) return std::nullopt;
        if (auto value = palio::parse<T>(setting.mapped())) return value;
        throw Refusal::misuse("--set " + key + "=" + setting.mapped() + " has the wrong type");
    }

    // `prepare(row)`, where `row` says by its type whether this process is there to count forks.
    // A workload that is not prepared so is refused where forks are to be counted.
    template <class Prepare>
    auto prepare_forks(Prepare prepare) {
        counts_forks_ = true;
        return count_forks_ ? prepare(forks::Counted{}) : prepare(forks::Uncounted{});
    }

    bool count_forks() const { return count_forks_; }
    bool lacks_count() const { return count_forks_ && !counts_forks_; }

    // A setting that nobody took would silently change nothing.
    void refuse_what_is_left() const {
        if (settings_.empty()) return;
        throw Refusal::misuse(palio::quoted(workload_) + " has no parameter or knob " +
                              palio::quoted(settings_.begin()->first));
    }

private:
    Request() = default;

    template <class T>
    static void set_once(std::optional<T>& slot, const T& value, const std::string& option) {
        if (slot) throw Refusal::misuse(option + " is given twice");
        slot = value;
    }

    void set(const std::string& text) {
        const auto equals = text.find('=');
        // White space in a value would break the line of a sample that repeats it.
        if (equals == text.npos || equals == 0 || equals + 1 == text.size() ||
            text.find_first_of(white_space) != text.npos) {
            throw Refusal::misuse("--set " + palio::quoted(text) + " is not KEY=VALUE");
        }
        const std::string key = text.substr(0, equals);
        if (!settings_.emplace(key, text.substr(equals + 1)).second) {
            throw Refusal::misuse("--set " + key + " is given twice");
        }
    }

    std::string workload_;
    std::size_t threads_ = 0;
    std::uint64_t salt_ = 0;
    // Whether forks are to be counted, and whether the workload does.
    bool count_forks_ = false;
    bool counts_forks_ = false;
    std::map<std::string, std::string> settings_;
};

}  // namespace palio
