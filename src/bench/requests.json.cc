#include "bench/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/request_fields.json.h"
#include "core/json_reader.json.h"
#include "core/text.h"
#include "plan/joint/patterns.h"

namespace polypath::bench {
namespace {

// Of a transfer that is planned or traced. More than the memory of any GPU; and a plan has a chunk
// for every few MiB, so that much more would take minutes and gigabytes.
constexpr Bytes kMostPlanned = 1024_GiB;
// Limit of the parser only, far beyond sensible values; callers enforce the real range.
constexpr std::uint64_t kMostTimes = 1 << 20;

// The measurement shows the lasting state: a graph is made soon, and not when it would have paid.
Settings bench_settings() {
  Settings settings = read_settings();
  settings.graph_after = settings.graph_after.value_or(2);
  return settings;
}

Bytes planned_size(const JsonField& field) {
  const Bytes bytes{field.count(0)};
  if (bytes <= kMostPlanned) return bytes;
  fail(ErrorCode::invalid_argument, fmt::format("size {} cannot be planned", format_bytes(bytes)),
       fmt::format("a transfer has at most {}", format_bytes(kMostPlanned)),
       "Give a smaller size.");
}

int times_or(const JsonField& request, const char* key, int otherwise) {
  const auto field = request.find(key);
  return field ? static_cast<int>(std::min(field->count(0), kMostTimes)) : otherwise;
}

// The fields executor, paths, shares and chunks.
PlanOptions options_of(const JsonField& request) {
  PlanOptions options;
  options.executor = parse_executor(text_or(request, "executor", "auto"));
  if (const auto paths = request.find("paths")) options.paths = names_of(*paths);
  if (const auto shares = request.find("shares")) options.shares = shares->numbers();
  if (const auto chunks = request.find("chunks"))
    options.chunks = chunks->integers(1, std::numeric_limits<int>::max());
  return options;
}

Lane lane_of(const Machine& machine, const std::string& source, const std::string& destination) {
  const auto [from, to] = machine.find_ends(source, destination);
  check_different(machine, from, to);
  return {from, to};
}

Lane pair_of(const Machine& machine, const JsonField& field) {
  const std::vector<std::string> names = names_of(field);
  if (names.size() != 2)
    field.reject(fmt::format("has {} names", names.size()),
                 "each pair is a source and a destination");
  return lane_of(machine, names[0], names[1]);
}

Executor searched_executor(const JsonField& field) {
  const std::string name = field.text(kLongestText);
  if (name == "stream") return Executor::stream;
  if (name == "graph") return Executor::graph;
  fail(ErrorCode::invalid_argument, "executor '" + name + "' cannot be tuned",
       "only plans of several paths have shares to search", "Name stream or graph.");
}

// All ordered pairs that are worth a search: of two GPUs or a GPU and its nearest host.
std::vector<Lane> all_pairs(const Machine& machine) {
  std::vector<Lane> pairs;
  for (const Hop& hop : machine.hops) {
    const PlaceId host = machine.host_for(hop.source, hop.destination);
    const auto is_worth_it = [&](PlaceId end) {
      return machine.place(end).kind == PlaceKind::gpu || end == host;
    };
    if (is_worth_it(hop.source) && is_worth_it(hop.destination))
      pairs.push_back({hop.source, hop.destination});
  }
  return pairs;
}

JointTransfer transfer_of(const Machine& machine, const JsonField& field) {
  field.allow_only({"source", "destination", "bytes"});
  const Lane lane = lane_of(machine, field.at("source").text(kLongestText),
                            field.at("destination").text(kLongestText));
  return {lane.source, lane.destination, planned_size(field.at("bytes"))};
}

// The fields pattern, bytes and gpus, or the field transfers.
std::vector<JointTransfer> transfers_of(const JsonField& request, const Machine& machine,
                                        const std::string& pattern) {
  std::vector<JointTransfer> transfers;
  if (!pattern.empty()) {
    const auto gpus = request.find("gpus");
    const Bytes bytes = planned_size(request.at("bytes"));
    return pattern_of(machine, pattern, bytes, gpus ? gpus->count(1) : 0);
  }
  for (const JsonField& transfer : request.at("transfers").elements(kMostElements))
    transfers.push_back(transfer_of(machine, transfer));
  return transfers;
}

void allow_one_form(const JsonField& request, bool is_pattern) {
  if (is_pattern)
    request.allow_only({"machine", "pattern", "bytes", "gpus", "executor", "issuers"});
  else request.allow_only({"machine", "transfers", "pattern", "executor", "issuers"});
}

}  // namespace

PlanRequest read_plan_request(const std::string& json) {
  const JsonDocument document(json, request_complaint());
  const JsonField fields = document.root();
  fields.allow_only(
      {"machine", "source", "destination", "bytes", "executor", "paths", "shares", "chunks"});
  PlanRequest request;
  request.settings = bench_settings();
  request.machine = choose_machine(text_or(fields, "machine", ""), request.settings).machine;
  request.lane = lane_of(request.machine, fields.at("source").text(kLongestText),
                         fields.at("destination").text(kLongestText));
  request.bytes = planned_size(fields.at("bytes"));
  request.options = options_of(fields);
  if (!request.options.executor)
    request.options.executor = parse_executor(request.settings.executor);
  return request;
}

JointPlanRequest read_joint_plan_request(const std::string& json) {
  const JsonDocument document(json, request_complaint());
  const JsonField fields = document.root();
  JointPlanRequest request;
  if (const auto pattern = fields.find("pattern")) request.pattern = pattern->text(kLongestText);
  allow_one_form(fields, !request.pattern.empty());
  request.settings = bench_settings();
  ChosenMachine chosen = choose_machine(text_or(fields, "machine", ""), request.settings);
  request.machine = std::move(chosen.machine);
  request.simulated = chosen.simulated;
  request.transfers = transfers_of(fields, request.machine, request.pattern);
  request.options.executor = parse_executor(text_or(fields, "executor", "auto"));
  if (!request.options.executor)
    request.options.executor = parse_executor(request.settings.executor);
  request.options.issuers = parse_issuers(text_or(fields, "issuers", "one-thread"));
  request.options.free_order = true;  // as where copies are asked for together
  return request;
}

Request read_bench_request(const std::string& json) {
  const JsonDocument document(json, request_complaint());
  const JsonField fields = document.root();
  fields.allow_only({"machine", "operation", "source", "destination", "sizes", "window", "pieces",
                     "executor", "paths", "shares", "chunks", "verify", "repeats"});
  Request request;
  request.settings = bench_settings();
  request.machine = text_or(fields, "machine", "");
  request.operation = fields.at("operation").text(kLongestText);
  request.source = fields.at("source").text(kLongestText);
  request.destination = fields.at("destination").text(kLongestText);
  request.sizes = sizes_of(fields.at("sizes"));
  request.window = times_or(fields, "window", 1);
  if (fields.find("pieces")) request.pieces = times_or(fields, "pieces", 0);
  request.options = options_of(fields);
  if (const auto verify = fields.find("verify")) request.verify = verify->flag();
  request.repeats = std::min(times_or(fields, "repeats", request.repeats), 10000);
  return request;
}

TuneRequest read_tune_request(const std::string& json) {
  const JsonDocument document(json, request_complaint());
  const JsonField fields = document.root();
  fields.allow_only({"machine", "pairs", "sizes", "executors"});
  TuneRequest request;
  request.settings = bench_settings();
  request.machine = choose_machine(text_or(fields, "machine", ""), request.settings).machine;
  if (const auto pairs = fields.find("pairs"))
    for (const JsonField& pair : pairs->elements(kMostElements))
      request.pairs.push_back(pair_of(request.machine, pair));
  if (request.pairs.empty()) request.pairs = all_pairs(request.machine);
  request.sizes = sizes_of(fields.at("sizes"));
  for (const Bytes bytes : request.sizes) check_measurable(bytes);
  if (const auto executors = fields.find("executors"))
    for (const JsonField& name : executors->elements(kMostElements))
      request.executors.push_back(searched_executor(name));
  if (request.executors.empty()) request.executors = {Executor::stream, Executor::graph};
  return request;
}

}  // namespace polypath::bench
