#include "conformance/library_file.hpp"

#include "support/file.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <optional>
#include <string_view>

namespace mqcore::conformance {
namespace {

using support::Error;
using support::ErrorCode;

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

// The struct at that offset; nothing: the file ends before.
template <class Type>
std::optional<Type> at(std::string_view bytes, std::uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(Type))
        return std::nullopt;
    Type value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::string_view text_at(std::string_view bytes, const Section& strings, std::uint64_t index) {
    if (index >= strings.sh_size || strings.sh_offset > bytes.size() ||
        bytes.size() - strings.sh_offset < strings.sh_size)
        return {};
    const std::string_view table = bytes.substr(strings.sh_offset, strings.sh_size).substr(index);
    return table.substr(0, table.find('\0'));
}

bool is_for_others(const Symbol& symbol) {
    const unsigned binding = symbol.st_info >> 4, visibility = symbol.st_other & 3u;
    return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS && binding != STB_LOCAL &&
           (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

// Linkers define these in every library.
bool is_of_the_linker(std::string_view name) {
    constexpr std::string_view kNames[] = {"_init", "_fini", "_edata", "_end", "__bss_start"};
    return std::ranges::find(kNames, name) != std::end(kNames);
}

} // namespace

support::Result<LibraryFile> read_library(const std::filesystem::path& file) {
    const Error no_library{ErrorCode::driver, "it is no shared library of this machine", {}};
    const support::Result<std::string> read = support::read_file(file);
    if (!read)
        return read.error();
    const std::string_view bytes = *read;
    const auto header = at<Header>(bytes, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_DYN)
        return no_library;

    LibraryFile library;
    // Without the segment the loader takes the machine's old default, an executable stack.
    library.wants_executable_stack = true;
    for (unsigned index = 0; index < header->e_phnum; ++index) {
        const auto segment =
            at<Segment>(bytes, header->e_phoff + index * std::uint64_t{header->e_phentsize});
        if (!segment)
            return no_library;
        if (segment->p_type == PT_GNU_STACK)
            library.wants_executable_stack = segment->p_flags & PF_X;
    }
    for (unsigned index = 0; index < header->e_shnum; ++index) {
        const auto section_at = [&](std::uint64_t number) {
            return at<Section>(bytes, header->e_shoff + number * header->e_shentsize);
        };
        const auto section = section_at(index);
        if (!section)
            return no_library;
        if (section->sh_type != SHT_DYNSYM)
            continue;
        const auto strings = section_at(section->sh_link);
        if (!strings)
            return no_library;
        for (std::uint64_t offset = 0; offset + sizeof(Symbol) <= section->sh_size;
             offset += sizeof(Symbol)) {
            const auto symbol = at<Symbol>(bytes, section->sh_offset + offset);
            if (!symbol)
                return no_library;
            const std::string_view name = text_at(bytes, *strings, symbol->st_name);
            if (is_for_others(*symbol) && !name.empty() && !is_of_the_linker(name))
                library.exported.emplace_back(name);
        }
    }
    std::ranges::sort(library.exported);
    return library;
}

} // namespace mqcore::conformance
