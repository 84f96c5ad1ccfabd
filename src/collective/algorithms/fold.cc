#include "collective/algorithms/fold.h"

#include "kernels/reduce_layout.h"

namespace polypath::collective {
namespace {

bool is_same(const Slice& a, const Slice& b) {
  return a.buffer == b.buffer && a.offset == b.offset;
}

// Which operand the others are added to, when those before it have become one.
std::size_t place_of(const std::vector<Operand>& operands, const std::optional<Slice>& result) {
  if (!result) return operands.front().may_change || operands.size() == 1 ? 0 : 1;
  std::size_t at = 0;
  while (at + 1 < operands.size() && !is_same(operands[at].at, *result)) ++at;
  return at;
}

}  // namespace

Slice fold(Composer& composer, const std::vector<Operand>& operands, Bytes bytes,
           std::optional<Slice> result) {
  const std::size_t at = place_of(operands, result);
  if (operands.size() > 2 && operands.size() <= kMostOperands) {
    std::vector<Slice> all;
    for (const Operand& operand : operands) all.push_back(operand.at);
    composer.reduce(operands[at].at, all, bytes);
    return operands[at].at;
  }
  const auto own = operands.begin() + static_cast<std::ptrdiff_t>(at);
  if (at > 0) {
    const Slice before = fold(composer, {operands.begin(), own}, bytes);
    composer.reduce(own->at, before, bytes);
  }
  for (std::size_t next = at + 1; next < operands.size(); ++next)
    composer.reduce(own->at, operands[next].at, bytes);
  return own->at;
}

}  // namespace polypath::collective
