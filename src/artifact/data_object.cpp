// SPDX-License-Identifier: Apache-2.0
#include "artifact/data_object.h"

#include <elf.h>

#include <cstring>

#include "support/check.h"

namespace tenon::artifact {
namespace {

constexpr uint64_t kPage = 4096;

enum Section : uint16_t { kNone, kData, kSymbols, kNames, kSectionNames, kSections };
constexpr std::string_view kNamesOfSections[] = {"", ".rodata.weights", ".symtab", ".strtab",
                                                 ".shstrtab"};

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void pad_to(std::string& out, size_t alignment) {
  out.append((alignment - out.size() % alignment) % alignment, '\0');
}

Elf64_Ehdr header_of(target::Arch arch) {
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_ident[EI_VERSION] = EV_CURRENT;
  h.e_type = ET_REL;
  h.e_machine = arch == target::Arch::kX86_64 ? EM_X86_64 : EM_AARCH64;
  h.e_version = EV_CURRENT;
  h.e_ehsize = sizeof(Elf64_Ehdr);
  h.e_shentsize = sizeof(Elf64_Shdr);
  h.e_shnum = kSections;
  h.e_shstrndx = kSectionNames;
  return h;
}

std::string symbols_for(uint64_t bytes) {
  Elf64_Sym symbol{};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  symbol.st_other = STV_HIDDEN;
  symbol.st_shndx = kData;
  symbol.st_size = bytes;
  std::string out;
  append(out, Elf64_Sym{});
  append(out, symbol);
  return out;
}

}  // namespace

std::string data_object(target::Arch arch, const std::string& symbol, std::string_view bytes) {
  TENON_CHECK(static_cast<int64_t>(bytes.size()) <= kMostEmbedded);
  Elf64_Ehdr header = header_of(arch);
  Elf64_Shdr sections[kSections] = {};
  std::string names_of_sections;
  for (size_t i = 0; i < kSections; ++i) {
    sections[i].sh_name = static_cast<Elf64_Word>(names_of_sections.size());
    names_of_sections += std::string(kNamesOfSections[i]) + '\0';
  }
  std::string out;
  out.reserve(bytes.size() + 3 * kPage);
  append(out, header);
  const auto add = [&](Section s, Elf64_Word type, std::string_view part, uint64_t alignment) {
    pad_to(out, alignment);
    sections[s].sh_type = type;
    sections[s].sh_offset = out.size();
    sections[s].sh_size = part.size();
    sections[s].sh_addralign = alignment;
    out += part;
  };
  add(kData, SHT_PROGBITS, bytes, kPage);
  sections[kData].sh_flags = SHF_ALLOC;
  add(kSymbols, SHT_SYMTAB, symbols_for(bytes.size()), 8);
  sections[kSymbols].sh_link = kNames;
  sections[kSymbols].sh_info = 1;  // the first global one
  sections[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  add(kNames, SHT_STRTAB, '\0' + symbol + '\0', 1);
  add(kSectionNames, SHT_STRTAB, names_of_sections, 1);
  pad_to(out, 8);
  header.e_shoff = out.size();
  for (const Elf64_Shdr& s : sections) append(out, s);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace tenon::artifact
