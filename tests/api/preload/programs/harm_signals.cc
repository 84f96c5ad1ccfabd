// Programs with signal handlers, and one that is bound to a processor: memory that the program
// brings in when it is touched, as source and as destination of large copies, and signals that are
// no business of threads which the program does not know.
//
// Options: bytes.

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "faulting_memory.h"

using namespace program;

namespace {

void copy_out_of_it(const std::vector<unsigned char>& wanted) {
  const CUdeviceptr on_gpu = memory_on(0, bytes());
  const CUstream stream = stream_on(0);
  CHECK(cuMemcpyHtoDAsync_v2(on_gpu, memory.faulting, bytes(), stream));
  CHECK(cuStreamSynchronize(stream));
  say_bytes("copied out of such memory", wrong_bytes(on_gpu, wanted));
  std::printf("# %d faults\n", faults.load());
}

void copy_into_it() {
  const CUdeviceptr on_gpu = filled(0, bytes(), 3);
  const CUstream stream = stream_on(0);
  CHECK(cuMemcpyDtoHAsync_v2(memory.faulting, on_gpu, bytes(), stream));
  CHECK(cuStreamSynchronize(stream));
  say_bytes("copied into such memory", wrong_bytes(memory.own, pattern(bytes(), 3)));
  std::printf("# %d faults\n", faults.load());
}

// A large pageable copy has been made before, with whatever that starts.
void warm_up() {
  const CUdeviceptr on_gpu = memory_on(0, bytes());
  const auto host = pattern(bytes(), 4);
  for (int i = 0; i < 3; ++i) CHECK(cuMemcpyHtoD_v2(on_gpu, host.data(), bytes()));
}

void segv_source() {
  warm_up();
  handle(SIGSEGV, on_segv);
  make_closed_memory();
  const auto wanted = pattern(bytes(), 1);
  std::memcpy(memory.own, wanted.data(), bytes());
  copy_out_of_it(wanted);
}

void segv_destination() {
  warm_up();
  handle(SIGSEGV, on_segv);
  make_closed_memory();
  copy_into_it();
}

void bus_source() {
  warm_up();
  handle(SIGBUS, on_bus);
  make_short_file();
  copy_out_of_it(std::vector<unsigned char>(bytes(), 0));
}

void bus_destination() {
  warm_up();
  handle(SIGBUS, on_bus);
  make_short_file();
  copy_into_it();
}

// Hexadecimal, from a line of /proc.
std::uint64_t blocked_by(const std::string& thread) {
  const std::string path = "/proc/self/task/" + thread + "/status";
  std::FILE* status = std::fopen(path.c_str(), "r");
  std::uint64_t mask = ~std::uint64_t{0};
  if (status == nullptr) return mask;
  char line[256];
  while (std::fgets(line, sizeof line, status) != nullptr)
    if (std::strncmp(line, "SigBlk:", 7) == 0) mask = std::strtoull(line + 7, nullptr, 16);
  std::fclose(status);
  return mask;
}

std::vector<std::string> other_threads() {
  std::vector<std::string> found;
  DIR* folder = opendir("/proc/self/task");
  EXPECT(folder != nullptr);
  while (const dirent* entry = readdir(folder))
    if (entry->d_name[0] != '.' && entry->d_name != std::to_string(gettid()))
      found.emplace_back(entry->d_name);
  closedir(folder);
  return found;
}

// Signals that are sent to the process, not to a thread of it.
void directed_signals() {
  warm_up();
  const std::vector<std::string> threads = other_threads();
  std::printf("# %zu threads besides this one\n", threads.size());
  for (const auto& [name, number] : {std::pair{"SIGUSR1", SIGUSR1}, {"SIGTERM", SIGTERM}}) {
    const auto taken = std::count_if(threads.begin(), threads.end(), [&](const std::string& id) {
      return (blocked_by(id) >> (number - 1) & 1) == 0;
    });
    std::printf("%s goes to threads that are not the program's: %s\n", name, taken ? "yes" : "no");
  }
}

void one_processor() {
  cpu_set_t allowed, one, after;
  CPU_ZERO(&one);
  EXPECT(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  int processor = 0;
  while (!CPU_ISSET(processor, &allowed)) ++processor;
  CPU_SET(processor, &one);
  EXPECT(sched_setaffinity(0, sizeof one, &one) == 0);
  const CUdeviceptr on_gpu = memory_on(0, bytes());
  const auto wanted = pattern(bytes(), 1);
  std::vector<unsigned char> back(bytes());
  for (int i = 0; i < 3; ++i) {
    CHECK(cuMemcpyHtoD_v2(on_gpu, wanted.data(), bytes()));
    CHECK(cuMemcpyDtoH_v2(back.data(), on_gpu, bytes()));
  }
  say_bytes("bound to one processor", wrong_bytes(back.data(), wanted));
  EXPECT(sched_getaffinity(0, sizeof after, &after) == 0);
  std::printf("still bound to it: %s\n", CPU_EQUAL(&one, &after) ? "yes" : "no");
  std::printf("# %zu threads besides this one\n", other_threads().size());
}

const Scenarios kScenarios = {
    {"segv_source", {1, segv_source}},
    {"segv_destination", {1, segv_destination}},
    {"bus_source", {1, bus_source}},
    {"bus_destination", {1, bus_destination}},
    {"directed_signals", {1, directed_signals}},
    {"one_processor", {1, one_processor}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
