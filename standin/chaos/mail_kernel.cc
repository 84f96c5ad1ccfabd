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

JobState MailKernel::step(Chance&) {
  if (mail_is_abandoned(pointers_, values_)) return JobState::done;
  if (!std::exchange(has_sent_, true)) {
    kernel_.on_host(pointers_, values_);
    return JobState::more;
  }
  if (!mail_has_arrived(kind_, pointers_, values_)) return JobState::not_yet;
  kernel_.after_exchange(pointers_, values_);
  has_sent_ = false;
  return ++values_.back() == laps_ ? JobState::done : JobState::more;
}

}  // namespace polypath::standin::chaos
