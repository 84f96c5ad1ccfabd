#include "mpi/steps.h"

#include <algorithm>
#include <array>
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
// find alike with any types of the same bytes.
std::pair<ElementType, std::uint64_t> words_of(Bytes bytes) {
  if (bytes.value % 8 == 0) return {ElementType::uint64, bytes.value / 8};
  if (bytes.value % 4 == 0) return {ElementType::uint32, bytes.value / 4};
  return {ElementType::uint8, bytes.value};
}

std::vector<std::uint64_t> matrix(int size) {
  const auto ranks = static_cast<std::size_t>(size);
  return std::vector<std::uint64_t>(ranks * ranks);
}
std::size_t cell(int size, int from, int to) {
  return static_cast<std::size_t>(from) * static_cast<std::size_t>(size) +
         static_cast<std::size_t>(to);
}

// What a call says of this rank's memory.
class Geometry {
 public:
  Geometry(const Library& library, const Call& call, const Seat& seat)
      : library_(library), call_(call), seat_(seat) {}

  [[nodiscard]] bool is_root() const { return seat_.rank == call_.root; }
  [[nodiscard]] bool sends_in_place() const { return call_.send.memory == library_.in_place; }
  [[nodiscard]] bool receives_in_place() const { return call_.receive.memory == library_.in_place; }
  [[nodiscard]] Address send() const { return at(call_.send); }
  [[nodiscard]] Address receive() const { return at(call_.receive); }
  static Address at(const Side& side) { return {reinterpret_cast<std::uintptr_t>(side.memory)}; }
  [[nodiscard]] Element element(const Side& side) const {
    return element_of(library_, side.type).value();
  }
  /// Of a rank's part.
  [[nodiscard]] Bytes bytes_of_part(const Side& side, int part) const {
    const Count count = side.counts.is_there() ? side.counts[part] : side.count;
    return element(side).bytes() * natural(count);
  }
  [[nodiscard]] Bytes all_parts(const Side& side) const {
    Bytes all;
    for (int part = 0; part < side.parts; ++part) all += bytes_of_part(side, part);
    return all;
  }
  /// Where a part begins in a memory.
  [[nodiscard]] Address start_of(const Side& side, int part) const {
    const Bytes each = element(side).bytes();
    if (!side.counts.is_there()) return at(side) + each * natural(side.count * part);
    if (side.displacements.is_there())
      return {at(side).value + static_cast<std::uintptr_t>(side.displacements[part]) * each.value};
    std::uint64_t before = 0;
    for (int earlier = 0; earlier < part; ++earlier) before += natural(side.counts[earlier]);
    return at(side) + each * before;
  }
  [[nodiscard]] static bool is_side_by_side(const Side& side) {
    if (!side.displacements.is_there()) return true;
    Count next = 0;
    for (int part = 0; part < side.parts; ++part) {
      if (side.counts[part] > 0 && side.displacements[part] != next) return false;
      next += side.counts[part];
    }
    return true;
  }

  /// Calls of ours without memory: of bytes that are moved, and of values that are reduced.
  [[nodiscard]] static CollectiveCall move(Collective collective, Bytes part) {
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

 private:
  const Library& library_;
  const Call& call_;
  Seat seat_;
};

class StepsOf {
 public:
  StepsOf(const Library& library, const Call& call, const Seat& seat, Scratch& scratch,
          const Exchange& exchange)
      : library_(library),
        call_(call),
        seat_(seat),
        of_(library, call, seat),
        scratch_(scratch),
        exchange_(exchange) {}

  Steps operator()() {
    using Add = void (StepsOf::*)();
    // In the order of Operation; null for those that is_ours() refuses.
    static constexpr std::array<Add, kOperations> kAdd = {&StepsOf::add_all_reduce,
                                                          &StepsOf::add_reduce,
                                                          &StepsOf::add_reduce_scatter_of_counts,
                                                          &StepsOf::add_reduce_scatter_of_blocks,
                                                          nullptr,
                                                          nullptr,
                                                          &StepsOf::add_one_broadcast,
                                                          &StepsOf::add_all_gather,
                                                          &StepsOf::add_broadcasts,
                                                          &StepsOf::add_gather,
                                                          &StepsOf::add_gather_of_counts,
                                                          &StepsOf::add_scatter,
                                                          &StepsOf::add_scatter_of_counts,
                                                          &StepsOf::add_all_to_all,
                                                          &StepsOf::add_all_to_all_of_counts,
                                                          nullptr};
    if (const Add its = kAdd[static_cast<std::size_t>(call_.operation)]) (this->*its)();
    return std::move(steps_);
  }

 private:
  // Then a call without a root is as fast as one with a root, which copies the root's own value
  // (5 us of 17, results/h200x2/mpi_collectives.json); the others' results are not used.
  static bool are_few(Bytes all) { return all <= 256_KiB; }

  [[nodiscard]] std::uint64_t own() const { return static_cast<std::uint64_t>(seat_.rank); }

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

  void add_all_reduce() { add_reduction(Collective::all_reduce, call_.receive.count); }
  void add_reduce_scatter_of_blocks() { add_reduce_scatter(call_.receive.count); }
  void add_one_broadcast() {
    add_broadcast(call_.root, of_.send(), of_.send(), of_.bytes_of_part(call_.send, 0));
  }

  void add_reduction(Collective collective, Count count) {
    add(of_.reduction(collective, count), of_.sends_in_place() ? of_.receive() : of_.send(),
        of_.receive());
  }

  // Of a root in place the value lies where the result does.
  void add_reduce() {
    const Bytes value = of_.bytes_of_part(call_.receive, 0);
    if (are_few(value)) {  // in place at all ranks or at none
      const Address input = of_.sends_in_place() ? aside(of_.receive(), value) : of_.send();
      return add(of_.reduction(Collective::all_reduce, call_.receive.count), input,
                 of_.is_root() ? of_.receive() : scratch_.take(value));
    }
    CollectiveCall call = of_.reduction(Collective::reduce, call_.receive.count);
    call.root = call_.root;
    const Address input = of_.sends_in_place()
                              ? aside(of_.receive(), of_.bytes_of_part(call_.receive, 0))
                              : of_.send();
    add(std::move(call), input, of_.is_root() ? of_.receive() : Address{});
  }

  // In place MPI wants the result in the first part, and leaves the others as they are.
  void add_reduce_scatter(Count count) {
    if (!of_.sends_in_place()) return add_reduction(Collective::reduce_scatter, count);
    const Bytes part = of_.element(call_.receive).bytes() * natural(count);
    if (part.value == 0) return;
    const Address result = scratch_.take(part);
    add(of_.reduction(Collective::reduce_scatter, count), of_.receive(), result);
    steps_.after.push_back({result, of_.receive(), part});
  }

  void add_reduce_scatter_of_counts() {
    const Numbers& counts = call_.counts;
    if (has_equal_counts(counts, seat_.size)) return add_reduce_scatter(counts[0]);
    Count all = 0, before = 0;
    for (int rank = 0; rank < seat_.size; ++rank) {
      if (rank == seat_.rank) before = all;
      all += counts[rank];
    }
    const Bytes each = of_.element(call_.receive).bytes();
    const Address result = scratch_.take(each * natural(all));
    add(of_.reduction(Collective::all_reduce, all),
        of_.sends_in_place() ? of_.receive() : of_.send(), result);
    const Bytes own_part = each * natural(counts[seat_.rank]);
    if (own_part.value > 0)
      steps_.after.push_back({result + each * natural(before), of_.receive(), own_part});
  }

  void add_broadcast(int root, Address input, Address output, Bytes bytes) {
    CollectiveCall call = of_.move(Collective::broadcast, bytes);
    call.root = root;
    add(std::move(call), input, output);
  }

  void add_all_gather() {
    const Bytes part = of_.bytes_of_part(call_.receive, 0);
    add(of_.move(Collective::all_gather, part),
        of_.sends_in_place() ? of_.receive() + part * own() : of_.send(), of_.receive());
  }

  void add_all_to_all() {
    add(of_.move(Collective::all_to_all, of_.bytes_of_part(call_.receive, 0)),
        of_.sends_in_place() ? of_.receive() : of_.send(), of_.receive());
  }

  void add_broadcasts() {
    for (int root = 0; root < seat_.size; ++root) {
      const Address there = of_.start_of(call_.receive, root);
      const bool is_copied = root == seat_.rank && !of_.sends_in_place();
      add_broadcast(root, is_copied ? of_.send() : there, there,
                    of_.bytes_of_part(call_.receive, root));
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

  void add_gather() {
    const Bytes part = of_.bytes_of_part(sized_side(library_, call_), 0);
    const Bytes all = part * static_cast<std::uint64_t>(seat_.size);
    if (are_few(all)) {
      const Address input =
          of_.sends_in_place() ? aside(of_.receive() + part * own(), part) : of_.send();
      return add(of_.move(Collective::all_gather, part), input,
                 of_.is_root() ? of_.receive() : scratch_.take(all));
    }
    auto counts = matrix(seat_.size);
    for (int rank = 0; rank < seat_.size; ++rank) counts[cell(seat_.size, rank, call_.root)] = 1;
    const Address input =
        of_.sends_in_place() ? aside(of_.receive() + part * own(), part) : of_.send();
    add_exchange(part, std::move(counts), input, of_.is_root() ? of_.receive() : Address{});
  }

  void add_scatter() {
    const Bytes part = of_.bytes_of_part(sized_side(library_, call_), 0);
    const Bytes all = part * static_cast<std::uint64_t>(seat_.size);
    if (are_few(all)) return add_scatter_of_few(part, all);
    auto counts = matrix(seat_.size);
    for (int rank = 0; rank < seat_.size; ++rank) counts[cell(seat_.size, call_.root, rank)] = 1;
    const Address output = of_.receives_in_place() ? scratch_.take(part) : of_.receive();
    add_exchange(part, std::move(counts), of_.is_root() ? of_.send() : Address{}, output);
  }

  // All parts go to all, of which each takes its own.
  void add_scatter_of_few(Bytes part, Bytes all) {
    if (part.value == 0) return;
    const Address there = of_.is_root() ? of_.send() : scratch_.take(all);
    add_broadcast(call_.root, there, there, all);
    if (!of_.receives_in_place())
      steps_.after.push_back({there + part * own(), of_.receive(), part});
  }

  void add_gather_of_counts() {
    const bool in_place = of_.sends_in_place();
    const std::vector<Count> told = counts_to_tell(library_, call_, seat_);
    const Count mine = told.front();
    const std::vector<Count> said = exchange_(told);
    auto counts = matrix(seat_.size);
    for (int rank = 0; rank < seat_.size; ++rank)
      counts[cell(seat_.size, rank, call_.root)] = natural(said[static_cast<std::size_t>(rank)]);
    const Bytes unit = of_.element(sized_side(library_, call_)).bytes();
    const Address own_part = in_place ? of_.start_of(call_.receive, seat_.rank) : of_.send();
    const Address input = in_place ? aside(own_part, unit * natural(mine)) : own_part;
    add_exchange(unit, std::move(counts), input,
                 of_.is_root() ? unpacked(call_.receive) : Address{});
  }

  void add_scatter_of_counts() {
    const bool in_place = of_.receives_in_place();
    const std::vector<Count> told = counts_to_tell(library_, call_, seat_);
    const Count mine = told.front();
    const std::vector<Count> said = exchange_(told);
    auto counts = matrix(seat_.size);
    for (int rank = 0; rank < seat_.size; ++rank)
      counts[cell(seat_.size, call_.root, rank)] = natural(said[static_cast<std::size_t>(rank)]);
    const Bytes unit = of_.element(in_place ? call_.send : call_.receive).bytes();
    const Address output = in_place ? scratch_.take(unit * natural(mine)) : of_.receive();
    add_exchange(unit, std::move(counts), of_.is_root() ? packed(call_.send) : Address{}, output);
  }

  void add_all_to_all_of_counts() {
    const Side& given = of_.sends_in_place() ? call_.receive : call_.send;
    auto counts = matrix(seat_.size);
    const std::vector<Count> said = exchange_(counts_to_tell(library_, call_, seat_));
    std::transform(said.begin(), said.end(), counts.begin(), natural);
    // In place what is sent is overwritten by what is received.
    const Address input = of_.sends_in_place() ? packed_aside(given) : packed(given);
    add_exchange(of_.element(given).bytes(), std::move(counts), input, unpacked(call_.receive));
  }

  Address packed(const Side& side) {
    return of_.is_side_by_side(side) ? Geometry::at(side) : packed_aside(side);
  }

  Address packed_aside(const Side& side) {
    if (of_.all_parts(side).value == 0) return {};
    const Address all = scratch_.take(of_.all_parts(side));
    Address next = all;
    for (int part = 0; part < side.parts; ++part) {
      const Bytes bytes = of_.bytes_of_part(side, part);
      if (bytes.value > 0) steps_.before.push_back({of_.start_of(side, part), next, bytes});
      next = next + bytes;
    }
    return all;
  }

  Address unpacked(const Side& side) {
    if (of_.is_side_by_side(side)) return Geometry::at(side);
    if (of_.all_parts(side).value == 0) return {};
    const Address all = scratch_.take(of_.all_parts(side));
    Address next = all;
    for (int part = 0; part < side.parts; ++part) {
      const Bytes bytes = of_.bytes_of_part(side, part);
      if (bytes.value > 0) steps_.after.push_back({next, of_.start_of(side, part), bytes});
      next = next + bytes;
    }
    return all;
  }

  const Library& library_;
  const Call& call_;
  Seat seat_;
  Geometry of_;
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

std::vector<Count> counts_to_tell(const Library& library, const Call& call, const Seat& seat) {
  const bool sends_in_place = call.send.memory == library.in_place;
  switch (call.operation) {
    case Operation::gather_v:
      return {sends_in_place ? call.receive.counts[seat.rank] : call.send.count};
    case Operation::scatter_v:
      return {call.receive.memory == library.in_place ? call.send.counts[seat.rank]
                                                      : call.receive.count};
    case Operation::all_to_all_v: {
      std::vector<Count> counts;
      const Numbers& given = (sends_in_place ? call.receive : call.send).counts;
      for (int rank = 0; rank < seat.size; ++rank) counts.push_back(given[rank]);
      return counts;
    }
    default: return {};
  }
}

Steps steps_of(const Library& library, const Call& call, const Seat& seat, Scratch& scratch,
               const Exchange& exchange) {
  return StepsOf(library, call, seat, scratch, exchange)();
}

}  // namespace polypath::mpi
