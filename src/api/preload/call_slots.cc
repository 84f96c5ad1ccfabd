#include "api/preload/call_slots.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace polypath::preload {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kJumpSlot = R_X86_64_JUMP_SLOT, kDataSlot = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr std::uint64_t kJumpSlot = R_AARCH64_JUMP_SLOT, kDataSlot = R_AARCH64_GLOB_DAT;
#else
#error "the numbers of this processor's relocations are not known: see its ELF supplement"
#endif

/// The dynamic section of a loaded library.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * calls = nullptr;
  std::size_t calls_size = 0;
  const ElfW(Rela) * others = nullptr;
  std::size_t others_size = 0;
};

/// A part of the library that the loader has made read-only after its own work.
struct Sealed {
  std::uintptr_t begin = 0, end = 0;
};

// The loader has replaced the offsets in it by addresses, except where it may not write.
std::uintptr_t address_in(const link_map& map, ElfW(Addr) value) {
  return value < map.l_addr ? map.l_addr + value : value;
}

Tables tables_of(const link_map& map) {
  Tables tables;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const std::uintptr_t address = address_in(map, entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_SYMTAB: tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address); break;
      case DT_STRTAB: tables.names = reinterpret_cast<const char*>(address); break;
      case DT_JMPREL: tables.calls = reinterpret_cast<const ElfW(Rela)*>(address); break;
      case DT_PLTRELSZ: tables.calls_size = entry->d_un.d_val; break;
      case DT_RELA: tables.others = reinterpret_cast<const ElfW(Rela)*>(address); break;
      case DT_RELASZ: tables.others_size = entry->d_un.d_val; break;
      default: break;
    }
  }
  return tables;
}

// Asked of each loaded object until it is the one whose slots are to be written.
struct SealedSearch {
  std::uintptr_t library;
  Sealed found;
};

int find_sealed(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<SealedSearch*>(data);
  if (info->dlpi_addr != search.library) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_GNU_RELRO) continue;
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    search.found = {begin, begin + part.p_memsz};
  }
  return 1;
}

Sealed sealed_part_of(const link_map& map) {
  SealedSearch search{map.l_addr, {}};
  dl_iterate_phdr(find_sealed, &search);
  return search.found;
}

// The loader seals whole pages only.
bool write_slot(void** slot, void* value, const Sealed& sealed) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(slot);
  const std::uintptr_t begin = address & ~(page - 1);
  const bool is_sealed = begin >= (sealed.begin & ~(page - 1)) && begin + page <= sealed.end;
  auto* const first = reinterpret_cast<void*>(begin);
  if (is_sealed && mprotect(first, page, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref<void*>(*slot).store(value, std::memory_order_release);
  if (is_sealed) mprotect(first, page, PROT_READ);
  return true;
}

std::size_t replace_slots(const link_map& map, const Tables& tables, const ElfW(Rela) * entries,
                          std::size_t size, Replacement replacement) {
  const Sealed sealed = sealed_part_of(map);
  std::size_t replaced = 0;
  for (std::size_t i = 0; i < size / sizeof *entries; ++i) {
    const std::uint64_t kind = ELF64_R_TYPE(entries[i].r_info);
    if (kind != kJumpSlot && kind != kDataSlot) continue;
    const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(entries[i].r_info)];
    void* value = replacement(tables.names + symbol.st_name);
    auto** slot = reinterpret_cast<void**>(map.l_addr + entries[i].r_offset);
    if (value != nullptr && write_slot(slot, value, sealed)) ++replaced;
  }
  return replaced;
}

}  // namespace

std::size_t replace_call_slots(void* library, Replacement replacement) noexcept {
  link_map* map = nullptr;
  auto* const target = static_cast<void*>(&map);
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, target) != 0 || map == nullptr)
    return 0;
  const Tables tables = tables_of(*map);
  if (tables.symbols == nullptr || tables.names == nullptr) return 0;
  return replace_slots(*map, tables, tables.calls, tables.calls_size, replacement) +
         replace_slots(*map, tables, tables.others, tables.others_size, replacement);
}

}  // namespace polypath::preload
