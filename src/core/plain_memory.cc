#include "core/plain_memory.h"

#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace polypath {
namespace {

struct Range {
  std::uintptr_t begin = 0, end = 0;
};

// What the program's file occupies, with its variables.
Range range_of_program() {
  Range found;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* into) {
        auto& range = *static_cast<Range*>(into);
        for (int each = 0; each < object->dlpi_phnum; ++each) {
          const auto& part = object->dlpi_phdr[each];
          if (part.p_type != PT_LOAD) continue;
          const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
          range.begin = range.end == 0 ? begin : std::min(range.begin, begin);
          range.end = std::max(range.end, begin + part.p_memsz);
        }
        return 1;  // the program is the first object
      },
      &found);
  return found;
}

// Where the heap begins; 0 if that is not known. proc(5): a field of /proc/self/stat, behind the
// program's name, which may have blanks.
std::uintptr_t begin_of_heap() {
  constexpr int kFirst = 3, kHeapBegin = 47;
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t behind = text.rfind(')');
  if (behind == std::string::npos) return 0;
  std::istringstream fields(text.substr(behind + 1));
  std::string field;
  for (int number = kFirst; number <= kHeapBegin; ++number)
    if (!(fields >> field)) return 0;
  return static_cast<std::uintptr_t>(std::stoull(field));
}

// Of this thread's; 0 if it is not known.
std::uintptr_t end_of_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* begin = nullptr;
  std::size_t size = 0;
  const bool is_known = pthread_attr_getstack(&attributes, &begin, &size) == 0;
  pthread_attr_destroy(&attributes);
  return is_known ? reinterpret_cast<std::uintptr_t>(begin) + size : 0;
}

}  // namespace

bool is_plain_host_memory(const void* address) {
  static const Range program = range_of_program();
  static const std::uintptr_t heap = begin_of_heap();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at >= program.begin && at < program.end) return true;
  if (heap != 0 && at >= heap && at < reinterpret_cast<std::uintptr_t>(sbrk(0))) return true;
  static thread_local const std::uintptr_t end = end_of_stack();
  return at >= reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) && at < end;
}

}  // namespace polypath
