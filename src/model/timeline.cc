#include "model/timeline.h"

#include "core/interruption.h"
#include "model/traffic.h"

namespace polypath::model {
namespace {

// About a millisecond's.
constexpr int kStepsBetweenChecks = 1024;

}  // namespace

ActivityPointer Timeline::make_activity() {
  return std::allocate_shared<Activity>(std::pmr::polymorphic_allocator<char>(&memory_), &memory_);
}

ActivityPointer Timeline::activity_of(const Program& program, const Node& node) {
  auto activity = make_activity();
  activity->hop = node.hop;
  activity->bytes = node.bytes;
  if (node.operation == Operation::reduce) {
    activity->gpu = program.buffer(node.destination).place;
    activity->duration = machine_.reduction_time(activity->gpu, node.bytes);
  } else if (node.operation == Operation::kernel) {
    const KernelCall& call = program.call_of(node);
    activity->gpu = call.gpu;
    activity->duration = call.duration;
    KernelTraffic traffic(machine_, call.gpu);
    for (const Access& access : call.memory)
      traffic.add(program.buffer(access.slice).place, access.moved.value_or(access.bytes),
                  access.writes);
    activity->traffic = traffic.flows();
  } else if (is_flag(node.operation)) {
    activity->gpu = working_gpu(machine_, program, node);
    activity->bytes = {};
  }
  activity->waits = node.starts_queue || node.edges > 0;
  return activity;
}

std::vector<ActivityPointer> Timeline::add(const Program& program, const IssueTimes& issue,
                                           Seconds start) {
  std::vector<ActivityPointer> activities;
  activities.reserve(program.nodes().size());
  std::vector<ActivityPointer> last(program.queues().size());
  std::vector<bool> awaited(program.queues().size());  // a flag, just before
  for (const Node& node : program.nodes()) {
    auto activity = activity_of(program, node);
    activity->issued = start + issue.nodes[activities.size()];
    ActivityPointer& before = last[static_cast<std::size_t>(node.queue)];
    Fluid::order(before, activity, {});
    for (const int earlier : program.after(node))
      Fluid::order(activities[static_cast<std::size_t>(earlier)], activity,
                   wait_latency(machine_, program, program.node(earlier),
                                working_gpu(machine_, program, node)));
    activity->waits = activity->waits || awaited[static_cast<std::size_t>(node.queue)];
    awaited[static_cast<std::size_t>(node.queue)] = node.operation == Operation::await;
    before = submit(program, node, activity);
    activities.push_back(before);
  }
  return activities;
}

// A node that awaits a flag is played when all nodes that signal it are known.
ActivityPointer Timeline::submit(const Program& program, const Node& node,
                                 const ActivityPointer& activity) {
  if (!is_flag(node.operation)) {
    fluid_.submit(activity);
    const bool meets = node.operation == Operation::kernel && program.call_of(node).group;
    return meets ? meet(program.call_of(node), activity) : activity;
  }
  const Slice& flag = node.destination;
  FlagUses& uses = flags_[{program.buffer(flag).place, flag.buffer, flag.offset}];
  if (node.operation == Operation::await) {
    uses.awaits.push_back(activity);
    return activity;
  }
  uses.signals.push_back(activity);
  fluid_.submit(activity);
  return activity;
}

ActivityPointer Timeline::meet(const KernelCall& call, const ActivityPointer& first) {
  auto second = make_activity();
  second->gpu = call.gpu;
  Fluid::order(first, second, {});
  Met& met = meetings_[call.group->number];
  met.first.push_back(first), met.second.push_back(second);
  return second;
}

void Timeline::play() {
  for (const auto& [place, uses] : flags_)
    for (std::size_t i = 0; i < uses.awaits.size(); ++i) {
      const ActivityPointer& awaits = uses.awaits[i];
      if (i < uses.signals.size())
        Fluid::order(uses.signals[i], awaits, machine_.driver.flag_latency);
      fluid_.submit(awaits);
    }
  flags_.clear();
  for (const auto& [number, met] : meetings_)
    for (const ActivityPointer& second : met.second) {
      for (const ActivityPointer& first : met.first) Fluid::order(first, second, {});
      fluid_.submit(second);
    }
  meetings_.clear();
  while (fluid_.play_some(kStepsBetweenChecks)) check_interruption();
}

}  // namespace polypath::model
