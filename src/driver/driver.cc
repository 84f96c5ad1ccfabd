#include "driver/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "core/error.h"

namespace polypath::driver {
namespace {

[[noreturn]] void fail_without_kernels(const std::string& problem, const std::string& driver) {
  fail(ErrorCode::unsupported, problem, "driver '" + driver + "' has no kernels",
       "Simulate a machine.");
}

}  // namespace

std::vector<MemoryPart> Driver::shareable_parts(Address begin, Bytes bytes) {
  const auto memory = find_memory(begin);
  const bool is_inside =
      memory && memory->kind == MemoryKind::device && begin + bytes <= memory->base + memory->size;
  if (!is_inside) return {};
  return {{memory->base, memory->size, memory_id(begin)}};
}

Seconds Driver::copy_by_threads(const std::vector<Enqueued>& copies) {
  std::atomic<std::size_t> ready{0};
  std::atomic<bool> started{false};
  std::vector<std::future<Seconds>> threads;
  for (const Enqueued& each : copies)
    threads.push_back(std::async(std::launch::async, [&, each] {
      ++ready;
      while (!started) std::this_thread::yield();
      copy(each.request, each.stream);
      synchronize(each.stream);
      return now();
    }));
  while (ready < threads.size()) std::this_thread::yield();
  const Seconds start = now();
  started = true;
  for (const auto& thread : threads) thread.wait();
  Seconds end = start;
  for (auto& thread : threads) end = std::max(end, thread.get());
  return end - start;
}

void Driver::reduce(const CopyRequest&, const Reduction&, StreamHandle) {
  fail_without_kernels("nothing can be reduced here", name());
}

KernelHandle Driver::load_kernel(PlaceId, const Kernel& kernel) {
  fail_without_kernels("kernel '" + kernel.name + "' cannot be loaded", name());
}

void Driver::unload_kernel(KernelHandle) {
  fail_without_kernels("no kernel can be unloaded", name());
}

bool Driver::kernels_reach(PlaceId, Address) { return false; }

void Driver::run(const KernelRequest&, StreamHandle) {
  fail_without_kernels("no kernel can run here", name());
}

void Driver::update_kernel(GraphHandle, int, const std::vector<Address>&) {
  fail_without_kernels("no graph here has a kernel", name());
}

namespace {

[[noreturn]] void fail_without_flags(const std::string& driver) {
  fail(ErrorCode::unsupported, "streams cannot write or await flags",
       "driver '" + driver + "' has no calls for that", "Order them by events.");
}

[[noreturn]] void fail_without_sharing(const std::string& driver) {
  fail(ErrorCode::unsupported, "memory cannot be shared between processes",
       "driver '" + driver + "' has no calls for that", "Use one process.");
}

}  // namespace

void Driver::write_value(StreamHandle, Address, PlaceId, std::uint32_t) {
  fail_without_flags(name());
}

void Driver::wait_value(StreamHandle, Address, PlaceId, std::uint32_t) {
  fail_without_flags(name());
}

void Driver::await_flag(const FlagRequest& flag, StreamHandle stream) {
  wait_value(stream, flag.address, flag.place, flag.value);
  if (flag.then) write_value(stream, flag.address, flag.place, *flag.then);
}

void Driver::signal(Address, PlaceId, std::uint32_t) { fail_without_flags(name()); }

ExportedMemory Driver::export_range(const std::vector<MemoryPart>& parts) {
  return export_memory(parts.front().base);
}

ExportedMemory Driver::export_memory(Address) { fail_without_sharing(name()); }

Address Driver::import_memory(const ExportedMemory&, PlaceId) { fail_without_sharing(name()); }

void Driver::release_import(Address) { fail_without_sharing(name()); }

void check_parameters(const KernelRequest& request, std::size_t declared) {
  const std::size_t given = request.values.size() + request.memory.size();
  if (declared > 0 && given > declared)
    fail(ErrorCode::invalid_argument, fmt::format("a kernel cannot be given {} parameters", given),
         fmt::format("it declares {}", declared), "Run it several times.");
}

void check_reduction(const CopyRequest& request, const Reduction& reduction) {
  if (request.source_place != request.destination_place)
    fail(ErrorCode::invalid_argument, "memory cannot be reduced into that of another place",
         "a GPU reduces its own memory", "Copy it there first.");
  if (request.bytes.value % bytes_of(reduction.type).value != 0)
    fail(ErrorCode::invalid_argument,
         fmt::format("{} bytes cannot be reduced", request.bytes.value),
         fmt::format("an element has {}", bytes_of(reduction.type).value), "Pass whole elements.");
  if (only_moves(reduction.type))
    fail(ErrorCode::invalid_argument, "these elements cannot be reduced",
         "their type is only moved", "Convert them first.");
  if (!can_reduce(reduction.operation, reduction.type))
    fail(ErrorCode::invalid_argument, "whole numbers cannot be averaged",
         "their average is not whole", "Add them up and divide, or use floating-point numbers.");
}

KernelRequest with_memory(KernelRequest request, const std::vector<Address>& memory) {
  if (memory.size() != request.memory.size())
    fail(ErrorCode::invalid_argument,
         fmt::format("a kernel with {} pieces of memory cannot be given {} addresses",
                     request.memory.size(), memory.size()),
         "each piece has one", "Pass as many.");
  for (std::size_t i = 0; i < memory.size(); ++i) request.memory[i].address = memory[i];
  return request;
}

}  // namespace polypath::driver
