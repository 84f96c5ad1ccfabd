#include "context/reports.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "context/report_format.h"
#include "core/json_text.json.h"
#include "core/settings.h"
#include "driver/trace/events.h"
#include "machine/load_machine.h"

namespace polypath::context {
namespace {

using Json = nlohmann::ordered_json;

// The plan's path by its number; copies that are part of no plan go directly.
std::string path_name(const Machine& machine, const Plan& plan, int path) {
  const auto& paths = plan.shape.paths;
  if (path < 0 || static_cast<std::size_t>(path) >= paths.size()) return "direct";
  return name_of(machine, paths[static_cast<std::size_t>(path)].path);
}

// The report of one transfer, alone or in a set.
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

constexpr std::int64_t kSimulatedProcess = 1;

// The traffic over a hop, as timelines have it.
trace::Work work_of(const Machine& machine, const sim::Span& span, Seconds origin) {
  const Hop& hop = machine.hop(span.hop);
  return {.kind = trace::Kind::copy,
          .label = span.label,
          .source = hop.source,
          .destination = hop.destination,
          .bytes = span.bytes,
          .started = span.started - origin,
          .finished = span.finished - origin,
          .ready = span.ready - origin};
}

// Those of one transfer, in the order in which they ended.
struct HopWork {
  std::vector<trace::Work> works;
  std::vector<trace::Track> tracks;
};

std::map<std::uint64_t, HopWork> by_transfer(const Machine& machine,
                                             const std::vector<sim::Span>& spans) {
  Seconds origin = Seconds::infinity();
  for (const sim::Span& span : spans)
    if (span.hop.valid()) origin = std::min(origin, span.started);
  std::map<std::uint64_t, HopWork> transfers;
  for (const sim::Span& span : spans) {
    if (!span.hop.valid()) continue;
    HopWork& transfer = transfers[span.label.transfer];
    transfer.works.push_back(work_of(machine, span, origin));
    transfer.tracks.push_back({kSimulatedProcess, span.hop.value});
  }
  return transfers;
}

// One track per hop that something went over.
std::vector<std::string> track_names(const Machine& machine, const std::vector<sim::Span>& spans) {
  std::vector<std::string> events{
      trace::process_event(kSimulatedProcess, machine.name + " (simulated)")};
  std::set<std::int32_t> used;
  for (const sim::Span& span : spans)
    if (span.hop.valid() && used.insert(span.hop.value).second)
      for (std::string& event :
           trace::track_events({kSimulatedProcess, span.hop.value}, hop_name(machine, span.hop),
                               static_cast<int>(used.size())))
        events.push_back(std::move(event));
  return events;
}

void add_events(const Machine& machine, const HopWork& transfer, std::vector<std::string>& events,
                std::uint64_t& arrows) {
  const auto& [works, tracks] = transfer;
  const auto names =
      trace::names_of(works, [&](PlaceId place) { return machine.place(place).name; });
  for (std::size_t i = 0; i < works.size(); ++i)
    events.push_back(trace::work_event(works[i], names[i], tracks[i]));
  for (const trace::Relay& relay : trace::relays_of(works))
    for (std::string& event :
         trace::arrow_events({++arrows, "chunk", tracks[relay.first], works[relay.first].started,
                              tracks[relay.second], works[relay.second].started}))
      events.push_back(std::move(event));
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
  return json_text(list, kReportIndent);
}

std::string settings_report() {
  Json list = Json::array();
  for (const SettingDescription& setting : describe_settings(read_settings()))
    list.push_back({{"variable", setting.variable},
                    {"value", setting.value},
                    {"default", setting.default_value},
                    {"meaning", setting.meaning}});
  return json_text(list, kReportIndent);
}

std::string plan_report(const Machine& machine, const Plan& plan) {
  return json_text(plan_object(machine, plan), kReportIndent);
}

std::string plan_report(const Machine& machine, const Plan& plan,
                        const SimulatedTransfer& simulated) {
  Json report = plan_object(machine, plan);
  report["timeline"] = timeline_object(machine, plan, simulated);
  return json_text(report, kReportIndent);
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
                       {"order", plan.order},
                       {"transfers", transfers}};
  return json_text(report, kReportIndent);
}

std::string trace_report(const Machine& machine, const std::vector<sim::Span>& spans) {
  std::vector<std::string> events = track_names(machine, spans);
  std::uint64_t arrows = 0;
  for (const auto& [number, transfer] : by_transfer(machine, spans))
    add_events(machine, transfer, events, arrows);
  Json list = Json::array();
  for (const std::string& event : events) list.push_back(Json::parse(event));
  const Json report = {{"traceEvents", list},
                       {"displayTimeUnit", "ms"},
                       {"otherData", {{"machine", machine.name}, {"simulated", true}}}};
  return json_text(report, kReportIndent);
}

}  // namespace polypath::context
