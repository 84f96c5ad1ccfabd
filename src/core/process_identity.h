#pragma once
// A process, told apart from every other one on the node, also from a later one with its number.

#include <cstdint>
#include <optional>

namespace polypath {

struct ProcessIdentity {
  std::int64_t number = 0;         ///< as seen in its namespace
  std::uint64_t start = 0;         ///< clock ticks from the node's boot
  std::uint64_t number_space = 0;  ///< the namespace that the number belongs to

  bool operator==(const ProcessIdentity&) const = default;
};

/// The identity of this process; none where the system does not say.
std::optional<ProcessIdentity> this_process();

/// True if it still runs, as far as this process can see: one of another namespace counts as gone.
bool is_alive(const ProcessIdentity& process);

/// The start time in the text of /proc/NUMBER/stat; none if there is none, or the process has ended
/// and only waits to be noticed.
std::optional<std::uint64_t> start_in(const char* stat);

}  // namespace polypath
