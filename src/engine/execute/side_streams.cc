#include "engine/execute/side_streams.h"

#include <algorithm>
#include <exception>

#include "core/ignore_errors.h"

namespace polypath::engine {
namespace {

// Several threads with a set in flight each. A thread that gets no stream makes its copies one by
// one.
constexpr std::size_t kMostSideStreams = 64;

}  // namespace

SideStream::SideStream(Driver& used_driver, PlaceId owning_gpu)
    : driver(used_driver),
      gpu(owning_gpu),
      stream(used_driver.create_stream(owning_gpu)),
      end(used_driver) {}

SideStream::~SideStream() {
  ignore_errors([this] { driver.synchronize(stream); });
  ignore_errors([this] { driver.destroy_stream(stream); });
}

SideStreams::Lent SideStreams::fork(const std::vector<Branch>& branches) {
  Lent lent;
  const bool forked = ignore_errors([&] {
    StreamHandle recorded;
    for (const Branch& branch : branches) {
      SideStream* side = lend(branch);
      if (side == nullptr) break;
      const EventHandle event = forked_.on(branch.gpu);
      if (!(recorded == branch.beside) || lent.empty()) driver_.record(event, branch.beside);
      recorded = branch.beside;
      driver_.wait(side->stream, event);
      side->borrower = branch.beside;
      side->lent = true;
      lent.push_back(side);
    }
  });
  if (forked && lent.size() == branches.size()) return lent;
  for (SideStream* side : lent) side->lent = false;
  return {};
}

// The borrower's own streams come first: their work is over before the borrower's next work.
SideStream* SideStreams::lend(const Branch& branch) {
  for (const auto& side : streams_)
    if (is_free(*side, branch) && side->borrower == branch.beside) return side.get();
  for (const auto& side : streams_)
    if (is_free(*side, branch) && (!side->used || driver_.is_done(side->end.on(side->gpu))))
      return side.get();
  if (streams_.size() >= kMostSideStreams) return nullptr;
  auto side = std::make_unique<SideStream>(driver_, branch.gpu);
  (void)side->end.on(branch.gpu);  // joining creates nothing
  return streams_.emplace_back(std::move(side)).get();
}

bool SideStreams::is_free(const SideStream& side, const Branch& branch) {
  return !side.lent && !side.unsettled && side.gpu == branch.gpu;
}

void SideStreams::join(const Lent& lent) {
  std::exception_ptr failure;
  for (SideStream* side : lent) {
    try {
      join(*side);
    } catch (const UnsettledError&) {
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void SideStreams::join(SideStream& side) {
  side.lent = false;
  try {
    const EventHandle end = side.end.on(side.gpu);
    driver_.record(end, side.stream);
    side.used = true;
    driver_.wait(side.borrower, end);
  } catch (const Error& error) {
    if (ignore_errors([&] { driver_.synchronize(side.stream); })) return;
    side.unsettled = true;
    throw UnsettledError(error.code(), error.what());
  }
}

}  // namespace polypath::engine
