#include "bench/collective_memory.h"

#include <algorithm>
#include <cstring>

#include "collective/reference.h"
#include "core/quietly.h"

namespace polypath::bench {
CollectiveMemory::CollectiveMemory(Driver& driver, const Machine& machine,
                                   const CollectiveRequest& request, StreamHandle stream)
    : driver_(driver),
      request_(request),
      stream_(stream),
      host_place_(machine.nearest_host(request.ranks.front())) {
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
  host_ = driver_.allocate(host_place_, *std::max_element(sizes_.begin(), sizes_.end()));
}

CollectiveMemory::~CollectiveMemory() {
  for (const Address address : addresses_) quietly([&] { driver_.free(address); });
  quietly([&] { driver_.free(host_); });
}

PlaceId CollectiveMemory::place_of(std::size_t memory) const {
  return request_.ranks[memory % request_.ranks.size()];
}

void CollectiveMemory::write(std::size_t memory) {
  driver_.copy({.destination = addresses_[memory],
                .destination_place = place_of(memory),
                .source = host_,
                .source_place = host_place_,
                .bytes = sizes_[memory]},
               stream_);
  driver_.synchronize(stream_);
}

CollectiveMemory::Contents CollectiveMemory::output(int rank) const {
  const auto number = static_cast<std::size_t>(rank);
  const bool within = request_.in_place && request_.collective == Collective::reduce_scatter;
  const std::size_t memory = number + (request_.in_place ? 0 : request_.ranks.size());
  const Bytes offset = within ? request_.part() * number : Bytes{};
  const Bytes bytes = output_bytes(request_, rank);
  if (bytes.value == 0) return {};
  driver_.copy({.destination = host_,
                .destination_place = host_place_,
                .source = addresses_[memory] + offset,
                .source_place = place_of(memory),
                .bytes = bytes},
               stream_);
  driver_.synchronize(stream_);
  return {pinned(), pinned() + bytes.value};
}

void CollectiveMemory::fill() {
  constexpr int kNoResult = 0x7f;
  for (std::size_t memory = 0; memory < addresses_.size(); ++memory) {
    std::memset(pinned(), kNoResult, sizes_[memory].value);
    if (memory < request_.ranks.size()) fill_input(request_, static_cast<int>(memory), pinned());
    write(memory);
  }
}

bool CollectiveMemory::is_right() const {
  std::vector<Contents> contents;
  for (int rank = 0; rank < request_.size(); ++rank) contents.push_back(output(rank));
  std::vector<const std::byte*> outputs;
  for (const Contents& of_rank : contents) outputs.push_back(of_rank.data());
  return first_difference(request_, outputs).empty();
}

}  // namespace polypath::bench
