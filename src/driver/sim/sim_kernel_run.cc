#include "driver/sim/sim_kernel_run.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "core/error.h"
#include "model/traffic.h"

namespace polypath::sim {

void SimKernelRuns::run(const KernelRequest& request, StreamHandle stream) {
  SimStream& target = streams_.at(stream);
  check(request);
  streams_.check_gpu(stream, request.gpu, "run a kernel");
  simulation_.count(Call::run_kernel);
  simulation_.spend_at(target.gpu, simulation_.machine.driver.kernel_launch);
  step(request, target.thread);
  streams_.append(make_activity(request), target);
  if (!request.group) return;
  const GroupOrder order = groups_.note(request, target.thread);
  for (const ActivityPointer& each : groups_.make(request, order)) streams_.append(each, target);
}

void SimKernelRuns::check(const KernelRequest& request) const {
  const SimKernel& kernel = kernels_.at(request.kernel);
  if (kernel.gpu != request.gpu)
    fail(ErrorCode::invalid_argument, fmt::format("kernel '{}' cannot run there", kernel.name),
         fmt::format("it was loaded for {}", simulation_.machine.place(kernel.gpu).name),
         "Load it for the other GPU as well.");
  for (const KernelMemory& memory : request.memory)
    (void)memory_.check(memory.address, memory.bytes, memory.place, "memory of a kernel");
  check_parameters(request, kernel.parameters);
  if (request.group) SimKernelGroups::check(request);
  (void)traffic_of(request);
}

std::vector<Traffic> SimKernelRuns::traffic_of(const KernelRequest& request) const {
  KernelTraffic traffic(simulation_.machine, request.gpu);
  for (const KernelMemory& memory : request.memory)
    traffic.add(memory.place, memory.moved.value_or(memory.bytes), memory.writes);
  return traffic.flows();
}

ActivityPointer SimKernelRuns::make_activity(const KernelRequest& request) const {
  auto activity = std::make_shared<Activity>();
  activity->issued = simulation_.clocks.time();
  activity->gpu = request.gpu;
  activity->duration = request.duration;
  activity->traffic = traffic_of(request);
  for (const KernelMemory& memory : request.memory) activity->bytes += memory.bytes;
  activity->on_done = kernels_.on_memory(request, kernels_.at(request.kernel).function);
  return activity;
}

void SimKernelRuns::step(const KernelRequest& request, std::size_t thread) {
  if (!simulation_.options.check_races) return simulation_.step(thread, {}, {});
  std::string what = fmt::format(
      "kernel '{}' of {} (path {}, chunk {})", kernels_.at(request.kernel).name,
      simulation_.machine.place(request.gpu).name, request.label.path, request.label.chunk);
  const std::size_t own = request.group ? request.group->mailboxes : request.memory.size();
  std::vector<Touch> touches;
  for (std::size_t i = 0; i < own; ++i)
    touches.push_back(memory_.touch(request.memory[i].address, request.memory[i].bytes,
                                    request.memory[i].writes));
  simulation_.step(thread, std::move(touches), std::move(what));
}

}  // namespace polypath::sim
