#include "driver/cuda/peer_access.h"

namespace polypath::cuda {
namespace {

bool concerns(const std::pair<ContextPointer, ContextPointer>& pair, ContextPointer context) {
  return pair.first == context || pair.second == context;
}

}  // namespace

PeerAccess& PeerAccess::of_process() {
  static auto& access = *new PeerAccess;
  return access;
}

// Access that the program had enabled before is needed from now on, too.
Result PeerAccess::enable(ContextPointer from, ContextPointer to, const Call& call) {
  const std::scoped_lock lock(mutex_);
  const Result result = call();
  if (result != kSuccess && result != kPeerAccessAlreadyEnabled) return result;
  ours_.insert({from, to});
  return kSuccess;
}

void PeerAccess::give_up(ContextPointer from, ContextPointer to, const Call& call) {
  const std::scoped_lock lock(mutex_);
  if (ours_.erase({from, to}) > 0 && !programs_.contains({from, to})) (void)call();
}

Result PeerAccess::program_enables(ContextPointer from, ContextPointer to, const Call& call) {
  const std::scoped_lock lock(mutex_);
  const Result result = call();
  const bool hidden = result == kPeerAccessAlreadyEnabled && ours_.contains({from, to});
  if (result != kSuccess && !hidden) return result;
  return programs_.insert({from, to}).second ? kSuccess : result;
}

Result PeerAccess::program_disables(ContextPointer from, ContextPointer to, const Call& call) {
  const std::scoped_lock lock(mutex_);
  if (!ours_.contains({from, to})) {
    const Result result = call();
    if (result == kSuccess) programs_.erase({from, to});
    return result;
  }
  return programs_.erase({from, to}) > 0 ? kSuccess : kPeerAccessNotEnabled;
}

void PeerAccess::forget(ContextPointer context) {
  const std::scoped_lock lock(mutex_);
  for (auto* const pairs : {&ours_, &programs_})
    std::erase_if(*pairs, [&](const Pair& pair) { return concerns(pair, context); });
}

// Access that the program enabled stays enabled in the context, and is hidden from now on.
void PeerAccess::program_forgets(ContextPointer context) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(programs_, [&](const Pair& pair) {
    if (concerns(pair, context)) ours_.insert(pair);
    return concerns(pair, context);
  });
}

}  // namespace polypath::cuda
