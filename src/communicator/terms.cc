#include "communicator/terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "communicator/bootstrap/frames.h"
#include "core/error.h"

namespace polypath::communicator {
namespace {

[[noreturn]] void fail_to_agree(std::size_t rank, const std::string& what, const std::string& here,
                                const std::string& there) {
  fail(ErrorCode::invalid_argument, fmt::format("The ranks differ in {}", what),
       fmt::format("it is '{}' at rank 0 and '{}' at rank {}", here, there, rank),
       "Give all ranks the same.");
}

}  // namespace

void agree_on(Communicator& communicator, const std::vector<Term>& terms) {
  std::vector<std::string> own;
  for (const Term& term : terms) own.push_back(term.what), own.push_back(term.value);
  const std::vector<Blob> all = communicator.all_gather(pack(own), {.operation = "join"});
  const std::vector<std::string> first = unpack(all.front());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const std::vector<std::string> other = unpack(all[rank]);
    if (other.size() != first.size())
      fail_to_agree(rank, "how much they compare", std::to_string(first.size() / 2),
                    std::to_string(other.size() / 2));
    const auto at = std::mismatch(first.begin(), first.end(), other.begin()).first - first.begin();
    if (at == static_cast<std::ptrdiff_t>(first.size())) continue;
    const auto value = static_cast<std::size_t>(at) / 2 * 2 + 1;
    fail_to_agree(rank, first[value - 1], first[value], other[value]);
  }
}

}  // namespace polypath::communicator
