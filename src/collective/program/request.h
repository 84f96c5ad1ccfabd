#pragma once
// A request to the GPUs of one process together: n ranks, each a GPU with an input and an output.
//
// With E `elements` and ∘ the reduction, element by element:
//
//   operation       input         output        what rank r has in the end
//   all_reduce      E             E             x₀ ∘ x₁ ∘ … ∘ xₙ₋₁
//   reduce          E             E at the root the same, the root only
//   reduce_scatter  n·E           E             part r of the same, parts of E elements
//   all_gather      E             n·E           x₀, x₁, …, xₙ₋₁ one after another
//   all_to_all      n·E           n·E           part r of x₀, part r of x₁, …
//   all_to_all_v    Σⱼ cᵣⱼ·E      Σᵢ cᵢᵣ·E      the same, with cᵢⱼ·E elements from rank i to rank j
//   broadcast       E at the root E             what the root has
//
// Of an average every result is divided by n at last (model/reduction.h). If it is of more values
// than there are ranks, the result is what others' are still to be averaged with.
//
// In place each rank has one memory, the larger of the two. Of all_gather rank r's input is part r
// of it, of reduce_scatter its output is; all_to_all_v is possible if cᵢⱼ = cⱼᵢ. The other parts of
// reduce_scatter's inputs, and all inputs that are not in place, stay as they are.

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective/program/parts.h"
#include "machine/machine.h"
#include "model/reduction.h"

namespace polypath::collective {

enum class Collective {
  all_reduce,
  reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  all_to_all_v
};

/// All of them, in that order.
const std::vector<Collective>& all_collectives();
/// As the command line has them: "allreduce".
const char* name_of(Collective collective);
/// Error (invalid_argument) lists the names there are.
Collective parse_collective(std::string_view name);
/// True if it makes one value of several.
bool reduces(Collective collective);
/// True if one rank is the root.
bool has_root(Collective collective);

/// Those that can be reduced, and those that are only moved.
const std::vector<ElementType>& all_element_types();
const std::vector<ElementType>& moved_element_types();
const std::vector<ReduceOperator>& all_reduce_operators();
/// "float32", "sum", "average".
const char* name_of(ElementType type);
const char* name_of(ReduceOperator operation);
/// In any case of letters, with the name of a module before them, and as others call them: "bf16",
/// "torch.half", "<f4"; "avg", "ReduceOp.SUM". Not "float", which is one type here and another
/// there.
ElementType parse_element_type(std::string_view name);
ReduceOperator parse_reduce_operator(std::string_view name);
/// The same; none if there is no such type.
std::optional<ElementType> find_element_type(std::string_view name);

struct CollectiveRequest {
  Collective collective = Collective::all_reduce;
  std::vector<PlaceId> ranks;  ///< rank r is this GPU
  std::uint64_t elements = 0;  ///< E
  Reduction reduction = {};    ///< its type is that of the elements in any case
  int root = 0;                ///< a rank
  bool in_place = false;
  /// cᵢⱼ of all_to_all_v, rank i's counts one after another; may be 0. None: all are 1.
  std::vector<std::uint64_t> counts = {};
  /// Elements from the begin of one rank's part to that of the next one's, where there are others
  /// between them (rounds.h). 0: E, the parts are side by side.
  std::uint64_t pitch = 0;
  /// Where the blocks of all_to_all_v begin, in the order of the counts and in E elements: in the
  /// input of rank i, in the output of rank j. None: they are side by side.
  std::vector<std::uint64_t> sent_at = {}, received_at = {};

  auto operator<=>(const CollectiveRequest&) const = default;
  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
  [[nodiscard]] Bytes element() const { return bytes_of(reduction.type); }
  /// Of E elements.
  [[nodiscard]] Bytes part() const { return element() * elements; }
  /// Where rank r's part begins in a memory of all parts.
  [[nodiscard]] Bytes start_of(int rank) const;
  /// cᵢⱼ·E elements.
  [[nodiscard]] Bytes block(int from, int to) const;
};

/// The elements of all_to_all or all_to_all_v from one rank to another: their place in the sender's
/// input and in the receiver's output.
Part block_sent(const CollectiveRequest& request, int from, int to);
Part block_received(const CollectiveRequest& request, int from, int to);

/// One rank sends E elements to another one; no other rank sends anything.
CollectiveRequest send_receive(const CollectiveRequest& like, int from, int to);

/// The elements that rank r gives and gets; 0 where it has no part in it.
Bytes input_bytes(const CollectiveRequest& request, int rank);
Bytes output_bytes(const CollectiveRequest& request, int rank);
/// The largest part of a message of which each rank has one, or each but the root: parts are ⌈E/n⌉
/// elements, the last ones fewer.
Bytes largest_part(const CollectiveRequest& request);
/// The size that people give: of the largest memory that a rank has.
Bytes message_bytes(const CollectiveRequest& request);
/// The request of at most so many message bytes, at least one element. `like` says all else.
CollectiveRequest with_message(CollectiveRequest like, Bytes message);

/// The bytes that a link carries per byte of the message in the best case, as nccl-tests' bus
/// bandwidth has it: 2(n−1)/n of all_reduce, 1 of reduce and broadcast, (n−1)/n of the others; of
/// all_to_all_v what the busiest rank sends to others or gets from them.
double bus_factor(const CollectiveRequest& request);

/// True if nothing goes from one rank to another: there is one, or no element, or all_to_all_v has
/// counts of 0 for all others. A rank's own elements are a copy.
bool stays_at_home(const CollectiveRequest& request);

/// Error (invalid_argument) for counts that are not n·n, or in place not symmetric, and for more
/// elements than can be counted.
void check_counts(const CollectiveRequest& request);
/// Error (invalid_argument) for elements that cannot be reduced so, and a root that is no rank.
void check_operation(const CollectiveRequest& request);
/// Error (invalid_argument) for an impossible call: a rank that is no GPU or named twice, a GPU
/// without a hop to another one, and as check_operation and check_counts.
void check_call(const Machine& machine, const CollectiveRequest& request);
/// The same, and for calls without a program: no elements, fewer than two ranks, counts that are
/// all 0.
void check(const Machine& machine, const CollectiveRequest& request);

}  // namespace polypath::collective
