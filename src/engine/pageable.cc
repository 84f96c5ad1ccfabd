#include "engine/pageable.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/error.h"
#include "core/log.h"
#include "engine/windowed_copy.h"

namespace polypath {
namespace {

// Below this the fixed cost of a window (issue, event, wake-up: tens of microseconds) shows beside
// the copying of its bytes.
constexpr Bytes kLeastWindow = 2_MiB;
// The first window's filling or the last one's emptying overlaps with nothing: one part in sixteen.
constexpr std::uint64_t kWindowsPerMessage = 16;
// More threads than this reach no more of a host's memory: 16 are enough for 45 GB/s (lab, h200x4).
constexpr unsigned kMostThreads = 16;

int thread_count(const Settings& settings) {
  if (settings.copy_threads > 0) return settings.copy_threads;
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads));
}

Bytes round_up(Bytes bytes, Bytes unit) {
  return {(bytes.value + unit.value - 1) / unit.value * unit.value};
}

// Giving back must not throw.
template <class Call>
bool succeeds(Call call) noexcept {
  try {
    call();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

PinnedWindows::PinnedWindows(Driver& used_driver, PlaceId host, Bytes window, int count)
    : driver(used_driver),
      base(used_driver.allocate(host, window * static_cast<std::uint64_t>(count))) {
  for (int i = 0; i < count; ++i)
    windows.push_back(
        std::make_unique<PinnedWindow>(driver, base + window * static_cast<std::uint64_t>(i)));
}

PinnedWindows::~PinnedWindows() {
  if (!lost) succeeds([&] { driver.free(base); });
}

PageableCopies::PageableCopies(Driver& driver, const Settings& settings, Send send)
    : driver_(driver),
      window_(settings.pageable_window),
      windows_per_host_(settings.pageable_windows),
      thread_count_(thread_count(settings)),
      send_(std::move(send)) {}

PageableCopies::~PageableCopies() {
  for (const auto& [gpu, stream] : streams_) {
    if (succeeds([&, handle = stream] { driver_.synchronize(handle); })) continue;
    // Any of the windows may be in use by it.
    for (auto& [host, windows] : windows_) windows->lost = true;
  }
  windows_.clear();
  for (const auto& [gpu, stream] : streams_)
    succeeds([&, handle = stream] { driver_.destroy_stream(handle); });
}

Bytes PageableCopies::window_of(Bytes bytes) const {
  const Bytes fraction = round_up({bytes.value / kWindowsPerMessage}, 64_KiB);
  const Bytes window = std::clamp(fraction, std::min(kLeastWindow, window_), window_);
  // All windows alike: a short one at the end would cost as many calls as a long one.
  const std::uint64_t count = (bytes.value + window.value - 1) / window.value;
  return round_up({(bytes.value + count - 1) / count}, 512_B);
}

std::optional<CopyResult> PageableCopies::copy(const CopyCall& call, const CopyEnds& ends) {
  try {
    // Before the lock, because what is in the stream may take long, or wait for another copy.
    driver_.synchronize(call.stream);
    const std::scoped_lock lock(mutex_);
    return windowed(call, ends);
  } catch (const UnsettledError&) {
    throw;
  } catch (const Error& error) {
    log(LogLevel::warning,
        fmt::format("one native copy of pageable memory instead of windows: {}", error.what()));
    return std::nullopt;
  }
}

// After a failure nothing is left queued, or the error says so.
CopyResult PageableCopies::windowed(const CopyCall& call, const CopyEnds& ends) {
  const bool inward = ends.source_kind == MemoryKind::pageable;
  PinnedWindows& ring = windows_at(inward ? ends.source : ends.destination);
  const StreamHandle stream = stream_on(inward ? ends.destination : ends.source);
  try {
    return WindowedCopy({driver_, threads(), ring, stream, window_of(call.bytes), send_}, call,
                        ends)
        .run();
  } catch (const UnsettledError&) {
    ring.lost = true;
    throw;
  } catch (const Error& error) {
    if (succeeds([&] { driver_.synchronize(stream); })) throw;
    ring.lost = true;
    throw UnsettledError(error.code(), error.what());
  }
}

StreamHandle PageableCopies::stream_on(PlaceId gpu) {
  const auto found = streams_.find(gpu);
  if (found != streams_.end()) return found->second;
  return streams_[gpu] = driver_.create_stream(gpu);
}

PinnedWindows& PageableCopies::windows_at(PlaceId host) {
  auto found = windows_.find(host);
  if (found == windows_.end())
    found = windows_
                .emplace(host,
                         std::make_unique<PinnedWindows>(driver_, host, window_, windows_per_host_))
                .first;
  if (!found->second->lost) return *found->second;
  fail(ErrorCode::driver, "the pinned windows of a host are lost",
       "an earlier driver failure left work that cannot be waited for");
}

CopyThreads& PageableCopies::threads() {
  if (!threads_) threads_ = std::make_unique<CopyThreads>(thread_count_);
  return *threads_;
}

}  // namespace polypath
