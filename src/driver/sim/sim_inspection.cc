// Queries of the simulated driver for tests and benchmarks, beside the Driver interface.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/process_identity.h"
#include "driver/sim/sim_driver.h"

namespace polypath::sim {

std::string SimDriver::simulation() const {
  const auto process = this_process().value_or(ProcessIdentity{.number = getpid()});
  return fmt::format("{}:{}:{}:{}", process.number_space, process.number, process.start,
                     fmt::ptr(this));
}

void SimDriver::report(const std::string& violation) {
  if (violations_.size() < kMostViolations) violations_.push_back(violation);
}

std::vector<std::string> SimDriver::violations() const {
  const std::scoped_lock lock(mutex_);
  return violations_;
}

std::vector<std::string> SimDriver::leaks() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> leaks;
  for (const auto& [address, block] : memory_.blocks())
    leaks.push_back(fmt::format("{} bytes at {}", block->info().size.value,
                                machine_.place(block->info().place).name));
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) leaks.push_back(fmt::format("{} {}", count, what));
  };
  add(streams_.size() - 1, "streams");  // the default stream is the driver's own
  add(events_.size(), "events");
  add(graphs_.size(), "graphs");
  add(kernels_.size(), "kernels");
  add(imports_.size(), "imports");
  return leaks;
}

std::vector<Span> SimDriver::trace() {
  const std::scoped_lock lock(mutex_);
  fluid_.drain();
  host() = std::max(meet_nodes(), fluid_.now());
  (void)meet_nodes();
  return trace_;
}

std::vector<Span> SimDriver::finished_copies() const {
  const std::scoped_lock lock(mutex_);
  return trace_;
}

void SimDriver::use_host_thread(std::size_t thread) {
  const std::scoped_lock lock(mutex_);
  const NodeClocks now = host_clocks_[host_thread_];
  if (host_clocks_.size() <= thread) host_clocks_.resize(thread + 1, now);
  host_thread_ = thread;
}

void SimDriver::align_host_threads() {
  const std::scoped_lock lock(mutex_);
  Seconds latest;
  for (const NodeClocks& clocks : host_clocks_)
    latest = std::max(latest, *std::max_element(clocks.begin(), clocks.end()));
  for (NodeClocks& clocks : host_clocks_) std::fill(clocks.begin(), clocks.end(), latest);
}

void SimDriver::hold_up_threads(bool several) {
  const std::scoped_lock lock(mutex_);
  costs_ = several ? held_up(machine_.costs) : machine_.costs;
}

// All are enqueued before the first is waited for: virtual threads are played one after another.
Seconds SimDriver::copy_by_threads(const std::vector<Enqueued>& copies) {
  const std::size_t caller = host_thread_;
  for (std::size_t i = 0; i < copies.size(); ++i) use_host_thread(i);
  align_host_threads();
  const Seconds start = now();
  hold_up_threads(copies.size() > 1);
  for (std::size_t i = 0; i < copies.size(); ++i)
    use_host_thread(i), copy(copies[i].request, copies[i].stream);
  for (std::size_t i = 0; i < copies.size(); ++i) use_host_thread(i), synchronize(copies[i].stream);
  hold_up_threads(false);
  use_host_thread(caller);
  align_host_threads();
  return now() - start;
}

void SimDriver::pass_time(Seconds duration) {
  const std::scoped_lock lock(mutex_);
  spend(duration);
}

std::optional<Seconds> SimDriver::finished_at(EventHandle event) {
  const std::scoped_lock lock(mutex_);
  return time_of(event_of(event));
}

std::optional<Seconds> SimDriver::time_of(const Event& event) {
  if (!event.recorded || (event.activity && !event.activity->done)) return std::nullopt;
  return event.activity ? std::max(event.at, event.activity->finished) : event.at;
}

void SimDriver::fail_nth(Call call, int nth) {
  const std::scoped_lock lock(mutex_);
  faults_.fail_nth(call, nth);
}

void SimDriver::fail_from(Call call, int nth) {
  const std::scoped_lock lock(mutex_);
  faults_.fail_from(call, nth);
}

void SimDriver::clear_faults() {
  const std::scoped_lock lock(mutex_);
  faults_.clear();
}

void SimDriver::watch_sites() {
  const std::scoped_lock lock(mutex_);
  faults_.watch_sites();
}

std::vector<int> SimDriver::uses_by_site(Call call, int before) const {
  const std::scoped_lock lock(mutex_);
  return faults_.uses_by_site(call, before);
}

int SimDriver::uses(Call call) const {
  const std::scoped_lock lock(mutex_);
  return faults_.uses(call);
}

}  // namespace polypath::sim
