// A program on the stand-in driver that does what it is told: one command per line on stdin, one
// answer per line on stdout, which is a value, "ok", "same", "differs", or "error N".

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "standin/driver_api.h"

namespace polypath::test {
namespace {

using cuda::ContextPointer;
using cuda::DevicePointer;
using cuda::EventPointer;
using cuda::Result;
using cuda::StreamPointer;
using standin::IpcHandle;
using Words = std::istringstream;

std::string answer(Result result, const std::string& value = "ok") {
  return result == 0 ? value : "error " + std::to_string(result);
}

template <class Value>
Value next(Words& words) {
  Value value{};
  words >> value;
  return value;
}

std::vector<unsigned char> pattern(std::size_t bytes, std::uint32_t seed) {
  std::vector<unsigned char> made(bytes);
  std::uint32_t state = seed * 2654435761U + 1;
  for (unsigned char& byte : made) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<unsigned char>(state >> 24);
  }
  return made;
}

std::string device(Words& words) {
  ContextPointer context = nullptr;
  if (const Result result = cu("cuDevicePrimaryCtxRetain", &context, next<int>(words)))
    return answer(result);
  return answer(cu("cuCtxSetCurrent", context));
}

std::string release_device(Words& words) {
  return answer(cu("cuDevicePrimaryCtxRelease_v2", next<int>(words)));
}

std::string create_context(Words& words) {
  ContextPointer context = nullptr;
  return answer(cu("cuCtxCreate_v2", &context, 0U, next<int>(words)));
}

std::string allocate(Words& words) {
  DevicePointer pointer = 0;
  const Result result = cu("cuMemAlloc_v2", &pointer, next<std::size_t>(words));
  return answer(result, std::to_string(pointer));
}

std::string release(Words& words) { return answer(cu("cuMemFree_v2", next<DevicePointer>(words))); }

std::string write(Words& words) {
  const auto to = next<DevicePointer>(words);
  const auto bytes = next<std::size_t>(words);
  const auto contents = pattern(bytes, next<std::uint32_t>(words));
  const void* from = contents.data();
  return answer(cu("cuMemcpyHtoD_v2", to, from, bytes));
}

std::string check(Words& words) {
  const auto from = next<DevicePointer>(words);
  const auto bytes = next<std::size_t>(words);
  const auto expected = pattern(bytes, next<std::uint32_t>(words));
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
  void* host = bytes;
  DevicePointer memory = 0;
  cu("cuStreamCreate", &queue, 1U);
  cu("cuMemHostRegister_v2", host, std::size_t{4096}, 0U);
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

std::string compute_mode(Words& words) {
  int value = 0;
  const Result result = cu("cuDeviceGetAttribute", &value, 20, next<int>(words));
  return answer(result, std::to_string(value));
}

std::string free_memory(Words&) {
  std::size_t free = 0, total = 0;
  const Result result = cu("cuMemGetInfo_v2", &free, &total);
  return answer(result, std::to_string(free));
}

std::string size_of(Words& words) {
  DevicePointer base = 0;
  std::size_t size = 0;
  const Result result = cu("cuMemGetAddressRange_v2", &base, &size, next<DevicePointer>(words));
  return answer(result, std::to_string(size));
}

std::string count(Words&) {
  int devices = 0;
  const Result result = cu("cuDeviceGetCount", &devices);
  return answer(result, std::to_string(devices));
}

std::string bus_id(Words& words) {
  char text[32] = {};
  char* where = text;
  const Result result = cu("cuDeviceGetPCIBusId", where, 32, next<int>(words));
  return answer(result, text);
}

// By a program without handlers: a sanitizer's would make an exit of the signal.
std::string touch(Words& words) {
  std::signal(SIGSEGV, SIG_DFL);
  return std::to_string(*reinterpret_cast<volatile char*>(next<DevicePointer>(words)));
}

// What a child that was only forked is told.
std::string fork_child(Words& words) {
  int channel[2];
  if (pipe(channel) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string text = count(words);
    text += ", init " + answer(cu("cuInit", 0U));
    const bool written = ::write(channel[1], text.data(), text.size()) > 0;
    _exit(written ? 0 : 1);
  }
  char text[64] = {};
  const bool told = read(channel[0], text, sizeof text - 1) > 0;
  waitpid(child, nullptr, 0);
  return told ? text : "silence";
}

std::string at_exit(Words&) {
  std::atexit([] {
    Words none;
    std::cout << "at exit: " << count(none) << std::endl;
  });
  return "ok";
}

// A thread that waits for a value nobody writes, and an exit handler that waits for the thread.
std::string wait_until_exit(Words&) {
  static std::thread waiting;
  static Result told = 0;
  std::atexit([] {
    waiting.join();
    std::cout << "waited: " << answer(told) << std::endl;
  });
  if (const Result result = cu("cuInit", 0U); result != 0) return answer(result);
  ContextPointer context = nullptr;
  StreamPointer queue = nullptr;
  DevicePointer memory = 0;
  cu("cuDevicePrimaryCtxRetain", &context, 0);
  cu("cuCtxSetCurrent", context);
  cu("cuStreamCreate", &queue, 1U);
  cu("cuMemAlloc_v2", &memory, std::size_t{4096});
  cu("cuStreamWaitValue32_v2", queue, memory, 1U, 1U);
  waiting = std::thread([queue] { told = cu("cuStreamSynchronize", queue); });
  return answer(cu("cuStreamQuery", queue));
}

const std::map<std::string, std::function<std::string(Words&)>>& commands() {
  static const std::map<std::string, std::function<std::string(Words&)>> table = {
      {"init", [](Words&) { return answer(cu("cuInit", 0U)); }},
      {"device", device},
      {"release", release_device},
      {"context", create_context},
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
      {"mode", compute_mode},
      {"room", free_memory},
      {"size", size_of},
      {"count", count},
      {"bus", bus_id},
      {"touch", touch},
      {"fork", fork_child},
      {"wait_until_exit", wait_until_exit},
      {"at_exit", at_exit},
  };
  return table;
}

}  // namespace
}  // namespace polypath::test

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "quit") break;
    const auto found = polypath::test::commands().find(command);
    std::cout << (found == polypath::test::commands().end() ? "no such command"
                                                            : found->second(words))
              << std::endl;
  }
}
