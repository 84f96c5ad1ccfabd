#include "driver/sim/faults.h"

#include <execinfo.h>
#include <fmt/format.h>

#include <map>
#include <set>

#include "core/error.h"

namespace polypath::sim {

const char* name_of(Call call) {
  static constexpr std::array<const char*, kCallKinds> kNames = {
      "allocate",      "free",        "create_stream", "destroy_stream", "create_event",
      "destroy_event", "record",      "wait",          "is_done",        "elapsed",
      "copy",          "reduce",      "load_kernel",   "unload_kernel",  "run_kernel",
      "write_value",   "wait_value",  "export_memory", "import_memory",  "release_import",
      "instantiate",   "update_node", "launch",        "destroy_graph",  "synchronize"};
  return kNames[static_cast<std::size_t>(call)];
}

void Faults::fail_nth(Call call, int nth) {
  call_ = call;
  fails_at_ = uses(call) + nth;
  for_good_ = false;
}

void Faults::fail_from(Call call, int nth) {
  fail_nth(call, nth);
  for_good_ = true;
}

void Faults::clear() { fails_at_ = 0; }

std::vector<int> Faults::uses_by_site(Call call, int before) const {
  const std::vector<std::uint64_t>& sites = sites_[static_cast<std::size_t>(call)];
  const auto first = sites.size() - static_cast<std::size_t>(uses(call) - before);
  std::map<std::uint64_t, std::pair<int, int>> ends;
  for (std::size_t k = first; k < sites.size(); ++k) {
    const int use = static_cast<int>(k - first) + 1;
    ends.try_emplace(sites[k], use, use).first->second.second = use;
  }
  std::set<int> uses;
  for (const auto& [site, end] : ends) uses.insert({end.first, end.second});
  return {uses.begin(), uses.end()};
}

namespace {

std::uint64_t calling_site() {
  std::array<void*, 24> frames = {};
  const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (int k = 0; k < depth; ++k)
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(k)])) * 0x100000001b3;
  return hash;
}

}  // namespace

void Faults::count(Call call) {
  const int use = ++uses_[static_cast<std::size_t>(call)];
  if (watches_) sites_[static_cast<std::size_t>(call)].push_back(calling_site());
  if (fails_at_ == 0 || call != call_) return;
  if (use != fails_at_ && !(for_good_ && use > fails_at_)) return;
  fail(call == Call::allocate ? ErrorCode::out_of_memory : ErrorCode::driver,
       fmt::format("{} failed", name_of(call)), fmt::format("told to fail at use {}", use));
}

}  // namespace polypath::sim
