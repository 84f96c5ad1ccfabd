#include "collective/program/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "machine/hop_table.h"

namespace polypath::collective {
namespace {

template <class Value>
using Names = std::vector<std::pair<const char*, Value>>;

const Names<Collective> kCollectives = {
    {"allreduce", Collective::all_reduce},         {"reduce", Collective::reduce},
    {"reducescatter", Collective::reduce_scatter}, {"allgather", Collective::all_gather},
    {"alltoall", Collective::all_to_all},          {"broadcast", Collective::broadcast},
    {"alltoallv", Collective::all_to_all_v}};
const Names<ElementType> kTypes = {
    {"float16", ElementType::float16}, {"bfloat16", ElementType::bfloat16},
    {"float32", ElementType::float32}, {"float64", ElementType::float64},
    {"int8", ElementType::int8},       {"int16", ElementType::int16},
    {"int32", ElementType::int32},     {"int64", ElementType::int64},
    {"uint8", ElementType::uint8},     {"uint16", ElementType::uint16},
    {"uint32", ElementType::uint32},   {"uint64", ElementType::uint64}};
const Names<ElementType> kMovedTypes = {{"bool", ElementType::boolean},
                                        {"float8_e4m3fn", ElementType::float8_e4m3fn},
                                        {"float8_e5m2", ElementType::float8_e5m2},
                                        {"float8_e4m3fnuz", ElementType::float8_e4m3fnuz},
                                        {"float8_e5m2fnuz", ElementType::float8_e5m2fnuz},
                                        {"float8_e8m0fnu", ElementType::float8_e8m0fnu}};
// Names of other libraries.
const Names<ElementType> kOtherTypes = {{"half", ElementType::float16},
                                        {"fp16", ElementType::float16},
                                        {"f16", ElementType::float16},
                                        {"f2", ElementType::float16},
                                        {"bf16", ElementType::bfloat16},
                                        {"single", ElementType::float32},
                                        {"fp32", ElementType::float32},
                                        {"f32", ElementType::float32},
                                        {"f4", ElementType::float32},
                                        {"double", ElementType::float64},
                                        {"fp64", ElementType::float64},
                                        {"f64", ElementType::float64},
                                        {"f8", ElementType::float64},
                                        {"i1", ElementType::int8},
                                        {"i2", ElementType::int16},
                                        {"i4", ElementType::int32},
                                        {"i8", ElementType::int64},
                                        {"u1", ElementType::uint8},
                                        {"u2", ElementType::uint16},
                                        {"u4", ElementType::uint32},
                                        {"u8", ElementType::uint64},
                                        {"b1", ElementType::boolean},
                                        {"bool_", ElementType::boolean},
                                        {"float8_e4m3", ElementType::float8_e4m3fn},
                                        {"fp8_e4m3", ElementType::float8_e4m3fn},
                                        {"fp8_e5m2", ElementType::float8_e5m2}};
const Names<ReduceOperator> kOperators = {{"sum", ReduceOperator::sum},
                                          {"product", ReduceOperator::product},
                                          {"min", ReduceOperator::minimum},
                                          {"max", ReduceOperator::maximum},
                                          {"average", ReduceOperator::average}};
const Names<ReduceOperator> kOtherOperators = {
    {"add", ReduceOperator::sum},         {"prod", ReduceOperator::product},
    {"mul", ReduceOperator::product},     {"minimum", ReduceOperator::minimum},
    {"maximum", ReduceOperator::maximum}, {"avg", ReduceOperator::average},
    {"mean", ReduceOperator::average}};

template <class Value>
std::vector<Value> values_of(const Names<Value>& names) {
  std::vector<Value> values;
  for (const auto& [name, value] : names) values.push_back(value);
  return values;
}

template <class Value>
const char* name_in(const Names<Value>& names, Value value) {
  for (const auto& [name, each] : names)
    if (each == value) return name;
  return "unknown";
}

template <class Value>
std::optional<Value> find_in(const Names<Value>& names, std::string_view wanted) {
  for (const auto& [name, value] : names)
    if (wanted == name) return value;
  return std::nullopt;
}

template <class Value>
[[noreturn]] void reject_name(const char* what, std::string_view wanted,
                              std::initializer_list<Names<Value>> known) {
  std::vector<std::string> all;
  for (const auto& names : known)
    for (const auto& [name, value] : names) all.emplace_back(name);
  fail(ErrorCode::invalid_argument, fmt::format("{} '{}' is unknown", what, wanted),
       "there are " + join(all, ", "), "Name one of them.");
}

// "float32" of "torch.Float32", "f4" of "<f4".
std::string plain_name(std::string_view name) {
  if (const auto module = name.rfind('.'); module != std::string_view::npos)
    name.remove_prefix(module + 1);
  constexpr std::string_view kNativeOrders = "<=|";
  if (!name.empty() && kNativeOrders.find(name.front()) != std::string_view::npos)
    name.remove_prefix(1);
  std::string plain(name);
  for (char& letter : plain)
    if ('A' <= letter && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return plain;
}

std::size_t pair_of(const CollectiveRequest& request, int from, int to) {
  return static_cast<std::size_t>(from) * request.ranks.size() + static_cast<std::size_t>(to);
}

bool has_parts_in(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::all_to_all;
}

bool has_parts_out(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::all_to_all;
}

Bytes all_parts(const CollectiveRequest& request) {
  return request.part() * static_cast<std::uint64_t>(request.size());
}

Bytes all_sent(const CollectiveRequest& request, int rank) {
  Bytes all;
  for (int to = 0; to < request.size(); ++to) all += request.block(rank, to);
  return all;
}
Bytes all_received(const CollectiveRequest& request, int rank) {
  Bytes all;
  for (int from = 0; from < request.size(); ++from) all += request.block(from, rank);
  return all;
}

// The elements that the busiest rank exchanges with others.
Bytes most_exchanged(const CollectiveRequest& request) {
  Bytes most;
  for (int rank = 0; rank < request.size(); ++rank) {
    const Bytes all = std::max(all_sent(request, rank), all_received(request, rank));
    most = std::max(most, all - request.block(rank, rank));
  }
  return most;
}

bool are_symmetric(const CollectiveRequest& request) {
  for (int from = 0; from < request.size(); ++from)
    for (int to = 0; to < from; ++to)
      if (request.block(from, to) != request.block(to, from)) return false;
  return true;
}

[[noreturn]] void reject_counts(const std::string& what, const std::string& why) {
  fail(ErrorCode::invalid_argument, what, why, "Correct them.");
}

// More elements than that in one block are a mistake, and would not be counted rightly.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;

void check_rank(const Machine& machine, const CollectiveRequest& request, std::size_t rank) {
  const PlaceId place = request.ranks[rank];
  const bool known = place.valid() && place.index() < machine.places.size();
  if (!known || machine.place(place).kind != PlaceKind::gpu)
    fail(ErrorCode::invalid_argument,
         fmt::format("rank {} cannot be {}", rank,
                     known ? machine.place(place).name : fmt::format("place {}", place.value)),
         "it is no GPU of the machine", "Name a GPU.");
  const auto last = request.ranks.begin() + static_cast<std::ptrdiff_t>(rank);
  if (const auto other = std::find(request.ranks.begin(), last, place); other != last)
    fail(ErrorCode::invalid_argument,
         fmt::format("{} cannot be two ranks", machine.place(place).name),
         fmt::format("it is rank {} and rank {}", other - request.ranks.begin(), rank),
         "Name each GPU once.");
}

void check_hops(const Machine& machine, const CollectiveRequest& request) {
  const HopTable hops(machine);
  for (const PlaceId source : request.ranks)
    for (const PlaceId destination : request.ranks)
      if (source != destination && !hops.find(source, destination))
        fail(ErrorCode::invalid_argument,
             fmt::format("{} and {} cannot be ranks of one group", machine.place(source).name,
                         machine.place(destination).name),
             "no copy leads from the one to the other", "Leave one of them out.");
}

}  // namespace

const std::vector<Collective>& all_collectives() {
  static const std::vector<Collective> all = values_of(kCollectives);
  return all;
}

const std::vector<ElementType>& all_element_types() {
  static const std::vector<ElementType> all = values_of(kTypes);
  return all;
}

const std::vector<ElementType>& moved_element_types() {
  static const std::vector<ElementType> all = values_of(kMovedTypes);
  return all;
}

const std::vector<ReduceOperator>& all_reduce_operators() {
  static const std::vector<ReduceOperator> all = values_of(kOperators);
  return all;
}

const char* name_of(Collective collective) { return name_in(kCollectives, collective); }
const char* name_of(ElementType type) {
  return name_in(only_moves(type) ? kMovedTypes : kTypes, type);
}
const char* name_of(ReduceOperator operation) { return name_in(kOperators, operation); }

Collective parse_collective(std::string_view name) {
  if (const auto found = find_in(kCollectives, name)) return *found;
  reject_name("collective", name, {kCollectives});
}

std::optional<ElementType> find_element_type(std::string_view name) {
  const std::string plain = plain_name(name);
  for (const auto* names : {&kTypes, &kMovedTypes, &kOtherTypes})
    if (const auto found = find_in(*names, plain)) return found;
  return std::nullopt;
}

ElementType parse_element_type(std::string_view name) {
  if (const auto found = find_element_type(name)) return *found;
  reject_name("element type", name, {kTypes, kMovedTypes});
}

ReduceOperator parse_reduce_operator(std::string_view name) {
  const std::string plain = plain_name(name);
  for (const auto* names : {&kOperators, &kOtherOperators})
    if (const auto found = find_in(*names, plain)) return *found;
  reject_name("reduction", name, {kOperators});
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter;
}

bool has_root(Collective collective) {
  return collective == Collective::reduce || collective == Collective::broadcast;
}

Bytes CollectiveRequest::start_of(int rank) const {
  return element() * (pitch > 0 ? pitch : elements) * static_cast<std::uint64_t>(rank);
}

Bytes CollectiveRequest::block(int from, int to) const {
  return counts.empty() ? part() : part() * counts[pair_of(*this, from, to)];
}

Part block_sent(const CollectiveRequest& request, int from, int to) {
  Part part{request.start_of(to), request.block(from, to)};
  if (request.counts.empty()) return part;
  if (!request.sent_at.empty())
    return {request.part() * request.sent_at[pair_of(request, from, to)], part.bytes};
  part.offset = {};
  for (int other = 0; other < to; ++other) part.offset += request.block(from, other);
  return part;
}

Part block_received(const CollectiveRequest& request, int from, int to) {
  Part part{request.start_of(from), request.block(from, to)};
  if (request.counts.empty()) return part;
  if (!request.received_at.empty())
    return {request.part() * request.received_at[pair_of(request, from, to)], part.bytes};
  part.offset = {};
  for (int other = 0; other < from; ++other) part.offset += request.block(other, to);
  return part;
}

CollectiveRequest send_receive(const CollectiveRequest& like, int from, int to) {
  CollectiveRequest request = like;
  request.collective = Collective::all_to_all_v;
  request.counts.assign(like.ranks.size() * like.ranks.size(), 0);
  request
      .counts[static_cast<std::size_t>(from) * like.ranks.size() + static_cast<std::size_t>(to)] =
      1;
  return request;
}

Bytes input_bytes(const CollectiveRequest& request, int rank) {
  if (request.collective == Collective::all_to_all_v) return all_sent(request, rank);
  if (request.collective == Collective::broadcast && rank != request.root) return {};
  return has_parts_in(request.collective) ? all_parts(request) : request.part();
}

Bytes output_bytes(const CollectiveRequest& request, int rank) {
  if (request.collective == Collective::all_to_all_v) return all_received(request, rank);
  if (request.collective == Collective::reduce && rank != request.root) return {};
  return has_parts_out(request.collective) ? all_parts(request) : request.part();
}

Bytes largest_part(const CollectiveRequest& request) {
  const auto parts =
      static_cast<std::uint64_t>(request.size() - (has_root(request.collective) ? 1 : 0));
  return request.element() * ((request.elements + parts - 1) / parts);
}

Bytes message_bytes(const CollectiveRequest& request) {
  Bytes most;
  for (int rank = 0; rank < request.size(); ++rank)
    most = std::max({most, input_bytes(request, rank), output_bytes(request, rank)});
  return most;
}

CollectiveRequest with_message(CollectiveRequest like, Bytes message) {
  like.elements = 1;
  like.elements =
      std::max<std::uint64_t>(message.value / std::max(message_bytes(like), 1_B).value, 1);
  return like;
}

double bus_factor(const CollectiveRequest& request) {
  const double others = request.size() - 1, all = request.size();
  switch (request.collective) {
    case Collective::all_reduce: return 2 * others / all;
    case Collective::reduce:
    case Collective::broadcast: return 1;
    case Collective::all_to_all_v:
      return most_exchanged(request).real() / message_bytes(request).real();
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all: break;
  }
  return others / all;
}

bool stays_at_home(const CollectiveRequest& request) {
  if (request.size() < 2 || request.elements == 0) return true;
  return request.collective == Collective::all_to_all_v && most_exchanged(request).value == 0;
}

void check_counts(const CollectiveRequest& request) {
  const auto& counts = request.counts;
  const bool has_counts = request.collective == Collective::all_to_all_v;
  if (!has_counts && !counts.empty())
    reject_counts(fmt::format("{} has no counts", name_of(request.collective)),
                  "its parts are all as large");
  const std::size_t pairs = request.ranks.size() * request.ranks.size();
  if (!counts.empty() && counts.size() != pairs)
    reject_counts(fmt::format("{} counts cannot be used", counts.size()),
                  fmt::format("{} ranks have {} pairs", request.size(), pairs));
  const std::uint64_t most = counts.empty() ? 1 : *std::max_element(counts.begin(), counts.end());
  if (most > 0 && request.elements > kMostElements / most)
    reject_counts(fmt::format("{} times {} elements are too many", most, request.elements),
                  fmt::format("at most {} go from one rank to another", kMostElements));
  if (request.in_place && has_counts && !are_symmetric(request))
    reject_counts("counts that differ both ways cannot be used in place",
                  "what arrives takes the room of what is sent");
}

void check_operation(const CollectiveRequest& request) {
  const ElementType type = request.reduction.type;
  if (reduces(request.collective) && only_moves(type))
    fail(ErrorCode::invalid_argument, fmt::format("{} cannot be reduced", name_of(type)),
         "it is only moved as it is", "Convert it, or view its bytes as another type.");
  if (reduces(request.collective) && !can_reduce(request.reduction.operation, type))
    fail(ErrorCode::invalid_argument, fmt::format("{} cannot be averaged", name_of(type)),
         "averages of whole numbers are not whole",
         "Add them up and divide, or use floating-point numbers.");
  if (request.root < 0 || request.root >= request.size())
    fail(ErrorCode::invalid_argument, fmt::format("rank {} cannot be the root", request.root),
         fmt::format("there are ranks 0 to {}", request.size() - 1), "Name one of them.");
}

void check_call(const Machine& machine, const CollectiveRequest& request) {
  check_operation(request);
  for (std::size_t rank = 0; rank < request.ranks.size(); ++rank)
    check_rank(machine, request, rank);
  check_hops(machine, request);
  check_counts(request);
}

void check(const Machine& machine, const CollectiveRequest& request) {
  if (request.size() < 2)
    fail(ErrorCode::invalid_argument,
         fmt::format("{} of {} ranks cannot be done", name_of(request.collective), request.size()),
         "there is no other GPU to exchange with", "Name two GPUs or more.");
  if (request.elements == 0)
    fail(ErrorCode::invalid_argument,
         fmt::format("{} of 0 elements cannot be planned", name_of(request.collective)),
         "there is nothing to do", "Leave it out.");
  check_call(machine, request);
  if (message_bytes(request).value == 0)
    reject_counts("counts that are all 0 cannot be planned", "there is nothing to do");
}

}  // namespace polypath::collective
