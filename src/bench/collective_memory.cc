#include "bench/collective_memory.h"

#include <algorithm>

#include "collective/reference.h"
#include "core/quietly.h"

namespace polypath::bench {
namespace {

Address address_of(const std::byte* memory) { return {reinterpret_cast<std::uintptr_t>(memory)}; }

}  // namespace

CollectiveMemory::CollectiveMemory(Driver& driver, const CollectiveRequest& request,
                                   StreamHandle stream)
    : driver_(driver), request_(request), stream_(stream) {
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

void CollectiveMemory::write(std::size_t memory, const Contents& contents) {
  driver_.copy_native({.destination = addresses_[memory],
                       .source = address_of(contents.data()),
                       .bytes = Bytes{contents.size()}},
                      stream_);
  driver_.synchronize(stream_);
}

CollectiveMemory::Contents CollectiveMemory::output(int rank) const {
  const auto number = static_cast<std::size_t>(rank);
  const bool within = request_.in_place && request_.collective == Collective::reduce_scatter;
  const Address from = addresses_[number + (request_.in_place ? 0 : request_.ranks.size())] +
                       (within ? request_.part() * number : Bytes{});
  Contents contents(output_bytes(request_, rank).value);
  if (contents.empty()) return contents;
  driver_.copy_native(
      {.destination = address_of(contents.data()), .source = from, .bytes = Bytes{contents.size()}},
      stream_);
  driver_.synchronize(stream_);
  return contents;
}

void CollectiveMemory::fill() {
  constexpr std::byte kNoResult{0x7f};
  for (std::size_t memory = 0; memory < addresses_.size(); ++memory) {
    Contents contents(sizes_[memory].value, kNoResult);
    if (memory < request_.ranks.size())
      fill_input(request_, static_cast<int>(memory), contents.data());
    write(memory, contents);
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
