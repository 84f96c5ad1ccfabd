#include "support/ranks.h"

#include <algorithm>
#include <cstring>

#include "collective/reference.h"

namespace polypath::test {
namespace {

constexpr Bytes kMargin = 64_B;
constexpr std::byte kUntouched{0xa5};

}  // namespace

Settings collective_settings() {
  Settings settings;
  settings.min_message = 0_B;
  settings.min_chunk = 1_KiB;
  settings.min_gain = 0;
  return settings;
}

std::vector<PlaceId> first_gpus(const Machine& machine, int count) {
  std::vector<PlaceId> gpus = machine.places_of(PlaceKind::gpu);
  gpus.resize(static_cast<std::size_t>(count));
  return gpus;
}

Ranks::Ranks(const Machine& machine, CollectiveRequest request, Bytes misaligned)
    : request_(std::move(request)), misaligned_(misaligned), driver_(machine) {
  runner_ = std::make_unique<CollectiveRun>(driver_, driver_.machine(), collective_settings());
  stream_ = driver_.create_stream(gpu());
  for (int rank = 0; rank < request_.size(); ++rank) {
    const Bytes input = input_bytes(request_, rank), output = output_bytes(request_, rank);
    add(rank, request_.in_place ? std::max(input, output) : input);
  }
  for (int rank = 0; rank < request_.size() && !request_.in_place; ++rank)
    add(rank, output_bytes(request_, rank));
}

Ranks::~Ranks() { (void)close(); }

void Ranks::add(int rank, Bytes bytes) {
  const PlaceId place = request_.ranks[static_cast<std::size_t>(rank)];
  const Address base = driver_.allocate(place, kMargin + misaligned_ + bytes + kMargin);
  memories_.push_back({base, bytes});
  addresses_.push_back(base + kMargin + misaligned_);
}

std::byte* Ranks::contents(std::size_t memory) const {
  return reinterpret_cast<std::byte*>(addresses_[memory].value);
}

std::byte* Ranks::output(int rank) const {
  const auto number = static_cast<std::size_t>(rank);
  if (!request_.in_place) return contents(number + request_.ranks.size());
  const bool within = request_.collective == Collective::reduce_scatter;
  return contents(number) + (within ? request_.part().value * number : 0);
}

void Ranks::fill() {
  for (std::size_t memory = 0; memory < memories_.size(); ++memory) {
    const Bytes all = kMargin + misaligned_ + memories_[memory].bytes + kMargin;
    std::memset(contents(memory) - (kMargin + misaligned_).value, static_cast<int>(kUntouched),
                all.value);
  }
  for (int rank = 0; rank < request_.size(); ++rank)
    fill_input(request_, rank, contents(static_cast<std::size_t>(rank)));
}

Seconds Ranks::run(const CollectiveProgram& program) {
  fill();
  const Seconds start = driver_.now();
  runner_->run(program, addresses_, stream_, gpu());
  driver_.synchronize(stream_);
  return driver_.now() - start;
}

bool Ranks::margins_are_intact() const {
  const auto is_untouched = [](std::byte byte) { return byte == kUntouched; };
  for (std::size_t memory = 0; memory < memories_.size(); ++memory) {
    const std::byte* begin = contents(memory);
    const std::byte* end = begin + memories_[memory].bytes.value;
    if (!std::all_of(begin - (kMargin + misaligned_).value, begin, is_untouched)) return false;
    if (!std::all_of(end, end + kMargin.value, is_untouched)) return false;
  }
  return true;
}

bool Ranks::inputs_are_intact() const {
  for (int rank = 0; rank < request_.size() && !request_.in_place; ++rank) {
    std::vector<std::byte> given(input_bytes(request_, rank).value);
    fill_input(request_, rank, given.data());
    if (std::memcmp(given.data(), contents(static_cast<std::size_t>(rank)), given.size()) != 0)
      return false;
  }
  return true;
}

testing::AssertionResult Ranks::right() const {
  std::vector<const std::byte*> outputs;
  for (int rank = 0; rank < request_.size(); ++rank) outputs.push_back(output(rank));
  if (const std::string wrong = first_difference(request_, outputs); !wrong.empty())
    return testing::AssertionFailure() << wrong;
  if (!margins_are_intact())
    return testing::AssertionFailure() << "bytes beside the memories have changed";
  if (!inputs_are_intact()) return testing::AssertionFailure() << "an input has changed";
  return testing::AssertionSuccess();
}

std::vector<std::string> Ranks::close() {
  if (closed_) return {};
  closed_ = true;
  runner_.reset();
  driver_.destroy_stream(stream_);
  for (const Memory& memory : memories_) driver_.free(memory.allocated);
  std::vector<std::string> wrong = driver_.violations();
  for (std::string& leak : driver_.leaks()) wrong.push_back("leaked: " + leak);
  return wrong;
}

void expect_right(const Machine& machine, const Algorithm& algorithm,
                  const CollectiveRequest& request, const Tuning& tuning, Bytes misaligned) {
  SCOPED_TRACE(testing::Message() << algorithm.name << " " << name_of(request.collective) << " of "
                                  << request.size() << " ranks, " << request.elements << " x "
                                  << name_of(request.reduction.type) << " "
                                  << name_of(request.reduction.operation) << " on " << machine.name
                                  << ", root " << request.root
                                  << (request.in_place ? ", in place" : "") << ", pieces of "
                                  << tuning.piece.value
                                  << (tuning.several_paths ? ", several paths" : ""));
  Ranks ranks(machine, request, misaligned);
  Routes routes(machine, collective_settings());
  for (const Executor executor : {Executor::stream, Executor::graph, Executor::graph}) {
    const CollectiveProgram program(build(algorithm, machine, request, tuning, &routes), executor);
    ranks.run(program);
    EXPECT_TRUE(ranks.right()) << name_of(executor);
  }
  EXPECT_THAT(ranks.close(), testing::IsEmpty());
}

}  // namespace polypath::test
