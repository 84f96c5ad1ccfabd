#include "collective/internode/network_proxy.h"

#include <utility>

#include "collective/rank/timeouts.h"

namespace polypath::collective {

NetworkProxy::NetworkProxy(Driver& driver, PlaceId gpu, PlaceId host, int slots, ProxyGroup group)
    : driver_(driver),
      words_(driver, host, slots),
      events_(driver, gpu),
      runner_(driver, words_, events_, std::move(group)),
      thread_([this] { runner_.run(inbox_); }) {}

void NetworkProxy::stop() {
  if (!thread_.joinable()) return;
  inbox_.stop(Deadline(kGpuTimeout));
  thread_.join();
}

NetworkProxy::~NetworkProxy() { stop(); }

void NetworkProxy::begin(const CallRecord& call, const std::vector<int>& others) {
  ExchangeTask task = comparison_of(call, others);
  call_ = task.call;
  inbox_.add(std::move(task));
}

std::uint64_t NetworkProxy::end() {
  inbox_.add({.ready = {}, .exchange = {}, .call = call_, .is_last = true});
  return ++calls_;
}

void NetworkProxy::start(int slot, Exchange exchange, StreamHandle stream) {
  const EventHandle ready = events_.take();
  driver_.record(ready, stream);
  inbox_.add({.ready = ready,
              .exchange = std::move(exchange),
              .slot = slot,
              .number = words_.next(slot),
              .call = call_});
}

void NetworkProxy::finish(int slot, StreamHandle stream) { words_.await(slot, stream); }

void NetworkProxy::abort(const Error& why) { inbox_.abort(why); }

}  // namespace polypath::collective
