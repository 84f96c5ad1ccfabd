// Copies over several hops at the same time; see capacities.h.

#include <algorithm>
#include <array>

#include "core/error.h"
#include "probe/capacities.h"

namespace polypath::probe {
namespace {

constexpr int kQueued = 2;                 // copies waiting behind each other on a stream
constexpr Seconds kCopy = 1000_us;         // of one copy alone: its latency is then of no account
constexpr Seconds kWindow = 8000_us;       // all hops are busy for at least so long
constexpr std::size_t kFewestOverHop = 6;  // copies in that time
constexpr Seconds kTimeout = {30};
constexpr Bytes kLargestCopy = 256_MiB;

// Copies over one hop, one after the other: when they ended, on the calling thread's clock.
struct Lane {
  CopyRequest request;
  StreamHandle stream;
  std::array<EventHandle, kQueued> events;
  std::vector<Seconds> ends;
};

class ConcurrentRun {
 public:
  ConcurrentRun(Workbench& bench, const HopSet& set, const std::vector<HopTimes>& hops);

  std::vector<std::vector<BytesPerSecond>> rates(int parts);

 private:
  void add_lane(HopId hop, BytesPerSecond bandwidth, int number);
  void enqueue(Lane& lane, std::size_t number);
  bool poll();
  void run();
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] Seconds all_busy_from() const;

  Workbench& bench_;
  std::vector<Lane> lanes_;
  std::map<PlaceId, int> slots_;
};

// How much of the lane's bytes had moved at `time`, in copies: between two ends it goes evenly.
double copies_by(const Lane& lane, Seconds time) {
  const auto after = std::upper_bound(lane.ends.begin(), lane.ends.end(), time);
  if (after == lane.ends.end()) return static_cast<double>(lane.ends.size());
  const auto done = static_cast<double>(after - lane.ends.begin());
  if (after == lane.ends.begin()) return done;
  return done + (time - *(after - 1)) / (*after - *(after - 1));
}

ConcurrentRun::ConcurrentRun(Workbench& bench, const HopSet& set, const std::vector<HopTimes>& hops)
    : bench_(bench) {
  for (std::size_t i = 0; i < set.size(); ++i)
    add_lane(set[i], hops[set[i].index()].bandwidth(), static_cast<int>(i));
}

// Each lane has memory of its own, so that no cache serves two of them.
void ConcurrentRun::add_lane(HopId id, BytesPerSecond bandwidth, int number) {
  const Hop& hop = bench_.machine().hop(id);
  const PlaceId gpu = bench_.machine().executing_gpu(id);
  const auto wanted = static_cast<std::uint64_t>(bandwidth.value * kCopy.value);
  const Bytes bytes{std::clamp(wanted / kGrain * kGrain, kGrain, kLargestCopy.value)};
  const int source = slots_[hop.source]++;
  const int destination = slots_[hop.destination]++;
  Lane lane{bench_.copy_over(id, bytes, source, destination), bench_.stream(gpu, number), {}, {}};
  for (int i = 0; i < kQueued; ++i)
    lane.events[static_cast<std::size_t>(i)] = bench_.event(gpu, number * kQueued + i);
  lanes_.push_back(std::move(lane));
}

void ConcurrentRun::enqueue(Lane& lane, std::size_t number) {
  bench_.driver().copy(lane.request, lane.stream);
  bench_.driver().record(lane.events[number % kQueued], lane.stream);
}

// Notes copies that have ended, and enqueues as many. False if none had.
bool ConcurrentRun::poll() {
  bool any = false;
  for (Lane& lane : lanes_) {
    const std::size_t next = lane.ends.size();
    if (!bench_.driver().is_done(lane.events[next % kQueued])) continue;
    lane.ends.push_back(bench_.driver().now());
    enqueue(lane, next + kQueued);
    any = true;
  }
  return any;
}

Seconds ConcurrentRun::all_busy_from() const {
  Seconds from;
  for (const Lane& lane : lanes_)
    from = std::max(from, lane.ends.empty() ? Seconds::infinity() : lane.ends.front());
  return from;
}

bool ConcurrentRun::is_over() const {
  const Seconds enough = all_busy_from() + kWindow;
  return std::all_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
    return lane.ends.size() > kFewestOverHop && lane.ends.back() >= enough;
  });
}

void ConcurrentRun::run() {
  Driver& driver = bench_.driver();
  for (std::size_t i = 0; i < kQueued; ++i)
    for (Lane& lane : lanes_) enqueue(lane, i);
  Seconds last_end = driver.now();
  while (!is_over()) {
    const Seconds before = driver.now();
    if (poll()) {
      last_end = driver.now();
      continue;
    }
    if (driver.now() - last_end > kTimeout)
      fail(ErrorCode::driver, "copies do not end", "none has for 30 s", "Restart the driver.");
    // Where asking costs nothing a virtual clock stands still; waiting moves it.
    if (driver.now() == before) driver.synchronize(lanes_.front().stream);
  }
  bench_.settle();
}

std::vector<std::vector<BytesPerSecond>> ConcurrentRun::rates(int parts) {
  run();
  const Seconds from = all_busy_from();
  Seconds to = Seconds::infinity();
  for (const Lane& lane : lanes_) to = std::min(to, lane.ends.back());
  const Seconds part = (to - from) * (1.0 / parts);
  std::vector<std::vector<BytesPerSecond>> rates(lanes_.size());
  for (std::size_t l = 0; l < lanes_.size(); ++l)
    for (int i = 0; i < parts; ++i) {
      const Seconds begin = from + part * i;
      const double copies = copies_by(lanes_[l], begin + part) - copies_by(lanes_[l], begin);
      rates[l].push_back({copies * lanes_[l].request.bytes.real() / part.value});
    }
  return rates;
}

}  // namespace

std::vector<std::vector<BytesPerSecond>> concurrent_rates(Workbench& bench, const HopSet& set,
                                                          const std::vector<HopTimes>& hops,
                                                          int parts) {
  return ConcurrentRun(bench, set, hops).rates(parts);
}

}  // namespace polypath::probe
