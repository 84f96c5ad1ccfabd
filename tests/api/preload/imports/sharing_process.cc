#include "api/preload/imports/sharing_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_api.h"
#include "standin/driver_api.h"
#include "standin/peer_contents.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

using cuda::ContextPointer;
using cuda::Current;
using cuda::DevicePointer;
using cuda::StreamPointer;

// Gone with the process.
class JournalFile {
 public:
  ~JournalFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = std::filesystem::temp_directory_path() /
                      fmt::format("polypath_test_imports_{}.journal", getpid());
};

const std::string& journal_path() {
  static const JournalFile file;
  return file.path();
}

// Once it is loaded, whoever asks for libcuda.so.1 gets it. What it finds wrong with this process
// is its exit status.
void start_standin() {
  for (const char* variable : {"CUDA_VISIBLE_DEVICES", "STANDIN_FAIL", "STANDIN_CHAOS"})
    unsetenv(variable);
  setenv("STANDIN_MACHINE", "h200x4", 1);
  setenv("STANDIN_JOURNAL", journal_path().c_str(), 1);
  setenv("STANDIN_STRICT", "1", 1);
  (void)standin_library();
  const std::string& problem = cuda::DriverLibrary::get().problem;
  if (!problem.empty()) throw std::runtime_error(problem);
}

// In the words of the tests.
std::string retold(const std::string& line) {
  std::istringstream words(line);
  std::string function, gpu, address;
  int result = 0;
  words >> function >> gpu >> address >> result;
  if (result != 0) return "refused in " + gpu;
  const bool opened = function == "cuIpcOpenMemHandle";
  return fmt::format("{} {} in {}", opened ? "opened" : "closed", address, gpu);
}

}  // namespace

// --- the other process ---

Exporter::Exporter(int gpu) {
  if (peer_.ask("init") != "ok" || peer_.ask("device " + std::to_string(gpu)) != "ok")
    throw std::runtime_error("the exporter has no driver");
}

std::string Exporter::allocate(Bytes size) {
  return peer_.ask(fmt::format("alloc {}", size.value));
}

cuda::IpcHandle Exporter::handle_of(const std::string& memory) {
  const std::string text = peer_.ask("export " + memory);
  cuda::IpcHandle handle;
  for (std::size_t i = 0; i < handle.bytes.size(); ++i)
    handle.bytes[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return handle;
}

cuda::IpcHandle Exporter::memory(Bytes size, int seed) {
  const std::string memory = allocate(size);
  EXPECT_EQ(peer_.ask(fmt::format("write {} {} {}", memory, size.value, seed)), "ok");
  return handle_of(memory);
}

cuda::IpcHandle Exporter::freed_memory(Bytes size) {
  const std::string memory = allocate(size);
  const cuda::IpcHandle handle = handle_of(memory);
  EXPECT_EQ(peer_.ask("free " + memory), "ok");
  return handle;
}

// --- this process ---

SharingProcess::SharingProcess() {
  start_standin();
  (void)journal();
}

SharingProcess::~SharingProcess() {
  for (const auto& [gpu, context] : contexts_) cu("cuDevicePrimaryCtxRelease_v2", gpu);
}

ContextPointer SharingProcess::context_of(int gpu) {
  ContextPointer& context = contexts_[gpu];
  if (context == nullptr) EXPECT_EQ(cu("cuDevicePrimaryCtxRetain", &context, gpu), 0);
  return context;
}

Address SharingProcess::allocate(int gpu, Bytes size) {
  const Current current(context_of(gpu));
  DevicePointer memory = 0;
  EXPECT_EQ(cu("cuMemAlloc_v2", &memory, std::size_t{size.value}), 0);
  return {static_cast<std::uintptr_t>(memory)};
}

void SharingProcess::free(Address memory) {
  EXPECT_EQ(cu("cuMemFree_v2", DevicePointer{memory.value}), 0);
}

Address SharingProcess::map(int gpu, const cuda::IpcHandle& handle) {
  const Current current(context_of(gpu));
  DevicePointer mapped = 0;
  const auto& functions = cuda::DriverLibrary::get().functions;
  EXPECT_EQ(functions.ipc_open(&mapped, handle, cuda::kIpcLazyPeerAccess), 0);
  return {static_cast<std::uintptr_t>(mapped)};
}

StreamPointer SharingProcess::stream(int gpu) {
  const Current current(context_of(gpu));
  StreamPointer made = nullptr;
  EXPECT_EQ(cu("cuStreamCreate", &made, cuda::kStreamNonBlocking), 0);
  return made;
}

Contents SharingProcess::read(Address from, Bytes size) {
  const Current current(contexts_.begin()->second);
  Contents contents(size.value);
  void* to = contents.data();
  EXPECT_EQ(cu("cuMemcpyDtoH_v2", to, DevicePointer{from.value}, contents.size()), 0);
  return contents;
}

bool SharingProcess::is_idle(StreamPointer stream) { return cu("cuStreamQuery", stream) == 0; }

std::uint64_t SharingProcess::id_of(Address memory) {
  std::uint64_t id = 0;
  void* where = &id;
  EXPECT_EQ(cu("cuPointerGetAttribute", where, cuda::kPointerBufferId, DevicePointer{memory.value}),
            0);
  return id;
}

bool SharingProcess::is_open(int from, int to) {
  const ContextPointer peer = context_of(to);
  const Current current(context_of(from));
  const bool open = cu("cuCtxEnablePeerAccess", peer, 0U) == cuda::kPeerAccessAlreadyEnabled;
  if (!open) cu("cuCtxDisablePeerAccess", peer);
  return open;
}

bool SharingProcess::has_context(int gpu) { return cuda::is_active(gpu); }

std::vector<std::string> SharingProcess::journal() {
  std::ifstream file(journal_path());
  file.seekg(journal_read_);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(retold(line));
  file.clear();
  journal_read_ = std::max(std::streamoff{0}, std::streamoff{file.tellg()});
  return lines;
}

std::string SharingProcess::opened(Address address, int gpu) {
  return fmt::format("opened {:#x} in gpu{}", address.value, gpu);
}

std::string SharingProcess::closed(Address address, int gpu) {
  return fmt::format("closed {:#x} in gpu{}", address.value, gpu);
}

}  // namespace polypath::test
