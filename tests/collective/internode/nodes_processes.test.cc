// Nodes of one rank each, which are processes with simulated machines of their own: nothing but
// messages goes between them.

#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>

#include "collective/internode/internode_collectives.h"
#include "collective/program/reference.h"
#include "collective/support/ranks.h"
#include "communicator/together.h"
#include "machine/load_machine.h"
#include "support/layers.h"

namespace polypath::test::nodes_processes_test {
namespace {

constexpr int kNodes = 3;
constexpr int kRight = 0, kWrong = 1, kThrown = 2;

/// One process.
struct Node {
  explicit Node(const std::string& folder, int of_rank)
      : rank(of_rank), driver(load_machine("h200x4")), gpu(first_gpus(driver.machine(), 1)[0]) {
    auto bootstrap = bootstrap_by_file(folder, rank, kNodes, kLong);
    auto transport = transport_by_tcp(*bootstrap, "127.0.0.1", kLong);
    auto communicator = std::make_unique<Communicator>(
        std::move(bootstrap), CommunicatorOptions{.node = std::to_string(rank), .timeout = kLong});
    collectives = std::make_unique<InternodeCollectives>(
        driver, driver.machine(), collective_settings(), gpu, std::move(communicator),
        InternodeLink{.transport = std::move(transport), .piece = 16_KiB});
    stream = driver.create_stream(gpu);
  }

  int rank;
  sim::SimDriver driver;
  PlaceId gpu;
  std::unique_ptr<InternodeCollectives> collectives;
  StreamHandle stream;
};

/// The status of each process that does `work(node)`.
template <class Work>
std::vector<int> in_processes(Work work) {
  const Folder folder;
  std::vector<pid_t> children;
  for (int rank = 0; rank < kNodes; ++rank) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    alarm(60);
    try {
      Node node(folder.path(), rank);
      _exit(work(node));
    } catch (const std::exception& error) {
      (void)!write(STDERR_FILENO, error.what(), std::strlen(error.what()));
      _exit(kThrown);
    }
  }
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return statuses;
}

CollectiveRequest sum_of(std::uint64_t elements) {
  return {.ranks = std::vector<PlaceId>(kNodes), .elements = elements};
}

// ((x0 + x1) + x2), rounded as float32 is.
std::vector<std::byte> sum_in_order(const CollectiveRequest& request) {
  std::vector<std::byte> sum(request.part().value), next(request.part().value);
  fill_input(request, 0, sum.data());
  for (int rank = 1; rank < kNodes; ++rank) {
    fill_input(request, rank, next.data());
    reduce_on_host(request.reduction, sum.data(), next.data(), request.part());
  }
  return sum;
}

CollectiveCall begin(Node& node, const CollectiveRequest& request) {
  const Address memory = node.driver.allocate(node.gpu, request.part());
  fill_input(request, node.rank, reinterpret_cast<std::byte*>(memory.value));
  const CollectiveCall call{.elements = request.elements,
                            .input = memory,
                            .output = node.driver.allocate(node.gpu, request.part())};
  node.collectives->run(call, node.stream);
  return call;
}

TEST(ProcessesOfNodes, HaveTheSameBitsInTheOrderOfTheNodes) {
  const CollectiveRequest request = sum_of(100'003);
  const std::vector<std::byte> expected = sum_in_order(request);

  const auto statuses = in_processes([&](Node& node) {
    const CollectiveCall call = begin(node, request);
    if (!soon([&] { return node.collectives->is_done(); })) return kWrong;
    const auto* const output = reinterpret_cast<const std::byte*>(call.output.value);
    const bool equal = std::equal(expected.begin(), expected.end(), output);
    node.collectives.reset();
    return equal && node.driver.violations().empty() ? kRight : kWrong;
  });

  EXPECT_EQ(statuses, std::vector<int>(kNodes, kRight));
}

TEST(ProcessesOfNodes, NameOneThatIsKilled) {
  const CollectiveRequest request = sum_of(100'003);

  const auto statuses = in_processes([&](Node& node) {
    (void)begin(node, request);
    if (!soon([&] { return node.collectives->is_done(); })) return kWrong;
    if (node.rank == 2) kill(getpid(), SIGKILL);
    (void)begin(node, request);
    const std::string said = awaited_verdict(node.collectives->communicator());
    const bool named = said.find("rank 2") != std::string::npos;
    return named && soon([&] { return node.collectives->is_done(); }) ? kRight : kWrong;
  });

  EXPECT_EQ(statuses, (std::vector<int>{kRight, kRight, 128 + SIGKILL}));
}

}  // namespace
}  // namespace polypath::test::nodes_processes_test
