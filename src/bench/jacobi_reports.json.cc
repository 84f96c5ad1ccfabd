#include "bench/jacobi_reports.h"

#include <nlohmann/json.hpp>

#include "bench/host.json.h"
#include "bench/repetitions.json.h"
#include "bench/request_fields.json.h"
#include "context/report_format.h"
#include "core/json_reader.json.h"
#include "core/json_text.json.h"

namespace polypath::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostChoices = 256;  // of sizes, executors or paths
constexpr int kMostRows = 1 << 20;
constexpr int kMostIterations = 1 << 20;
constexpr std::size_t kMostValues = 65536;

template <class Value, class Parse>
void read_names(const JsonField& fields, const char* key, std::vector<Value>& into, Parse parse) {
  const auto names = fields.find(key);
  if (!names) return;
  into.clear();
  for (const JsonField& name : names->elements(kMostChoices))
    into.push_back(parse(name.text(kLongestText)));
  if (into.empty()) names->reject("is empty", "it has to name one");
}

JacobiBench read_jacobi_bench(const std::string& json) {
  const JsonDocument document(json, request_complaint());
  const JsonField fields = document.root();
  fields.allow_only({"machine", "gpus", "sizes", "rows", "iterations", "executors", "paths",
                     "kernel_efficiency", "verify", "values"});
  JacobiBench bench;
  bench.settings = read_settings();
  if (const auto machine = fields.find("machine")) bench.machine = machine->text(kLongestText, 0);
  if (const auto gpus = fields.find("gpus")) bench.gpus = gpus->integer(2, kMostPlaces);
  for (const JsonField& size : fields.at("sizes").elements(kMostChoices))
    bench.sizes.push_back({size.count(0)});
  if (bench.sizes.empty()) fields.at("sizes").reject("is empty", "it has to list sizes in bytes");
  if (const auto rows = fields.find("rows"))
    bench.rows = static_cast<std::uint64_t>(rows->integer(1, kMostRows));
  if (const auto iterations = fields.find("iterations"))
    bench.iterations = iterations->integer(2, kMostIterations);
  read_names(fields, "executors", bench.ways, parse_jacobi_way);
  read_names(fields, "paths", bench.paths, parse_jacobi_paths);
  if (const auto share = fields.find("kernel_efficiency")) {
    bench.efficiency = share->number();
    if (!(bench.efficiency > 0 && bench.efficiency <= 1))
      share->reject("is no share", "kernels get more than 0 and at most 1 of the bandwidth");
  }
  if (const auto verify = fields.find("verify")) bench.verify = verify->flag();
  if (const auto values = fields.find("values")) bench.values = values->flag();
  return bench;
}

void add_shape(Json& object, const JacobiShape& shape) {
  object["predicted_seconds"] = shape.predicted.value;
  object["overlapped"] = shape.overlapped;
  object["several_paths"] = shape.several_paths;
  object["graph_nodes"] = shape.nodes;
}

Json result_object(const JacobiResult& result) {
  Json object = {{"bytes", result.grid.halo().value},
                 {"grid_bytes", result.grid.data().value},
                 {"gpus", result.grid.size()},
                 {"rows", result.grid.rows},
                 {"executor", name_of(result.how.way)},
                 {"paths", name_of(result.how.paths)},
                 {"seconds", result.seconds.value},
                 {"native_seconds", result.native.value},
                 {"speedup", result.native / result.seconds},
                 {"kernel_seconds", result.kernel.value}};
  if (result.shape) add_shape(object, *result.shape);
  add_repetitions(object, result.repetitions);
  object["verified"] = result.verified;
  object["verified_bytes"] = result.verified_halo.value;
  object["verified_iterations"] = result.verified_iterations;
  if (!result.values.empty() && result.values.size() <= kMostValues)
    object["values"] = result.values;
  return object;
}

}  // namespace

std::string jacobi_bench_report(const std::string& json, const Progress& progress) {
  const JacobiBench bench = read_jacobi_bench(json);
  const OpenMachine opened =
      open_machine(context::choose_machine(bench.machine, bench.settings), bench.settings);
  Json list = Json::array();
  for (const JacobiResult& result : measure_jacobi(opened, bench, progress))
    list.push_back(result_object(result));
  const PlaceId gpu = opened.machine().places_of(PlaceKind::gpu).front();
  const BytesPerSecond memory = memory_bandwidth(opened.machine().place(gpu));
  return json_text({{"schema", "polypath.bench/1"},
                    {"machine", opened.machine().name},
                    {"driver", opened.driver().name()},
                    {"operation", "jacobi"},
                    {"host", host_object(opened.simulated())},
                    {"iterations", bench.iterations},
                    {"kernel_efficiency", bench.efficiency},
                    {"memory_bytes_per_second", memory.value},
                    {"results", list}},
                   kReportIndent);
}

}  // namespace polypath::bench
