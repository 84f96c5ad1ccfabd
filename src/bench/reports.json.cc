#include "bench/reports.h"

#include <fmt/chrono.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/issue_cost.h"
#include "bench/request_reader.json.h"
#include "bench/timeline.h"
#include "bench/tune.h"
#include "core/error.h"
#include "driver/computer.h"
#include "context/context.h"
#include "machine/library.h"

namespace polypath::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;

Json paths_of(const Plan* plan) {
  Json paths = Json::array();
  if (plan == nullptr) return Json::array({{{"via", "direct"}, {"share", 1.0}, {"chunks", 1}}});
  for (const PathDecision& decision : plan->decisions)
    if (decision.included)
      paths.push_back(
          {{"via", decision.name}, {"share", decision.share}, {"chunks", decision.chunks}});
  return paths;
}

Json plan_object(const Machine& machine, const Plan& plan) {
  Json paths = Json::array();
  for (const PathDecision& decision : plan.decisions)
    paths.push_back({{"via", decision.name},
                     {"included", decision.included},
                     {"share", decision.share},
                     {"bytes", decision.bytes.value},
                     {"chunks", decision.chunks},
                     {"predicted_seconds", decision.predicted.value},
                     {"reason", decision.reason}});
  return {{"schema", "polypath.plan/1"},
          {"machine", machine.name},
          {"source", machine.place(plan.source).name},
          {"destination", machine.place(plan.destination).name},
          {"bytes", plan.bytes.value},
          {"executor", name_of(plan.executor())},
          {"predicted_seconds", plan.predicted.value},
          {"native_seconds", plan.native_predicted.value},
          {"paths", paths}};
}

Json number_or_null(double number) { return std::isnan(number) ? Json() : Json(number); }

Json result_object(const Machine& machine, const Result& result) {
  const double moved = result.bytes.real() * result.copies;
  return {{"bytes", result.bytes.value},
          {"window", result.window},
          {"source", machine.place(result.source).name},
          {"destination", machine.place(result.destination).name},
          {"paths", paths_of(result.executor == Executor::native ? nullptr : result.plan.get())},
          {"executor", name_of(result.executor)},
          {"seconds", result.seconds.value},
          {"bytes_per_second", moved / result.seconds.value},
          {"native_bytes_per_second", moved / result.native_seconds.value},
          {"speedup", result.native_seconds / result.seconds},
          {"predicted_seconds", number_or_null(result.predicted.value)},
          {"verified", result.verified}};
}

Json host_object(bool simulated) {
  Json host = {{"simulated", simulated}, {"cores", std::thread::hardware_concurrency()}};
  if (simulated) return host;
  const Computer computer = look_at_computer();
  host["processor"] = computer.processor;
  host["gpus"] = computer.gpus.size();
  host["gpu"] = computer.gpus.front().model;
  host["driver_version"] = computer.driver;
  host["date"] = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  return host;
}

// What a plan or trace request asks for.
struct PlanRequest {
  Machine machine;
  Lane lane;
  Bytes bytes;
  PlanOptions options;
  Settings settings;
};

PlanRequest read_plan_request(const std::string& text) {
  RequestReader reader(text);
  PlanRequest request;
  request.settings = read_settings();
  request.machine = choose_machine(reader.text("machine", ""), request.settings).machine;
  const auto [source, destination] =
      request.machine.find_ends(reader.text("source"), reader.text("destination"));
  request.lane = {source, destination};
  request.bytes = reader.bytes("bytes");
  request.options = reader.options();
  if (request.options.executor == ExecutorChoice::automatic)
    request.options.executor = parse_executor(request.settings.executor);
  reader.finish();
  return request;
}

Json timeline_object(const Machine& machine, const Timeline& timeline) {
  Json spans = Json::array();
  for (const sim::Span& span : timeline.spans)
    spans.push_back({{"hop", hop_name(machine, span.hop)},
                     {"path", path_name(machine, *timeline.plan, span.label.path)},
                     {"chunk", span.label.chunk},
                     {"start", (span.started - timeline.start).value},
                     {"end", (span.finished - timeline.start).value}});
  return spans;
}

Request read_bench_request(const std::string& text) {
  RequestReader reader(text);
  Request request;
  request.settings = read_settings();
  request.machine = reader.text("machine", "");
  request.operation = reader.text("operation");
  request.source = reader.text("source");
  request.destination = reader.text("destination");
  request.sizes = reader.sizes("sizes");
  request.window = static_cast<int>(std::min<std::uint64_t>(reader.number("window", 1), 1 << 20));
  request.options = reader.options();
  request.verify = reader.flag("verify", true);
  request.repeats = static_cast<int>(std::min<std::uint64_t>(reader.number("repeats", 20), 10000));
  reader.finish();
  return request;
}

Executor searched_executor(const std::string& name) {
  if (name == "stream") return Executor::stream;
  if (name == "graph") return Executor::graph;
  fail(ErrorCode::invalid_argument, "executor '" + name + "' cannot be tuned",
       "only plans of several paths have shares to search", "Name stream or graph.");
}

// All ordered pairs that are worth a search: of two GPUs or a GPU and its nearest host.
std::vector<Lane> all_pairs(const Machine& machine) {
  std::vector<Lane> pairs;
  for (const Hop& hop : machine.hops) {
    const bool from_gpu = machine.place(hop.source).kind == PlaceKind::gpu;
    const bool to_gpu = machine.place(hop.destination).kind == PlaceKind::gpu;
    const PlaceId gpu = from_gpu ? hop.source : hop.destination;
    const PlaceId other = from_gpu ? hop.destination : hop.source;
    if ((from_gpu && to_gpu) || machine.nearest_host(gpu) == other)
      pairs.push_back({hop.source, hop.destination});
  }
  return pairs;
}

TuneRequest read_tune_request(const std::string& text, Machine& machine) {
  RequestReader reader(text);
  TuneRequest request;
  request.settings = read_settings();
  machine = choose_machine(reader.text("machine", ""), request.settings).machine;
  for (const auto& pair : reader.pairs("pairs")) {
    const auto [source, destination] = machine.find_ends(pair[0], pair[1]);
    request.pairs.push_back({source, destination});
  }
  if (request.pairs.empty()) request.pairs = all_pairs(machine);
  request.sizes = reader.sizes("sizes");
  for (const std::string& name : reader.names("executors"))
    request.executors.push_back(searched_executor(name));
  if (request.executors.empty()) request.executors = {Executor::stream, Executor::graph};
  reader.finish();
  return request;
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

std::string plan_report(const std::string& text) {
  const PlanRequest request = read_plan_request(text);
  Planner planner(request.machine, request.settings);
  const PlanPointer plan =
      planner.plan(request.lane.source, request.lane.destination, request.bytes, request.options);
  const Timeline timeline = simulate_transfer(request.machine, request.lane, request.bytes, plan,
                                              request.settings, request.options);
  Json report = plan_object(request.machine, *plan);
  report["timeline"] = timeline_object(request.machine, timeline);
  return report.dump(kIndent);
}

std::string bench_report(const std::string& text, const Progress& progress) {
  Request request = read_bench_request(text);
  const ChosenMachine chosen = choose_machine(request.machine, request.settings);
  const Machine& machine = chosen.machine;
  request.gpus = chosen.gpus;
  const auto results = measure_all(machine, request, progress);
  Json list = Json::array();
  for (const Result& result : results) list.push_back(result_object(machine, result));
  const Json report = {{"schema", "polypath.bench/1"},
                       {"machine", machine.name},
                       {"driver", request.gpus ? request.gpus->name() : "sim"},
                       {"operation", request.operation},
                       {"host", host_object(!request.gpus)},
                       {"results", list}};
  return report.dump(kIndent);
}

std::string issue_report(const std::string& text) {
  Request request = read_bench_request(text);
  const ChosenMachine chosen = choose_machine(request.machine, request.settings);
  request.gpus = chosen.gpus;
  Json list = Json::array();
  for (const IssueCost& cost : measure_issue(chosen.machine, request))
    list.push_back({{"bytes", cost.bytes.value},
                    {"how", cost.how},
                    {"seconds", cost.call.value},
                    {"nodes", cost.nodes}});
  return Json{{"schema", "polypath.issue/1"}, {"machine", chosen.machine.name},
              {"source", request.source},     {"destination", request.destination},
              {"host", host_object(false)},   {"results", list}}
      .dump(kIndent);
}

std::string tune_report(const std::string& text, const Progress& progress) {
  Machine machine;
  const TuneRequest request = read_tune_request(text, machine);
  TunedTable table{machine.name, {}};
  for (Tuned& tuned : tune_all(machine, request, progress))
    table.entries.push_back(std::move(tuned.entry));
  return tuned_to_json(table);
}

std::string trace_report(const std::string& text) {
  const PlanRequest request = read_plan_request(text);
  Planner planner(request.machine, request.settings);
  const PlanPointer plan =
      planner.plan(request.lane.source, request.lane.destination, request.bytes, request.options);
  const Timeline timeline = simulate_transfer(request.machine, request.lane, request.bytes, plan,
                                              request.settings, request.options);
  return trace_report(request.machine, timeline.spans);
}

std::string trace_report(const Machine& machine, const std::vector<sim::Span>& spans) {
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
  for (const sim::Span& span : spans) {
    if (!span.hop.valid()) continue;
    const Seconds busy = span.finished - span.started;
    events.push_back({{"name", "chunk " + std::to_string(span.label.chunk)},
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
                        {"queued_us", (span.started - span.ready).value * 1e6}}}});
  }
  const Json report = {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
  return report.dump(kIndent);
}

}  // namespace polypath::bench
