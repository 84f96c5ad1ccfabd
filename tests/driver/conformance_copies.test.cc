// The conformance suite's copies.

#include "driver/conformance.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

TEST_P(DriverConformance, CopiesOverEveryHopAndWithinAPlaceAreExact) {
  std::vector<std::pair<PlaceId, PlaceId>> pairs{{gpu(), gpu()}, {host(), host()}};
  for (const Hop& hop : machine().hops) pairs.emplace_back(hop.source, hop.destination);
  const StreamHandle queue = stream(gpu());
  std::uint64_t seed = 0;

  for (const auto& [from, to] : pairs) {
    const Contents sent = pattern(kSmall, ++seed);
    const Address source = allocate(from, sent);
    const Address destination = allocate(to, pattern(kSmall, 1000 + seed));
    copy(destination, source, kSmall, queue);
    EXPECT_TRUE(same_bytes(read(destination, kSmall), sent))
        << machine().place(from).name << " to " << machine().place(to).name;
  }
}

TEST_P(DriverConformance, OddSizesAndOffsetsTouchNothingElse) {
  const Contents sent = pattern(kSmall, 1);
  const Contents before = pattern(kSmall, 2);
  const Address source = allocate(gpu(), sent);
  const Address destination = allocate(peer(), before);
  const StreamHandle queue = stream(gpu());

  for (const auto& [to, from, bytes] : std::vector<std::array<std::size_t, 3>>{
           {0, 0, 1}, {1, 3, 1}, {7, 1, 13}, {511, 513, 1025}, {4095, 0, 1}, {1, 0, 4095}}) {
    subject_->write(destination, before);
    Contents expected = before;
    std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                expected.begin() + static_cast<std::ptrdiff_t>(to));
    copy(destination + Bytes{to}, source + Bytes{from}, bytes, queue);
    EXPECT_TRUE(same_bytes(read(destination, kSmall), expected))
        << bytes << " bytes from " << from << " to " << to;
  }
}

TEST_P(DriverConformance, OneMemoryCanBeCopiedWithinItself) {
  const Contents before = pattern(kSmall, 1);
  const Address memory = allocate(gpu(), before);
  Contents expected = before;
  std::copy_n(before.begin(), 1000, expected.begin() + 1000);

  copy(memory + 1000_B, memory, 1000, stream(gpu()));

  EXPECT_TRUE(same_bytes(read(memory, kSmall), expected));
}

TEST_P(DriverConformance, TheDefaultStreamCopies) {
  const Contents sent = pattern(kSmall, 1);
  const Address source = allocate(host(), sent);
  const Address destination = allocate(gpu(), Bytes{kSmall});

  copy(destination, source, kSmall, StreamHandle{});
  driver().synchronize(StreamHandle{});

  EXPECT_TRUE(same_bytes(read(destination, kSmall), sent));
}

}  // namespace
}  // namespace polypath::test
