#include "bench/collective_memory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "collective/program/reference.h"
#include "core/ignore_errors.h"

namespace polypath::bench {
CollectiveMemory::CollectiveMemory(Driver& driver, const Machine& machine,
                                   const CollectiveRequest& request, StreamHandle stream)
    : driver_(driver), request_(request), stream_(stream) {
  const auto add = [&](int rank, Bytes bytes) {
    sizes_.push_back(std::max(bytes, request.element()));  // a rank without a part has an address,
                                                           // too
    addresses_.push_back(
        driver_.allocate(request.ranks[static_cast<std::size_t>(rank)], sizes_.back()));
  };
  for (int rank = 0; rank < request.size(); ++rank) {
    const Bytes input = input_bytes(request, rank), output = output_bytes(request, rank);
    add(rank, request.in_place ? std::max(input, output) : input);
  }
  for (int rank = 0; rank < request.size() && !request.in_place; ++rank)
    add(rank, output_bytes(request, rank));
  const Bytes most = *std::max_element(sizes_.begin(), sizes_.end());
  std::map<int, Pinned> of_node;
  for (const PlaceId rank : request.ranks) {
    const auto [found, is_new] = of_node.try_emplace(machine.place(rank).node);
    if (is_new) {
      const PlaceId place = machine.nearest_host(rank);
      found->second = {place, driver_.allocate(place, most)};
    }
    hosts_.push_back(found->second);
  }
}

CollectiveMemory::~CollectiveMemory() {
  for (const Address address : addresses_) ignore_errors([&] { driver_.free(address); });
  std::set<Address> pinned;
  for (const Pinned& host : hosts_) pinned.insert(host.address);
  for (const Address address : pinned) ignore_errors([&] { driver_.free(address); });
}

PlaceId CollectiveMemory::place_of(std::size_t memory) const {
  return request_.ranks[memory % request_.ranks.size()];
}

void CollectiveMemory::write(std::size_t memory) {
  driver_.copy({.destination = addresses_[memory],
                .destination_place = place_of(memory),
                .source = host_of(memory).address,
                .source_place = host_of(memory).place,
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
  driver_.copy({.destination = host_of(memory).address,
                .destination_place = host_of(memory).place,
                .source = addresses_[memory] + offset,
                .source_place = place_of(memory),
                .bytes = bytes},
               stream_);
  driver_.synchronize(stream_);
  return {pinned(memory), pinned(memory) + bytes.value};
}

void CollectiveMemory::fill() {
  constexpr int kNoResult = 0x7f;
  for (std::size_t memory = 0; memory < addresses_.size(); ++memory) {
    std::memset(pinned(memory), kNoResult, sizes_[memory].value);
    if (memory < request_.ranks.size())
      fill_input(request_, static_cast<int>(memory), pinned(memory));
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
