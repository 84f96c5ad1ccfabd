#pragma once
// Launches the kernel of messages (kernels/messages.h), and has the flags by which the ends of a
// message signal each other: each rank's in its own memory.

#include <span>
#include <vector>

#include "collective/rank/message_pair.h"
#include "communicator/communicator.h"
#include "driver/driver.h"

namespace polypath::collective {

class MessageLauncher {
 public:
  /// All ranks make theirs at the same time; `gpus` are theirs. A launch takes `multiprocessors` at
  /// most. Errors: those of the driver, here or at another rank, and of the exchange.
  MessageLauncher(Driver& driver, const std::vector<PlaceId>& gpus, Communicator& communicator,
                  unsigned multiprocessors);
  MessageLauncher(const MessageLauncher&) = delete;
  MessageLauncher& operator=(const MessageLauncher&) = delete;
  /// Nothing of any rank that uses the flags may be queued.
  ~MessageLauncher();

  /// This rank's, or another one's as this rank reaches them.
  [[nodiscard]] Address flags_of(int rank) const;
  [[nodiscard]] PlaceId gpu_of(int rank) const { return gpus_[static_cast<std::size_t>(rank)]; }
  /// Of a launch: launches of one group may run at the same time.
  struct Group {
    std::size_t number = 0;  ///< another one for each launch
    std::size_t copies = 0;  ///< of all launches: they share the multiprocessors
  };
  /// Enqueues tasks, as many as a launch takes at most, those that copy first. One launch of a rank
  /// runs after the other, or they are of one group.
  void launch(std::span<const MessageTask> tasks, const Group& group, StreamHandle stream) const;
  /// No launch of this rank waits for another rank any more. Any thread may call it.
  void abandon();

 private:
  [[nodiscard]] ExportedMemory make_own();
  void exchange(Communicator& communicator);
  void import_others(const std::vector<ExportedMemory>& all);
  void give_back() noexcept;
  [[nodiscard]] Bytes state_bytes() const;
  [[nodiscard]] unsigned blocks_of_copy(std::size_t copies, Bytes largest) const;

  Driver& driver_;
  std::vector<PlaceId> gpus_;
  int rank_;
  unsigned multiprocessors_;
  std::vector<Address> states_;  ///< by rank: the kernel's, and behind it the flags
  KernelHandle kernel_;
};

}  // namespace polypath::collective
