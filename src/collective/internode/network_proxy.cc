#include "collective/internode/network_proxy.h"

#include <utility>

#include "collective/rank/timeouts.h"
#include "core/ignore_errors.h"
#include "model/program.h"

namespace polypath {
namespace {

template <class Value>
std::span<std::byte> memory_of(Value& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

NetworkProxy::NetworkProxy(Driver& driver, PlaceId gpu, PlaceId host, int slots, Group group)
    : driver_(driver),
      gpu_(gpu),
      host_(host),
      group_(std::move(group)),
      words_(driver.allocate_zeros(host, kFlagBytes * static_cast<std::uint64_t>(slots))),
      numbers_(static_cast<std::size_t>(slots)) {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    ignore_errors([&] { driver_.free(words_); });
    throw;
  }
}

void NetworkProxy::stop() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    stops_ = Deadline(kGpuTimeout);
  }
  changed_.notify_one();
  thread_.join();
}

NetworkProxy::~NetworkProxy() {
  stop();
  for (const EventHandle event : events_) ignore_errors([&] { driver_.destroy_event(event); });
  ignore_errors([&] { driver_.free(words_); });
}

Address NetworkProxy::word(int slot) const {
  return words_ + kFlagBytes * static_cast<std::uint64_t>(slot);
}

void NetworkProxy::begin(const CallRecord& call, const std::vector<int>& others) {
  call_ = describe(call);
  Task task{.ready = {}, .exchange = {}, .call = call_};
  task.comparison = std::make_unique<Comparison>();
  task.comparison->own = words_of(call);
  task.comparison->others.resize(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    task.exchange.out.push_back({others[i], memory_of(task.comparison->own)});
    task.exchange.in.push_back({others[i], memory_of(task.comparison->others[i])});
  }
  add(std::move(task));
}

std::uint64_t NetworkProxy::end() {
  add({.ready = {}, .exchange = {}, .call = call_, .is_last = true});
  return ++calls_;
}

void NetworkProxy::start(int slot, Exchange exchange, StreamHandle stream) {
  const EventHandle ready = take_event();
  driver_.record(ready, stream);
  add({.ready = ready,
       .exchange = std::move(exchange),
       .slot = slot,
       .number = ++numbers_[static_cast<std::size_t>(slot)],
       .call = call_});
}

void NetworkProxy::finish(int slot, StreamHandle stream) {
  driver_.wait_value(stream, word(slot), host_, numbers_[static_cast<std::size_t>(slot)]);
}

void NetworkProxy::abort(const Error& why) {
  {
    const std::scoped_lock lock(mutex_);
    if (!aborted_) aborted_ = why;
  }
  changed_.notify_one();
}

EventHandle NetworkProxy::take_event() {
  const std::scoped_lock lock(mutex_);
  if (events_.empty()) return driver_.create_event(gpu_);
  const EventHandle event = events_.back();
  events_.pop_back();
  return event;
}

void NetworkProxy::add(Task task) {
  {
    const std::scoped_lock lock(mutex_);
    new_.push_back(std::move(task));
  }
  changed_.notify_one();
}

}  // namespace polypath
