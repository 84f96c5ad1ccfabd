#pragma once
// Which driver calls there are, how often each was made, and which one is to fail.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace polypath::sim {

enum class Call {
  allocate,
  free,
  create_stream,
  destroy_stream,
  create_event,
  destroy_event,
  record,
  wait,
  is_done,
  elapsed,
  copy,
  reduce,
  load_kernel,
  unload_kernel,
  run_kernel,
  write_value,
  wait_value,
  export_memory,
  import_memory,
  release_import,
  instantiate,
  update_node,
  launch,
  destroy_graph,
  synchronize,
};
inline constexpr int kCallKinds = static_cast<int>(Call::synchronize) + 1;

const char* name_of(Call call);

/// Counts calls and makes chosen ones fail.
class Faults {
 public:
  /// Makes the `nth` use (from 1, counted from now) of a kind of call fail once.
  void fail_nth(Call call, int nth);
  /// As fail_nth, and every use after it too.
  void fail_from(Call call, int nth);
  /// No call fails any more.
  void clear();
  /// Counts one use; throws Error (driver, or out_of_memory for allocate) if it is to fail.
  void count(Call call);
  [[nodiscard]] int uses(Call call) const { return uses_[static_cast<std::size_t>(call)]; }

  /// From now on keeps from where in the program each call is made: its chain of return addresses.
  void watch_sites() { watches_ = true; }
  /// Of the uses after the first `before` ones, the first and the last from each place in the program,
  /// counted from 1. All others repeat one of these.
  [[nodiscard]] std::vector<int> uses_by_site(Call call, int before) const;

 private:
  std::array<int, kCallKinds> uses_ = {};
  bool watches_ = false;
  std::array<std::vector<std::uint64_t>, kCallKinds> sites_;  ///< of each use since watch_sites()
  Call call_ = Call::allocate;
  int fails_at_ = 0;
  bool for_good_ = false;
};

}  // namespace polypath::sim
