#include "collective/choose/twins.h"

#include <bit>

namespace polypath::collective {
namespace {

// What a program's nodes do, in one list: equal of programs that do the same.
std::vector<std::uint64_t> work_of(const Program& program) {
  std::vector<std::uint64_t> work;
  const auto add = [&](auto... numbers) {
    (work.push_back(static_cast<std::uint64_t>(numbers)), ...);
  };
  const auto add_slice = [&](const Slice& slice) {
    add(program.buffer(slice).place.value, slice.buffer, slice.offset.value);
  };
  for (const Node& node : program.nodes()) {
    add(node.operation, node.queue, node.hop.value, node.bytes.value);
    add_slice(node.source), add_slice(node.destination);
    if (node.operation != Operation::kernel) continue;
    const KernelCall& call = program.call_of(node);
    add(call.kernel, call.gpu.value, std::bit_cast<std::uint64_t>(call.duration.value),
        call.group ? call.group->number : -1);
    for (const Access& access : call.memory)
      add_slice(access.slice), add(access.bytes.value, access.writes);
  }
  return work;
}

}  // namespace

void Twins::note(const Variant& variant, const Program& program) {
  first_[variant] = first_of_.try_emplace(work_of(program), variant).first->second;
}

Variant Twins::of(const Variant& variant) const {
  const auto known = first_.find(variant);
  return known == first_.end() ? variant : known->second;
}

bool Twins::is_like_another(const Variant& variant) const {
  const Variant first = of(variant);
  return first.algorithm == variant.algorithm && first != variant;
}

}  // namespace polypath::collective
