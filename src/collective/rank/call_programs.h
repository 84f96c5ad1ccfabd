#pragma once
// The programs of a rank's calls: chosen when a kind of call is made first, divided, prepared and
// kept to be run again.
//
// All ranks choose together: rank 0 plans, and the others build the same program and compare it.
// After plan_alone() each rank plans by itself, from what all ranks have alike, and waits for no
// other rank.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/choose/choose.h"
#include "collective/program/request.h"
#include "collective/rank/bounded_map.h"
#include "collective/rank/rank_run.h"
#include "communicator/communicator.h"

namespace polypath::collective {

/// A call that no rank makes, because all of them have found out that it cannot be done.
class RefusedByAll : public Error {
 public:
  using Error::Error;
};

/// One way to do a kind of call.
struct CallWay {
  CollectiveDraft draft;
  std::unique_ptr<RankProgram> program = nullptr;
  std::unique_ptr<RankProgram> for_capture = nullptr;  ///< of the same, as nodes of a graph
  std::size_t nodes = 0;                               ///< of all ranks' parts

  [[nodiscard]] const RankProgram& in(bool captured) const {
    return captured ? *for_capture : *program;
  }
};

/// What a kind of call has.
struct CallPrograms {
  CallRecord record;  ///< of its calls
  CallWay usual;
  /// In memory that all ranks have registered; without a program if that gains nothing.
  CallWay open = {};
  Bytes input = {}, output = {};  ///< of this rank
};

/// Not thread-safe. A kind is the request of its calls, without the ranks.
class KnownPrograms {
 public:
  /// `ranks` are the GPUs of all, `run` is prepared for each program. Both outlive this.
  KnownPrograms(const Machine& machine, const Settings& settings, std::vector<PlaceId> ranks,
                Communicator& communicator, RankRun& run, bool has_kernels);

  [[nodiscard]] const CollectiveOptions& options() const { return options_; }
  /// Forgets all programs.
  void choose_from(const CollectiveOptions& options);
  /// From here on each rank plans by itself.
  void plan_alone() { planning_ = Planning::alone; }
  [[nodiscard]] bool plans_alone() const { return planning_ != Planning::together; }
  /// From here on programs that need other memory than the ranks have now are refused.
  void keep_to_this_memory() { planning_ = Planning::alone_in_this_memory; }

  [[nodiscard]] CollectiveRequest request_of(CollectiveRequest kind) const;
  /// Those of a kind, made if they are not there: all ranks ask for the same. Errors: RefusedByAll;
  /// those of the communicator and the driver.
  const CallPrograms& of(const CollectiveRequest& kind);
  [[nodiscard]] const CallPrograms* find(const CollectiveRequest& kind) const {
    return kept_.find(kind);
  }
  const RankProgram& barrier();
  [[nodiscard]] bool has_barrier() const { return barrier_ != nullptr; }

  /// How many nodes the programs may have that are kept.
  void keep_at_most(std::size_t nodes) { kept_.set_most(nodes); }
  /// Of how many kinds there are programs.
  [[nodiscard]] std::size_t kinds() const { return kept_.count(); }
  /// Another one, of all objects of the process, whenever programs have been forgotten.
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  enum class Planning { together, alone, alone_in_this_memory };

  [[nodiscard]] std::size_t rank() const { return static_cast<std::size_t>(communicator_.rank()); }
  [[nodiscard]] CallPrograms make(const CollectiveRequest& kind);
  [[nodiscard]] CallWay make_way(const CollectiveRequest& request,
                                 const CollectiveOptions& options);
  [[nodiscard]] CollectiveDraft agreed(const CollectiveRequest& request,
                                       const CollectiveOptions& options);
  [[nodiscard]] CollectiveDraft chosen_alone(const CollectiveRequest& request,
                                             const CollectiveOptions& options);
  [[nodiscard]] Blob proposal(const CollectiveRequest& request, const CollectiveOptions& options);
  void check_agreed(const std::string& structure);
  [[nodiscard]] std::unique_ptr<RankProgram> part_of(const Program& whole, Executor executor,
                                                     EntryAwaits entries);
  [[nodiscard]] bool may_open(const CollectiveRequest& request) const;
  [[nodiscard]] CollectiveOptions open_options(const CollectiveDraft& usual) const;

  const Machine& machine_;
  std::vector<PlaceId> ranks_;
  Communicator& communicator_;
  RankRun& run_;
  CollectiveOptions usual_, options_;
  CollectivePlanner planner_;
  Routes routes_;
  BoundedMap<CollectiveRequest, CallPrograms> kept_;
  std::uint64_t number_;
  std::unique_ptr<RankProgram> barrier_;
  Planning planning_ = Planning::together;
};

}  // namespace polypath::collective
