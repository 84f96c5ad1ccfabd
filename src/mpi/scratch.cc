#include "mpi/scratch.h"

#include <bit>

#include "core/ignore_errors.h"

namespace polypath::mpi {

Scratch::~Scratch() {
  for (const Block& block : blocks_) ignore_errors([&] { driver_.free(block.address); });
}

// Sizes are powers of two, so that calls of many sizes share few blocks.
Address Scratch::take(Bytes bytes) {
  for (Block& block : blocks_)
    if (!block.is_taken && block.size >= bytes) {
      block.is_taken = true;
      return block.address;
    }
  const Bytes size{std::bit_ceil(bytes.value)};
  blocks_.push_back({driver_.allocate(place_, size), size, true});
  return blocks_.back().address;
}

void Scratch::release_all() {
  for (Block& block : blocks_) block.is_taken = false;
}

}  // namespace polypath::mpi
