#include "collective/internode/exchange_task.h"

namespace polypath::collective {
namespace {

template <class Value>
std::span<std::byte> memory_of(Value& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

ExchangeTask comparison_of(const CallRecord& call, const std::vector<int>& others) {
  ExchangeTask task{.ready = {}, .exchange = {}, .call = describe(call)};
  task.comparison = std::make_unique<CallComparison>();
  task.comparison->own = words_of(call);
  task.comparison->others.resize(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    task.exchange.out.push_back({others[i], memory_of(task.comparison->own)});
    task.exchange.in.push_back({others[i], memory_of(task.comparison->others[i])});
  }
  return task;
}

}  // namespace polypath::collective
