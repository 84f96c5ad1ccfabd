#include "nccl/choices.h"

#include <algorithm>

namespace polypath::nccl {
namespace {

bool reduces(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce ||
         operation == Operation::reduce_scatter;
}

double gain_of(const Sample& sample) { return sample.real / sample.ours; }

}  // namespace

CallClass class_of(const Call& call) {
  const bool is_usual = call.type == kFloat32 && call.reduction == kSum;
  if (call.operation == Operation::receive) return {Operation::send};
  return {call.operation, !reduces(call.operation) || is_usual};
}

double Choices::gain(const CallClass& of, Bytes message) const {
  const auto found = samples_.find(of);
  if (message > longest_ || found == samples_.end() || found->second.empty()) return 0;
  const std::vector<Sample>& all = found->second;
  const auto above =
      std::ranges::find_if(all, [&](const Sample& sample) { return sample.message >= message; });
  if (above == all.end()) return gain_of(all.back());
  if (above == all.begin() || above->message == message) return gain_of(*above);
  return std::min(gain_of(*(above - 1)), gain_of(*above));
}

}  // namespace polypath::nccl
