#include "collective/support/rank_buffers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collective/program/reference.h"
#include "core/ignore_errors.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

constexpr Bytes kMargin = 64_B;
constexpr std::byte kUntouched{0xa5};

}  // namespace

RankBuffers::RankBuffers(Driver& driver, CollectiveRequest request, Bytes misaligned)
    : driver_(driver), request_(std::move(request)), misaligned_(misaligned) {
  for (int rank = 0; rank < request_.size(); ++rank) {
    const Bytes input = input_bytes(request_, rank), output = output_bytes(request_, rank);
    add(rank, request_.in_place ? std::max(input, output) : input);
  }
  for (int rank = 0; rank < request_.size() && !request_.in_place; ++rank)
    add(rank, output_bytes(request_, rank));
}

RankBuffers::~RankBuffers() {
  for (const Memory& memory : memories_) ignore_errors([&] { driver_.free(memory.allocated); });
}

void RankBuffers::add(int rank, Bytes bytes) {
  const PlaceId place = request_.ranks[static_cast<std::size_t>(rank)];
  const Address base = driver_.allocate(place, kMargin + misaligned_ + bytes + kMargin);
  memories_.push_back({base, bytes});
  addresses_.push_back(base + kMargin + misaligned_);
}

std::byte* RankBuffers::contents(std::size_t memory) const {
  return reinterpret_cast<std::byte*>(addresses_[memory].value);
}

std::byte* RankBuffers::output(int rank) const {
  const auto number = static_cast<std::size_t>(rank);
  if (!request_.in_place) return contents(number + request_.ranks.size());
  const bool within = request_.collective == Collective::reduce_scatter;
  return contents(number) + (within ? request_.part().value * number : 0);
}

void RankBuffers::fill() {
  for (std::size_t memory = 0; memory < memories_.size(); ++memory) {
    const Bytes all = kMargin + misaligned_ + memories_[memory].bytes + kMargin;
    std::memset(contents(memory) - (kMargin + misaligned_).value, static_cast<int>(kUntouched),
                all.value);
  }
  for (int rank = 0; rank < request_.size(); ++rank)
    fill_input(request_, rank, contents(static_cast<std::size_t>(rank)));
}

bool RankBuffers::margins_are_intact() const {
  const auto is_untouched = [](std::byte byte) { return byte == kUntouched; };
  for (std::size_t memory = 0; memory < memories_.size(); ++memory) {
    const std::byte* begin = contents(memory);
    const std::byte* end = begin + memories_[memory].bytes.value;
    if (!std::all_of(begin - (kMargin + misaligned_).value, begin, is_untouched)) return false;
    if (!std::all_of(end, end + kMargin.value, is_untouched)) return false;
  }
  return true;
}

bool RankBuffers::inputs_are_intact() const {
  for (int rank = 0; rank < request_.size() && !request_.in_place; ++rank) {
    std::vector<std::byte> given(input_bytes(request_, rank).value);
    fill_input(request_, rank, given.data());
    if (std::memcmp(given.data(), contents(static_cast<std::size_t>(rank)), given.size()) != 0)
      return false;
  }
  return true;
}

testing::AssertionResult RankBuffers::right() const {
  std::vector<const std::byte*> outputs;
  for (int rank = 0; rank < request_.size(); ++rank) outputs.push_back(output(rank));
  if (const std::string wrong = first_difference(request_, outputs); !wrong.empty())
    return testing::AssertionFailure() << wrong;
  if (!margins_are_intact())
    return testing::AssertionFailure() << "bytes beside the memories have changed";
  if (!inputs_are_intact()) return testing::AssertionFailure() << "an input has changed";
  return testing::AssertionSuccess();
}

}  // namespace polypath::test
