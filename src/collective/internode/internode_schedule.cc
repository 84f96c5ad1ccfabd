#include "collective/internode/internode_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/ignore_errors.h"

namespace polypath::collective {
namespace {

constexpr Bytes kLargestElement = bytes_of(ElementType::float64);

}  // namespace

NodeRank::NodeRank(Driver& driver, PlaceId gpu, const Nodes& nodes, int rank,
                   NodeCollectives* inside, Bytes piece)
    : driver_(driver),
      gpu_(gpu),
      nodes_(nodes),
      rank_(rank),
      inside_(inside),
      piece_(std::max(piece, kLargestElement)),
      memory_(2 * kPieces + 1) {
  for (int other = 0; other < this->nodes(); ++other)
    if (other != node()) rail_peers_.push_back(rank_at(other, local()));
}

NodeRank::~NodeRank() {
  for (const Address address : memory_)
    if (address.value != 0) ignore_errors([&] { driver_.free(address); });
}

Bytes NodeRank::buffer_bytes() const {
  return piece_ + kLargestElement * (2 * static_cast<std::uint64_t>(size()));
}

Address NodeRank::memory(int number) {
  Address& address = memory_[static_cast<std::size_t>(number)];
  if (address.value == 0) address = driver_.allocate(gpu_, buffer_bytes());
  return address;
}

void NodeRank::copy(Address to, Address from, Bytes bytes, StreamHandle stream) const {
  if (bytes.value == 0 || to == from) return;
  driver_.copy_native({.destination = to,
                       .source = from,
                       .bytes = bytes,
                       .destination_place = gpu_,
                       .source_place = gpu_},
                      stream);
}

// Sums and products are the same with their sides exchanged: those before this node are added up
// where the first of them is, and then to its own.
void NodeRank::reduce(Address own, Bytes bytes, const Reduction& reduction, StreamHandle stream) {
  if (bytes.value == 0) return;
  const auto others = static_cast<std::uint64_t>(nodes() - 1);
  const auto before = static_cast<std::uint64_t>(node());
  const auto value_of = [&](std::uint64_t other) { return arrived() + bytes * other; };
  const auto add = [&](Address into, Address from, std::uint64_t nodes_into,
                       std::uint64_t nodes_from) {
    Reduction used = reduction;
    used.values = size();
    used.into = static_cast<int>(nodes_into) * locals();
    used.from = static_cast<int>(nodes_from) * locals();
    driver_.reduce({.destination = into,
                    .destination_place = gpu_,
                    .source = from,
                    .source_place = gpu_,
                    .bytes = bytes},
                   used, stream);
  };
  for (std::uint64_t other = 1; other < before; ++other)
    add(value_of(0), value_of(other), other, 1);
  if (before > 0) add(own, value_of(0), 1, before);
  for (std::uint64_t other = before; other < others; ++other)
    add(own, value_of(other), other + 1, 1);
}

// A kernel that is loaded while streams wait for other ranks may have to wait for them.
void NodeRank::prepare(StreamHandle stream) {
  const Address memory = arrived();
  ignore_errors([&] {
    driver_.reduce({.destination = memory,
                    .destination_place = gpu_,
                    .source = memory + kLargestElement,
                    .source_place = gpu_,
                    .bytes = bytes_of(ElementType::int8)},
                   {.operation = ReduceOperator::sum, .type = ElementType::int8}, stream);
  });
}

int InternodeSchedule::pieces_of_whole(int times) const {
  const Bytes most{rank_.piece().value / static_cast<std::uint64_t>(times)};
  return collective::pieces_of(whole().bytes, most, element());
}

Reduction InternodeSchedule::in_node() const {
  Reduction reduction = call_.reduction;
  reduction.values = rank_.size();
  return reduction;
}

void InternodeSchedule::copy(Address to, Address from, Bytes bytes) const {
  if (!only_prepares_) rank_.copy(to, from, bytes, stream_);
}

void InternodeSchedule::inside(CollectiveCall call) {
  call.reduction = in_node();
  if (only_prepares_) rank_.inside()->prepare(call);
  else rank_.inside()->run(call, stream_);
}

namespace {

// Messages of 0 bytes between two barriers: data exchanged in one node is known in all others.
class BarrierAmongNodes final : public InternodeSchedule {
 public:
  using InternodeSchedule::InternodeSchedule;

  [[nodiscard]] int pieces() const override { return 1; }
  void before(int) override { barrier_inside(); }
  NodeMessages first(int) override {
    NodeMessages messages;
    messages.given.push_back({rank_.rail_peers(), {}, {}});
    for (const int other : rank_.rail_peers()) messages.taken.push_back({other, {}, {}});
    return messages;
  }
  void after(int) override { barrier_inside(); }

 private:
  void barrier_inside() {
    if (rank_.inside()) rank_.inside()->barrier(stream_);
  }
};

}  // namespace

std::unique_ptr<InternodeSchedule> internode_barrier(NodeRank& rank, const CollectiveCall& call,
                                                     StreamHandle stream, StreamHandle network) {
  return std::make_unique<BarrierAmongNodes>(rank, call, stream, network);
}

std::unique_ptr<InternodeSchedule> internode_schedule(NodeRank& rank, const CollectiveCall& call,
                                                      StreamHandle stream, StreamHandle network) {
  switch (call.collective) {
    case Collective::all_reduce: return internode_all_reduce(rank, call, stream, network);
    case Collective::reduce_scatter: return internode_reduce_scatter(rank, call, stream, network);
    case Collective::reduce: return internode_reduce(rank, call, stream, network);
    case Collective::all_gather: return internode_all_gather(rank, call, stream, network);
    case Collective::broadcast: return internode_broadcast(rank, call, stream, network);
    case Collective::all_to_all:
    case Collective::all_to_all_v: return internode_all_to_all(rank, call, stream, network);
  }
  fail(ErrorCode::internal, "a collective has no way among nodes",
       fmt::format("its number is {}", static_cast<int>(call.collective)));
}

}  // namespace polypath::collective
