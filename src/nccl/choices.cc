#include "nccl/choices.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/error.h"

namespace polypath::nccl {
namespace {

bool reduces(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce ||
         operation == Operation::reduce_scatter;
}

double gain_of(const Sample& sample) { return sample.real / sample.ours; }

/// A sample as ranks give it to each other.
struct Record {
  CallClass of;
  Sample sample;
};
static_assert(std::is_trivially_copyable_v<Record>);

}  // namespace

CallClass class_of(const Call& call) {
  const bool is_usual = call.type == kFloat32 && call.reduction == kSum;
  return {call.operation, !reduces(call.operation) || is_usual};
}

double Choices::gain(const CallClass& of, Bytes message) const {
  const auto found = samples_.find(of);
  if (found == samples_.end() || found->second.empty()) return 0;
  const std::vector<Sample>& all = found->second;
  const auto above =
      std::ranges::find_if(all, [&](const Sample& sample) { return sample.message >= message; });
  if (above == all.end()) return gain_of(all.back());
  if (above == all.begin() || above->message == message) return gain_of(*above);
  return std::min(gain_of(*(above - 1)), gain_of(*above));
}

std::string Choices::packed() const {
  std::string text;
  for (const auto& [of, all] : samples_)
    for (const Sample& sample : all) {
      const Record record{of, sample};
      text.append(reinterpret_cast<const char*>(&record), sizeof record);
    }
  return text;
}

Choices Choices::unpacked(std::string_view text) {
  if (text.size() % sizeof(Record) != 0)
    fail(ErrorCode::communicator, "what ranks have measured cannot be read", "it ends too early",
         "Let all ranks run the same version.");
  Choices choices;
  for (; !text.empty(); text.remove_prefix(sizeof(Record))) {
    Record record;
    std::memcpy(&record, text.data(), sizeof record);
    choices.add(record.of, record.sample);
  }
  return choices;
}

}  // namespace polypath::nccl
