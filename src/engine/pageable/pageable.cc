#include "engine/pageable/pageable.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cpus.h"
#include "core/error.h"
#include "core/log.h"
#include "engine/pageable/windowed_copy.h"

namespace polypath {
namespace {

// Below this the fixed cost of a window (issue, event, wake-up: tens of microseconds) shows beside
// the copying of its bytes.
constexpr Bytes kLeastWindow = 2_MiB;
// The first window's filling or the last one's emptying overlaps with nothing: one part in sixteen.
constexpr std::uint64_t kWindowsPerMessage = 16;
// Three of them reach half of what all windows do (two H100s, results/h100x2/windows.json).
constexpr Bytes kFirstWindow = 4_MiB;

// Of the whole computer: other threads of the program may use other CPUs than this one.
int all_cpus(int most) { return std::clamp(threads_of_computer(), 1, most); }

Bytes round_up(Bytes bytes, Bytes unit) {
  return {(bytes.value + unit.value - 1) / unit.value * unit.value};
}

}  // namespace

PinnedWindows::PinnedWindows(Driver& used_driver, PlaceId host, Bytes each, int count)
    : driver(used_driver),
      window(each),
      base(used_driver.allocate(host, each * static_cast<std::uint64_t>(count))) {
  for (int i = 0; i < count; ++i)
    windows.push_back(
        std::make_unique<PinnedWindow>(driver, base + each * static_cast<std::uint64_t>(i)));
}

PinnedWindows::~PinnedWindows() {
  if (!lost) ignore_errors([&] { driver.free(base); });
}

PageableCopies::PageableCopies(Driver& driver, const DriverBehaviour& behaviour,
                               const Settings& settings, Send send)
    : driver_(driver),
      window_(settings.pageable_window),
      windows_per_host_(settings.pageable_windows),
      most_threads_(behaviour.windows_threads),
      least_cpus_(behaviour.windows_threads_least),
      chosen_threads_(settings.copy_threads),
      send_(std::move(send)),
      events_(driver) {}

PageableCopies::~PageableCopies() {
  for (const auto& [gpu, stream] : streams_) {
    if (ignore_errors([&, handle = stream] { driver_.synchronize(handle); })) continue;
    // Any of the windows may be in use by it.
    for (auto& [host, rings] : windows_)
      for (const auto& ring : rings) ring->lost = true;
  }
  // Some have gone in streams of the callers.
  for (auto& [host, rings] : windows_)
    for (const auto& ring : rings)
      for (const auto& window : ring->windows)
        if (window->pending.value != 0 &&
            !ignore_errors([&] { driver_.synchronize(window->pending); }))
          ring->lost = true;
  windows_.clear();
  for (const auto& [gpu, stream] : streams_)
    ignore_errors([&, handle = stream] { driver_.destroy_stream(handle); });
}

Bytes PageableCopies::window_of(Bytes bytes, Bytes most) {
  const Bytes fraction = round_up({bytes.value / kWindowsPerMessage}, 64_KiB);
  const Bytes window = std::clamp(fraction, std::min(kLeastWindow, most), most);
  // All windows alike: a short one at the end would cost as many calls as a long one.
  const std::uint64_t count = (bytes.value + window.value - 1) / window.value;
  return round_up({(bytes.value + count - 1) / count}, 512_B);
}

bool PageableCopies::pays() const {
  return chosen_threads_ > 0 || CpuSet::of_caller().threads() >= least_cpus_;
}

// An event, because it stands for work in other streams as well that this one is in order with.
void PageableCopies::wait_for_earlier_work(const CopyCall& call) {
  EventPool::Lease events(events_);
  const EventHandle earlier = events.on(call.stream_gpu);
  driver_.record(earlier, call.stream);
  driver_.synchronize(earlier);
}

std::optional<PageableCopies::Copied> PageableCopies::copy(const CopyCall& call,
                                                           const CopyEnds& ends) {
  try {
    if (!is_prepared(ends, WindowsMade::few)) prepare(ends, WindowsMade::all);
    // Before the lock, because the work in the stream may take long, or wait for another copy.
    wait_for_earlier_work(call);
    const std::scoped_lock lock(copying_);
    const Seconds begin = driver_.now();
    CopyResult last_window = windowed(call, ends);
    return Copied{std::move(last_window), driver_.now() - begin};
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
  const std::optional<StreamHandle> stream = stream_on(inward ? ends.destination : ends.source);
  try {
    return WindowedCopy(
               {driver_, threads(), ring, stream, window_of(call.bytes, ring.window), send_}, call,
               ends)
        .run();
  } catch (const UnsettledError&) {
    ring.lost = true;
    throw;
  } catch (const Error& error) {
    if (ignore_errors([&] {
          if (stream) driver_.synchronize(*stream);
          driver_.synchronize(call.stream);
        }))
      throw;
    ring.lost = true;
    throw UnsettledError(error.code(), error.what());
  }
}

Bytes PageableCopies::window_for(WindowsMade wanted) const {
  return wanted == WindowsMade::all ? window_ : std::min(window_, kFirstWindow);
}

double PageableCopies::share_of(WindowsMade wanted) const {
  return static_cast<double>(window_for(wanted).value) / static_cast<double>(window_.value);
}

// The caller holds the lock of the parts.
bool PageableCopies::has_windows(PlaceId host, Bytes window) const {
  const auto found = windows_.find(host);
  return found != windows_.end() && found->second.back()->window >= window;
}

bool PageableCopies::is_prepared(const CopyEnds& ends, WindowsMade wanted) const {
  const bool inward = ends.source_kind == MemoryKind::pageable;
  const std::scoped_lock lock(parts_mutex_);
  return threads_ && has_windows(inward ? ends.source : ends.destination, window_for(wanted));
}

// The parts are made without the lock, because others only look for theirs.
void PageableCopies::prepare(const CopyEnds& ends, WindowsMade wanted) {
  const bool inward = ends.source_kind == MemoryKind::pageable;
  const PlaceId host = inward ? ends.source : ends.destination;
  const std::scoped_lock one_at_a_time(preparing_);
  std::unique_lock lock(parts_mutex_);
  const Bytes window = window_for(wanted);
  const bool lacks_windows = !has_windows(host, window), lacks_threads = !threads_;
  lock.unlock();
  std::unique_ptr<PinnedWindows> windows;
  if (lacks_windows)
    windows = std::make_unique<PinnedWindows>(driver_, host, window, windows_per_host_);
  std::unique_ptr<CopyThreads> threads;
  if (lacks_threads)
    threads = std::make_unique<CopyThreads>(chosen_threads_ > 0 ? chosen_threads_
                                                                : all_cpus(most_threads_));
  lock.lock();
  if (lacks_windows) windows_[host].push_back(std::move(windows));
  if (lacks_threads) threads_ = std::move(threads);
}

// Made where that needs no context: to make one would take as long as gigabytes of copies.
std::optional<StreamHandle> PageableCopies::stream_on(PlaceId gpu) {
  const std::scoped_lock lock(parts_mutex_);
  const auto found = streams_.find(gpu);
  if (found != streams_.end()) return found->second;
  if (!driver_.is_open(gpu)) return std::nullopt;
  return streams_[gpu] = driver_.create_stream(gpu);
}

PinnedWindows& PageableCopies::windows_at(PlaceId host) {
  const std::scoped_lock lock(parts_mutex_);
  PinnedWindows& windows = *windows_.at(host).back();
  if (!windows.lost) return windows;
  fail(ErrorCode::driver, "the pinned windows of a host are lost",
       "an earlier driver failure left work that cannot be waited for");
}

CopyThreads& PageableCopies::threads() {
  const std::scoped_lock lock(parts_mutex_);
  if (chosen_threads_ == 0) threads_->follow(CpuSet::of_caller());
  return *threads_;
}

}  // namespace polypath
