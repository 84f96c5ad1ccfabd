#pragma once
// Kernels by which ranks exchange messages (kernels/mail.h), as jobs: the ranks are in other
// processes, and write into this one's mailbox whenever they come to it.

#include <vector>

#include "kernels/mail.h"
#include "standin/chaos/copying.h"
#include "standin/state/work.h"

namespace polypath::standin::chaos {

/// The input, the output, and the mailboxes of all ranks.
std::vector<std::uint64_t> addresses_of_mail(const KernelWork& kernel);

/// Sends; waits until all that is for this rank is there; takes it in; and so lap by lap.
class MailKernel final : public Job {
 public:
  /// `memory` in the order of the addresses.
  MailKernel(const KernelWork& kernel, std::vector<Place> memory);
  JobState step(Chance& chance) override;

 private:
  void let_go_of_others();

  std::vector<Place> memory_;  ///< kept for as long as the job is there
  std::vector<std::byte*> pointers_;
  MailKind kind_;
  Kernel kernel_;
  std::vector<std::uint64_t> values_;  ///< the last one is the lap
  std::uint64_t laps_;
  bool has_sent_ = false;
};

}  // namespace polypath::standin::chaos
