#include "mpi/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "collective/program/request.h"

namespace polypath::mpi {
namespace {

enum class Kind { moved, integer, natural, real, brain, complex };

// The names that MPI gives to its own types, in any language. The others are moved only.
constexpr std::array<std::pair<std::string_view, Kind>, 48> kKinds = {{
    {"MPI_SIGNED_CHAR", Kind::integer},
    {"MPI_SHORT", Kind::integer},
    {"MPI_INT", Kind::integer},
    {"MPI_LONG", Kind::integer},
    {"MPI_LONG_LONG", Kind::integer},
    {"MPI_LONG_LONG_INT", Kind::integer},
    {"MPI_INT8_T", Kind::integer},
    {"MPI_INT16_T", Kind::integer},
    {"MPI_INT32_T", Kind::integer},
    {"MPI_INT64_T", Kind::integer},
    {"MPI_INTEGER", Kind::integer},
    {"MPI_INTEGER1", Kind::integer},
    {"MPI_INTEGER2", Kind::integer},
    {"MPI_INTEGER4", Kind::integer},
    {"MPI_INTEGER8", Kind::integer},
    {"MPI_AINT", Kind::integer},
    {"MPI_COUNT", Kind::integer},
    {"MPI_OFFSET", Kind::integer},
    {"MPI_UNSIGNED_CHAR", Kind::natural},
    {"MPI_UNSIGNED_SHORT", Kind::natural},
    {"MPI_UNSIGNED", Kind::natural},
    {"MPI_UNSIGNED_LONG", Kind::natural},
    {"MPI_UNSIGNED_LONG_LONG", Kind::natural},
    {"MPI_UINT8_T", Kind::natural},
    {"MPI_UINT16_T", Kind::natural},
    {"MPI_UINT32_T", Kind::natural},
    {"MPI_UINT64_T", Kind::natural},
    {"MPI_FLOAT", Kind::real},
    {"MPI_DOUBLE", Kind::real},
    {"MPI_REAL", Kind::real},
    {"MPI_DOUBLE_PRECISION", Kind::real},
    {"MPI_REAL2", Kind::real},
    {"MPI_REAL4", Kind::real},
    {"MPI_REAL8", Kind::real},
    {"MPIX_C_FLOAT16", Kind::real},
    {"MPIX_SHORT_FLOAT", Kind::real},
    {"MPIX_BFLOAT16", Kind::brain},
    {"MPI_COMPLEX", Kind::complex},
    {"MPI_DOUBLE_COMPLEX", Kind::complex},
    {"MPI_COMPLEX4", Kind::complex},
    {"MPI_COMPLEX8", Kind::complex},
    {"MPI_COMPLEX16", Kind::complex},
    {"MPI_C_COMPLEX", Kind::complex},
    {"MPI_C_FLOAT_COMPLEX", Kind::complex},
    {"MPI_C_DOUBLE_COMPLEX", Kind::complex},
    {"MPI_CXX_COMPLEX", Kind::complex},
    {"MPI_CXX_FLOAT_COMPLEX", Kind::complex},
    {"MPI_CXX_DOUBLE_COMPLEX", Kind::complex},
}};

Kind kind_of(std::string_view name) {
  for (const auto& [known, kind] : kKinds)
    if (known == name) return kind;
  return Kind::moved;
}

// "uint" and 4 bytes: uint32; none if there is no such type.
std::optional<ElementType> type_of(std::string_view family, int bytes) {
  return find_element_type(fmt::format("{}{}", family, 8 * bytes));
}

std::optional<ElementType> number_of(Kind kind, int bytes) {
  switch (kind) {
    case Kind::integer: return type_of("int", bytes);
    case Kind::natural: return type_of("uint", bytes);
    case Kind::real: return type_of("float", bytes);
    case Kind::complex: return type_of("float", bytes / 2);
    case Kind::brain: return ElementType::bfloat16;
    case Kind::moved: break;
  }
  return std::nullopt;
}

// Types that are only moved are bytes, in words as wide as they allow.
Element moved(int bytes) {
  for (const int width : {8, 4, 2})
    if (bytes % width == 0)
      return {.type = type_of("uint", width).value(), .values = bytes / width};
  return {.type = ElementType::uint8, .values = bytes};
}

Element predefined(std::string_view name, int bytes) {
  const Kind kind = kind_of(name);
  const auto number = number_of(kind, bytes);
  if (!number) return moved(bytes);
  return {.type = *number,
          .values = kind == Kind::complex ? 2 : 1,
          .is_number = true,
          .is_real = kind != Kind::complex};
}

int combiner_of(const Functions& real, Handle type) {
  int integers = 0, addresses = 0, types = 0, combiner = -1;
  if (real.Type_get_envelope(type, &integers, &addresses, &types, &combiner) != kSuccess) return -1;
  return combiner;
}

// A type of MPI's own is made as MPI_BYTE is: not at all.
std::optional<Element> ask(const Library& library, Handle type) {
  const Functions& real = library.real;
  if (combiner_of(real, type) != combiner_of(real, library.byte)) return std::nullopt;
  int size = 0, length = 0;
  Count lower = 0, extent = 0;
  std::array<char, 256> name{};
  if (real.Type_size(type, &size) != kSuccess || size <= 0 ||
      real.Type_get_extent(type, &lower, &extent) != kSuccess || lower != 0 || extent != size ||
      real.Type_get_name(type, name.data(), &length) != kSuccess)
    return std::nullopt;
  return predefined({name.data(), static_cast<std::size_t>(std::max(length, 0))}, size);
}

}  // namespace

// Only MPI's own types are remembered: the handles of others may come to mean another type.
std::optional<Element> element_of(const Library& library, Handle type) {
  thread_local std::unordered_map<Handle, Element> known;
  const auto found = known.find(type);
  if (found != known.end()) return found->second;
  const auto asked = ask(library, type);
  if (asked) known.emplace(type, *asked);
  return asked;
}

Range Range::with(const Range& other) const {
  if (other.is_empty()) return *this;
  if (is_empty()) return other;
  return {std::min(begin, other.begin), std::max(end, other.end)};
}

Range range_of(const Library& library, Handle type, Count count) {
  Count lower = 0, length = 0;
  if (count <= 0 || library.real.Type_get_true_extent(type, &lower, &length) != kSuccess) return {};
  const Range first{lower, lower + length};
  const Count last = (count - 1) * extent_of(library, type);
  return first.with({first.begin + last, first.end + last});
}

Count extent_of(const Library& library, Handle type) {
  Count lower = 0, extent = 0;
  (void)library.real.Type_get_extent(type, &lower, &extent);
  return extent;
}

}  // namespace polypath::mpi
