// The table of all functions, and those that only say that they are not supported.

#include "standin/cuda/lookup.h"

#include <string_view>

#include "standin/cuda/functions.h"
#include "standin/facts/planned_failures.h"

// Their parameters do not matter where only their addresses are taken, or none is looked at.
#define STANDIN_DECLARE(symbol, version) extern "C" polypath::standin::Result symbol();
STANDIN_FUNCTIONS(STANDIN_DECLARE)
#undef STANDIN_DECLARE

#define STANDIN_REFUSE(symbol, version) \
  STANDIN_EXPORT polypath::standin::Result symbol() { return polypath::standin::kNotSupported; }
STANDIN_UNSUPPORTED_FUNCTIONS(STANDIN_REFUSE)
#undef STANDIN_REFUSE

namespace polypath::standin {
namespace {

struct Entry {
  std::string_view symbol;
  int version;
  Result (*function)();
};

#define STANDIN_ENTRY(symbol, version) {#symbol, version, symbol},
constexpr Entry kEntries[] = {STANDIN_FUNCTIONS(STANDIN_ENTRY)
                                  STANDIN_UNSUPPORTED_FUNCTIONS(STANDIN_ENTRY)};
#undef STANDIN_ENTRY

// The newest function of that name which a program of that CUDA version can know; of those that
// take a stream, the one whose stream 0 is the wanted one.
const Entry* find(std::string_view name, int version, bool per_thread) {
  const Entry* best = nullptr;
  bool best_per_thread = false;
  for (const Entry& entry : kEntries) {
    std::string_view symbol = entry.symbol;
    const bool own_stream = remove_per_thread_suffix(symbol);
    if (base_name(symbol) != name || entry.version > version || (own_stream && !per_thread))
      continue;
    const bool better = best == nullptr || entry.version > best->version ||
                        (entry.version == best->version && own_stream && !best_per_thread);
    if (better) best = &entry, best_per_thread = own_stream;
  }
  return best;
}

}  // namespace

void* look_up(std::string_view name, int version, bool per_thread) {
  const Entry* entry = find(name, version, per_thread);
  return entry == nullptr ? nullptr : reinterpret_cast<void*>(entry->function);
}

}  // namespace polypath::standin
