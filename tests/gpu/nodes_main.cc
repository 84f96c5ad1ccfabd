// Ranks that are processes of their own, each with a GPU of this computer, are told that they are
// on several nodes: between these they have messages over TCP. They call collectives one after
// another without waiting; every byte is checked.
//
//   polypath_nodes NODES RANKS_OF_EACH [reduce]
//
// Nodes of one rank may share a GPU. Without "reduce" nothing is reduced, for drivers without
// kernels. Says "right", or who is not.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "collective/internode/internode_collectives.h"
#include "collective/program/reference.h"
#include "context/open.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

constexpr Seconds kTimeout{60};
constexpr int kRounds = 3;

struct Layout {
  int nodes = 2;
  int locals = 1;
  bool reduces = false;
  [[nodiscard]] int size() const { return nodes * locals; }
};

class Rank {
 public:
  Rank(const std::string& folder, const Layout& layout, int rank)
      : layout_(layout), rank_(rank), opened_(open()) {
    const auto gpus = opened_.machine().places_of(PlaceKind::gpu);
    gpu_ = gpus.at(static_cast<std::size_t>(rank) % gpus.size());
    auto bootstrap = bootstrap_by_file(folder, rank, layout.size(), kTimeout);
    auto transport = transport_by_tcp(*bootstrap, "127.0.0.1", kTimeout);
    auto communicator = std::make_unique<Communicator>(
        std::move(bootstrap),
        CommunicatorOptions{.node = std::to_string(rank / layout.locals), .timeout = kTimeout});
    collectives_ = std::make_unique<InternodeCollectives>(
        opened_.driver(), opened_.machine(), opened_.settings(), gpu_, std::move(communicator),
        InternodeLink{.transport = std::move(transport), .piece = 64_KiB});
    stream_ = opened_.driver().create_stream(gpu_);
  }

  [[nodiscard]] bool are_right() {
    std::vector<Collective> kinds = {Collective::all_gather, Collective::broadcast,
                                     Collective::all_to_all};
    if (layout_.reduces)
      kinds.insert(kinds.end(),
                   {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce});
    bool right = true;
    for (const Collective kind : kinds) right = is_right(kind) && right;
    return right;
  }

 private:
  static OpenMachine open() {
    const Settings settings;
    const ChosenMachine chosen = choose_machine("", settings);
    if (chosen.simulated) throw std::runtime_error("there are no GPUs");
    return open_machine(chosen, settings);
  }

  // What needs no kernels; with them, whatever is chosen.
  void choose_for(Collective kind) {
    if (layout_.reduces) return;
    collectives_->choose_from(
        {.algorithms = {kind == Collective::all_to_all ? "exchange" : "ring"}});
  }

  [[nodiscard]] bool is_right(Collective kind) {
    CollectiveRequest request{
        .collective = kind,
        .ranks = std::vector<PlaceId>(static_cast<std::size_t>(layout_.size())),
        .elements = 100'003,
        .reduction = {.type = ElementType::int32},
        .root = layout_.size() - 1};
    std::vector<std::byte> given(std::max(input_bytes(request, rank_), request.element()).value);
    if (input_bytes(request, rank_).value > 0) fill_input(request, rank_, given.data());
    std::vector<std::byte> taken(std::max(output_bytes(request, rank_), request.element()).value);
    const Address input = opened_.driver().allocate(gpu_, {given.size()});
    const Address output = opened_.driver().allocate(gpu_, {taken.size()});
    copy(input, address_of(given), given.size());

    choose_for(kind);
    for (int round = 0; round < kRounds; ++round) {
      collectives_->run({.collective = kind,
                         .reduction = request.reduction,
                         .root = request.root,
                         .elements = request.elements,
                         .input = input,
                         .output = output},
                        stream_);
      collectives_->barrier(stream_);
    }
    const bool gets = kind != Collective::broadcast || rank_ != request.root;
    copy(address_of(taken), gets ? output : input, gets ? taken.size() : given.size());
    collectives_->communicator().check();
    opened_.driver().free(input), opened_.driver().free(output);
    return compare(request, taken);
  }

  // With this rank's output in place of all others', as far as they are the same.
  [[nodiscard]] bool compare(const CollectiveRequest& request,
                             const std::vector<std::byte>& taken) const {
    if (request.collective == Collective::reduce && rank_ != request.root) return true;
    for (std::uint64_t i = 0; i < taken.size() / sizeof(std::int32_t); ++i) {
      std::int32_t found = 0;
      std::memcpy(&found, &taken[i * sizeof found], sizeof found);
      if (found != expected(request, i)) {
        std::fprintf(stderr, "rank %d, %s, element %lu: %d\n", rank_, name_of(request.collective),
                     static_cast<unsigned long>(i), found);
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::int32_t expected(const CollectiveRequest& request, std::uint64_t i) const {
    const auto value = [&](int rank, std::uint64_t index) {
      return static_cast<std::int32_t>(input_value(request, rank, index));
    };
    const std::uint64_t own = request.elements * static_cast<std::uint64_t>(rank_);
    const int block = static_cast<int>(i / request.elements);
    const std::uint64_t in_block = i % request.elements;
    switch (request.collective) {
      case Collective::broadcast: return value(request.root, i);
      case Collective::all_gather: return value(block, in_block);
      case Collective::all_to_all: return value(block, own + in_block);
      default: break;
    }
    const std::uint64_t at = request.collective == Collective::reduce_scatter ? own + i : i;
    std::int32_t sum = 0;
    for (int rank = 0; rank < layout_.size(); ++rank) sum += value(rank, at);
    return sum;
  }

  static Address address_of(const std::vector<std::byte>& memory) {
    return {reinterpret_cast<std::uintptr_t>(memory.data())};
  }
  void copy(Address to, Address from, std::size_t bytes) {
    opened_.driver().copy_native({.destination = to, .source = from, .bytes = {bytes}}, stream_);
    opened_.driver().synchronize(stream_);
  }

  Layout layout_;
  int rank_;
  OpenMachine opened_;
  PlaceId gpu_;
  std::unique_ptr<InternodeCollectives> collectives_;
  StreamHandle stream_;
};

int be(const std::string& folder, const Layout& layout, int rank) {
  alarm(120);  // a hang is a failure
  try {
    return Rank(folder, layout, rank).are_right() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    return 1;
  }
}

// None of them has touched the driver before it is a process of its own.
bool run(const Layout& layout) {
  std::string folder = "/tmp/polypath-nodes-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return false;
  std::vector<pid_t> children;
  for (int rank = 0; rank < layout.size(); ++rank) {
    children.push_back(fork());
    if (children.back() == 0) std::exit(be(folder, layout, rank));
  }
  bool right = true;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    right = right && status == 0;
    if (status != 0) std::fprintf(stderr, "a rank ended with status %d\n", status);
  }
  rmdir(folder.c_str());
  return right;
}

}  // namespace
}  // namespace polypath::test

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const polypath::test::Layout layout{.nodes = std::atoi(argv[1]),
                                      .locals = std::atoi(argv[2]),
                                      .reduces = argc > 3 && std::string(argv[3]) == "reduce"};
  if (layout.nodes < 2 || layout.locals < 1) return 2;
  if (!polypath::test::run(layout)) return 1;
  std::puts("right");
  return 0;
}
