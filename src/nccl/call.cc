#include "nccl/call.h"

#include <array>

namespace polypath::nccl {
namespace {

// In the order of ncclDataType_t.
constexpr std::array kTypes = {
    ElementType::int8,     ElementType::uint8,         ElementType::int32,
    ElementType::uint32,   ElementType::int64,         ElementType::uint64,
    ElementType::float16,  ElementType::float32,       ElementType::float64,
    ElementType::bfloat16, ElementType::float8_e4m3fn, ElementType::float8_e5m2};

// In the order of ncclRedOp_t; those that programs make for themselves come after them.
constexpr std::array kOperators = {ReduceOperator::sum, ReduceOperator::product,
                                   ReduceOperator::maximum, ReduceOperator::minimum,
                                   ReduceOperator::average};

template <class List>
auto at(const List& list, int number) -> std::optional<typename List::value_type> {
  if (number < 0 || static_cast<std::size_t>(number) >= list.size()) return std::nullopt;
  return list[static_cast<std::size_t>(number)];
}

bool is_float(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float64 ||
         type == ElementType::float16 || type == ElementType::bfloat16;
}

// NCCL's minimum and maximum do not define the result for NaN, and its averages of integers are
// rounded.
bool has_same_result(ElementType type, ReduceOperator operation) {
  switch (operation) {
    case ReduceOperator::sum:
    case ReduceOperator::product: return type < ElementType::boolean;
    case ReduceOperator::maximum:
    case ReduceOperator::minimum: return type < ElementType::boolean && !is_float(type);
    case ReduceOperator::average: return is_float(type);
  }
  return false;
}

std::optional<Collective> collective_of(Operation operation) {
  switch (operation) {
    case Operation::all_reduce: return Collective::all_reduce;
    case Operation::reduce: return Collective::reduce;
    case Operation::reduce_scatter: return Collective::reduce_scatter;
    case Operation::all_gather: return Collective::all_gather;
    case Operation::broadcast: return Collective::broadcast;
    case Operation::all_to_all: return Collective::all_to_all;
    case Operation::gather:
    case Operation::scatter:
    case Operation::send:
    case Operation::receive: break;
  }
  return std::nullopt;
}

Address address_of(const void* pointer) { return {reinterpret_cast<std::uintptr_t>(pointer)}; }

// A call that has memory for each rank.
bool has_parts(Operation operation) {
  switch (operation) {
    case Operation::reduce_scatter:
    case Operation::all_gather:
    case Operation::all_to_all:
    case Operation::gather:
    case Operation::scatter: return true;
    default: return false;
  }
}

}  // namespace

const char* name_of(Operation operation) {
  constexpr std::array<const char*, kOperations> kNames = {
      "allreduce", "reduce", "reducescatter", "allgather", "broadcast",
      "alltoall",  "gather", "scatter",       "send",      "receive"};
  return kNames[static_cast<std::size_t>(operation)];
}

Result make(const Functions& real, const Call& c) {
  const auto call = [](auto function, auto... arguments) {
    return function == nullptr ? kMissing : function(arguments...);
  };
  switch (c.operation) {
    case Operation::all_reduce:
      return call(real.AllReduce, c.send, c.receive, c.count, c.type, c.reduction, c.comm,
                  c.stream);
    case Operation::reduce:
      return call(real.Reduce, c.send, c.receive, c.count, c.type, c.reduction, c.other, c.comm,
                  c.stream);
    case Operation::reduce_scatter:
      return call(real.ReduceScatter, c.send, c.receive, c.count, c.type, c.reduction, c.comm,
                  c.stream);
    case Operation::all_gather:
      return call(real.AllGather, c.send, c.receive, c.count, c.type, c.comm, c.stream);
    case Operation::broadcast:
      return call(real.Broadcast, c.send, c.receive, c.count, c.type, c.other, c.comm, c.stream);
    case Operation::all_to_all:
      return call(real.AlltoAll, c.send, c.receive, c.count, c.type, c.comm, c.stream);
    case Operation::gather:
      return call(real.Gather, c.send, c.receive, c.count, c.type, c.other, c.comm, c.stream);
    case Operation::scatter:
      return call(real.Scatter, c.send, c.receive, c.count, c.type, c.other, c.comm, c.stream);
    case Operation::send:
      return call(real.Send, c.send, c.count, c.type, c.other, c.comm, c.stream);
    case Operation::receive:
      return call(real.Recv, c.receive, c.count, c.type, c.other, c.comm, c.stream);
  }
  return kInternalError;
}

std::optional<CollectiveCall> our_form(const Call& call, int size) {
  const auto collective = collective_of(call.operation);
  const auto type = at(kTypes, call.type);
  if (!collective || !type || call.count == 0) return std::nullopt;
  CollectiveCall ours{.collective = *collective,
                      .reduction = {.type = *type},
                      .elements = call.count,
                      .input = address_of(call.send),
                      .output = address_of(call.receive)};
  if (has_root(*collective)) {
    if (call.other < 0 || call.other >= size) return std::nullopt;
    ours.root = call.other;
  }
  if (!reduces(*collective)) return ours;
  const auto operation = at(kOperators, call.reduction);
  if (!operation || !has_same_result(*type, *operation)) return std::nullopt;
  ours.reduction.operation = *operation;
  return ours;
}

Bytes message_of(const Call& call, int size) {
  const auto type = at(kTypes, call.type);
  if (!type) return {};
  const auto parts = static_cast<std::uint64_t>(has_parts(call.operation) ? size : 1);
  return bytes_of(*type) * (call.count * parts);
}

}  // namespace polypath::nccl
