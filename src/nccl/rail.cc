#include "nccl/rail.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "core/error.h"
#include "nccl/inside.h"

namespace polypath::nccl {
namespace {

constexpr std::chrono::seconds kUntilAborted{5};

void* memory_at(Address address) { return reinterpret_cast<void*>(address.value); }

}  // namespace

Rail::Rail(const Functions& real, Comm program, const Nodes& nodes, int rank, Native native)
    : real_(real), nodes_(nodes), native_(std::move(native)) {
  const bool can_send = real.Send != nullptr && real.Recv != nullptr;
  Comm made = nullptr;
  const Result result = can_send ? call_real(real.CommSplit, program, nodes.local_rank(rank),
                                             nodes.of(rank), &made, nullptr)
                                 : kMissing;
  comm_ = made;
  if (result != kSuccess || made == nullptr)
    fail(ErrorCode::unsupported, "ranks of several nodes cannot be served",
         fmt::format("NCCL does not divide their communicator (ncclCommSplit returns {})", result),
         "Use NCCL 2.18 or later.");
}

void Rail::start(int, const NodeMessages& messages, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  if (comm_ == nullptr)
    fail(ErrorCode::communicator, "ranks of other nodes get no more messages",
         "the communicator was aborted");
  if (const Result result = exchange(messages, stream); result != kSuccess)
    fail(ErrorCode::internal, "a message between nodes fails",
         fmt::format("NCCL's send and receive return {}", result));
}

// A rank's number there is its node's. Both ends leave out messages without bytes.
Result Rail::exchange(const NodeMessages& messages, StreamHandle stream) {
  Result result = call_real(real_.GroupStart);
  const auto note = [&](Result of) { result = result == kSuccess ? of : result; };
  if (result != kSuccess) return result;
  const Stream native = native_(stream);
  Comm const comm = comm_;
  for (const auto& given : messages.given)
    for (const int to : given.to)
      if (given.bytes.value > 0)
        note(call_real(real_.Send, memory_at(given.from), given.bytes.value, kUint8, nodes_.of(to),
                       comm, native));
  for (const auto& taken : messages.taken)
    if (taken.bytes.value > 0)
      note(call_real(real_.Recv, memory_at(taken.to), taken.bytes.value, kUint8,
                     nodes_.of(taken.from), comm, native));
  note(call_real(real_.GroupEnd));
  return result;
}

std::optional<std::string> Rail::problem() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  Comm const comm = comm_;
  Result error = kSuccess;
  if (!lock || comm == nullptr || real_.CommGetAsyncError == nullptr) return std::nullopt;
  const Result result = call_real(real_.CommGetAsyncError, comm, &error);
  if (result == kSuccess && (error == kSuccess || error == kInProgress)) return std::nullopt;
  return fmt::format("NCCL reports error {} of messages between nodes",
                     result == kSuccess ? error : result);
}

// A call that waits for a queue that is full ends by an abort only.
void Rail::abort() noexcept {
  const std::unique_lock lock(mutex_, kUntilAborted);
  if (Comm const ended = comm_.exchange(nullptr)) (void)call_real(real_.CommAbort, ended);
}

void Rail::leave() noexcept {
  const std::scoped_lock lock(mutex_);
  if (Comm const ended = comm_.exchange(nullptr)) (void)call_real(real_.CommDestroy, ended);
}

}  // namespace polypath::nccl
