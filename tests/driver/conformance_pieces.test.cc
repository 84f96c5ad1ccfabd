// The conformance suite of conformance.h: the kernels that copy many small pieces.

#include <algorithm>

#include "core/error.h"
#include "driver/conformance.h"
#include "kernels/copy_pieces.h"
#include "kernels/images.h"
#include "support/errors.h"

namespace polypath::test {
namespace {

struct Piece {
  std::size_t source, destination, bytes;  // offsets
};

// Of sizes up to a field's: each source lies in a field of its own, its destination in another one.
// What lies between them is not to be touched.
std::vector<Piece> pieces_of(const PieceOffsets& offsets) {
  const std::size_t count = offsets.pieces;
  const std::vector<std::size_t> sizes{1, 15, 16, 17, 4096, 4099, 70001, 511};
  const std::size_t field = kLarge / count;
  std::vector<Piece> pieces;
  for (std::size_t k = 0; k < count; ++k)
    pieces.push_back({k * field + offsets.source, (count - 1 - k) * field + offsets.destination,
                      std::min(sizes[k % sizes.size()], field - 16)});
  return pieces;
}

}  // namespace

void DriverPieces::SetUp() {
  DriverConformance::SetUp();
  if (!IsSkipped() && !loads()) GTEST_SKIP() << "the driver has no such kernels";
}

// Kernels may be missing because there was no compiler, or because the stand-in runs none.
bool DriverPieces::loads() {
  try {
    (void)kernel(gpu(), copy_pieces_kernel(kMostPiecesOfKernel));
  } catch (const Error& error) {
    if (has_kernel_images()) EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    return false;
  }
  return true;
}

namespace {

/// Both ends of pieces.
struct Ends {
  Address source;
  PlaceId source_place;
  Address destination;
  PlaceId destination_place;
};

KernelRequest request_for(KernelHandle kernel, PlaceId gpu, const std::vector<Piece>& pieces,
                          const Ends& ends) {
  std::vector<Bytes> sizes;
  KernelRequest request{.kernel = kernel,
                        .gpu = gpu,
                        .memory = {},
                        .shape = {.blocks = 8, .threads_per_block = kPieceKernelThreads},
                        .duration = 10_us};
  for (const Piece& piece : pieces) {
    const Bytes bytes{piece.bytes};
    sizes.push_back(bytes);
    request.memory.push_back(
        {.address = ends.source + Bytes{piece.source}, .place = ends.source_place, .bytes = bytes});
    request.memory.push_back({.address = ends.destination + Bytes{piece.destination},
                              .place = ends.destination_place,
                              .bytes = bytes,
                              .writes = true});
  }
  request.values = piece_values(sizes);
  return request;
}

}  // namespace

// Copies them by one launch; the destination's bytes between them have to stay.
void DriverPieces::expect_copied(std::size_t most, const PieceOffsets& offsets, PlaceId from,
                                 PlaceId to) {
  const std::vector<Piece> pieces = pieces_of(offsets);
  const Contents sent = pattern(kLarge, 1);
  Contents expected = pattern(kLarge, 2);
  const Ends ends{allocate(from, sent), from, allocate(to, expected), to};
  for (const Piece& piece : pieces)
    std::copy_n(&sent[piece.source], piece.bytes, &expected[piece.destination]);

  driver().run(request_for(kernel(gpu(), copy_pieces_kernel(most)), gpu(), pieces, ends),
               stream(gpu()));

  EXPECT_TRUE(same_bytes(read(ends.destination, kLarge), expected));
}

namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverPieces);

TEST_P(DriverPieces, AreCopiedBetweenAllPlaces) {
  for (const PlaceId from : {gpu(), peer(), host()})
    for (const PlaceId to : {gpu(), peer(), host()})
      if (has_peers() || (from != peer() && to != peer()))
        expect_copied(kMostPiecesOfSmallKernel, {.pieces = 100}, from, to);
}

TEST_P(DriverPieces, AreAsAlignedAsTheyAre) {
  for (const PieceOffsets offsets :
       {PieceOffsets{64, 3, 3}, {64, 1, 2}, {64, 4, 8}, {64, 0, 15}, {64, 16, 1}})
    expect_copied(kMostPiecesOfSmallKernel, offsets, host(), gpu());
}

TEST_P(DriverPieces, AreAsManyAsAKernelTakes) {
  expect_copied(kMostPiecesOfKernel, {.pieces = kMostPiecesOfKernel}, host(), gpu());
  expect_copied(kMostPiecesOfKernel, {.pieces = 1, .destination = 5}, gpu(), host());
  expect_copied(kMostPiecesOfSmallKernel, {kMostPiecesOfSmallKernel, 1, 1}, gpu(), host());
}

TEST_P(DriverPieces, AreNotMoreThanAKernelTakes) {
  const Ends ends{allocate(gpu(), Bytes{kLarge}), gpu(), allocate(gpu(), Bytes{kLarge}), gpu()};
  const KernelRequest many =
      request_for(kernel(gpu(), copy_pieces_kernel(kMostPiecesOfSmallKernel)), gpu(),
                  pieces_of({.pieces = kMostPiecesOfSmallKernel + 1}), ends);

  expect_invalid_argument([&] { driver().run(many, stream(gpu())); }, "parameters");
}

}  // namespace
}  // namespace polypath::test
