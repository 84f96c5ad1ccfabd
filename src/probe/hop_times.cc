#include "probe/hop_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace polypath::probe {
namespace {

// A copy must take this many times as long as issuing it, so that the device is never idle.
constexpr double kLongerThanIssue = 3;
// Long enough for a clock, short enough for a whole machine.
constexpr Seconds kChainTime = 2000_us;
constexpr Seconds kLongestCopy = 50000_us;
constexpr int kLongestChain = 128;  // copies
constexpr std::size_t kFewestSizes = 2;
constexpr Bytes kStated = 1_MiB;  // the fit error is that of this size and above

class HopMeasurement {
 public:
  HopMeasurement(Workbench& bench, const Sampler& sampler, HopId hop, Seconds copy_call)
      : bench_(bench), sampler_(sampler), hop_(hop), copy_call_(copy_call) {}

  HopTimes measure();

 private:
  Seconds chain(Bytes bytes, int copies) { return chain_time(bench_, hop_, bytes, copies); }
  void measure_size(Bytes bytes, HopTimes& times);
  [[nodiscard]] std::string what(Bytes bytes) const {
    return fmt::format("copies of {} from {}", describe_bytes(bytes),
                       hop_name(bench_.machine(), hop_));
  }

  Workbench& bench_;
  const Sampler& sampler_;
  HopId hop_;
  Seconds copy_call_;
};

// Adds the time at one size, if copies of it are long enough for their issue and short enough to
// wait for.
void HopMeasurement::measure_size(Bytes bytes, HopTimes& times) {
  (void)chain(bytes, 1);  // the first use of new memory is no measurement
  const Seconds about = chain(bytes, 1);
  if (about > kLongestCopy && times.sizes.size() >= kFewestSizes) return;
  const int more = std::clamp(static_cast<int>(kChainTime / about), 1, kLongestChain);
  std::vector<double> singles;
  const Sample per_copy = sampler_.measure(what(bytes), [&] {
    const Seconds one = chain(bytes, 1);
    singles.push_back(one.value);
    return (chain(bytes, 1 + more) - one).value / more;
  });
  if (per_copy.value < kLongerThanIssue * copy_call_.value) return;
  const Seconds left = Seconds{median(singles)} - copy_call_ - Seconds{per_copy.value};
  times.sizes.push_back({bytes, {per_copy.value}, left});
  times.spread = std::max(times.spread, per_copy.spread);
}

HopTimes HopMeasurement::measure() {
  HopTimes times;
  times.hop = hop_;
  for (const Bytes bytes : chain_sizes()) measure_size(bytes, times);
  if (times.sizes.size() < kFewestSizes)
    fail(ErrorCode::unsupported,
         fmt::format("copies from {} cannot be timed", hop_name(bench_.machine(), hop_)),
         "issuing one takes longer than carrying it out, up to 64 MiB");
  std::vector<Point> points, stated;
  for (const SizeTime& size : times.sizes) {
    points.push_back({size.bytes.real(), size.per_copy.value});
    if (size.bytes >= kStated) stated.push_back(points.back());
  }
  times.line = fit_line(points);
  times.fit_error = largest_residual(times.line, stated);
  return times;
}

}  // namespace

Seconds chain_time(Workbench& bench, HopId hop, Bytes bytes, int copies) {
  Driver& driver = bench.driver();
  const CopyRequest request = bench.copy_over(hop, bytes);
  const StreamHandle stream = bench.stream_of(hop);
  const Seconds start = driver.now();
  for (int i = 0; i < copies; ++i) driver.copy(request, stream);
  driver.synchronize(stream);
  return driver.now() - start;
}

const std::vector<Bytes>& chain_sizes() {
  static const auto& sizes =
      *new std::vector<Bytes>{64_KiB, 256_KiB, 1_MiB, 4_MiB, 16_MiB, 64_MiB, 256_MiB};
  return sizes;
}

const SizeTime* HopTimes::at(Bytes bytes) const {
  for (const SizeTime& size : sizes)
    if (size.bytes == bytes) return &size;
  return nullptr;
}

HopTimes measure_hop(Workbench& bench, const Sampler& sampler, HopId hop, Seconds copy_call) {
  HopMeasurement measurement(bench, sampler, hop, copy_call);
  // A driver that stages copies by itself changes its way with the size.
  const bool staged = bench.machine().hop(hop).kind == HopKind::driver_staged;
  const double most =
      staged ? sampler.trust().most_graph_fit_error : sampler.trust().most_fit_error;
  HopTimes times = measurement.measure();
  for (int i = 1; i < sampler.trust().tries && !(times.fit_error <= most); ++i)
    times = measurement.measure();
  if (!(times.fit_error <= most))
    fail_noisy(hop_name(bench.machine(), hop), "its times differ from latency + bytes/bandwidth by",
               times.fit_error, most);
  return times;
}

}  // namespace polypath::probe
