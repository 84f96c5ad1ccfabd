#pragma once
// The kernel of one rank's end of several messages (kernels/messages.h), as a job: the other ends
// are in other processes, and do theirs whenever they come to it.

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/messages.h"
#include "standin/chaos/copying.h"
#include "standin/state/work.h"

namespace polypath::standin::chaos {

class MessageKernel final : public Job {
 public:
  /// `memory` is where the words HostMessages::memory_of() are.
  MessageKernel(const KernelWork& kernel, std::vector<Place> memory);
  JobState step(Chance& chance) override;

 private:
  std::vector<Place> memory_;  ///< kept until it is done with
  HostMessages messages_;
};

/// A kernel of the stand-in NCCL (state/pass_kernel.h).
class PassKernel final : public Job {
 public:
  /// `memory` in the order of its words.
  PassKernel(const KernelWork& kernel, std::vector<Place> memory)
      : words_(kernel.words), memory_(std::move(memory)) {}
  static std::vector<std::uint64_t> memory_of(const KernelWork& kernel);
  JobState step(Chance& chance) override;

 private:
  std::vector<std::uint64_t> words_;
  std::vector<Place> memory_;
  int looks_ = 0;
};

}  // namespace polypath::standin::chaos
