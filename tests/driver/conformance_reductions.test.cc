// The conformance suite of conformance.h: reductions are what reduce_on_host does, for every type
// and operation, at every address, in streams and in graphs.

#include <cstring>

#include "core/error.h"
#include "driver/conformance.h"
#include "kernels/images.h"
#include "kernels/reduce.h"
#include "support/errors.h"

namespace polypath::test {
namespace {

constexpr ElementType kTypes[] = {ElementType::float32, ElementType::float64, ElementType::int32,
                                  ElementType::int64,   ElementType::float16, ElementType::bfloat16,
                                  ElementType::int8,    ElementType::int16,   ElementType::uint8,
                                  ElementType::uint16,  ElementType::uint32,  ElementType::uint64};
constexpr ReduceOperator kOperators[] = {ReduceOperator::sum, ReduceOperator::minimum,
                                         ReduceOperator::maximum, ReduceOperator::product,
                                         ReduceOperator::average};

template <class Element>
Contents as_bytes(const std::vector<Element>& elements) {
  Contents contents(elements.size() * sizeof(Element));
  std::memcpy(contents.data(), elements.data(), contents.size());
  return contents;
}

// The largest numbers of a floating-point type, the least ones and the least normal one; what is
// infinite, and what is not a number, with several bits.
std::vector<std::uint64_t> edges_of(ElementType type) {
  switch (type) {
    case ElementType::float16:
      return {0x7bff, 0xfbff, 1,      0x8001, 3,      0x3ff, 0x400,
              0,      0x7c00, 0xfc00, 0x7e01, 0xfe55, 0x7c01};
    case ElementType::bfloat16:
      return {0x7f7f, 0xff7f, 1, 0x8001, 3, 0x7f, 0x80, 0, 0x7f80, 0xff80, 0x7fc1, 0xffc3, 0x7f81};
    case ElementType::float32:
      return {0x7f7fffff, 0xff7fffff, 1,          0x80000001, 3,          0x7fffff,  0x800000,
              0,          0x7f800000, 0xff800000, 0x7fc00001, 0xffc12345, 0x7f800001};
    case ElementType::float64:
      return {0x7fefffffffffffff,
              0xffefffffffffffff,
              1,
              0x8000000000000001,
              3,
              0xfffffffffffff,
              0x10000000000000,
              0,
              0x7ff0000000000000,
              0xfff0000000000000,
              0x7ff8000000000001,
              0xfff8123456789abc,
              0x7ff0000000000001};
    default: return {};
  }
}

// Bytes of any value, but floating-point numbers of moderate size, and some at the edges.
Contents operand(ElementType type, std::size_t bytes, std::uint64_t seed) {
  Contents contents = pattern(bytes, seed);
  const auto exponent = [&](std::size_t size, unsigned char mask, unsigned char bits) {
    for (std::size_t i = size - 1; i < bytes; i += size)
      contents[i] = static_cast<unsigned char>((contents[i] & mask) | bits);
  };
  if (type == ElementType::float32 || type == ElementType::bfloat16)
    exponent(bytes_of(type).value, 0x81, 0x3e);
  if (type == ElementType::float64 || type == ElementType::float16)
    exponent(bytes_of(type).value, 0x83, 0x3c);
  const std::vector<std::uint64_t> edges = edges_of(type);
  constexpr std::size_t kEvery = 5;
  for (std::size_t i = 0; !edges.empty() && i < bytes / bytes_of(type).value; i += kEvery)
    std::memcpy(contents.data() + i * bytes_of(type).value,
                &edges[(i / kEvery * seed + i / 40) % edges.size()], bytes_of(type).value);
  return contents;
}

}  // namespace

void DriverReductions::SetUp() {
  DriverConformance::SetUp();
  if (IsSkipped()) return;
  try {
    expect_reduced({}, 16, 0, 0);
  } catch (const Error& error) {
    if (has_kernel_images() && error.code() != ErrorCode::unsupported) throw;
    GTEST_SKIP() << error.what();
  }
}

void DriverReductions::expect_reduced(const Reduction& reduction, std::size_t bytes,
                                      std::size_t destination, std::size_t source, bool by_graph) {
  Contents into = operand(reduction.type, bytes, 1);
  const Contents from = operand(reduction.type, bytes, 2);
  const Address a = allocate(gpu(), Bytes{bytes + 64}), b = allocate(gpu(), Bytes{bytes + 64});
  const Contents around(64 + bytes, 0x5a);
  subject_->write(a, around);
  subject_->write(a + Bytes{destination}, into);
  subject_->write(b + Bytes{source}, from);
  const CopyRequest reduced{.destination = a + Bytes{destination},
                            .destination_place = gpu(),
                            .source = b + Bytes{source},
                            .source_place = gpu(),
                            .bytes = Bytes{bytes}};

  const StreamHandle queue = stream(gpu());
  if (by_graph)
    driver().launch(graph({{.copy = reduced, .after = {}, .reduction = reduction}}), queue);
  else driver().reduce(reduced, reduction, queue);

  reduce_on_host(reduction, reinterpret_cast<std::byte*>(into.data()),
                 reinterpret_cast<const std::byte*>(from.data()), Bytes{bytes});
  Contents expected = around;
  std::copy(into.begin(), into.end(), expected.begin() + static_cast<std::ptrdiff_t>(destination));
  EXPECT_TRUE(same_bytes(read(a, around.size()), expected))
      << "type " << static_cast<int>(reduction.type) << ", operation "
      << static_cast<int>(reduction.operation) << ", " << bytes << " bytes at " << destination
      << " and " << source;
}

void DriverReductions::expect_reduced_at_once(const Reduction& reduction,
                                              const std::vector<int>& values_of, std::size_t bytes,
                                              std::size_t apart, std::size_t result) {
  KernelRequest request{.kernel = kernel(gpu(), reduce_kernel()),
                        .gpu = gpu(),
                        .values = reduce_values(reduction, Bytes{bytes}, values_of),
                        .shape = reduce_shape(Bytes{bytes})};
  Contents sum;
  Reduction step = reduction;
  for (std::size_t k = 0; k < values_of.size(); ++k) {
    const Contents next = operand(reduction.type, bytes, k + 1);
    const Address memory = allocate(gpu(), Bytes{bytes + 16 * values_of.size()});
    subject_->write(memory + Bytes{k * apart}, next);
    request.memory.push_back({memory + Bytes{k * apart}, gpu(), Bytes{bytes}});
    step.from = values_of[k];
    if (k == 0) sum = next, step.into = 0;
    else
      reduce_on_host(step, reinterpret_cast<std::byte*>(sum.data()),
                     reinterpret_cast<const std::byte*>(next.data()), Bytes{bytes});
    step.into += values_of[k];
  }
  KernelMemory into = request.memory[result];
  into.writes = true;
  request.memory.insert(request.memory.begin(), into);

  driver().run(request, stream(gpu()));

  EXPECT_TRUE(same_bytes(read(into.address, bytes), sum))
      << "type " << static_cast<int>(reduction.type) << ", operation "
      << static_cast<int>(reduction.operation) << ", " << values_of.size() << " operands of "
      << bytes << " bytes, " << apart << " apart";
}

namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverReductions);

TEST_P(DriverReductions, AreOfEveryTypeAndOperation) {
  for (const ElementType type : kTypes)
    for (const ReduceOperator operation : kOperators)
      if (can_reduce(operation, type))
        expect_reduced({operation, type}, 40000 * bytes_of(type).value, 0, 0);
}

// Of values on both sides, and of many: the last one divides.
TEST_P(DriverReductions, AreAveragesOfAnyNumberOfValues) {
  struct Values {
    int all, into, from;
  };
  for (const ElementType type : kTypes)
    for (const auto& [all, into, from] : {Values{2, 1, 1},
                                          {3, 1, 1},
                                          {3, 2, 1},
                                          {3, 1, 2},
                                          {7, 4, 3},
                                          {8, 3, 2},
                                          {8, 7, 1},
                                          {1000, 500, 500},
                                          {4096, 4095, 1}})
      if (can_reduce(ReduceOperator::average, type))
        expect_reduced({ReduceOperator::average, type, all, into, from},
                       4000 * bytes_of(type).value, 0, 0);
}

TEST_P(DriverReductions, AreOfAnyNumberOfElementsAtAnyAddress) {
  for (const ElementType type : kTypes) {
    const std::size_t size = bytes_of(type).value;
    for (const std::size_t elements : {1, 2, 3, 31, 4099})
      for (const auto& [destination, source] :
           {std::pair<std::size_t, std::size_t>{0, 0}, {size, size}, {0, size}, {1, 3}, {5, 5}})
        expect_reduced({ReduceOperator::sum, type}, elements * size, destination, source);
  }
}

TEST_P(DriverReductions, OfSeveralOperandsAreMadeOneAfterAnother) {
  for (const ElementType type : kTypes)
    for (const ReduceOperator operation : kOperators)
      if (can_reduce(operation, type))
        expect_reduced_at_once({operation, type, 4}, {1, 1, 1, 1}, 40000 * bytes_of(type).value, 0,
                               2);
}

TEST_P(DriverReductions, OfSeveralOperandsAreOfAnyNumberOfThemAtAnyAddress) {
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16, ElementType::uint8})
    for (std::size_t operands = 2; operands <= kMostOperands; ++operands)
      for (const std::size_t elements : {1, 7, 4099})
        for (const std::size_t apart : {std::size_t{0}, bytes_of(type).value})
          expect_reduced_at_once({ReduceOperator::sum, type}, std::vector<int>(operands, 1),
                                 elements * bytes_of(type).value, apart, operands - 1);
}

TEST_P(DriverReductions, OfSeveralOperandsAreAveragesOfWhatEachIsOf) {
  for (const ElementType type : kTypes)
    for (const int all : {9, 16})
      if (can_reduce(ReduceOperator::average, type))
        expect_reduced_at_once({ReduceOperator::average, type, all}, {2, 1, 5, 1},
                               4000 * bytes_of(type).value, 0, 0);
}

TEST_P(DriverReductions, AreNodesOfGraphs) {
  for (const ElementType type : {ElementType::float32, ElementType::int8})
    expect_reduced({ReduceOperator::maximum, type}, 4096, 0, 0, true);
}

TEST_P(DriverReductions, OfAGraphGetOtherAddresses) {
  const Contents one = as_bytes(std::vector<std::int32_t>(1024, 1));
  const Contents two = as_bytes(std::vector<std::int32_t>(1024, 2));
  const Address source = allocate(gpu(), two), first = allocate(gpu(), one);
  const Address second = allocate(gpu(), one);
  const Reduction sum{ReduceOperator::sum, ElementType::int32};
  const GraphHandle made =
      graph({{.copy = request(first, source, one.size()), .after = {}, .reduction = sum}});
  const StreamHandle queue = stream(gpu());

  driver().launch(made, queue);
  driver().update_node(made, 0, second, first);
  driver().launch(made, queue);

  EXPECT_TRUE(same_bytes(read(first, one.size()), as_bytes(std::vector<std::int32_t>(1024, 3))));
  EXPECT_TRUE(same_bytes(read(second, one.size()), as_bytes(std::vector<std::int32_t>(1024, 4))));
}

TEST_P(DriverReductions, AreOfOneGpuAndWholeElements) {
  const Address near = allocate(gpu(), Bytes{64}), far = allocate(host(), Bytes{64});
  CopyRequest across{near, gpu(), far, host(), Bytes{64}};
  CopyRequest odd{near, gpu(), near + Bytes{32}, gpu(), Bytes{6}};

  expect_invalid_argument([&] { driver().reduce(across, {}, stream(gpu())); }, "another place");
  expect_invalid_argument([&] { driver().reduce(odd, {}, stream(gpu())); }, "6 bytes");
  const Reduction whole{ReduceOperator::average, ElementType::int32, 2};
  expect_invalid_argument(
      [&] { driver().reduce(request(near, near + Bytes{32}, 8), whole, stream(gpu())); },
      "averaged");
}

}  // namespace
}  // namespace polypath::test
