#include "api/preload/session_streams.h"

#include <algorithm>

#include "core/error.h"

namespace polypath::preload {
namespace {

// Of a stream that is not being captured: the question would spoil the capture
// (H200, driver 580, results/h200x2/capture.json).
StreamWatch::Order order_of(cuda::StreamPointer stream) {
  unsigned flags = 0;
  const bool alone = !is_default_stream(stream) &&
                     cuda::functions().stream_flags(stream, &flags) == cuda::kSuccess &&
                     (flags & cuda::kStreamNonBlocking) != 0;
  return alone ? StreamWatch::Order::alone : StreamWatch::Order::with_default;
}

// The longest time that a call waits for a stream to become idle: the most that
// it may lose by waiting.
constexpr Seconds kPollingTimeout = 20_us;

}  // namespace

SessionStreams::SessionStreams(const OpenMachine& opened, cuda::CudaDriver& driver)
    : opened_(opened), driver_(driver), gpus_(opened.machine().places_of(PlaceKind::gpu)) {}

std::optional<PlaceId> SessionStreams::place_of(cuda::StreamPointer stream) {
  return driver_.gpu_of_foreign(reinterpret_cast<std::uintptr_t>(stream));
}

StreamHandle SessionStreams::handle_of(cuda::StreamPointer stream, PlaceId gpu) {
  return opened_.driver().foreign_stream(gpu, reinterpret_cast<std::uintptr_t>(stream));
}

int SessionStreams::number_of(PlaceId gpu) const {
  const auto found = std::find(gpus_.begin(), gpus_.end(), gpu);
  if (found == gpus_.end())
    fail(ErrorCode::internal, "a place is no GPU", "copies are made in the context of one");
  return static_cast<int>(found - gpus_.begin());
}

cuda::ContextPointer SessionStreams::context_of(PlaceId gpu) {
  return driver_.contexts().of(number_of(gpu));
}

bool SessionStreams::may_wait(cuda::StreamPointer stream, PlaceId gpu) {
  return StreamWatch::of_process().may_wait(stream, order_of(stream),
                                            context_of_default(stream, gpu));
}

bool SessionStreams::waits_for_nobody(const ProgramQuestion& question, Polling polling) {
  const cuda::StreamPointer stream = question.asked.stream;
  const auto order = order_of(stream);
  return StreamWatch::of_process().waits_for_nobody(
      stream, order, context_of_default(stream, question.gpu), [&] {
        return polling == Polling::yes ? becomes_idle(question, order) : is_idle(question, order);
      });
}

// The work may end a moment later. Windows gain more than this wait costs.
bool SessionStreams::becomes_idle(const ProgramQuestion& question, StreamWatch::Order order) {
  const Seconds until = driver_.now() + kPollingTimeout;
  do {
    if (is_idle(question, order)) return true;
  } while (driver_.now() < until);
  return false;
}

bool SessionStreams::is_idle(const ProgramQuestion& question, StreamWatch::Order order) {
  const auto& [asked, gpu, ends, decision] = question;
  if (!is_finished(gpu, asked.stream)) return false;
  if (order == StreamWatch::Order::alone) return true;
  std::vector<PlaceId> gpus{gpu};
  for (const ProgramEnd& end : {ends.source, ends.destination})
    if (asked.stream == nullptr && end.is_device() && !end.imported &&
        has_default_stream(end.memory.place))
      gpus.push_back(end.memory.place);
  return std::all_of(gpus.begin(), gpus.end(),
                     [this](PlaceId each) { return is_finished(each, nullptr); });
}

// Beside a capture the default stream may not even be asked.
bool SessionStreams::is_finished(PlaceId gpu, cuda::StreamPointer stream) {
  if (stream == nullptr && driver_.is_capturing(driver_.foreign_stream(gpu, 0))) return false;
  const cuda::Current current(context_of(gpu));
  const cuda::RelaxedCapture relaxed;
  return cuda::functions().stream_query(stream) == cuda::kSuccess;
}

}  // namespace polypath::preload
