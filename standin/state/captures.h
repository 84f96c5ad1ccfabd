#pragma once
// Streams that are captured: their copies become the nodes of a graph instead of running.

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "standin/failure.h"
#include "standin/state/work.h"

namespace polypath::standin {

// CUstreamCaptureMode
constexpr int kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2;

/// One capture, from cuStreamBeginCapture to cuStreamEndCapture.
struct Capture {
  std::uint64_t id = 0;
  int mode = kCaptureGlobal;
  std::thread::id thread;  ///< that began it
  bool invalid = false;    ///< something happened that cannot be captured
  std::vector<CopyNode> nodes;
};

/// How far a stream, or an event, is in a capture.
struct Capturing {
  std::shared_ptr<Capture> capture;  ///< null: in none
  std::set<int> tips;                ///< the nodes that the next node comes after
  bool origin = false;               ///< the capture began here

  [[nodiscard]] bool active() const { return capture != nullptr; }
};

/// Refuses (capture invalidated) if something went wrong in the capture before.
void check_valid(const Capturing& at);
/// Marks the capture as spoilt and refuses the call that did it.
[[noreturn]] void spoil(const Capturing& at, Result result, const std::string& why);
void add_copy(Capturing& at, CopyNode node);
/// The effect of a wait: `at` comes after the event's nodes too, and takes part in its capture.
void join(Capturing& at, const Capturing& event);
/// True if every node is before one of the tips, or one itself.
bool covers(const Capturing& at, const std::set<int>& nodes);

/// The calling thread's mode for calls that could disturb a capture (CUDA's "unsafe" ones).
int& thread_capture_mode();

}  // namespace polypath::standin
