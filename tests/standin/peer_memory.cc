// What a peer can be told to do with memory.

#include <csignal>
#include <vector>

#include "standin/peer_commands.h"
#include "standin/peer_contents.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

using cuda::DevicePointer;
using cuda::EventPointer;
using cuda::Result;
using cuda::StreamPointer;
using standin::IpcHandle;

std::string allocate(Words& words) {
  DevicePointer pointer = 0;
  const Result result = cu("cuMemAlloc_v2", &pointer, next<std::size_t>(words));
  return answer(result, std::to_string(pointer));
}

std::string release(Words& words) { return answer(cu("cuMemFree_v2", next<DevicePointer>(words))); }

std::string write(Words& words) {
  const auto to = next<DevicePointer>(words);
  const auto bytes = next<std::size_t>(words);
  const auto contents = peer_contents(bytes, next<std::uint32_t>(words));
  const void* from = contents.data();
  return answer(cu("cuMemcpyHtoD_v2", to, from, bytes));
}

std::string check(Words& words) {
  const auto from = next<DevicePointer>(words);
  const auto bytes = next<std::size_t>(words);
  const auto expected = peer_contents(bytes, next<std::uint32_t>(words));
  std::vector<unsigned char> contents(bytes);
  void* to = contents.data();
  const Result result = cu("cuMemcpyDtoH_v2", to, from, bytes);
  return answer(result, contents == expected ? "same" : "differs");
}

// As UCX does it: asynchronously, and asking until it is over.
std::string copy(Words& words) {
  const auto to = next<DevicePointer>(words), from = next<DevicePointer>(words);
  const auto bytes = next<std::size_t>(words);
  StreamPointer queue = nullptr;
  EventPointer done = nullptr;
  cu("cuStreamCreate", &queue, 1U);
  cu("cuEventCreate", &done, 2U);
  Result result = cu("cuMemcpyDtoDAsync_v2", to, from, bytes, queue);
  if (result == 0) result = cu("cuEventRecord", done, queue);
  while (result == 0 && cu("cuEventQuery", done) == cuda::kNotReady) {
  }
  return answer(result);
}

// Two copies into the same bytes that nothing orders.
std::string race(Words& words) {
  const auto to = next<DevicePointer>(words), from = next<DevicePointer>(words);
  StreamPointer queues[2] = {};
  for (StreamPointer& queue : queues) {
    cu("cuStreamCreate", &queue, 1U);
    cu("cuMemcpyDtoDAsync_v2", to, from, std::size_t{4096}, queue);
  }
  return answer(cu("cuCtxSynchronize"));
}

// Registered memory that a copy which cannot have happened yet will read.
std::string unregister_in_use(Words&) {
  alignas(4096) static unsigned char bytes[4096];
  StreamPointer queue = nullptr;
  standin::ContextPointer other = nullptr;
  void* host = bytes;
  DevicePointer memory = 0;
  cu("cuMemHostRegister_v2", host, std::size_t{4096}, 1U);
  cu("cuDevicePrimaryCtxRetain", &other, 1);  // for copies of this GPU nothing waits
  cu("cuCtxSetCurrent", other);
  cu("cuStreamCreate", &queue, 1U);
  cu("cuMemAlloc_v2", &memory, std::size_t{4096});
  const void* from = host;
  cu("cuStreamWaitValue32_v2", queue, memory, 1U, 1U);
  cu("cuMemcpyHtoDAsync_v2", memory, from, std::size_t{4096}, queue);
  return answer(cu("cuMemHostUnregister", host));
}

std::string export_handle(Words& words) {
  IpcHandle handle{};
  const Result result = cu("cuIpcGetMemHandle", &handle, next<DevicePointer>(words));
  std::string text;
  for (const char byte : handle.bytes)
    for (const int shift : {4, 0}) text += "0123456789abcdef"[(byte >> shift) & 15];
  return answer(result, text);
}

std::string open(Words& words) {
  const auto text = next<std::string>(words);
  IpcHandle handle{};
  for (std::size_t i = 0; i < sizeof handle.bytes; ++i)
    handle.bytes[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  DevicePointer pointer = 0;
  const Result result = cu("cuIpcOpenMemHandle_v2", &pointer, handle, 1U);
  return answer(result, std::to_string(pointer));
}

std::string close(Words& words) {
  return answer(cu("cuIpcCloseMemHandle", next<DevicePointer>(words)));
}

std::string ordinal(Words& words) {
  int value = 0;
  void* where = &value;
  const Result result = cu("cuPointerGetAttribute", where, 9, next<DevicePointer>(words));
  return answer(result, std::to_string(value));
}

std::string buffer_id(Words& words) {
  unsigned long long value = 0;
  void* where = &value;
  const Result result = cu("cuPointerGetAttribute", where, 7, next<DevicePointer>(words));
  return answer(result, std::to_string(value));
}

std::string size_of(Words& words) {
  DevicePointer base = 0;
  std::size_t size = 0;
  const Result result = cu("cuMemGetAddressRange_v2", &base, &size, next<DevicePointer>(words));
  return answer(result, std::to_string(size));
}

std::string free_memory(Words&) {
  std::size_t free = 0, total = 0;
  const Result result = cu("cuMemGetInfo_v2", &free, &total);
  return answer(result, std::to_string(free));
}

// By a program without handlers: a sanitizer's would make an exit of the signal.
std::string touch(Words& words) {
  std::signal(SIGSEGV, SIG_DFL);
  return std::to_string(*reinterpret_cast<volatile char*>(next<DevicePointer>(words)));
}

}  // namespace

Commands memory_commands() {
  return {
      {"alloc", allocate},
      {"free", release},
      {"write", write},
      {"check", check},
      {"copy", copy},
      {"race", race},
      {"unregister_in_use", unregister_in_use},
      {"export", export_handle},
      {"open", open},
      {"close", close},
      {"ordinal", ordinal},
      {"id", buffer_id},
      {"size", size_of},
      {"room", free_memory},
      {"touch", touch},
  };
}

}  // namespace polypath::test
