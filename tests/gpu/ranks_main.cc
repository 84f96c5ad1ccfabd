// Ranks that are processes of their own, each with a GPU, do collectives without reductions one
// after another, with nothing but flags in device memory between them; every byte is checked.
//
//   polypath_ranks RANKS [SEED]
//
// Says "right", or what is wrong first.

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "collective/algorithms/algorithm.h"
#include "collective/program/reference.h"
#include "collective/rank/rank_run.h"
#include "context/open.h"
#include "support/random.h"

namespace polypath::test {
namespace {

constexpr int kMostRanks = 8;
constexpr std::size_t kMostBytes = 16384;

// What all processes see: where they meet, and what each has said.
struct Table {
  pthread_barrier_t barrier;
  std::size_t sizes[kMostRanks] = {};
  std::byte said[kMostRanks][kMostBytes] = {};
};

Table& make_table(int ranks) {
  void* const shared =
      mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::abort();
  auto& table = *new (shared) Table;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&table.barrier, &attributes, static_cast<unsigned>(ranks));
  return table;
}

std::vector<ExportedMemory> gather(Table& table, int rank, int ranks, const ExportedMemory& own) {
  if (own.size() > kMostBytes) std::abort();
  table.sizes[rank] = own.size();
  std::memcpy(table.said[rank], own.data(), own.size());
  pthread_barrier_wait(&table.barrier);
  std::vector<ExportedMemory> all;
  for (int each = 0; each < ranks; ++each)
    all.emplace_back(table.said[each], table.said[each] + table.sizes[each]);
  pthread_barrier_wait(&table.barrier);
  return all;
}

// The same for all ranks, from the same seed.
CollectiveRequest random_request(Random& random, const std::vector<PlaceId>& ranks) {
  static const std::vector<Collective> kinds = {Collective::all_gather, Collective::all_to_all,
                                                Collective::broadcast};
  CollectiveRequest request{.collective = random.pick(kinds), .ranks = ranks};
  request.elements = random.between(1, 60'000);
  request.root = random.integer(0, request.size() - 1);
  return request;
}

// Without peer access only what goes through the host is possible.
const Algorithm& random_algorithm(Random& random, const Machine& machine,
                                  const CollectiveRequest& request, bool through_host) {
  std::vector<const Algorithm*> able;
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.does(machine, request) && !algorithm.is_kernel &&
        (!through_host || std::string_view(algorithm.name) == "host"))
      able.push_back(&algorithm);
  return *random.pick(able);
}

class Rank {
 public:
  Rank(Table& table, int rank, int ranks, std::uint64_t seed)
      : table_(table), rank_(rank), random_(seed), opened_(open()) {
    gpus_ = opened_.machine().places_of(PlaceKind::gpu);
    if (static_cast<int>(gpus_.size()) < ranks) std::abort();
    gpus_.resize(static_cast<std::size_t>(ranks));
    stream_ = driver().create_stream(gpu());
    run_ = std::make_unique<RankRun>(driver(), opened_.machine(), opened_.settings(),
                                     RankRun::Group{gpus_, rank, exchange()});
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank() {
    for (const Address each : imported_) driver().release_import(each);
    for (const Step& step : steps_) driver().free(step.input), driver().free(step.output);
    pthread_barrier_wait(&table_.barrier);  // nobody uses anybody's memory any more
    run_.reset();
    driver().destroy_stream(stream_);
  }

  void add_step() {
    Step step{.request = random_request(random_, gpus_)};
    const Algorithm& algorithm =
        random_algorithm(random_, opened_.machine(), step.request, is_private());
    const Tuning tuning{
        .piece = {random_.between(1024, 65'536)}, .radix = 2, .private_memory = is_private()};
    const Executor by = random_.chance(50) ? Executor::graph : Executor::stream;
    auto parts =
        project(opened_.machine(), build(algorithm, opened_.machine(), step.request, tuning), gpus_,
                RankMemorySizes{}.flags_per_pair);
    step.program =
        std::make_unique<RankProgram>(std::move(parts[static_cast<std::size_t>(rank_)]), by);
    run_->prepare(*step.program);
    step.input = filled(input_of(step.request, rank_));
    step.output = filled(std::vector<std::byte>(output_size(step.request), std::byte{0x7f}));
    share(step);
    steps_.push_back(std::move(step));
  }

  void run_all() {
    for (const Step& step : steps_) {
      if (random_.chance(30))
        usleep(
            static_cast<useconds_t>(random_.between(0, 3000) * static_cast<unsigned>(rank_ + 1)));
      run_->run(*step.program, step.buffers, stream_);
    }
    driver().synchronize(stream_);
  }

  [[nodiscard]] bool is_right() {
    for (const Step& step : steps_) {
      std::vector<std::byte> found(output_size(step.request));
      copy({reinterpret_cast<std::uintptr_t>(found.data())}, step.output, found.size());
      if (found != expected(step.request)) return false;
    }
    return true;
  }

 private:
  struct Step {
    CollectiveRequest request;
    std::unique_ptr<RankProgram> program = {};
    Address input = {}, output = {};
    std::vector<Address> buffers = {};
  };

  static OpenMachine open() {
    Settings settings;
    settings.staging_slot = 64_KiB;
    const ChosenMachine chosen = choose_machine("", settings);
    if (chosen.simulated) std::abort();
    return open_machine(chosen, settings);
  }

  [[nodiscard]] Driver& driver() const { return opened_.driver(); }
  [[nodiscard]] PlaceId gpu() const { return gpus_[static_cast<std::size_t>(rank_)]; }
  [[nodiscard]] AllGather exchange() {
    return [this](const ExportedMemory& own) {
      return gather(table_, rank_, static_cast<int>(gpus_.size()), own);
    };
  }

  // Memory of a GPU that another one does not reach cannot be opened.
  [[nodiscard]] bool is_private() const {
    return flags_place(opened_.machine(), gpus_, rank_) != gpu();
  }

  static std::size_t output_size(const CollectiveRequest& request) {
    return std::max(output_bytes(request, 0), request.element()).value;
  }

  [[nodiscard]] static std::vector<std::byte> input_of(const CollectiveRequest& request, int rank) {
    std::vector<std::byte> input(std::max(input_bytes(request, rank), request.element()).value);
    if (input_bytes(request, rank).value > 0) fill_input(request, rank, input.data());
    return input;
  }

  // Part r of what each has, or all of it, or what the root has.
  [[nodiscard]] std::vector<std::byte> expected(const CollectiveRequest& request) const {
    if (request.collective == Collective::broadcast) return input_of(request, request.root);
    std::vector<std::byte> all;
    const auto part = static_cast<std::ptrdiff_t>(request.part().value);
    for (int rank = 0; rank < request.size(); ++rank) {
      const std::vector<std::byte> input = input_of(request, rank);
      const bool takes_part = request.collective == Collective::all_to_all;
      const auto begin = input.begin() + (takes_part ? part * rank_ : 0);
      all.insert(all.end(), begin, begin + part);
    }
    return all;
  }

  void copy(Address to, Address from, std::size_t bytes) {
    driver().copy_native({.destination = to, .source = from, .bytes = {bytes}}, stream_);
    driver().synchronize(stream_);
  }

  [[nodiscard]] Address filled(const std::vector<std::byte>& contents) {
    const Address made = driver().allocate(gpu(), {contents.size()});
    copy(made, {reinterpret_cast<std::uintptr_t>(contents.data())}, contents.size());
    return made;
  }

  // The program's buffers are the inputs of all, then their outputs.
  void share(Step& step) {
    for (const Address own : {step.input, step.output}) {
      if (is_private()) {
        step.buffers.resize(step.buffers.size() + gpus_.size());
        *(step.buffers.end() - static_cast<std::ptrdiff_t>(gpus_.size()) + rank_) = own;
        continue;
      }
      const auto all = exchange()(driver().export_memory(own));
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const bool mine = static_cast<int>(rank) == rank_;
        step.buffers.push_back(mine ? own : driver().import_memory(all[rank], gpu()));
        if (!mine) imported_.push_back(step.buffers.back());
      }
    }
  }

  Table& table_;
  int rank_;
  Random random_;
  OpenMachine opened_;
  std::vector<PlaceId> gpus_;
  StreamHandle stream_;
  std::unique_ptr<RankRun> run_;
  std::vector<Step> steps_;
  std::vector<Address> imported_;
};

int be(Table& table, int number, int ranks, std::uint64_t seed) {
  constexpr int kSteps = 6;
  alarm(120);  // a hang is a failure
  Rank rank(table, number, ranks, seed);
  for (int i = 0; i < kSteps; ++i) rank.add_step();
  rank.run_all();
  return rank.is_right() ? 0 : 1;
}

// None of them has touched the driver before it is a process of its own.
bool run(int ranks, std::uint64_t seed) {
  Table& table = make_table(ranks);
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(fork());
    if (children.back() == 0) _exit(be(table, rank, ranks, seed));
  }
  bool right = true;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    right = right && status == 0;
    if (status != 0) std::fprintf(stderr, "a rank ended with status %d\n", status);
  }
  return right;
}

}  // namespace
}  // namespace polypath::test

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (ranks < 2 || ranks > polypath::test::kMostRanks) return 2;
  if (!polypath::test::run(ranks, seed)) return 1;
  std::puts("right");
  return 0;
}
