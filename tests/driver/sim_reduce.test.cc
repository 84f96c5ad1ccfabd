// Reductions of the simulated driver: what they do to bytes, how long they take, and what is
// refused.

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "driver/hand_driver.h"
#include "support/errors.h"

namespace polypath::test::sim_reduce_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class Reduce : public HandDriver {
 protected:
  /// What `a` is after `b` was reduced into it on gpu0.
  template <class Element>
  std::vector<Element> reduced(const Reduction& reduction, const std::vector<Element>& a,
                               const std::vector<Element>& b) {
    const std::size_t bytes = a.size() * sizeof(Element);
    const Address destination = memory(gpu(0), bytes), source = memory(gpu(0), bytes);
    std::memcpy(reinterpret_cast<void*>(destination.value), a.data(), bytes);
    std::memcpy(reinterpret_cast<void*>(source.value), b.data(), bytes);
    driver_.reduce(request(destination, source, bytes), reduction, stream_);
    driver_.synchronize(stream_);
    std::vector<Element> result(a.size());
    std::memcpy(result.data(), reinterpret_cast<const void*>(destination.value), bytes);
    return result;
  }

  StreamHandle stream_ = driver_.create_stream(gpu(0));
};

TEST_F(Reduce, AddsElementByElement) {
  const Reduction sum{ReduceOperator::sum, ElementType::float32};

  EXPECT_THAT(reduced<float>(sum, {1, 2, 3}, {0.5, -2, 4}), ElementsAre(1.5F, 0.0F, 7.0F));
}

TEST_F(Reduce, KnowsEveryOperatorAndType) {
  const auto most = std::numeric_limits<std::int32_t>::max();

  EXPECT_THAT(reduced<double>({ReduceOperator::minimum, ElementType::float64}, {1, 2}, {0, 3}),
              ElementsAre(0.0, 2.0));
  EXPECT_THAT(
      reduced<std::int64_t>({ReduceOperator::maximum, ElementType::int64}, {-1, 2}, {5, -3}),
      ElementsAre(5, 2));
  EXPECT_THAT(reduced<std::int32_t>({ReduceOperator::sum, ElementType::int32}, {most}, {1}),
              ElementsAre(std::numeric_limits<std::int32_t>::min()));
}

// -0 is less than 0, and what is not a number stays, whichever is there first.
TEST_F(Reduce, HasLeastAndLargestInAnyOrder) {
  const Reduction least{ReduceOperator::minimum, ElementType::float32};
  const Reduction largest{ReduceOperator::maximum, ElementType::float32};
  const float none = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a{0.0F, -0.0F, none, 1, 3}, b{-0.0F, 0.0F, 1, none, 3};
  const auto is_minus_zero = [](float value) { return value == 0 && std::signbit(value); };

  for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    const std::vector<float> low = reduced<float>(least, one, other);
    const std::vector<float> high = reduced<float>(largest, one, other);

    EXPECT_TRUE(is_minus_zero(low[0]) && is_minus_zero(low[1]));
    EXPECT_FALSE(is_minus_zero(high[0]) || is_minus_zero(high[1]));
    for (const auto* both : {&low, &high})
      EXPECT_TRUE(std::isnan((*both)[2]) && std::isnan((*both)[3]) && (*both)[4] == 3);
  }
}

// (2 + 5)/2 and (1 + 2)/2; of n values the last reduction divides.
TEST_F(Reduce, DividesAverages) {
  const Reduction half{ReduceOperator::average, ElementType::float32, 2};

  EXPECT_THAT(reduced<float>(half, {2, 1}, {5, 2}), ElementsAre(3.5F, 1.5F));
}

// 2048 + 17/16 is 2050 in float16, whose steps are 2 there. 2050/3 = 683 1/3 is rounded to 683.5,
// steps being 1/2 there; the third of what had not been rounded would be 683. Of the two values
// before the third the half of their sum is kept.
TEST_F(Reduce, RoundsTheSumBeforeItDivides) {
  const Reduction third{ReduceOperator::average, ElementType::float16, 3, 2, 1};
  constexpr std::uint16_t k1024 = 0x6400, k17_16 = 0x3c40, k683_5 = 0x6157;

  EXPECT_THAT(reduced<std::uint16_t>(third, {k1024}, {k17_16}), ElementsAre(k683_5));
}

// Call 1 us, the kernel's latency and 3 MB at its bandwidth, 4 us until the thread knows.
TEST_F(Reduce, TakesWhatTheMachineSays) {
  const Address destination = memory(gpu(0), 3'000'000), source = memory(gpu(0), 3'000'000);
  const Seconds start = driver_.now();

  driver_.reduce(request(destination, source, 3'000'000), {}, stream_);
  driver_.synchronize(stream_);

  const Place& place = driver_.machine().place(gpu(0));
  EXPECT_NEAR((driver_.now() - start).value,
              (5_us + place.reduction_latency + 3'000'000_B / place.reduction_bandwidth).value,
              1e-12);
}

TEST_F(Reduce, RacesWithWhoWritesItsSource) {
  const Address destination = memory(gpu(0), 64), source = memory(gpu(0), 64);
  const StreamHandle other = driver_.create_stream(gpu(0));

  driver_.copy(request(source, memory(gpu(1), 64), 64), other);
  driver_.reduce(request(destination, source, 64), {}, stream_);

  EXPECT_THAT(driver_.violations(), Not(IsEmpty()));
}

TEST_F(Reduce, RefusesMemoryOfAnotherGpu) {
  const CopyRequest across = request(memory(gpu(0), 64), memory(gpu(1), 64), 64);

  expect_invalid_argument([&] { driver_.reduce(across, {}, stream_); }, "another place",
                          "its own memory");
}

TEST_F(Reduce, RefusesAStreamOfAnotherGpu) {
  const CopyRequest within = request(memory(gpu(0), 64), memory(gpu(0), 64), 64);
  const StreamHandle other = driver_.create_stream(gpu(1));

  expect_invalid_argument([&] { driver_.reduce(within, {}, other); }, "gpu1");
}

TEST_F(Reduce, RefusesPartsOfElements) {
  const CopyRequest odd = request(memory(gpu(0), 64), memory(gpu(0), 64), 62);

  expect_invalid_argument([&] { driver_.reduce(odd, {}, stream_); }, "62 bytes",
                          "an element has 4");
}

}  // namespace
}  // namespace polypath::test::sim_reduce_test
