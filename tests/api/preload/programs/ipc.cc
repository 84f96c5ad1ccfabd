// Two programs of which one maps the other's memory. The exporter, on GPU 0, starts the importer,
// on GPU 1, tells it what to do, and both look whether the bytes are right. They know nothing of
// Polypath.
//
// How the importer can be told to differ: pair.h.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>

#include "importer.h"

using namespace program;

namespace {

// The exporter's part: has an order carried out.
void have(const Request& request) {
  tell(request);
  EXPECT(hear<char>() == 'k');
}

CUipcMemHandle handle_of(CUdeviceptr memory) {
  use(0);
  CUipcMemHandle handle;
  CHECK(cuIpcGetMemHandle(&handle, memory));
  return handle;
}

void getting() {
  const CUdeviceptr memory = filled(0, kBytes, 1);
  have({Order::open, 0, 0, handle_of(memory)});
  have({Order::get, 1});
  have({Order::get, 1, 4099});
  have({Order::close});
}

void putting() {
  const CUdeviceptr memory = filled(0, kBytes, 1);
  have({Order::open, 0, 0, handle_of(memory)});
  have({Order::put, 2});
  EXPECT(program::read(memory, kBytes) == pattern(kBytes, 2));
  have({Order::put, 3, 12345});
  auto expected = pattern(kBytes, 2);
  const auto later = pattern(kBytes, 3);
  std::copy(later.begin() + 12345, later.end(), expected.begin() + 12345);
  EXPECT(program::read(memory, kBytes) == expected);
  have({Order::close});
}

// The same memory again and again, in both directions, until plans have become graphs.
void often() {
  const CUdeviceptr memory = filled(0, kBytes, 1);
  have({Order::open, 0, 0, handle_of(memory)});
  for (std::uint64_t i = 0; i < 6; ++i) {
    program::write(memory, pattern(kBytes, 10 + i));
    have({Order::get, 10 + i});
  }
  have({Order::close});
}

// Memory freed and allocated again, mostly at the address where it was, and mapped again, mostly
// where it was: what was known of it before must not be used.
void again_and_again() {
  for (std::uint64_t i = 0; i < 8; ++i) {
    const CUdeviceptr memory = filled(0, kBytes, 20 + i);
    have({Order::open, 0, 0, handle_of(memory)});
    have({Order::get, 20 + i});
    have({Order::put, 40 + i});
    EXPECT(program::read(memory, kBytes) == pattern(kBytes, 40 + i));
    have({Order::close});
    use(0);
    CHECK(cuMemFree_v2(memory));
  }
}

// Two allocations that take turns at being mapped.
void taking_turns() {
  const CUdeviceptr first = filled(0, kBytes, 60), second = filled(0, kBytes, 61);
  for (int i = 0; i < 6; ++i) {
    have({Order::open, 0, 0, handle_of(i % 2 == 0 ? first : second)});
    have({Order::get, i % 2 == 0 ? 60U : 61U});
    have({Order::close});
  }
}

// Opened twice, closed once: still there.
void twice() {
  const CUdeviceptr memory = filled(0, kBytes, 70);
  have({Order::open, 0, 0, handle_of(memory)});
  have({Order::open, 0, 0, handle_of(memory)});
  have({Order::get, 70});
  have({Order::close});
  program::write(memory, pattern(kBytes, 71));
  have({Order::get, 71});
  have({Order::close});
}

// Mapped in the contexts of two GPUs, one of them after we have mapped it there ourselves perhaps.
void in_two_contexts() {
  const CUdeviceptr memory = filled(0, kBytes, 80);
  have({Order::open, 0, 0, handle_of(memory)});
  have({Order::get, 80});
  have({Order::open_on_third, 0, 0, handle_of(memory)});
  have({Order::get, 80});
  have({Order::close});
}

// The exporter is gone before the first large copy; the mapping keeps the bytes.
void orphaned() {
  const CUdeviceptr memory = filled(0, kBytes, 90);
  have({Order::open, 0, 0, handle_of(memory)});
  tell(Request{Order::get, 90});
  kill(getpid(), SIGKILL);
}

const std::map<std::string, void (*)()> kCases = {
    {"getting", getting},
    {"putting", putting},
    {"often", often},
    {"again_and_again", again_and_again},
    {"taking_turns", taking_turns},
    {"twice", twice},
    {"in_two_contexts", in_two_contexts},
    {"orphaned", orphaned},
};

// Goes on in a child, which may be killed; returns there only. Ends when no process is left that
// could write to its pipe: the importer holds it too.
void outlive_exporter() {
  int lives[2];
  EXPECT(pipe(lives) == 0);
  if (fork() == 0) {
    close(lives[0]);
    return;
  }
  close(lives[1]);
  char nothing = 0;
  EXPECT(::read(lives[0], &nothing, 1) == 0);
  std::_Exit(0);
}

int be_importer(const std::string& name) {
  become_other();
  CHECK(cuInit(0));
  int gpus = 0;
  CHECK(cuDeviceGetCount(&gpus));
  Importer importer(gpus > 1 ? 1 : 0);
  name == "orphaned" ? importer.serve_orphaned() : importer.serve();
  std::puts("right");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory();
  if (is_other(argc, argv)) return be_importer(argv[2]);
  const std::string asked = argc > 1 ? argv[1] : "";
  if (asked == "--list")
    for (const auto& named : kCases) std::puts(named.first.c_str());
  const auto found = kCases.find(asked);
  if (found == kCases.end()) return asked == "--list" ? 0 : 2;
  if (found->first == "orphaned") outlive_exporter();
  start_other(argv[0], argv[1]);
  CHECK(cuInit(0));
  found->second();
  tell(Request{Order::done});
  EXPECT(other_ends_well());
  std::puts("right");
  return 0;
}
