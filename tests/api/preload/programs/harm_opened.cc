// Programs whose memory is open to some GPUs only: what they copy is right, and what they see of
// their memory is as it is alone.
//
// Options: bytes (of copies), rounds.

#include "opened_memory.h"

using namespace program;

namespace {

std::size_t bytes_of_copies() { return options().number("bytes", 64 * kMiB); }
int rounds() { return static_cast<int>(options().number("rounds", 3)); }

// Weights go to the host while a model sleeps, and come back to the addresses where they were.
void sleep_and_wake(unsigned char* host, std::size_t bytes) {
  use(0);
  Mapped memory(bytes);
  memory.fill(0, 2 * Mapped::kUnit);
  const auto wanted = pattern(bytes, 1);
  write(memory.base(), wanted);
  for (int round = 0; round < rounds(); ++round) {
    CHECK(cuMemcpyDtoH_v2(host, memory.base(), bytes));
    say_bytes("asleep", wrong_bytes(host, wanted));
    memory.take_away();
    memory.fill(0, (round % 2 + 1) * Mapped::kUnit);
    CHECK(cuMemcpyHtoD_v2(memory.base(), host, bytes));
    CHECK(cuStreamSynchronize(nullptr));
    say_bytes("awake", wrong_bytes(memory.base(), wanted));
  }
}

void sleep_in_pinned_memory() {
  use(0);
  sleep_and_wake(static_cast<unsigned char*>(pinned(bytes_of_copies())), bytes_of_copies());
}

void sleep_in_pageable_memory() {
  std::vector<unsigned char> host(bytes_of_copies());
  sleep_and_wake(host.data(), host.size());
}

// In and out again, in a stream of its GPU; `begin` is in the memory.
void there_and_back(const char* what, CUdeviceptr begin, std::size_t bytes, int gpu = 0) {
  const CUstream stream = stream_on(gpu);
  const auto wanted = pattern(bytes, 2);
  const unsigned char* from = pinned_with(wanted);
  auto* to = static_cast<unsigned char*>(pinned(bytes));
  CHECK(cuMemcpyHtoDAsync_v2(begin, from, bytes, stream));
  CHECK(cuMemcpyDtoHAsync_v2(to, begin, bytes, stream));
  CHECK(cuStreamSynchronize(stream));
  say_bytes(what, wrong_bytes(to, wanted));
}

void one_mapping() {
  use(0);
  Mapped memory(bytes_of_copies());
  memory.fill(0, memory.bytes());
  there_and_back("of one mapping", memory.base(), bytes_of_copies());
}

// From the middle of the first to the middle of the last one.
void several_mappings() {
  use(0);
  Mapped memory(bytes_of_copies() + 2 * Mapped::kUnit);
  memory.fill(0, Mapped::kUnit);
  there_and_back("over several mappings", memory.base() + 12345, bytes_of_copies());
}

void one_memory_twice() {
  use(0);
  const std::size_t bytes = bytes_of_copies();
  Mapped memory(2 * bytes);
  const std::uint64_t handle = memory.create(0, bytes);
  for (int i = 0; i < 2; ++i) {
    memory.add_again(handle, bytes);
    memory.open_last({0});
  }
  there_and_back("in at the first addresses", memory.base(), bytes);
  say_bytes("at the second addresses", wrong_bytes(memory.base() + bytes, pattern(bytes, 2)));
  there_and_back("in at the second addresses", memory.base() + bytes, bytes);
}

// The other half belongs to another GPU, and this one may use it.
void of_two_gpus() {
  use(0);
  const std::size_t half = bytes_of_copies() / 2;
  Mapped memory(2 * half);
  memory.add(0, half);
  memory.add(1, half);
  memory.open_last({0});
  there_and_back("of two GPUs", memory.base(), 2 * half);
}

void with_a_gap() {
  use(0);
  constexpr std::size_t kPieces = 3;
  Mapped memory(kPieces * Mapped::kUnit);
  memory.add(0, Mapped::kUnit);
  const unsigned char* from = pinned_with(pattern(memory.bytes(), 1));
  std::printf("copy over the end: %d\n", cuMemcpyHtoD_v2(memory.base(), from, memory.bytes()));
}

// The same addresses are memory of another GPU by then.
void at_the_same_addresses() {
  use(0);
  Mapped memory(bytes_of_copies());
  for (int round = 0; round < 4; ++round) {
    memory.fill(round % 2, memory.bytes());
    there_and_back("at the same addresses", memory.base(), bytes_of_copies(), round % 2);
    memory.take_away();
  }
}

void closed_to_its_own_gpu() {
  use(0);
  Mapped memory(bytes_of_copies());
  memory.add_again(memory.create(0, memory.bytes()), memory.bytes());
  memory.open_last({1});
  const unsigned char* from = pinned_with(pattern(bytes_of_copies(), 1));
  std::printf("by its own GPU: %d\n", cuMemcpyHtoD_v2(memory.base(), from, bytes_of_copies()));
  use(1);
  std::printf("by another one: %d\n", cuMemcpyHtoD_v2(memory.base(), from, bytes_of_copies()));
}

void open_to_be_read() {
  use(0);
  Mapped memory(bytes_of_copies());
  memory.fill(0, memory.bytes());
  const auto wanted = pattern(bytes_of_copies(), 3);
  write(memory.base(), wanted);
  memory.open_last({0}, kOpenToRead);
  auto* host = static_cast<unsigned char*>(pinned(wanted.size()));
  CHECK(cuMemcpyDtoH_v2(host, memory.base(), wanted.size()));
  say_bytes("read", wrong_bytes(host, wanted));
  std::printf("written: %d\n", cuMemcpyHtoD_v2(memory.base(), host, wanted.size()));
}

constexpr int kFabric = 8;  // CU_MEM_HANDLE_TYPE_FABRIC

// As PyTorch makes all that it has, in case others want it.
void for_a_fabric() {
  use(0);
  Mapped memory(bytes_of_copies());
  memory.add(0, memory.bytes(), kFabric);
  there_and_back("for a fabric", memory.base(), bytes_of_copies());
}

// Whose it is cannot be known: a fabric reaches other computers.
void from_a_fabric() {
  use(0);
  Mapped memory(bytes_of_copies());
  unsigned char handle[64];
  CHECK(
      cuMemExportToShareableHandle(handle, memory.create(0, memory.bytes(), kFabric), kFabric, 0));
  std::uint64_t imported = 0;
  CHECK(cuMemImportFromShareableHandle(&imported, handle, kFabric));
  memory.add_again(imported, memory.bytes());
  memory.open_last({0});
  there_and_back("from a fabric", memory.base(), bytes_of_copies());
  memory.take_away();
  CHECK(cuMemRelease(imported));
}

void between(const char* what, CUdeviceptr to, CUdeviceptr from, std::size_t bytes, int gpu) {
  const CUstream stream = stream_on(gpu);
  const CUresult result = cuMemcpyAsync(to, from, bytes, stream);
  CHECK(cuStreamSynchronize(stream));
  std::printf("%s: %d\n", what, result);
}

// Opened to the other GPU first at one end, then at both.
void between_gpus() {
  const std::size_t bytes = bytes_of_copies();
  use(0);
  Mapped here(bytes), there(bytes);
  here.fill(0, here.bytes()), there.fill(1, there.bytes());
  const auto wanted = pattern(bytes, 4);
  write(here.base(), wanted);
  between("closed", there.base(), here.base(), bytes, 0);
  here.open_last({0, 1}), there.open_last({0, 1});
  between("opened", there.base(), here.base(), bytes, 0);
  use(1);
  say_bytes("there", wrong_bytes(there.base(), wanted));
  use(0);
  write(here.base(), pattern(bytes, 5));
  between("back", here.base(), there.base(), bytes, 1);
  use(0);
  say_bytes("here", wrong_bytes(here.base(), wanted));
}

// One end is ordinary memory.
void to_ordinary_memory() {
  const std::size_t bytes = bytes_of_copies();
  const auto wanted = pattern(bytes, 4);
  use(0);
  Mapped here(bytes);
  here.fill(0, here.bytes());
  write(here.base(), wanted);
  const CUdeviceptr there = memory_on(1, bytes);
  between("out of it", there, here.base(), bytes, 0);
  use(1);
  say_bytes("there", wrong_bytes(there, wanted));
  const auto others = pattern(bytes, 5);
  write(there, others);
  between("into it", here.base(), there, bytes, 0);
  use(0);
  say_bytes("here", wrong_bytes(here.base(), others));
}

// What the program is told of its memory is what it has made, also once Polypath has copied it.
void as_the_program_made_it() {
  use(0);
  Mapped memory(bytes_of_copies());
  memory.fill(0, memory.bytes());
  there_and_back("copied", memory.base(), bytes_of_copies());
  int gpus = 0;
  CHECK(cuDeviceGetCount(&gpus));
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const CUmemLocation location{.type = 1, .id = gpu};
    unsigned long long access = 99;
    CHECK(cuMemGetAccess(&access, &location, memory.base()));
    std::printf("GPU %d: access %llu\n", gpu, access);
  }
}

// New memory of a pool, which bytes go into and come out of again in the stream.
struct InPool {
  CUdeviceptr memory;
  unsigned char* got;
};

InPool in_and_out(const std::vector<unsigned char>& wanted, CUstream stream) {
  const std::size_t bytes = wanted.size();
  const unsigned char* from = pinned_with(wanted);
  auto* got = static_cast<unsigned char*>(pinned(bytes));
  const CUdeviceptr memory = from_pool(bytes, stream);
  CHECK(cuMemcpyHtoDAsync_v2(memory, from, bytes, stream));
  CHECK(cuMemcpyDtoHAsync_v2(got, memory, bytes, stream));
  return {memory, got};
}

// Freed in stream order right behind the copy that reads it; the next allocation gets it at once.
void pool_in_a_stream() {
  const std::size_t bytes = bytes_of_copies();
  const CUstream stream = stream_on(0);
  std::vector<unsigned char*> got;
  std::vector<std::vector<unsigned char>> wanted;
  for (int round = 0; round < rounds(); ++round) {
    wanted.push_back(pattern(bytes, static_cast<std::uint64_t>(round)));
    const InPool copied = in_and_out(wanted.back(), stream);
    got.push_back(copied.got);
    CHECK(cuMemFreeAsync(copied.memory, stream));
  }
  CHECK(cuStreamSynchronize(stream));
  for (std::size_t round = 0; round < got.size(); ++round)
    say_bytes("a round", wrong_bytes(got[round], wanted[round]));
}

// Another stream gets the memory once the first one is over it, and writes to it.
void pool_of_two_streams() {
  const std::size_t bytes = bytes_of_copies();
  const CUstream first = stream_on(0), second = stream_on(0);
  CUevent freed = nullptr;
  CHECK(cuEventCreate(&freed, 2));
  for (int round = 0; round < rounds(); ++round) {
    const auto wanted = pattern(bytes, static_cast<std::uint64_t>(round));
    const auto [memory, got] = in_and_out(wanted, first);
    CHECK(cuMemFreeAsync(memory, first));
    CHECK(cuEventRecord(freed, first));
    CHECK(cuStreamWaitEvent(second, freed, 0));
    const CUdeviceptr other = from_pool(bytes, second);
    CHECK(cuMemsetD8Async(other, 0x11, bytes, second));
    CHECK(cuMemFreeAsync(other, second));
    CHECK(cuStreamSynchronize(second));
    say_bytes("a round", wrong_bytes(got, wanted));
  }
}

// cuMemFree takes it as well, and waits for nothing.
void pool_freed_at_once() {
  const std::size_t bytes = bytes_of_copies();
  const CUstream stream = stream_on(0);
  for (int round = 0; round < rounds(); ++round) {
    const auto wanted = pattern(bytes, static_cast<std::uint64_t>(round));
    const auto [memory, got] = in_and_out(wanted, stream);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemFree_v2(memory));
    say_bytes("a round", wrong_bytes(got, wanted));
  }
}

// Blocking copies of pageable memory.
void pool_of_pageable_memory() {
  const std::size_t bytes = bytes_of_copies();
  const CUstream stream = stream_on(0);
  const CUdeviceptr memory = from_pool(bytes, stream);
  CHECK(cuStreamSynchronize(stream));
  const auto wanted = pattern(bytes, 1);
  std::vector<unsigned char> got(bytes);
  CHECK(cuMemcpyHtoD_v2(memory, wanted.data(), bytes));
  CHECK(cuMemcpyDtoH_v2(got.data(), memory, bytes));
  say_bytes("of pageable memory", wrong_bytes(got.data(), wanted));
  CHECK(cuMemFreeAsync(memory, nullptr));
  CHECK(cuStreamSynchronize(nullptr));
}

// Whose memory other processes may map.
void pool_that_is_exported() {
  constexpr int kByDescriptor = 1;
  use(0);
  CUmemPoolProps wanted{};
  wanted.allocType = 1, wanted.handleTypes = kByDescriptor, wanted.location = {1, 0};
  CUmemoryPool pool = nullptr;
  CHECK(cuMemPoolCreate(&pool, &wanted));
  const CUstream stream = stream_on(0);
  CUdeviceptr memory = 0;
  CHECK(cuMemAllocFromPoolAsync(&memory, bytes_of_copies(), pool, stream));
  CHECK(cuStreamSynchronize(stream));
  there_and_back("of an exportable pool", memory, bytes_of_copies());
  CHECK(cuMemFreeAsync(memory, stream));
  CHECK(cuStreamSynchronize(stream));
}

void pools_of_two_gpus() {
  const std::size_t bytes = bytes_of_copies();
  const CUstream here = stream_on(0), there = stream_on(1);
  const CUdeviceptr to = from_pool(bytes, there);
  CHECK(cuStreamSynchronize(there));
  use(0);
  const CUdeviceptr from = from_pool(bytes, here);
  CHECK(cuStreamSynchronize(here));
  const auto wanted = pattern(bytes, 6);
  write(from, wanted);
  between("closed", to, from, bytes, 0);
  const CUmemAccessDesc user = opened_to(0);
  CHECK(cuMemPoolSetAccess(default_pool(1), &user, 1));
  between("opened", to, from, bytes, 0);
  use(1);
  say_bytes("there", wrong_bytes(to, wanted));
}

const Scenarios kScenarios = {
    {"sleep_in_pinned_memory", {1, sleep_in_pinned_memory}},
    {"sleep_in_pageable_memory", {1, sleep_in_pageable_memory}},
    {"one_mapping", {1, one_mapping}},
    {"several_mappings", {1, several_mappings}},
    {"one_memory_twice", {1, one_memory_twice}},
    {"of_two_gpus", {2, of_two_gpus}},
    {"with_a_gap", {1, with_a_gap}},
    {"at_the_same_addresses", {2, at_the_same_addresses}},
    {"closed_to_its_own_gpu", {2, closed_to_its_own_gpu}},
    {"open_to_be_read", {1, open_to_be_read}},
    {"for_a_fabric", {1, for_a_fabric}},
    {"from_a_fabric", {1, from_a_fabric}},
    {"between_gpus", {2, between_gpus}},
    {"to_ordinary_memory", {2, to_ordinary_memory}},
    {"as_the_program_made_it", {1, as_the_program_made_it}},
    {"pool_in_a_stream", {1, pool_in_a_stream}},
    {"pool_of_two_streams", {1, pool_of_two_streams}},
    {"pool_freed_at_once", {1, pool_freed_at_once}},
    {"pool_of_pageable_memory", {1, pool_of_pageable_memory}},
    {"pool_that_is_exported", {1, pool_that_is_exported}},
    {"pools_of_two_gpus", {2, pools_of_two_gpus}},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(kScenarios, argc, argv); }
