// Kernels of the simulated driver: functions of the host that take as long as their call says.
// Kernels of one GPU are not taken to slow each other.

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/error.h"
#include "driver/sim/sim_driver.h"
#include "model/traffic.h"

namespace polypath::sim {

KernelHandle SimDriver::load_kernel(PlaceId gpu, const Kernel& kernel) {
  const std::scoped_lock lock(mutex_);
  check_gpu(gpu);
  if (!kernel.on_host)
    fail(ErrorCode::invalid_argument, fmt::format("kernel '{}' cannot be simulated", kernel.name),
         "it has no function for the host", "Give it one that does the same.");
  count(Call::load_kernel);
  const KernelHandle handle{next_handle_++};
  kernels_[handle] = {gpu, kernel.name, kernel.parameters,
                      std::make_shared<const HostKernel>(kernel.on_host),
                      std::make_shared<const HostKernel>(kernel.after_exchange)};
  return handle;
}

void SimDriver::unload_kernel(KernelHandle kernel) {
  const std::scoped_lock lock(mutex_);
  (void)kernel_of(kernel);
  kernels_.erase(kernel);
  count(Call::unload_kernel);
}

const SimDriver::LoadedKernel& SimDriver::kernel_of(KernelHandle handle) const {
  const auto found = kernels_.find(handle);
  if (found == kernels_.end())
    fail(ErrorCode::invalid_argument, fmt::format("kernel {} does not exist", handle.value),
         "it was never loaded here, or has been unloaded", "Pass one that is loaded.");
  return found->second;
}

void SimDriver::check_kernel(const KernelRequest& request) const {
  const LoadedKernel& kernel = kernel_of(request.kernel);
  if (kernel.gpu != request.gpu)
    fail(ErrorCode::invalid_argument, fmt::format("kernel '{}' cannot run there", kernel.name),
         fmt::format("it was loaded for {}", machine_.place(kernel.gpu).name),
         "Load it for the other GPU as well.");
  for (const KernelMemory& memory : request.memory)
    (void)memory_.check(memory.address, memory.bytes, memory.place, "memory of a kernel");
  check_parameters(request, kernel.parameters);
  if (request.group) check_group(request);
  (void)traffic_of(request);
}

std::vector<Traffic> SimDriver::traffic_of(const KernelRequest& request) const {
  KernelTraffic traffic(machine_, request.gpu);
  for (const KernelMemory& memory : request.memory)
    traffic.add(memory.place, memory.moved.value_or(memory.bytes), memory.writes);
  return traffic.flows();
}

bool SimDriver::kernels_reach(PlaceId gpu, Address address) {
  const auto memory = find_memory(address);
  if (!memory || (memory->kind != MemoryKind::device && memory->kind != MemoryKind::pinned))
    return false;
  if (memory->place == gpu) return true;
  const auto hop = machine_.find_hop(gpu, memory->place);
  return hop && is_by_gpu(machine_.hop(*hop).kind);
}

void SimDriver::run(const KernelRequest& request, StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  Stream& target = stream_of(stream);
  check_kernel(request);
  check_stream(target, stream, request.gpu, "run a kernel");
  count(Call::run_kernel);
  issue_at(target.gpu);
  spend(machine_.driver.kernel_launch);
  step(request, target.thread);
  append(make_activity(request), target);
  if (!request.group) return;
  const GroupOrder order = note_group(request, target.thread);
  for (const ActivityPointer& each : make_group(request, order)) append(each, target);
}

ActivityPointer SimDriver::make_activity(const KernelRequest& request) {
  auto activity = std::make_shared<Activity>();
  activity->issued = host();
  activity->gpu = request.gpu;
  activity->duration = request.duration;
  activity->traffic = traffic_of(request);
  for (const KernelMemory& memory : request.memory) activity->bytes += memory.bytes;
  activity->on_done = on_memory(request, kernel_of(request.kernel).function);
  return activity;
}

// Empty if no bytes move and no trace is recorded.
std::function<void(const Activity&)> SimDriver::on_memory(
    const KernelRequest& request, std::shared_ptr<const HostKernel> function, std::size_t lap) {
  if (!options_.move_bytes && !options_.record_trace) return {};
  std::vector<BlockPointer> blocks;  // outlive a premature free
  for (const KernelMemory& memory : request.memory) blocks.push_back(memory_.find(memory.address));
  std::vector<std::uint64_t> values = request.values;
  if (request.group && request.group->laps > 1) values.push_back(lap);
  return [this, request, function = std::move(function), values = std::move(values),
          blocks = std::move(blocks)](const Activity& done) {
    std::vector<std::byte*> memory;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      memory.push_back(blocks[i]->bytes_at(request.memory[i].address));
    if (options_.move_bytes && *function) (*function)(memory, values);
    note_finished(request.label, done);
  };
}

void SimDriver::step(const KernelRequest& request, std::size_t thread) {
  if (!options_.check_races) return step(thread, {}, {});
  std::string what =
      fmt::format("kernel '{}' of {} (path {}, chunk {})", kernel_of(request.kernel).name,
                  machine_.place(request.gpu).name, request.label.path, request.label.chunk);
  const std::size_t own = request.group ? request.group->mailboxes : request.memory.size();
  std::vector<Touch> touches;
  for (std::size_t i = 0; i < own; ++i)
    touches.push_back(
        touch(request.memory[i].address, request.memory[i].bytes, request.memory[i].writes));
  step(thread, std::move(touches), std::move(what));
}

}  // namespace polypath::sim
