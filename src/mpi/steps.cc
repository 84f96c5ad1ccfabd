#include "mpi/steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"

namespace polypath::mpi {
namespace {

bool reduces(Operation operation) { return operation <= Operation::exclusive_scan; }

std::uint64_t natural(Count count) { return static_cast<std::uint64_t>(std::max<Count>(count, 0)); }

// The side that says how much goes from rank to rank. In place the other one has no type.
const Side& sized_side(const Library& library, const Call& call) {
  switch (call.operation) {
    case Operation::broadcast:
    case Operation::scatter_v: return call.send;
    case Operation::gather:
    case Operation::gather_v:
      return call.send.memory == library.in_place ? call.receive : call.send;
    case Operation::scatter:
      return call.receive.memory == library.in_place ? call.send : call.receive;
    default: return call.receive;
  }
}

// A side that this rank has, with a type that we have.
bool is_plain(const Library& library, const Side& side) {
  return side.parts == 0 || side.memory == library.in_place ||
         element_of(library, side.type).has_value();
}

bool can_reduce(const Library& library, const Call& call) {
  const auto element = element_of(library, call.receive.type);
  const auto operation = library.operator_of(call.reduction);
  if (!element || !operation) return false;
  return *operation == ReduceOperator::sum ? element->is_number : element->is_real;
}

bool has_equal_counts(const Numbers& counts, int size) {
  for (int rank = 1; rank < size; ++rank)
    if (counts[rank] != counts[0]) return false;
  return true;
}

// Bytes that are only moved go in the widest words that they can be divided into, which all ranks
// find alike, whatever types they pass.
std::pair<ElementType, std::uint64_t> words_of(Bytes bytes) {
  if (bytes.value % 8 == 0) return {ElementType::uint64, bytes.value / 8};
  if (bytes.value % 4 == 0) return {ElementType::uint32, bytes.value / 4};
  return {ElementType::uint8, bytes.value};
}

class StepsOf {
 public:
  StepsOf(const Library& library, const Call& call, const Seat& seat, Scratch& scratch,
          const Exchange& exchange)
      : library_(library), call_(call), seat_(seat), scratch_(scratch), exchange_(exchange) {}

  Steps operator()() {
    switch (call_.operation) {
      case Operation::all_reduce: add_reduction(Collective::all_reduce, call_.receive.count); break;
      case Operation::reduce: add_reduce(); break;
      case Operation::reduce_scatter: add_reduce_scatter_of_counts(); break;
      case Operation::reduce_scatter_block: add_reduce_scatter(call_.receive.count); break;
      case Operation::broadcast: add_broadcast(call_.root, send(), send(), send_bytes(0)); break;
      case Operation::all_gather: add_all_gather(); break;
      case Operation::all_to_all: add_all_to_all(); break;
      case Operation::all_gather_v: add_broadcasts(); break;
      case Operation::gather: add_gather(); break;
      case Operation::scatter: add_scatter(); break;
      case Operation::gather_v: add_gather_of_counts(); break;
      case Operation::scatter_v: add_scatter_of_counts(); break;
      case Operation::all_to_all_v: add_all_to_all_of_counts(); break;
      case Operation::scan:
      case Operation::exclusive_scan:
      case Operation::all_to_all_w: break;  // is_ours() says no
    }
    return std::move(steps_);
  }

 private:
  [[nodiscard]] bool is_root() const { return seat_.rank == call_.root; }
  [[nodiscard]] bool sends_in_place() const { return call_.send.memory == library_.in_place; }
  [[nodiscard]] bool receives_in_place() const { return call_.receive.memory == library_.in_place; }
  [[nodiscard]] Address send() const { return at(call_.send); }
  [[nodiscard]] Address receive() const { return at(call_.receive); }
  static Address at(const Side& side) { return {reinterpret_cast<std::uintptr_t>(side.memory)}; }
  [[nodiscard]] Element element(const Side& side) const {
    return element_of(library_, side.type).value();
  }
  // Of each rank's part.
  [[nodiscard]] Bytes bytes_of_part(const Side& side, int part) const {
    const Count count = side.counts.is_there() ? side.counts[part] : side.count;
    return element(side).bytes() * natural(count);
  }
  [[nodiscard]] Bytes send_bytes(int part) const { return bytes_of_part(call_.send, part); }
  [[nodiscard]] Bytes receive_bytes(int part) const { return bytes_of_part(call_.receive, part); }
  [[nodiscard]] std::uint64_t own() const { return static_cast<std::uint64_t>(seat_.rank); }

  [[nodiscard]] CollectiveCall move(Collective collective, Bytes part) const {
    const auto [type, count] = words_of(part);
    return {.collective = collective, .reduction = {.type = type}, .elements = count};
  }

  [[nodiscard]] CollectiveCall reduction(Collective collective, Count count) const {
    const Element of = element(call_.receive);
    return {
        .collective = collective,
        .reduction = {.operation = library_.operator_of(call_.reduction).value(), .type = of.type},
        .elements = natural(count) * static_cast<std::uint64_t>(of.values)};
  }

  // A copy of memory that ours must not find where the program has it.
  Address aside(Address from, Bytes bytes) {
    const Address copy = scratch_.take(bytes);
    steps_.before.push_back({from, copy, bytes});
    return copy;
  }

  void add(CollectiveCall call, Address input, Address output) {
    call.input = input;
    call.output = output;
    if (call.elements > 0) steps_.calls.push_back(std::move(call));
  }

  void add_reduction(Collective collective, Count count) {
    add(reduction(collective, count), sends_in_place() ? receive() : send(), receive());
  }

  // Of a root in place the value lies where the result does.
  void add_reduce() {
    CollectiveCall call = reduction(Collective::reduce, call_.receive.count);
    call.root = call_.root;
    const Address input = sends_in_place() ? aside(receive(), receive_bytes(0)) : send();
    add(std::move(call), input, is_root() ? receive() : Address{});
  }

  // In place MPI wants the result in the first part, and leaves the others as they are.
  void add_reduce_scatter(Count count) {
    if (!sends_in_place()) return add_reduction(Collective::reduce_scatter, count);
    const Bytes part = element(call_.receive).bytes() * natural(count);
    if (part.value == 0) return;
    const Address result = scratch_.take(part);
    add(reduction(Collective::reduce_scatter, count), receive(), result);
    steps_.after.push_back({result, receive(), part});
  }

  void add_reduce_scatter_of_counts() {
    const Numbers& counts = call_.counts;
    if (has_equal_counts(counts, seat_.size)) return add_reduce_scatter(counts[0]);
    Count all = 0, before = 0;
    for (int rank = 0; rank < seat_.size; ++rank) {
      if (rank == seat_.rank) before = all;
      all += counts[rank];
    }
    const Bytes each = element(call_.receive).bytes();
    const Address result = scratch_.take(each * natural(all));
    add(reduction(Collective::all_reduce, all), sends_in_place() ? receive() : send(), result);
    const Bytes own_part = each * natural(counts[seat_.rank]);
    if (own_part.value > 0)
      steps_.after.push_back({result + each * natural(before), receive(), own_part});
  }

  void add_broadcast(int root, Address input, Address output, Bytes bytes) {
    CollectiveCall call = move(Collective::broadcast, bytes);
    call.root = root;
    add(std::move(call), input, output);
  }

  void add_all_gather() {
    const Bytes part = receive_bytes(0);
    add(move(Collective::all_gather, part), sends_in_place() ? receive() + part * own() : send(),
        receive());
  }

  void add_all_to_all() {
    add(move(Collective::all_to_all, receive_bytes(0)), sends_in_place() ? receive() : send(),
        receive());
  }

  // Where a part begins in a memory.
  [[nodiscard]] Address start_of(const Side& side, int part) const {
    const Bytes each = element(side).bytes();
    if (!side.counts.is_there()) return at(side) + each * natural(side.count * part);
    if (side.displacements.is_there())
      return {at(side).value + static_cast<std::uintptr_t>(side.displacements[part]) * each.value};
    std::uint64_t before = 0;
    for (int earlier = 0; earlier < part; ++earlier) before += natural(side.counts[earlier]);
    return at(side) + each * before;
  }

  void add_broadcasts() {
    for (int root = 0; root < seat_.size; ++root) {
      const Address there = start_of(call_.receive, root);
      const bool is_copied = root == seat_.rank && !sends_in_place();
      add_broadcast(root, is_copied ? send() : there, there, receive_bytes(root));
    }
  }

  // Parts of `unit` bytes: counts[i·n + j] of them go from rank i to rank j.
  void add_exchange(Bytes unit, std::vector<std::uint64_t> counts, Address input, Address output) {
    CollectiveCall call{.collective = Collective::all_to_all_v,
                        .reduction = {.type = ElementType::uint8},
                        .elements = unit.value};
    call.counts = std::move(counts);
    const bool moves = std::any_of(call.counts.begin(), call.counts.end(),
                                   [](std::uint64_t count) { return count > 0; });
    if (moves) add(std::move(call), input, output);
  }

  [[nodiscard]] std::vector<std::uint64_t> matrix() const {
    return std::vector<std::uint64_t>(static_cast<std::size_t>(seat_.size * seat_.size));
  }
  [[nodiscard]] std::size_t cell(int from, int to) const {
    return static_cast<std::size_t>(from * seat_.size + to);
  }

  void add_gather() {
    const Bytes part = bytes_of_part(sized_side(library_, call_), 0);
    auto counts = matrix();
    for (int rank = 0; rank < seat_.size; ++rank) counts[cell(rank, call_.root)] = 1;
    const Address input = sends_in_place() ? aside(receive() + part * own(), part) : send();
    add_exchange(part, std::move(counts), input, is_root() ? receive() : Address{});
  }

  void add_scatter() {
    const Bytes part = bytes_of_part(sized_side(library_, call_), 0);
    auto counts = matrix();
    for (int rank = 0; rank < seat_.size; ++rank) counts[cell(call_.root, rank)] = 1;
    const Address output = receives_in_place() ? scratch_.take(part) : receive();
    add_exchange(part, std::move(counts), is_root() ? send() : Address{}, output);
  }

  // Elements of each rank by a number that it says, which other ranks do not know.
  [[nodiscard]] std::vector<Count> said_by_all(Count mine) const { return exchange_({mine}); }

  void add_gather_of_counts() {
    const bool in_place = sends_in_place();
    const Count mine = in_place ? call_.receive.counts[seat_.rank] : call_.send.count;
    const std::vector<Count> said = said_by_all(mine);
    auto counts = matrix();
    for (int rank = 0; rank < seat_.size; ++rank)
      counts[cell(rank, call_.root)] = natural(said[static_cast<std::size_t>(rank)]);
    const Bytes unit = element(sized_side(library_, call_)).bytes();
    const Address own_part = in_place ? start_of(call_.receive, seat_.rank) : send();
    const Address input = in_place ? aside(own_part, unit * natural(mine)) : own_part;
    add_exchange(unit, std::move(counts), input, is_root() ? unpacked(call_.receive) : Address{});
  }

  void add_scatter_of_counts() {
    const bool in_place = receives_in_place();
    const Count mine = in_place ? call_.send.counts[seat_.rank] : call_.receive.count;
    const std::vector<Count> said = said_by_all(mine);
    auto counts = matrix();
    for (int rank = 0; rank < seat_.size; ++rank)
      counts[cell(call_.root, rank)] = natural(said[static_cast<std::size_t>(rank)]);
    const Bytes unit = element(in_place ? call_.send : call_.receive).bytes();
    const Address output = in_place ? scratch_.take(unit * natural(mine)) : receive();
    add_exchange(unit, std::move(counts), is_root() ? packed(call_.send) : Address{}, output);
  }

  void add_all_to_all_of_counts() {
    const Side& given = sends_in_place() ? call_.receive : call_.send;
    std::vector<Count> mine;
    for (int rank = 0; rank < seat_.size; ++rank) mine.push_back(given.counts[rank]);
    auto counts = matrix();
    const std::vector<Count> said = exchange_(mine);
    std::transform(said.begin(), said.end(), counts.begin(), natural);
    // In place what is sent is overwritten by what is received.
    const Address input = sends_in_place() ? packed_aside(given) : packed(given);
    add_exchange(element(given).bytes(), std::move(counts), input, unpacked(call_.receive));
  }

  [[nodiscard]] bool is_side_by_side(const Side& side) const {
    if (!side.displacements.is_there()) return true;
    Count next = 0;
    for (int part = 0; part < side.parts; ++part) {
      if (side.counts[part] > 0 && side.displacements[part] != next) return false;
      next += side.counts[part];
    }
    return true;
  }

  [[nodiscard]] Bytes all_parts(const Side& side) const {
    Bytes all;
    for (int part = 0; part < side.parts; ++part) all += bytes_of_part(side, part);
    return all;
  }

  Address packed(const Side& side) { return is_side_by_side(side) ? at(side) : packed_aside(side); }

  Address packed_aside(const Side& side) {
    if (all_parts(side).value == 0) return {};
    const Address all = scratch_.take(all_parts(side));
    Address next = all;
    for (int part = 0; part < side.parts; ++part) {
      const Bytes bytes = bytes_of_part(side, part);
      if (bytes.value > 0) steps_.before.push_back({start_of(side, part), next, bytes});
      next = next + bytes;
    }
    return all;
  }

  Address unpacked(const Side& side) {
    if (is_side_by_side(side)) return at(side);
    if (all_parts(side).value == 0) return {};
    const Address all = scratch_.take(all_parts(side));
    Address next = all;
    for (int part = 0; part < side.parts; ++part) {
      const Bytes bytes = bytes_of_part(side, part);
      if (bytes.value > 0) steps_.after.push_back({next, start_of(side, part), bytes});
      next = next + bytes;
    }
    return all;
  }

  const Library& library_;
  const Call& call_;
  Seat seat_;
  Scratch& scratch_;
  const Exchange& exchange_;
  Steps steps_;
};

}  // namespace

bool is_ours(const Library& library, const Call& call) {
  switch (call.operation) {
    case Operation::scan:
    case Operation::exclusive_scan:
    case Operation::all_to_all_w: return false;
    default: break;
  }
  if (!is_plain(library, call.send) || !is_plain(library, call.receive)) return false;
  return !reduces(call.operation) || can_reduce(library, call);
}

Steps steps_of(const Library& library, const Call& call, const Seat& seat, Scratch& scratch,
               const Exchange& exchange) {
  return StepsOf(library, call, seat, scratch, exchange)();
}

}  // namespace polypath::mpi
