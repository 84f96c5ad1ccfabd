// A random program: preload_random SEED [NAME=VALUE ...]. Streams of all kinds on several GPUs, one
// or more threads, memory of all kinds, events, host functions, fills, graphs, memory that comes
// and goes, and memory of another process; copies from a byte to many megabytes between all of it.
// Everything that is done is ordered, so every byte is known and looked at. It prints a digest of
// all results and of all bytes, which must be the same with Polypath and without.
//
// Options: steps, bytes (of the largest buffer), gpus, worlds (that run at the same time), threads
// (of each), ipc (1: memory of another process), trace (1: say what
// is done).

#include "pair.h"
#include "random_buffers.h"
#include "random_graphs.h"
#include "random_steps.h"

using namespace program;

namespace {

constexpr std::size_t kImported = 2;

struct Import {
  CUipcMemHandle handle;
  std::size_t bytes;
};

struct Shape {
  std::size_t worlds, threads;
  bool ipc;
};

Shape shape_of(std::uint64_t seed) {
  Chance chance(seed ^ 0x5eed);
  const bool several = chance.one_in(3), ipc = chance.one_in(4);
  const std::size_t threads = chance.one_in(2) ? 1 : 3;
  return {options().number("worlds", several ? 3 : 1),
          options().number("threads", several ? 1 : threads), options().number("ipc", ipc) != 0};
}

std::size_t most_bytes() { return options().number("bytes", 24 * kMiB); }

// The other process: lends memory and looks at it in the end.
int be_lender() {
  become_other();
  CHECK(cuInit(0));
  int gpus = 0;
  CHECK(cuDeviceGetCount(&gpus));
  use(gpus - 1);
  std::vector<CUdeviceptr> lent;
  for (std::size_t i = 0; i < kImported; ++i) {
    Import import{{}, most_bytes() / (i + 1)};
    lent.push_back(memory_on(gpus - 1, import.bytes));
    CHECK(cuMemsetD8_v2(lent.back(), 0, import.bytes));
    CHECK(cuCtxSynchronize());
    CHECK(cuIpcGetMemHandle(&import.handle, lent.back()));
    tell(import);
  }
  bool right = true;
  for (std::size_t i = 0; i < kImported; ++i) {
    const auto wanted = hear<unsigned long long>();  // when the borrower is done
    const auto bytes = read(lent[i], most_bytes() / (i + 1));
    Digest digest;
    digest.add(bytes.data(), bytes.size());
    right = right && digest.value() == wanted;
  }
  return right ? 0 : 1;
}

bool give_back(World& world) {
  for (const auto& bytes : world.give_back_imports()) {
    Digest digest;
    digest.add(bytes.data(), bytes.size());
    tell(digest.value());
  }
  const bool right = other_ends_well();
  std::printf("memory of the other process: %s\n", right ? "right" : "wrong");
  return right;
}

bool run_worlds(std::uint64_t seed, const Shape& shape) {
  int gpus = 0;
  CHECK(cuDeviceGetCount(&gpus));
  const World::Size size{std::min(gpus, static_cast<int>(options().number("gpus", 4))),
                         shape.threads, most_bytes(), shape.worlds == 1 && !shape.ipc};
  use(0);
  const Hold first(By::value);  // so that what all of them need has been made
  std::vector<std::unique_ptr<World>> worlds;
  for (std::size_t i = 0; i < shape.worlds; ++i)
    worlds.push_back(std::make_unique<World>(seed * 1000 + i, size));
  for (std::size_t i = 0; shape.ipc && i < kImported; ++i) {
    const auto import = hear<Import>();
    worlds.front()->import(import.handle, import.bytes);
  }
  std::vector<std::thread> threads;
  for (const auto& world : worlds)
    threads.emplace_back([&] { world->run(options().number("steps", 150)); });
  for (std::thread& thread : threads) thread.join();
  bool right = true;
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    worlds[i]->report(i);
    right = right && worlds[i]->right();
  }
  return (!shape.ipc || give_back(*worlds.front())) && right;
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory();
  if (argc < 2) return 2;
  const bool lender = is_other(argc, argv);
  for (int i = lender ? 3 : 2; i < argc; ++i) options().read(argv[i]);
  if (lender) return be_lender();
  const std::uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  const Shape shape = shape_of(seed);
  if (shape.ipc) start_other(argv[0], argv[1], {argv + 2, argv + argc});
  CHECK(cuInit(0));
  const bool right = run_worlds(seed, shape);
  std::puts("end");
  return right ? 0 : 1;
}
