#include "api/preload/symbol_lookup.h"

#include <dlfcn.h>

#include <cstring>
#include <iterator>
#include <string_view>

#include "api/preload/real_driver.h"

namespace polypath::preload {
namespace {

struct KnownFunction {
  const char* symbol;
  const char* name;
  int since;
  bool own_stream;
  void* function;
};

// Functions are compared with what dlsym returns, so they are kept as it returns them.
const KnownFunction kKnownFunctions[] = {
#define POLYPATH_ROW(symbol, name, since, own_stream, parameters, ...) \
  {#symbol, (name), since, (own_stream) != 0, reinterpret_cast<void*>(&(symbol))},
    POLYPATH_INTERPOSED_FUNCTIONS(POLYPATH_ROW)
#undef POLYPATH_ROW
};

// A later CUDA may have given a function another form, which these versions cannot ask for.
constexpr int kFirstUnknownVersion = 14000;

const KnownFunction* with_symbol(const char* symbol) {
  for (const KnownFunction& known : kKnownFunctions)
    if (std::strcmp(known.symbol, symbol) == 0) return &known;
  return nullptr;
}

bool has_own_stream_form(const KnownFunction& asked) {
  for (const KnownFunction& known : kKnownFunctions)
    if (known.own_stream && std::strcmp(known.name, asked.name) == 0) return true;
  return false;
}

bool answers(const KnownFunction& known, const char* name, int version, bool own_stream) {
  return std::strcmp(known.name, name) == 0 && known.since <= version &&
         (known.own_stream == own_stream || !has_own_stream_form(known));
}

bool begins_with(const char* name, std::string_view prefix) {
  return std::string_view(name).starts_with(prefix);
}

}  // namespace

// A sanitizer looks for its own functions before it can look at what others do.
[[gnu::no_sanitize("address", "undefined", "thread")]] bool may_be_replaced(const char* name) {
  return name != nullptr && name[0] == 'c' && name[1] == 'u' && with_symbol(name) != nullptr;
}

bool is_patched(const char* name) {
  return begins_with(name, "cuMemFree") || begins_with(name, "cuMemAlloc");
}

// libucm.so and libucm_cuda.so, of any version.
bool patches_functions(const void* caller) {
  Dl_info found{};
  if (dladdr(caller, &found) == 0 || found.dli_fname == nullptr) return false;
  const char* const slash = std::strrchr(found.dli_fname, '/');
  return begins_with(slash == nullptr ? found.dli_fname : slash + 1, "libucm");
}

bool is_preloaded() { return dlsym(RTLD_DEFAULT, "polypath_real_dlsym") != nullptr; }

void* our_function(const char* name) {
  const KnownFunction* known = with_symbol(name);
  return known == nullptr ? nullptr : known->function;
}

void* replacement_for_symbol(const char* name, void* real) {
  const KnownFunction* known = with_symbol(name);
  return known != nullptr && real != nullptr && real == real_symbol(name) ? known->function : real;
}

// The newest form that both the version and the driver know.
void* replacement_for_request(const char* name, int version, bool own_stream, void* real,
                              Lacks lacks) {
  if (name == nullptr || real == nullptr || version >= kFirstUnknownVersion) return real;
  const KnownFunction* best = nullptr;
  for (const KnownFunction& known : kKnownFunctions)
    if (answers(known, name, version, own_stream) &&
        (best == nullptr || known.since > best->since) && !lacks(known.symbol))
      best = &known;
  return best == nullptr ? real : best->function;
}

}  // namespace polypath::preload
