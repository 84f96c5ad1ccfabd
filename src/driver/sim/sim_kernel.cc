#include "driver/sim/sim_kernel.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/error.h"

namespace polypath::sim {

KernelHandle SimKernels::load(PlaceId gpu, const Kernel& kernel) {
  simulation_.check_gpu(gpu);
  if (!kernel.on_host)
    fail(ErrorCode::invalid_argument, fmt::format("kernel '{}' cannot be simulated", kernel.name),
         "it has no function for the host", "Give it one that does the same.");
  simulation_.count(Call::load_kernel);
  const KernelHandle handle{simulation_.make_handle()};
  kernels_[handle] = {gpu, kernel.name, kernel.parameters,
                      std::make_shared<const HostKernel>(kernel.on_host),
                      std::make_shared<const HostKernel>(kernel.after_exchange)};
  return handle;
}

void SimKernels::unload(KernelHandle kernel) {
  (void)at(kernel);
  kernels_.erase(kernel);
  simulation_.count(Call::unload_kernel);
}

bool SimKernels::reach(PlaceId gpu, Address address) const {
  const auto memory = memory_.find_memory(address);
  if (!memory || (memory->kind != MemoryKind::device && memory->kind != MemoryKind::pinned))
    return false;
  if (memory->place == gpu) return true;
  const auto hop = simulation_.machine.find_hop(gpu, memory->place);
  return hop && is_by_gpu(simulation_.machine.hop(*hop).kind);
}

const SimKernel& SimKernels::at(KernelHandle handle) const {
  const auto found = kernels_.find(handle);
  if (found == kernels_.end())
    fail(ErrorCode::invalid_argument, fmt::format("kernel {} does not exist", handle.value),
         "it was never loaded here, or has been unloaded", "Pass one that is loaded.");
  return found->second;
}

std::function<void(const Activity&)> SimKernels::on_memory(
    const KernelRequest& request, std::shared_ptr<const HostKernel> function,
    std::size_t lap) const {
  if (!simulation_.options.move_bytes && !simulation_.options.record_trace) return {};
  std::vector<BlockPointer> blocks;  // outlive a premature free
  for (const KernelMemory& memory : request.memory)
    blocks.push_back(memory_.block_at(memory.address));
  std::vector<std::uint64_t> values = request.values;
  if (request.group && request.group->laps > 1) values.push_back(lap);
  return [this, request, function = std::move(function), values = std::move(values),
          blocks = std::move(blocks)](const Activity& done) {
    std::vector<std::byte*> memory;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      memory.push_back(blocks[i]->bytes_at(request.memory[i].address));
    if (simulation_.options.move_bytes && *function) (*function)(memory, values);
    simulation_.findings.note_finished(request.label, done);
  };
}

}  // namespace polypath::sim
