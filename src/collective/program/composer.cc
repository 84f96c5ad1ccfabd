#include "collective/program/composer.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "collective/program/collective_kernels.h"
#include "collective/program/routes.h"
#include "collective/program/split_messages.h"
#include "collective/trees/index_of.h"
#include "collective/trees/link_times.h"
#include "core/error.h"
#include "kernels/reduce.h"

namespace polypath::collective {
namespace {

// The host nearest to where a message goes, if it is faster by way of that; else none.
PlaceId faster_host(const HopTable& hops, PlaceId from, PlaceId to) {
  const auto direct = hops.find(from, to);
  const PlaceId host = hops.machine().nearest_host(to);
  return direct && faster_by(hops.machine(), *direct, host) ? host : PlaceId{};
}

}  // namespace
Composer::Composer(const Machine& machine, const CollectiveRequest& request, const Tuning& tuning,
                   Routes* routes)
    : hops_(machine), request_(request), tuning_(tuning), routes_(routes) {
  for (const PlaceId rank : request.ranks) program_.add(ProgramBuffer{rank});
  if (request.in_place) return;
  for (const PlaceId rank : request.ranks) program_.add(ProgramBuffer{rank});
}

Slice Composer::input(int rank, Bytes offset) const {
  const bool within = request_.in_place && request_.collective == Collective::all_gather;
  return {rank, within ? offset + request_.start_of(rank) : offset};
}

Slice Composer::output(int rank, Bytes offset) const {
  if (!request_.in_place) return {ranks() + rank, offset};
  const bool within = request_.collective == Collective::reduce_scatter;
  return {rank, within ? offset + request_.start_of(rank) : offset};
}

Slice Composer::slot(int from, int to, Bytes bytes) {
  if (bytes.value == 0) return {};
  return slots_.next(*hops_.find(request_.ranks[index_of(from)], request_.ranks[index_of(to)]),
                     false);
}

Slice Composer::host_slot(int rank) {
  return slots_.next(*hops_.find(request_.ranks[index_of(rank)],
                                 machine().nearest_host(request_.ranks[index_of(rank)])),
                     false);
}

Slice Composer::arrival_slot(int rank) {
  return slots_.next(*hops_.find(machine().nearest_host(request_.ranks[index_of(rank)]),
                                 request_.ranks[index_of(rank)]),
                     false);
}

Part Composer::part(int number, int count) const {
  return part_of({{}, request_.part()}, number, count, request_.element());
}

int Composer::pieces(Bytes most) {
  return pieces_ = pieces_of(most, tuning_.piece, request_.element());
}

Part Composer::piece(const Part& part, int number, int pieces) const {
  return part_of(part, number, pieces, request_.element());
}

void Composer::add(Node node) {
  if (tuning_.without_order) return (void)program_.add(node);
  const std::array uses = {
      MemoryUse{.slice = node.source, .bytes = node.bytes},
      MemoryUse{.slice = node.destination, .bytes = node.bytes, .writes = true}};
  std::vector<int>& after = dependences_.add(node.queue, uses);
  queues_.take_turn(node, after);
  program_.add(node, after);
}

void Composer::add_copy_by_hosts(HopId hop, Slice from, Slice to, Bytes bytes) {
  auto known = network_paths_.find(hop);
  if (known == network_paths_.end())
    known = network_paths_.emplace(hop, *find_network_path(machine(), machine().hop(hop))).first;
  const auto& [out, over, in] = known->second;
  const Slice here = slots_.next(out, true), there = slots_.next(over, true);
  add_copy(out, from, here, bytes);
  add_copy(over, here, there, bytes);
  add_copy(in, there, to, bytes);
}

void Composer::add_copy(HopId hop, Slice from, Slice to, Bytes bytes) {
  if (hop.valid() && machine().hop(hop).kind == HopKind::network_staged)
    return add_copy_by_hosts(hop, from, to, bytes);
  // Copies are made by the GPU that they leave, and from the host by the GPU that they go to.
  const bool is_closed = tuning_.private_memory && hop.valid() &&
                         !program_.buffer(to).is_scratch() &&
                         machine().executing_gpu(hop) != place_of(to);
  if (is_closed) {
    const Slice arrived = slots_.next(hop, false);
    add_copy(hop, from, arrived, bytes);
    return add_copy({}, arrived, to, bytes);
  }
  Node node;
  node.hop = hop;
  node.source = from, node.destination = to, node.bytes = bytes;
  node.queue = queues_.number(hop.valid() ? queues_.over(hop) : Queue{{}, place_of(to)});
  if (averages(request_)) counts_.copy(from, to, bytes);
  add(node);
}

void Composer::copy(Slice from, Slice to, Bytes bytes) {
  if (bytes.value == 0 || (from.buffer == to.buffer && from.offset == to.offset)) return;
  const PlaceId source = place_of(from), destination = place_of(to);
  add_copy(source == destination ? HopId{} : *hops_.find(source, destination), from, to, bytes);
}

void Composer::reduce(Slice into, Slice from, Bytes bytes) {
  if (bytes.value == 0) return;
  Node node;
  node.operation = Operation::reduce;
  node.reduction = request_.reduction;
  if (averages(request_)) {
    Reduction& reduction = node.reduction;
    reduction.values = averaged(request_);
    reduction.into = counts_.at(into, bytes), reduction.from = counts_.at(from, bytes);
    counts_.set(into, bytes, reduction.into + reduction.from);
  }
  node.source = from, node.destination = into, node.bytes = bytes;
  node.queue = queues_.number(Queue{{}, place_of(into)});
  add(node);
}

void Composer::reduce(Slice result, std::span<const Slice> operands, Bytes bytes) {
  if (bytes.value == 0) return;
  Reduction reduction = request_.reduction;
  reduction.values = averaged(request_);
  const PlaceId gpu = place_of(result);
  KernelCall call{.kernel = reduce_kernel_number(gpu),
                  .gpu = gpu,
                  .memory = {{.slice = result, .bytes = bytes, .writes = true}},
                  .shape = reduce_shape(bytes),
                  .duration = machine().reduction_time(gpu, bytes, operands.size()),
                  .reduces = true};
  std::vector<int> values_of;
  values_of.reserve(operands.size());
  call.memory.reserve(operands.size() + 1);
  for (const Slice& operand : operands) {
    call.memory.push_back({.slice = operand, .bytes = bytes});
    values_of.push_back(averages(request_) ? counts_.at(operand, bytes) : 1);
  }
  if (averages(request_))
    counts_.set(result, bytes, std::accumulate(values_of.begin(), values_of.end(), 0));
  call.values = reduce_values(reduction, bytes, values_of);
  run(std::move(call));
}

void Composer::send(std::vector<Message> messages) {
  std::erase_if(messages, [](const Message& message) { return message.bytes.value == 0; });
  for (Message& message : messages) {
    if (message.where_faster)
      message.by = faster_host(hops_, place_of(message.from), place_of(message.to));
    if (message.by.valid()) send_by_host(message);
  }
  std::erase_if(messages, [](const Message& message) { return message.by.valid(); });
  if (messages.empty()) return;
  if (tuning_.several_paths) {
    SplitMessages split(
        program_, slots_,
        [this](HopId hop, Slice from, Slice to, Bytes bytes) { add_copy(hop, from, to, bytes); },
        pieces_);
    return split.send(messages, *routes_, tuning_.by_joint_plan);
  }
  for (const Message& message : messages) copy(message.from, message.to, message.bytes);
}

void Composer::send_by_host(const Message& message) {
  const HopId out = *hops_.find(place_of(message.from), message.by);
  const HopId in = *hops_.find(message.by, place_of(message.to));
  const int pieces = pieces_of(message.bytes, tuning_.piece, 1_B);
  for (int number = 0; number < pieces; ++number) {
    const auto [offset, bytes] = part_of({{}, message.bytes}, number, pieces, 1_B);
    const Slice staged = slots_.next(out, false);
    add_copy(out, {message.from.buffer, message.from.offset + offset}, staged, bytes);
    add_copy(in, staged, {message.to.buffer, message.to.offset + offset}, bytes);
  }
}

void Composer::exchange(const Mail& mail, const SliceOfRank& from, const SliceOfRank& to) {
  for (KernelCall& call : exchanges_.calls_for(mail, from, to)) run(std::move(call));
}

// Kernels that exchange messages await each other by their mailboxes, at the same time.
void Composer::run(KernelCall call) {
  const int queue = queues_.number(Queue{{}, call.gpu});
  if (tuning_.without_order) return (void)program_.add(std::move(call), queue);
  std::vector<MemoryUse> uses;
  uses.reserve(call.memory.size());
  for (const Access& access : call.memory)
    if (access.bytes.value > 0 && !program_.buffer(access.slice).is_mailbox)
      uses.push_back({.slice = access.slice, .bytes = access.bytes, .writes = access.writes});
  const std::vector<int>& after = dependences_.add(queue, uses);
  program_.add(std::move(call), queue, after);
}

Packing Composer::pack(const PackingRequest& request) const {
  return routes_ != nullptr ? routes_->packings().of(request) : pack_trees(machine(), request);
}

Program Composer::build() && {
  program_.assign_events();
  return std::move(program_);
}

void pipeline(int pieces, std::span<const std::function<void(int piece)>> steps) {
  const int count = static_cast<int>(steps.size());
  for (int time = 0; time < pieces + count - 1; ++time)
    for (int step = 0; step < count; ++step)
      if (const int piece = time - step; piece >= 0 && piece < pieces)
        steps[static_cast<std::size_t>(step)](piece);
}

}  // namespace polypath::collective
