#include "communicator/node/call_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/text.h"

namespace polypath::communicator {

std::string ShortName::text() const {
  return valid_text({characters_.begin(), std::find(characters_.begin(), characters_.end(), '\0')});
}

std::string describe(const CallRecord& call) {
  std::string text = call.operation.text();
  if (call.type != ShortName{}) text += fmt::format(" of {} {}", call.count, call.type.text());
  std::vector<std::string> more;
  if (call.reduction != ShortName{}) more.push_back(call.reduction.text());
  if (call.root >= 0) more.push_back(fmt::format("root {}", call.root));
  if (call.in_place != 0) more.emplace_back("in place");
  if (call.algorithm != ShortName{}) more.push_back("by " + call.algorithm.text());
  return more.empty() ? text : fmt::format("{} ({})", text, join(more, ", "));
}

std::string describe_difference(int rank, const CallRecord& call, int other,
                                const CallRecord& others) {
  const auto closes = [](int leaving, int staying, const CallRecord& goes_on) {
    return fmt::format("Rank {} has left, where rank {} calls {}", leaving, staying,
                       describe(goes_on));
  };
  if (others == kClosing) return closes(other, rank, call);
  if (call == kClosing) return closes(rank, other, others);
  return fmt::format("Rank {} calls {}, rank {} calls {}", rank, describe(call), other,
                     describe(others));
}

std::vector<std::string> differences(const CallRecord& a, const CallRecord& b) {
  std::vector<std::string> fields;
  const auto compare = [&](bool same, const char* field) {
    if (!same) fields.emplace_back(field);
  };
  compare(a.operation == b.operation, "operation");
  compare(a.type == b.type, "type");
  compare(a.reduction == b.reduction, "reduction");
  compare(a.algorithm == b.algorithm, "algorithm");
  compare(a.count == b.count, "count");
  compare(a.digest == b.digest, "counts or settings");
  compare(a.root == b.root, "root");
  compare(a.in_place == b.in_place, "being in place");
  return fields;
}

CallWords words_of(const CallRecord& call) { return std::bit_cast<CallWords>(call); }
CallRecord call_of(const CallWords& words) { return std::bit_cast<CallRecord>(words); }

// Per word the multiply-xorshift round of MurmurHash3's finaliser (public domain, A. Appleby).
std::uint64_t chain(std::uint64_t before, const CallWords& call) {
  std::uint64_t hash = before + 0x9e3779b97f4a7c15;
  for (const std::uint64_t word : call) {
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 33;
  }
  return hash;
}

}  // namespace polypath::communicator
