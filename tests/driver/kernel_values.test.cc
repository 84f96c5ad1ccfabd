// What kernels are told, and what their twins on the host do at the edges.

#include <gmock/gmock.h>

#include <array>
#include <span>
#include <vector>

#include "kernels/copy_pieces.h"
#include "kernels/jacobi.h"
#include "support/layers.h"

namespace polypath::test::kernel_values_test {
namespace {

using testing::ElementsAre;

TEST(PieceValues, NameTheLargestWhereverItIs) {
  const std::array<Bytes, 3> rising{1_KiB, 2_KiB, 4_KiB}, falling{4_KiB, 2_KiB, 1_KiB};

  EXPECT_EQ(piece_values(rising)[kLargestPieceWord], 4096U);
  EXPECT_EQ(piece_values(falling)[kLargestPieceWord], 4096U);
}

// Three rows of four: the row in between becomes the mean of its neighbours, its ends stay.
TEST(JacobiKernel, KeepsBothEdgesOfARow) {
  std::vector<float> from{1, 1, 1, 1, 8, 0, 0, 9, 1, 1, 1, 1};
  std::vector<float> to(4, -1);
  const std::array<std::byte*, 2> memory{reinterpret_cast<std::byte*>(to.data()),
                                         reinterpret_cast<std::byte*>(from.data())};
  const std::vector<std::uint64_t> values = jacobi_values(4, 1);

  jacobi_kernel().on_host(memory, values);

  EXPECT_THAT(to, ElementsAre(8, 2.5F, 2.75F, 9));
}

}  // namespace
}  // namespace polypath::test::kernel_values_test
