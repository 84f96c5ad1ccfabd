#include "engine/pageable/pageable.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/error.h"
#include "core/ignore_errors.h"
#include "core/log.h"
#include "engine/pageable/windowed_copy.h"

namespace polypath::engine {
namespace {

bool is_inward(const CopyEnds& ends) { return ends.source_kind == MemoryKind::pageable; }

PlaceId host_end_of(const CopyEnds& ends) {
  return is_inward(ends) ? ends.source : ends.destination;
}

PlaceId gpu_end_of(const CopyEnds& ends) {
  return is_inward(ends) ? ends.destination : ends.source;
}

}  // namespace

PageableCopies::PageableCopies(Driver& driver, const DriverBehaviour& behaviour,
                               const Settings& settings, Send send)
    : driver_(driver),
      send_(std::move(send)),
      events_(driver),
      streams_(driver),
      windows_(driver, settings),
      threads_(behaviour, settings) {}

PageableCopies::~PageableCopies() {
  if (!streams_.wait_for_all()) windows_.lose_all();
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
  PinnedWindows& ring = windows_.at(host_end_of(ends));
  const std::optional<StreamHandle> stream = streams_.on(gpu_end_of(ends));
  try {
    const Bytes window = bytes_of_window(call.bytes, ring.window);
    return WindowedCopy({driver_, threads_.of_caller(), ring, stream, window, send_}, call, ends)
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

bool PageableCopies::is_prepared(const CopyEnds& ends, WindowsMade wanted) const {
  return threads_.are_there() && windows_.are_at(host_end_of(ends), wanted);
}

// Windows are added last: if threads cannot be had, they are given back.
void PageableCopies::prepare(const CopyEnds& ends, WindowsMade wanted) {
  const PlaceId host = host_end_of(ends);
  const std::scoped_lock one_at_a_time(preparing_);
  std::unique_ptr<PinnedWindows> windows = windows_.make_missing(host, wanted);
  threads_.start();
  windows_.add(host, std::move(windows));
}

}  // namespace polypath::engine
