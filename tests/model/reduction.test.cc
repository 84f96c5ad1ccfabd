// Averages: what is representable comes out, and the bits are those of the sum divided by n
// wherever that has room.

#include "model/reduction.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "model/half_floats.h"
#include "support/random.h"

namespace polypath::test {
namespace {

template <class Element>
constexpr ElementType kTypeOf = ElementType::float32;
template <>
constexpr ElementType kTypeOf<double> = ElementType::float64;
template <>
constexpr ElementType kTypeOf<Float16> = ElementType::float16;
template <>
constexpr ElementType kTypeOf<BFloat16> = ElementType::bfloat16;

template <class Element>
struct Limits {
  static Element largest() { return std::numeric_limits<Element>::max(); }
  static Element least() { return std::numeric_limits<Element>::denorm_min(); }
  static double unit() { return std::numeric_limits<Element>::epsilon() / 2; }
};
template <>
struct Limits<Float16> {
  static Float16 largest() { return Float16(65504.0F); }
  static Float16 least() { return Float16(0x1p-24F); }
  static double unit() { return 0x1p-11; }
};
template <>
struct Limits<BFloat16> {
  static BFloat16 largest() { return BFloat16(0x1.fep127F); }
  static BFloat16 least() { return BFloat16(0x1p-133F); }
  static double unit() { return 0x1p-8; }
};

template <class Element>
double value_of(Element element) {
  if constexpr (std::is_arithmetic_v<Element>) return static_cast<double>(element);
  else return static_cast<double>(static_cast<float>(element));
}
template <class Element>
Element element_of(double value) {
  if constexpr (std::is_arithmetic_v<Element>) return static_cast<Element>(value);
  else return Element(static_cast<float>(value));
}

template <class Element>
Element reduced(const Reduction& reduction, Element into, Element from) {
  reduce_on_host(reduction, reinterpret_cast<std::byte*>(&into),
                 reinterpret_cast<const std::byte*>(&from), Bytes{sizeof into});
  return into;
}

// One after another.
template <class Element>
Element average_of(const std::vector<Element>& values) {
  Reduction step{ReduceOperator::average, kTypeOf<Element>, static_cast<int>(values.size())};
  Element result = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) {
    step.into = static_cast<int>(i);
    result = reduced(step, result, values[i]);
  }
  return result;
}

// The averages of the first and of the second half together; of all in the end.
template <class Element>
Element average_by_halves(const std::vector<Element>& values, std::size_t first,
                          std::size_t count) {
  if (count == 1) return values[first];
  const std::size_t left = count / 2;
  const Reduction both{ReduceOperator::average, kTypeOf<Element>, static_cast<int>(values.size()),
                       static_cast<int>(left), static_cast<int>(count - left)};
  return reduced(both, average_by_halves(values, first, left),
                 average_by_halves(values, first + left, count - left));
}

template <class Element>
class Averages : public testing::Test {};
using FloatingPoint = testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(Averages, FloatingPoint);

TYPED_TEST(Averages, OfTheLargestNumberAreAboutThatAndNeverInfinite) {
  const auto largest = Limits<TypeParam>::largest();
  const double unit = Limits<TypeParam>::unit();
  for (std::size_t count = 2; count <= 130; ++count) {
    const std::vector<TypeParam> values(count, largest);

    for (const TypeParam average : {average_of(values), average_by_halves(values, 0, count)}) {
      EXPECT_TRUE(std::isfinite(value_of(average))) << count;
      EXPECT_GE(value_of(average), value_of(largest) * (1 - static_cast<double>(count) * unit))
          << count;
    }
  }
}

TYPED_TEST(Averages, OfLargeNumbersOfBothSignsAreWhatTheirValuesSay) {
  const double largest = value_of(Limits<TypeParam>::largest());
  const auto of = [&](double part) { return element_of<TypeParam>(largest * part); };

  EXPECT_EQ(value_of(average_of<TypeParam>({of(1), of(1), of(-1), of(-1)})), 0);
  EXPECT_EQ(value_of(average_of<TypeParam>({of(0.5), of(0.5), of(0.5), of(0.5)})),
            value_of(of(0.5)));
  EXPECT_EQ(value_of(average_of<TypeParam>({of(-1), of(-1)})), -largest);
}

// Each of n - 1 reductions rounds to the least number times 2^e(p)/n.
TYPED_TEST(Averages, OfSubnormalNumbersAreOffByFewTimesTheLeastOne) {
  Random random(8);
  const double least = value_of(Limits<TypeParam>::least());
  for (int number = 0; number < 2000; ++number) {
    const int count = random.integer(2, 40), most = random.chance(50) ? 200 : 2;
    const bool equal = random.chance(30);
    std::vector<TypeParam> values;
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      const double next = least * random.integer(-most, most);
      values.push_back(equal && i > 0 ? values.front() : element_of<TypeParam>(next));
      sum += value_of(values.back()) / least;
    }

    const double average = value_of(average_of(values)) / least;

    EXPECT_LE(std::abs(average - sum / count), (count + 1) / 2.0);
    if (equal) EXPECT_EQ(average == 0, sum == 0) << "small numbers do not become 0";
  }
}

// Of moderate numbers nothing is infinite or subnormal on the way.
TYPED_TEST(Averages, HaveTheBitsOfTheSumDividedOnceWhereThatHasRoom) {
  Random random(7);
  for (int number = 0; number < 2000; ++number) {
    const auto count = static_cast<std::size_t>(random.integer(2, 20));
    std::vector<TypeParam> values;
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(element_of<TypeParam>((random.chance(50) ? -1 : 1) *
                                             std::ldexp(random.between(512, 1023), -9)));
    TypeParam sum = values.front();
    for (std::size_t i = 1; i < count; ++i)
      sum = reduced({ReduceOperator::sum, kTypeOf<TypeParam>}, sum, values[i]);
    const auto divided = element_of<TypeParam>(value_of(sum) / static_cast<double>(count));

    EXPECT_EQ(value_of(average_of(values)), value_of(divided));
  }
}

TYPED_TEST(Averages, OfWhatIsInfiniteOrNoNumberAreThat) {
  const auto infinite = element_of<TypeParam>(INFINITY), one = element_of<TypeParam>(1);
  const auto none = element_of<TypeParam>(NAN);

  EXPECT_EQ(value_of(average_of<TypeParam>({one, infinite, one})), INFINITY);
  EXPECT_TRUE(std::isnan(
      value_of(average_of<TypeParam>({infinite, one, element_of<TypeParam>(-INFINITY)}))));
  EXPECT_TRUE(std::isnan(value_of(average_of<TypeParam>({one, none, one}))));
}

}  // namespace
}  // namespace polypath::test
