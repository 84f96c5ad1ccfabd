#pragma once
// Ranks of one node that see different GPUs: with CUDA_VISIBLE_DEVICES each may see its own alone,
// as GPU 0. Their machine is the computer then, with all its GPUs, of which each can use its own
// and the memory that the others share.

#include <cstdint>
#include <string>
#include <vector>

#include "communicator/communicator.h"
#include "core/settings.h"
#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath::collective {

/// Which GPUs the ranks' machine has: those that the process sees, or all of the computer.
enum class GpusOf : std::uint8_t { process, computer };

/// The machine of one or the other, as a rank uses it. What it was made of lives longer.
struct RanksMachine {
  Driver& driver;
  const Machine& machine;
  Settings settings;
  std::vector<PlaceId> visible = {};  ///< the GPUs that this process sees, by the driver's numbers
  std::vector<std::string> names = {};  ///< of these on this computer

  /// The driver's number of a visible GPU. Error (invalid_argument) for another place.
  [[nodiscard]] int number_of(PlaceId gpu) const;
};

/// Of a machine that was opened, by one of its drivers.
template <class Opened>
RanksMachine ranks_machine(const Opened& opened, Driver& driver) {
  return {driver, opened.machine(), opened.settings(), opened.visible_gpus(),
          opened.visible_names()};
}

/// What a rank says of the GPUs that its process sees: their names on this computer, in order.
Blob said_of_gpus(const std::vector<std::string>& names);
/// From what all ranks of the node have said.
GpusOf gpus_for_ranks(const std::vector<Blob>& said);
/// What the ranks of this rank's node say. All ranks of the communicator call it.
std::vector<Blob> said_in_node(Communicator& communicator, const Blob& mine);

/// So that no plan goes by a GPU without a rank, which no process here may be able to use. `ranks`
/// are the places of all ranks.
Settings without_other_gpus(Settings settings, const Machine& machine,
                            const std::vector<std::string>& ranks);

/// Which of the visible GPUs a rank has that names none: the only one, else that of its number on
/// its node. Error (invalid_argument) if there is no such one.
PlaceId usual_gpu(const RanksMachine& seen, int local_rank);

}  // namespace polypath::collective
