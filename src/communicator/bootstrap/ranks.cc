#include "communicator/bootstrap/ranks.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cstdint>

#include "core/error.h"
#include "core/text.h"

namespace polypath::communicator {

std::string describe_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kShown = 16;
  if (ranks.empty()) return "no rank";
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  std::vector<std::string> shown;
  for (const int rank : ranks)
    if (shown.size() < kShown) shown.push_back(std::to_string(rank));
  if (ranks.size() > kShown)
    return fmt::format("ranks {} and {} more", join(shown, ", "), ranks.size() - kShown);
  const std::string last = shown.back();
  shown.pop_back();
  return fmt::format("ranks {} and {}", join(shown, ", "), last);
}

std::string unique_name() {
  std::array<std::uint64_t, 2> bits{};
  if (getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits))
    fail(ErrorCode::communicator, "No random name can be made", "getrandom failed");
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

}  // namespace polypath::communicator
