#include "kernels/copy_pieces.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "kernels/images.h"

namespace polypath::kernels {
namespace {

void copy_on_host(std::span<std::byte* const> memory, std::span<const std::uint64_t> values) {
  const std::uint64_t pieces = values[kPieceCount];
  for (std::uint64_t piece = 0; piece < pieces; ++piece)
    std::memcpy(memory[2 * piece + 1], memory[2 * piece], values[size_word(piece)]);
}

}  // namespace

Kernel copy_pieces_kernel(std::size_t most) {
  const bool small = most == kMostPiecesOfSmallKernel;
  if (!small && most != kMostPiecesOfKernel)
    fail(ErrorCode::internal, "there is no kernel for so many pieces", "there are two sizes");
  return {.name = small ? "copy_few_pieces" : "copy_pieces",
          .image = std::string(kernel_image("copy_pieces")),
          .on_host = copy_on_host,
          .parameters = words_for(most)};
}

std::vector<std::uint64_t> piece_values(std::span<const Bytes> sizes) {
  std::vector<std::uint64_t> values(kPieceSizes);
  values[kPieceCount] = sizes.size();
  for (const Bytes size : sizes) {
    values[kLargestPieceWord] = std::max(values[kLargestPieceWord], size.value);
    values.push_back(size.value);
  }
  return values;
}

}  // namespace polypath::kernels
