#include "context/reports.h"

#include <nlohmann/json.hpp>

#include "core/settings.h"
#include "machine/load_machine.h"

namespace polypath {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;

// The plan's path by its number; copies that are part of no plan go directly.
std::string path_name(const Machine& machine, const Plan& plan, int path) {
  const auto& paths = plan.shape.paths;
  if (path < 0 || static_cast<std::size_t>(path) >= paths.size()) return "direct";
  return name_of(machine, paths[static_cast<std::size_t>(path)].path);
}

// What is said of one transfer, alone or in a set.
Json transfer_object(const Machine& machine, const Plan& plan) {
  Json paths = Json::array();
  for (const PathDecision& decision : plan.decisions)
    paths.push_back({{"via", decision.name},
                     {"included", decision.included},
                     {"share", decision.share},
                     {"bytes", decision.bytes.value},
                     {"chunks", decision.chunks},
                     {"predicted_seconds", decision.predicted.value},
                     {"reason", decision.reason}});
  return {{"source", machine.place(plan.source).name},
          {"destination", machine.place(plan.destination).name},
          {"bytes", plan.bytes.value},
          {"executor", name_of(plan.executor())},
          {"predicted_seconds", plan.predicted.value},
          {"native_seconds", plan.native_predicted.value},
          {"paths", paths}};
}

Json plan_object(const Machine& machine, const Plan& plan) {
  Json report = {{"schema", "polypath.plan/1"}, {"machine", machine.name}};
  report.update(transfer_object(machine, plan));
  return report;
}

Json timeline_object(const Machine& machine, const Plan& plan, const SimulatedTransfer& simulated) {
  Json spans = Json::array();
  for (const sim::Span& span : simulated.spans)
    spans.push_back({{"hop", hop_name(machine, span.hop)},
                     {"path", path_name(machine, plan, span.label.path)},
                     {"chunk", span.label.chunk},
                     {"start", (span.started - simulated.start).value},
                     {"end", (span.finished - simulated.start).value}});
  return spans;
}

// One track per hop.
Json track_names(const Machine& machine) {
  Json events = Json::array();
  for (std::size_t h = 0; h < machine.hops.size(); ++h)
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", h},
                      {"args", {{"name", hop_name(machine, {static_cast<std::int32_t>(h)})}}}});
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", 1},
                    {"args", {{"name", machine.name + " (simulated)"}}}});
  return events;
}

// Times are microseconds there.
Json event_of(const sim::Span& span) {
  const Seconds busy = span.finished - span.started;
  return {{"name", "chunk " + std::to_string(span.label.chunk)},
          {"cat", "copy"},
          {"ph", "X"},
          {"pid", 1},
          {"tid", span.hop.value},
          {"ts", span.started.value * 1e6},
          {"dur", busy.value * 1e6},
          {"args",
           {{"transfer", span.label.transfer},
            {"path", span.label.path},
            {"chunk", span.label.chunk},
            {"bytes", span.bytes.value},
            {"bytes_per_second", (span.bytes / busy).value},
            {"queued_us", (span.started - span.ready).value * 1e6}}}};
}

}  // namespace

std::string machines_report() {
  Json list = Json::array();
  for (const std::string& name : zoo_names()) {
    const Machine machine = load_machine(name);
    list.push_back({{"name", name},
                    {"description", machine.description},
                    {"gpus", machine.places_of(PlaceKind::gpu).size()},
                    {"hosts", machine.places_of(PlaceKind::host).size()}});
  }
  return list.dump(kIndent);
}

std::string settings_report() {
  Json list = Json::array();
  for (const SettingDescription& setting : describe_settings(read_settings()))
    list.push_back({{"variable", setting.variable},
                    {"value", setting.value},
                    {"default", setting.default_value},
                    {"meaning", setting.meaning}});
  return list.dump(kIndent);
}

std::string plan_report(const Machine& machine, const Plan& plan) {
  return plan_object(machine, plan).dump(kIndent);
}

std::string plan_report(const Machine& machine, const Plan& plan,
                        const SimulatedTransfer& simulated) {
  Json report = plan_object(machine, plan);
  report["timeline"] = timeline_object(machine, plan, simulated);
  return report.dump(kIndent);
}

std::string joint_plan_report(const PlannedSet& planned) {
  const JointPlan& plan = planned.plan;
  Json transfers = Json::array();
  for (const PlanPointer& each : plan.plans)
    transfers.push_back(transfer_object(planned.machine, *each));
  const Json report = {{"schema", "polypath.joint_plan/1"},
                       {"machine", planned.machine.name},
                       {"simulated", planned.simulated},
                       {"pattern", planned.pattern.empty() ? Json() : Json(planned.pattern)},
                       {"issuers", name_of(planned.issuers)},
                       {"predicted_seconds", plan.predicted.value},
                       {"native_seconds", plan.native_predicted.value},
                       {"flow_bound_seconds", plan.flow_bound.value},
                       {"call_seconds", plan.calls.value},
                       {"transfers", transfers}};
  return report.dump(kIndent);
}

std::string trace_report(const Machine& machine, const std::vector<sim::Span>& spans) {
  Json events = track_names(machine);
  for (const sim::Span& span : spans)
    if (span.hop.valid()) events.push_back(event_of(span));
  const Json report = {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
  return report.dump(kIndent);
}

}  // namespace polypath
