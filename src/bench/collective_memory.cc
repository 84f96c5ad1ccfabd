#include "bench/collective_memory.h"

#include <algorithm>
#include <cstring>

#include "collective/reference.h"
#include "core/quietly.h"

namespace polypath::bench {

CollectiveMemory::CollectiveMemory(Driver& driver, const CollectiveRequest& request)
    : driver_(driver), request_(request) {
  const auto add = [&](int rank, Bytes bytes) {
    sizes_.push_back(std::max(bytes, request.element()));  // who has no part has an address, too
    addresses_.push_back(
        driver_.allocate(request.ranks[static_cast<std::size_t>(rank)], sizes_.back()));
  };
  for (int rank = 0; rank < request.size(); ++rank) {
    const Bytes input = input_bytes(request, rank), output = output_bytes(request, rank);
    add(rank, request.in_place ? std::max(input, output) : input);
  }
  for (int rank = 0; rank < request.size() && !request.in_place; ++rank)
    add(rank, output_bytes(request, rank));
}

CollectiveMemory::~CollectiveMemory() {
  for (const Address address : addresses_) quietly([&] { driver_.free(address); });
}

std::byte* CollectiveMemory::contents(std::size_t memory) const {
  return reinterpret_cast<std::byte*>(addresses_[memory].value);
}

const std::byte* CollectiveMemory::output(int rank) const {
  const auto number = static_cast<std::size_t>(rank);
  if (!request_.in_place) return contents(number + request_.ranks.size());
  const bool within = request_.collective == Collective::reduce_scatter;
  return contents(number) + (within ? request_.part().value * number : 0);
}

void CollectiveMemory::fill() {
  constexpr int kNoResult = 0x7f;
  for (std::size_t memory = 0; memory < addresses_.size(); ++memory)
    std::memset(contents(memory), kNoResult, sizes_[memory].value);
  for (int rank = 0; rank < request_.size(); ++rank)
    fill_input(request_, rank, contents(static_cast<std::size_t>(rank)));
}

bool CollectiveMemory::is_right() const {
  std::vector<const std::byte*> outputs;
  for (int rank = 0; rank < request_.size(); ++rank) outputs.push_back(output(rank));
  return first_difference(request_, outputs).empty();
}

}  // namespace polypath::bench
