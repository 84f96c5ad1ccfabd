#include "standin/chaos/mail_kernel.h"

#include <utility>

namespace polypath::standin::chaos {

std::vector<std::uint64_t> addresses_of_mail(const KernelWork& kernel) {
  const auto first = kernel.words.begin() + static_cast<std::ptrdiff_t>(kMailValues);
  return {first, first + 2 + mail_ranks(kernel.words)};
}

MailKernel::MailKernel(const KernelWork& kernel, std::vector<Place> memory)
    : memory_(std::move(memory)),
      kind_(mail_kind_of(kernel.name).value()),
      kernel_(mail_kernel(kind_.use, kind_.way)),
      values_(kernel.words.begin(),
              kernel.words.begin() + static_cast<std::ptrdiff_t>(kMailValues)),
      laps_(static_cast<std::uint64_t>(mail_laps(kind_, values_))) {
  values_.push_back(0);
  for (const Place& place : memory_) pointers_.push_back(place.bytes);
}

// Once a rank has all that is sent to it, it may close its communicator.
void MailKernel::let_go_of_others() {
  for (int rank = 0; rank < mail_ranks(values_); ++rank)
    if (rank != mail_rank(values_)) memory_[2 + static_cast<std::size_t>(rank)].let_go();
}

JobState MailKernel::step(Chance&) {
  if (mail_is_abandoned(pointers_, values_)) return JobState::done;
  if (!std::exchange(has_sent_, true)) {
    if (values_.back() + 1 == laps_) let_go_of_others();
    kernel_.on_host(pointers_, values_);
    return JobState::more;
  }
  if (!mail_has_arrived(kind_, pointers_, values_)) return JobState::not_yet;
  kernel_.after_exchange(pointers_, values_);
  has_sent_ = false;
  return ++values_.back() == laps_ ? JobState::done : JobState::more;
}

}  // namespace polypath::standin::chaos
