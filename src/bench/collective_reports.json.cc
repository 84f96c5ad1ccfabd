#include "bench/collective_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/host.json.h"
#include "bench/repetitions.json.h"
#include "bench/request_fields.json.h"
#include "collective/algorithms/fixed_order.h"
#include "context/report_format.h"
#include "core/json_reader.json.h"
#include "core/json_text.json.h"

namespace polypath::bench {
namespace {

using Json = nlohmann::ordered_json;

PathChoice path_choice(const std::string& name) {
  if (name == "auto") return PathChoice::any;
  if (name == "one") return PathChoice::one;
  if (name == "several") return PathChoice::several;
  fail(ErrorCode::invalid_argument, fmt::format("path choice '{}' is unknown", name),
       "the choices are auto, one, several", "Name one of them.");
}

CollectiveRequest what_of(const JsonField& fields) {
  CollectiveRequest request;
  request.collective = parse_collective(fields.at("collective").text(kLongestText));
  request.reduction.type = parse_element_type(text_or(fields, "type", "float32"));
  request.reduction.operation = parse_reduce_operator(text_or(fields, "reduction", "sum"));
  if (const auto root = fields.find("root"))
    request.root = root->integer(0, std::numeric_limits<int>::max());
  if (const auto in_place = fields.find("in_place")) request.in_place = in_place->flag();
  if (const auto counts = fields.find("counts"))
    for (const JsonField& count : counts->elements(kMostElements))
      request.counts.push_back(count.count(0));
  return request;
}

CollectiveBench read_collective_bench(const std::string& json) {
  const JsonDocument document(json, request_complaint());
  const JsonField fields = document.root();
  fields.allow_only({"machine", "collective", "ranks", "nodes", "sizes", "algorithms", "type",
                     "reduction", "root", "in_place", "counts", "executor", "paths", "any_order",
                     "verify"});
  CollectiveBench bench;
  bench.settings = read_settings();
  bench.machine = text_or(fields, "machine", "");
  bench.request = what_of(fields);
  if (const auto ranks = fields.find("ranks")) bench.ranks = ranks->integer(2, kMostElements);
  if (const auto nodes = fields.find("nodes"))
    bench.nodes = nodes->integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  bench.sizes = sizes_of(fields.at("sizes"));
  if (const auto names = fields.find("algorithms")) bench.algorithms = names_of(*names);
  bench.executor = parse_executor(text_or(fields, "executor", "auto"));
  bench.paths = path_choice(text_or(fields, "paths", "auto"));
  if (const auto any_order = fields.find("any_order")) bench.any_order = any_order->flag();
  if (const auto verify = fields.find("verify")) bench.verify = verify->flag();
  return bench;
}

const char* mode_of(Executor executor) { return executor == Executor::graph ? "graph" : "eager"; }

// The description of a draft, in the words of both reports.
void add_draft(Json& object, const CollectiveRequest& request, const CollectiveDraft& draft) {
  object["executor"] = name_of(draft.executor);
  object["mode"] = mode_of(draft.executor);
  object["piece_bytes"] = draft.tuning.piece.value;
  object["several_paths"] = draft.tuning.several_paths;
  if (draft.algorithm->radices.size() > 1) object["radix"] = draft.tuning.radix;
  object["predicted_seconds"] = draft.predicted.value;
  const double moved = bus_factor(request) * message_bytes(request).real();
  object["predicted_bus_bytes_per_second"] = moved / draft.predicted.value;
}

int nodes_of(const Machine& machine, const CollectiveRequest& request) {
  std::set<int> nodes;
  for (const PlaceId rank : request.ranks) nodes.insert(machine.place(rank).node);
  return static_cast<int>(nodes.size());
}

void add_request(Json& object, const Machine& machine, const CollectiveRequest& request) {
  object["bytes"] = message_bytes(request).value;
  object["elements"] = request.elements;
  object["ranks"] = request.size();
  object["nodes"] = nodes_of(machine, request);
  object["type"] = name_of(request.reduction.type);
  if (reduces(request.collective)) object["reduction"] = name_of(request.reduction.operation);
  if (has_root(request.collective)) object["root"] = request.root;
  object["in_place"] = request.in_place;
  if (!request.counts.empty()) object["counts"] = request.counts;
}

Json result_object(const Machine& machine, const CollectiveResult& result) {
  const Bytes bytes = message_bytes(result.request);
  Json object;
  add_request(object, machine, result.request);
  object["algorithm"] = result.algorithm;
  object["chosen"] = result.draft.algorithm->name;
  add_draft(object, result.request, result.draft);
  object["seconds"] = result.seconds.value;
  object["bytes_per_second"] = bytes.real() / result.seconds.value;
  object["bus_bytes_per_second"] = bus_factor(result.request) * bytes.real() / result.seconds.value;
  add_repetitions(object, result.repetitions);
  object["rivals"] = Json::array();
  object["verified"] = result.verified;
  object["verified_bytes"] = result.verified_bytes.value;
  return object;
}

// Of those that keep to the fixed order it is said which one that is there.
const char* order_of(const Machine& machine, const CollectiveRequest& request,
                     const Algorithm& algorithm) {
  const bool is_fixed = algorithm.order == std::string_view(kFixedOrder);
  return is_fixed ? fixed_order(machine, request) : algorithm.order;
}

Json decision_object(const Machine& machine, const CollectiveRequest& request,
                     const AlgorithmDecision& decision) {
  Json object = {{"algorithm", decision.draft.algorithm->name},
                 {"chosen", decision.chosen},
                 {"sentence", decision.draft.algorithm->sentence}};
  if (reduces(request.collective))
    object["order"] = order_of(machine, request, *decision.draft.algorithm);
  add_draft(object, request, decision.draft);
  object["reason"] = decision.reason;
  return object;
}

CollectiveOptions options_of(const CollectiveBench& bench) {
  CollectiveOptions options{
      .executor = bench.executor, .paths = bench.paths, .any_order = bench.any_order};
  const auto& names = bench.algorithms;
  if (std::find(names.begin(), names.end(), kAutomatic) == names.end()) options.algorithms = names;
  return options;
}

}  // namespace

std::string collective_bench_report(const std::string& json, const Progress& progress) {
  const CollectiveBench bench = read_collective_bench(json);
  const OpenMachine opened = open_machine(choose_machine(bench), bench.settings);
  Json list = Json::array();
  for (const CollectiveResult& result : measure_collectives(opened, bench, progress))
    list.push_back(result_object(opened.machine(), result));
  return json_text({{"schema", "polypath.bench/1"},
                    {"machine", opened.machine().name},
                    {"driver", opened.driver().name()},
                    {"operation", name_of(bench.request.collective)},
                    {"host", host_object(opened.simulated())},
                    {"results", list}},
                   kReportIndent);
}

std::string collective_plan_report(const std::string& json) {
  const CollectiveBench bench = read_collective_bench(json);
  const ChosenMachine chosen = choose_machine(bench);
  const CollectiveRequest request = collective_request(chosen.machine, bench, bench.sizes.front());
  const CollectivePlan plan =
      CollectivePlanner(chosen.machine, bench.settings).plan(request, options_of(bench));
  Json report = {{"schema", "polypath.collective_plan/1"},
                 {"machine", chosen.machine.name},
                 {"simulated", chosen.simulated},
                 {"operation", name_of(request.collective)}};
  add_request(report, chosen.machine, request);
  report["predicted_seconds"] = plan.chosen().predicted.value;
  report["copies_and_reductions"] = plan.program->program.nodes().size();
  if (reduces(request.collective)) report["order_groups"] = order_groups(chosen.machine, request);
  report["algorithms"] = Json::array();
  for (const AlgorithmDecision& decision : plan.decisions)
    report["algorithms"].push_back(decision_object(chosen.machine, request, decision));
  return json_text(report, kReportIndent);
}

}  // namespace polypath::bench
