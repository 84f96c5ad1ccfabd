#include "machine/driver_fields.h"

#include <cmath>
#include <type_traits>

namespace polypath::machine {
namespace {

using D = DriverBehaviour;

constexpr double kTiB = 1099511627776.0;

// Times and rates as everywhere in machine files.
DriverField time(std::string_view name, Seconds D::*member) { return {name, member, 0, 1}; }
DriverField size(std::string_view name, Bytes D::*member) { return {name, member, 0, kTiB}; }
DriverField rate(std::string_view name, BytesPerSecond D::*member) {
  return {name, member, 1e6, 1e14};
}

}  // namespace

const std::vector<DriverField>& driver_fields() {
  // Not destroyed: threads of the background may still be at work when the program ends.
  static const auto& fields = *new std::vector<DriverField>{
      time("least_gain", &D::least_gain),
      time("least_gain_two_threads", &D::least_gain_two_threads),
      time("least_gain_one_thread", &D::least_gain_one_thread),
      {"least_gain_driver_staged", &D::least_gain_driver_staged, 0, 1},
      size("driver_staged_steps_below", &D::driver_staged_steps_below),
      time("brief_copy", &D::brief_copy),
      rate("pageable_in", &D::pageable_in),
      rate("pageable_out", &D::pageable_out),
      size("pageable_in_waits_from", &D::pageable_in_waits_from),
      time("windows_cost", &D::windows_cost),
      rate("windows_gain_in", &D::windows_gain_in),
      rate("windows_gain_out", &D::windows_gain_out),
      {"windows_threads", &D::windows_threads, 1, 1024},
      {"windows_threads_least", &D::windows_threads_least, 1, 1024},
      {"stream_entries", &D::stream_entries, 4, 1e6},
      time("batch_copy", &D::batch_copy),
      time("batch_latency", &D::batch_latency),
      {"least_gain_batch", &D::least_gain_batch, 0, 1},
      time("kernel_launch", &D::kernel_launch),
      time("kernel_latency", &D::kernel_latency),
      {"kernel_efficiency", &D::kernel_efficiency, 0.01, 1},
      {"kernel_blocks", &D::kernel_blocks, 1, 1024},
      time("flag_call", &D::flag_call),
      time("flag_latency", &D::flag_latency),
      time("mail_latency", &D::mail_latency),
      time("mail_share_latency", &D::mail_share_latency),
      {"mail_efficiency", &D::mail_efficiency, 0.01, 1},
      time("parcel_latency", &D::parcel_latency),
      {"parcel_efficiency", &D::parcel_efficiency, 0.01, 1},
      {"context_beside_allocations", &D::context_beside_allocations, 1, 1000}};
  return fields;
}

double DriverField::value_in(const DriverBehaviour& driver) const {
  return std::visit(
      [&](auto at) {
        const auto& value = driver.*at;
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
          return static_cast<double>(value);
        else return static_cast<double>(value.value);
      },
      member);
}

bool DriverField::accepts(double value) const {
  const bool whole = is<Bytes>() || is<int>();
  return value >= least && value <= most && (!whole || value == std::floor(value));
}

void DriverField::set(DriverBehaviour& driver, double value) const {
  std::visit(
      [&](auto at) {
        auto& target = driver.*at;
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(target)>>)
          target = static_cast<std::decay_t<decltype(target)>>(value);
        else target.value = static_cast<decltype(target.value)>(value);
      },
      member);
}

}  // namespace polypath::machine
