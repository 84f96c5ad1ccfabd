// The capture of streams.

#include "standin/state/process.h"

namespace polypath::standin {
namespace {

// CUstreamCaptureStatus
constexpr int kNone = 0, kActive = 1, kInvalidated = 2;

constexpr Result kIllegalState = 401;

Result begin_capture(StreamArgument argument, int mode) {
  return enter("cuStreamBeginCapture", [&](Process& process) {
    static std::uint64_t last_id = 0;
    Stream& stream = process.streams.find(argument);
    if (stream.legacy) refuse(kCaptureUnsupported, "the legacy default stream cannot be captured");
    if (stream.capturing.active()) refuse(kIllegalState, "the stream is being captured already");
    auto capture = std::make_shared<Capture>();
    capture->id = ++last_id;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    stream.capturing = {capture, {}, true};
  });
}

// The graph of an origin whose capture ends: refuses what is not joined, or went wrong.
std::vector<CopyNode> end(Process& process, Stream& stream) {
  if (!stream.capturing.origin) refuse(kCaptureUnmatched, "the capture did not begin here");
  const Capturing at = stream.capturing;
  bool joined = true;
  for (const Stream* other : process.streams.streams_of(*at.capture))
    joined = joined && covers(at, other->capturing.tips);
  process.streams.leave(*at.capture);
  check_valid(at);
  if (!joined) refuse(kCaptureUnjoined, "a stream of the capture was not joined to the first one");
  return at.capture->nodes;
}

Result end_capture(StreamArgument argument, GraphPointer* where) {
  return enter("cuStreamEndCapture", [&](Process& process) {
    store(where, GraphPointer{});
    Stream& stream = process.streams.find(argument);
    if (!stream.capturing.active()) refuse(kIllegalState, "the stream is not being captured");
    *where = process.graphs.create(end(process, stream));
  });
}

int status_of(const Capturing& at) {
  return !at.active() ? kNone : at.capture->invalid ? kInvalidated : kActive;
}

// The legacy default stream may not even be asked while another stream of its context is captured.
Result is_capturing(StreamArgument argument, int* status) {
  return enter("cuStreamIsCapturing", [&](Process& process) {
    const Stream& stream = process.streams.find(argument);
    store(status, status_of(stream.capturing));
    for (const auto& [handle, other] : process.streams.all())
      if (stream.legacy && other->context == stream.context && other->blocking &&
          other->capturing.active())
        refuse(kStreamCaptureImplicit, "another stream of the context is being captured");
  });
}

Result capture_info(StreamArgument argument, int* status, std::uint64_t* id) {
  return enter("cuStreamGetCaptureInfo", [&](Process& process) {
    const Capturing& at = process.streams.find(argument).capturing;
    store(status, status_of(at));
    if (id != nullptr && at.active()) *id = at.capture->id;
  });
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath::standin;

STANDIN_BOTH(cuStreamBeginCapture_v2, _ptsz, (StreamPointer stream, int mode),
             begin_capture({stream, kZero}, mode))
STANDIN_BOTH(cuStreamEndCapture, _ptsz, (StreamPointer stream, GraphPointer* graph),
             end_capture({stream, kZero}, graph))
STANDIN_BOTH(cuStreamIsCapturing, _ptsz, (StreamPointer stream, int* status),
             is_capturing({stream, kZero}, status))
STANDIN_BOTH(cuStreamGetCaptureInfo_v2, _ptsz,
             (StreamPointer stream, int* status, std::uint64_t* id, void*, void*, void*),
             capture_info({stream, kZero}, status, id))

STANDIN_EXPORT Result cuThreadExchangeStreamCaptureMode(int* mode) {
  return enter("cuThreadExchangeStreamCaptureMode", [&](Process&) {
    if (mode == nullptr || *mode < kCaptureGlobal || *mode > kCaptureRelaxed)
      refuse(kInvalidValue, "there is no such mode");
    std::swap(*mode, thread_capture_mode());
  });
}
