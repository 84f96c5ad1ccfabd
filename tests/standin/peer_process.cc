// What a peer can be told about the driver, and about its own end.

#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <thread>

#include "standin/peer_commands.h"
#include "support/layers.h"

namespace polypath::test {
namespace {

using cuda::ContextPointer;
using cuda::DevicePointer;
using cuda::Result;
using cuda::StreamPointer;

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

std::string compute_mode(Words& words) {
  int value = 0;
  const Result result = cu("cuDeviceGetAttribute", &value, 20, next<int>(words));
  return answer(result, std::to_string(value));
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

}  // namespace

Commands process_commands() {
  return {
      {"init", [](Words&) { return answer(cu("cuInit", 0U)); }},
      {"device", device},
      {"release", release_device},
      {"context", create_context},
      {"mode", compute_mode},
      {"count", count},
      {"bus", bus_id},
      {"fork", fork_child},
      {"wait_until_exit", wait_until_exit},
      {"at_exit", at_exit},
  };
}

}  // namespace polypath::test
