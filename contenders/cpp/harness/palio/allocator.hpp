// Which allocator this process has: that of whoever `malloc` belongs to, asked at run time.
#pragma once

#include <cstdlib>
#include <string>

#include <dlfcn.h>

namespace palio {

// The file that a symbol of this process comes from; empty if there is no such symbol.
inline std::string origin_of(const char* symbol) {
    Dl_info info;
    const void* const address = dlsym(RTLD_DEFAULT, symbol);
    if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
    return info.dli_fname;
}

// mimalloc's number, such as 209 for 2.0.9; later ones have two digits for each part (20302).
inline std::string mimalloc_version(int number) {
    const int base = number < 1000 ? 10 : 100;
    return std::to_string(number / (base * base)) + "." + std::to_string(number / base % base) + "." +
           std::to_string(number % base);
}

// `system`, or the name of another allocator with its version after a dash. An allocator that was
// linked and does not serve `malloc` is none.
inline std::string allocator() {
    const std::string origin = origin_of("malloc");
    if (origin == origin_of("mi_version")) {
        const auto version = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "mi_version"));
        return "mimalloc-" + mimalloc_version(version());
    }
    if (origin == origin_of("tc_version")) {
        const auto version =
            reinterpret_cast<const char* (*)(int*, int*, const char**)>(dlsym(RTLD_DEFAULT, "tc_version"));
        int major, minor;
        const char* patch;
        std::string text = version(&major, &minor, &patch);
        // "gperftools 2.10"
        return "tcmalloc-" + text.substr(text.rfind(' ') + 1);
    }
    if (origin == origin_of("getpid")) return "system";
    return "unknown";
}

}  // namespace palio
