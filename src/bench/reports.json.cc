#include "bench/reports.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/host.json.h"
#include "bench/issue_cost.h"
#include "bench/measure.h"
#include "bench/repetitions.json.h"
#include "bench/requests.h"
#include "bench/timeline.h"
#include "bench/tune.h"
#include "context/report_format.h"
#include "context/reports.h"
#include "core/json_text.json.h"

namespace polypath::bench {
namespace {

using Json = nlohmann::ordered_json;

Json paths_of(const Plan* plan) {
  Json paths = Json::array();
  if (plan == nullptr) return Json::array({{{"via", "direct"}, {"share", 1.0}, {"chunks", 1}}});
  for (const PathDecision& decision : plan->decisions)
    if (decision.included)
      paths.push_back(
          {{"via", decision.name}, {"share", decision.share}, {"chunks", decision.chunks}});
  return paths;
}

bool is_one_native_copy(const Result& result) {
  return result.executor == Executor::native && !result.by_windows;
}

Json number_or_null(double number) { return std::isnan(number) ? Json() : Json(number); }

Json result_object(const Machine& machine, const Result& result) {
  const double moved = result.bytes.real() * result.copies;
  Json object = {{"bytes", result.bytes.value},
                 {"window", result.window},
                 {"source", machine.place(result.source).name},
                 {"destination", machine.place(result.destination).name},
                 {"paths", paths_of(is_one_native_copy(result) ? nullptr : result.plan.get())},
                 {"executor", result.by_windows ? "windows" : name_of(result.executor)},
                 {"seconds", result.seconds.value},
                 {"bytes_per_second", moved / result.seconds.value},
                 {"native_bytes_per_second", moved / result.native_seconds.value},
                 {"speedup", result.native_seconds / result.seconds},
                 {"predicted_seconds", number_or_null(result.predicted.value)},
                 {"verified", result.verified},
                 {"verified_bytes", result.verified_bytes.value}};
  if (result.pieces > 1) object["pieces"] = result.pieces;
  add_repetitions(object, result.repetitions);
  return object;
}

PlanPointer plan_for(const PlanRequest& request) {
  return Planner(request.machine, request.settings)
      .plan(request.lane.source, request.lane.destination, request.bytes, request.options);
}

// The measurement covers this process by itself: transfers of other processes are not looked up.
OpenMachine open_for(const Request& request) {
  Settings settings = request.settings;
  settings.ledger = false;
  return open_machine(request.machine, settings);
}

}  // namespace

std::string plan_report(const std::string& json) {
  const PlanRequest request = read_plan_request(json);
  const PlanPointer plan = plan_for(request);
  return context::plan_report(request.machine, *plan, simulate_transfer(request, *plan));
}

std::string joint_plan_report(const std::string& json) {
  const JointPlanRequest request = read_joint_plan_request(json);
  Planner planner(request.machine, request.settings);
  const JointPlanPointer plan = JointPlanner(planner).plan(request.transfers, request.options);
  return context::joint_plan_report({.machine = request.machine,
                                     .simulated = request.simulated,
                                     .pattern = request.pattern,
                                     .issuers = request.options.issuers,
                                     .plan = *plan});
}

std::string trace_report(const std::string& json) {
  const PlanRequest request = read_plan_request(json);
  const PlanPointer plan = plan_for(request);
  return context::trace_report(request.machine, simulate_transfer(request, *plan).spans);
}

std::string bench_report(const std::string& json, const Progress& progress) {
  const Request request = read_bench_request(json);
  const OpenMachine opened = open_for(request);
  Json list = Json::array();
  for (const Result& result : measure_all(opened, request, progress))
    list.push_back(result_object(opened.machine(), result));
  Json report = {{"schema", "polypath.bench/1"},
                 {"machine", opened.machine().name},
                 {"driver", opened.driver().name()},
                 {"operation", request.operation},
                 {"host", host_object(opened.simulated())}};
  if (!opened.simulated())
    report["native_call"] =
        native_calls(opened.machine(), operations_of(opened.machine(), request));
  if (request.source == kAllPairs) report["all_pairs"] = true;
  report["results"] = std::move(list);
  return json_text(report, kReportIndent);
}

std::string issue_report(const std::string& json) {
  const Request request = read_bench_request(json);
  const OpenMachine opened = open_for(request);
  Json list = Json::array();
  for (const IssueCost& cost : measure_issue(opened, request))
    list.push_back({{"bytes", cost.bytes.value},
                    {"how", cost.how},
                    {"seconds", cost.call.value},
                    {"nodes", cost.nodes}});
  return json_text({{"schema", "polypath.issue/1"},
                    {"machine", opened.machine().name},
                    {"source", request.source},
                    {"destination", request.destination},
                    {"host", host_object(false)},
                    {"results", list}},
                   kReportIndent);
}

std::string tune_report(const std::string& json, const Progress& progress) {
  const TuneRequest request = read_tune_request(json);
  TunedTable table{request.machine.name, {}};
  for (Tuned& tuned : tune_all(request, progress)) table.entries.push_back(std::move(tuned.entry));
  return tuned_to_json(table);
}

}  // namespace polypath::bench
