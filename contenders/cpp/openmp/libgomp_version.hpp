// Which libgomp this process has really loaded.
//
// libgomp has no call that tells its version, its soname has been libgomp.so.1 for all of its life,
// and the compiler's version says nothing of the library that the loader found. Two marks are in
// the loaded image itself: the symbol versions that it defines, of which the newest grows with the
// releases of GCC, and the linker's build-id, which names one build exactly.
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace libgomp {

// "ABI GOMP_5.1, build-id 0123456789ab", or "unknown" if the runtime is no libgomp.
class Version {
public:
    static std::string of_this_process() {
        Version version;
        // Asked of the loader, because in the executable the name may mean a stub of its own.
        version.entry_ = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
        if (version.entry_ == 0) return "unknown";
        dl_iterate_phdr([](dl_phdr_info* info, std::size_t, void* self) {
            return static_cast<Version*>(self)->visit(*info) ? 1 : 0;
        }, &version);
        if (version.abi_.empty()) return "unknown";
        std::string text = "ABI " + version.abi_;
        if (!version.build_id_.empty()) text += ", build-id " + version.build_id_;
        return text;
    }

private:
    // Reads the marks of the object that `entry_` lies in; true when that was this one.
    bool visit(const dl_phdr_info& object) {
        const ElfW(Phdr)* const end = object.dlpi_phdr + object.dlpi_phnum;
        bool found = false;
        for (const auto* segment = object.dlpi_phdr; segment != end; ++segment) {
            const auto start = object.dlpi_addr + segment->p_vaddr;
            found |= segment->p_type == PT_LOAD && entry_ >= start && entry_ - start < segment->p_memsz;
        }
        if (!found) return false;
        for (const auto* segment = object.dlpi_phdr; segment != end; ++segment) {
            const auto start = object.dlpi_addr + segment->p_vaddr;
            if (segment->p_type == PT_DYNAMIC) read_symbol_versions(object.dlpi_addr, start);
            if (segment->p_type == PT_NOTE) read_notes(start, segment->p_memsz);
        }
        return true;
    }

    void read_symbol_versions(std::uintptr_t base, std::uintptr_t dynamic) {
        // glibc has relocated these pointers on most machines, musl on none.
        const auto address = [base](std::uintptr_t pointer) { return pointer < base ? base + pointer : pointer; };
        std::uintptr_t definitions = 0;
        std::uintptr_t strings = 0;
        std::size_t count = 0;
        for (const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(dynamic); entry->d_tag != DT_NULL; ++entry) {
            if (entry->d_tag == DT_VERDEF) definitions = address(entry->d_un.d_ptr);
            if (entry->d_tag == DT_VERDEFNUM) count = entry->d_un.d_val;
            if (entry->d_tag == DT_STRTAB) strings = address(entry->d_un.d_ptr);
        }
        if (definitions == 0 || strings == 0) return;
        // The linker writes the nodes in the order of libgomp's version script, where each release
        // appends its own: the last one named GOMP_ with a number is the newest. The first is the
        // soname, which tells libgomp from other runtimes that answer to its symbols (LLVM's libomp
        // does).
        bool is_libgomp = false;
        for (; count != 0; --count) {
            const auto* definition = reinterpret_cast<const ElfW(Verdef)*>(definitions);
            const auto* name = reinterpret_cast<const ElfW(Verdaux)*>(definitions + definition->vd_aux);
            const std::string_view node = reinterpret_cast<const char*>(strings + name->vda_name);
            constexpr std::string_view prefix = "GOMP_";
            if ((definition->vd_flags & VER_FLG_BASE) != 0) is_libgomp = node.starts_with("libgomp.so");
            if (is_libgomp && node.starts_with(prefix) && node.size() > prefix.size() && node[prefix.size()] >= '0' &&
                node[prefix.size()] <= '9') {
                abi_ = node;
            }
            definitions += definition->vd_next;
        }
    }

    void read_notes(std::uintptr_t start, std::size_t bytes) {
        const auto aligned = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
        // Enough to tell two builds apart, and short enough for a table.
        constexpr std::size_t shown_bytes = 6;
        for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
            const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(start + at);
            const auto* name = reinterpret_cast<const char*>(note + 1);
            const auto* value = reinterpret_cast<const unsigned char*>(name + aligned(note->n_namesz));
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
                build_id_.clear();
                for (std::size_t i = 0; i < note->n_descsz && i < shown_bytes; ++i) {
                    build_id_ += "0123456789abcdef"[value[i] >> 4];
                    build_id_ += "0123456789abcdef"[value[i] & 15];
                }
            }
            at += sizeof(*note) + aligned(note->n_namesz) + aligned(note->n_descsz);
        }
    }

    std::uintptr_t entry_ = 0;
    std::string abi_;
    std::string build_id_;
};

}  // namespace libgomp
