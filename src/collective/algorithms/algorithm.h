#pragma once
// The algorithms, by name. Each is a builder of programs in a file of its own. All have the same
// bits on every rank, because each element is reduced in one order, in one place, or in places that
// do the same; which order, each says. Those that keep to the fixed order have the same bits as
// each other.

#include <string>
#include <string_view>
#include <vector>

#include "collective/program/composer.h"

namespace polypath::collective {

/// ((x0 ∘ x1) ∘ x2) ∘ …
inline constexpr const char* kRankOrder = "0, 1, 2, ...";
/// The same in each node, and then of the nodes' results.
inline constexpr const char* kNodeOrder = "in each node 0, 1, 2, ...; then the nodes 0, 1, 2, ...";
/// The same in each group of close GPUs, and then of the groups' results.
inline constexpr const char* kGroupOrder =
    "in each group of close GPUs 0, 1, 2, ...; then the groups 0, 1, 2, ...";
/// Of an algorithm: whichever of these is the fixed order there.
inline constexpr const char* kFixedOrder = "the fixed order";
/// The order in which a request's values are reduced if the order matters and the caller gives
/// none: rank order, or that of nodes or groups (fixed_order.h).
const char* fixed_order(const Machine& machine, const CollectiveRequest& request);

struct Algorithm {
  const char* name;
  const char* sentence;                 ///< what it does
  const char* order;                    ///< in which an element's values are reduced; may be empty
  std::vector<Collective> collectives;  ///< that it does
  void (*compose)(Composer& composer);
  std::vector<int> radices = {2};  ///< worth a try (Tuning::radix); any if it has none
  /// Whether it does this one there; and the obstacle if not. Null: any of its collectives.
  bool (*can)(const Machine& machine, const CollectiveRequest& request) = nullptr;
  const char* why_not = "";
  bool is_kernel = false;          ///< it needs more than the reductions of a driver
  bool exchanges = false;          ///< a part of it is kernels that exchange messages
  bool in_turn = false;            ///< it heeds Tuning::in_turn
  int fewest_slots = kPieceSlots;  ///< of a hop; with fewer, pieces would overtake each other
  bool more_with_radix = false;  ///< it needs more copies then, for links that are used more evenly
  int most_of_a_root = 0;        ///< a radix beyond the ranks that rooted ones may gain by; 0: none
  bool may_go_by_hosts = false;  ///< it heeds Tuning::by_hosts
  bool may_take_turns = false;   ///< it may gain by Tuning::in_turn also where kernels send nothing
  bool has_phases = false;       ///< it heeds Tuning::in_phases

  [[nodiscard]] bool does(Collective collective) const;
  /// True if it has the bits that a request's values have when they are reduced in the fixed order.
  [[nodiscard]] bool keeps_order(const Machine& machine, const CollectiveRequest& request) const {
    return keeps_order(machine, request, fixed_order(machine, request));
  }
  /// The same where that order, which takes long to find, is known.
  [[nodiscard]] bool keeps_order(const Machine& machine, const CollectiveRequest& request,
                                 std::string_view fixed) const;
  [[nodiscard]] bool does(const Machine& machine, const CollectiveRequest& request) const {
    return does(request.collective) && (can == nullptr || can(machine, request));
  }
};

/// All of them, in the order of the documentation.
const std::vector<Algorithm>& algorithms();
/// Error (invalid_argument) with the nearest name for an unknown name.
const Algorithm& find_algorithm(std::string_view name);

/// The program of a request by an algorithm. The first buffers are the ranks' inputs, the next ones
/// their outputs; in place, each rank's one memory. `routes` may be null unless the tuning asks for
/// several paths. Errors (invalid_argument): as check(); the algorithm does not do it.
Program build(const Algorithm& algorithm, const Machine& machine, const CollectiveRequest& request,
              const Tuning& tuning, Routes* routes = nullptr);

Algorithm flat();
Algorithm hierarchical();
Algorithm ring();
Algorithm exchange();
Algorithm knomial();
Algorithm tree();
Algorithm bruck();
Algorithm oneshot();
Algorithm twoshot();
Algorithm twoshot_copies();
Algorithm chain_kernel();
Algorithm chain();
Algorithm oneshot_copies();
Algorithm host();
Algorithm host_oneshot();
Algorithm across_nodes();
Algorithm leaders();
Algorithm trees();
Algorithm grouped();

}  // namespace polypath::collective
